/* sentence_pairs.c: pairs of sentences as ids, and batches of pairs of similar length. */
#include "sentence_pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kaeru/attention.h"

/* place: in the epoch's order before sorting, which decides between pairs of equal lengths. */
typedef struct {
    Sentence src, tgt;
    int64_t place;
} Pair;

struct SentencePairs {
    Pair *pair;
    int64_t n, left_out;
    /* The epoch. Batch b has the pairs sorted[start[b]..start[b+1]-1]; batch_order has the batches in the order of the
     * epoch, and `next` is the index of the next one there. */
    Pair **sorted;
    int32_t *batch_order;       /* of the pairs until they are sorted */
    int64_t *start;
    int64_t n_batches, next;
};

Sentence sentence_of(void *owner, const KaeruVocab *v, const KaeruLines *lines, int64_t line)
{
    size_t size;
    int32_t *ids = kaeru_sentence_encode(v, lines->line[line].text, lines->line[line].size, &size);
    ag_set_owner(ids, owner);
    return (Sentence){ ids, (int64_t)size, line };
}

Tensor *sentences_pad(const Sentence *s, int64_t n)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        if (s[i].size > longest) {
            longest = s[i].size;
        }
    }
    Tensor *rows = tensor_ints(SHAPE(n, longest), NULL);
    int32_t *to = tensor_mutable_int_data(rows);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < longest; j++) {
            *to++ = j < s[i].size ? s[i].ids[j] : KAERU_BLANK;
        }
    }
    return rows;
}

static int64_t longer_side(const Pair *pair)
{
    return pair->src.size > pair->tgt.size ? pair->src.size : pair->tgt.size;
}

SentencePairs *sentence_pairs_new(const KaeruLines *src, const KaeruVocab *src_vocab, const KaeruLines *tgt,
                                  const KaeruVocab *tgt_vocab, int64_t max_tokens)
{
    if (src->n != tgt->n) {
        ag_set_error("%" PRId64 " sentences in one language and %" PRId64 " in the other, expected the same number", src->n,
                     tgt->n);
        return NULL;
    }
    if (src->n > INT32_MAX) {
        ag_set_error("%" PRId64 " pairs of sentences, expected at most %" PRId32, src->n, INT32_MAX);
        return NULL;
    }
    SentencePairs *p = ag_alloc(1, sizeof *p);
    p->pair = ag_alloc_in(p, (size_t)src->n, sizeof *p->pair);
    for (int64_t i = 0; i < src->n; i++) {
        Pair pair = { sentence_of(p, src_vocab, src, i), sentence_of(p, tgt_vocab, tgt, i), 0 };
        bool empty = src->line[i].size == 0 || tgt->line[i].size == 0;
        if (empty || (max_tokens > 0 && longer_side(&pair) > max_tokens)) {
            p->left_out++;
        } else {
            p->pair[p->n++] = pair;
        }
    }
    if (p->n == 0) {
        char longer[64] = "";
        if (max_tokens) {
            snprintf(longer, sizeof longer, " or more than %" PRId64 " tokens", max_tokens);
        }
        ag_set_error("none of %" PRId64 " pairs of sentences can be used: each has an empty side%s", src->n, longer);
        ag_free(p);
        return NULL;
    }
    p->sorted = ag_alloc_in(p, (size_t)p->n, sizeof *p->sorted);
    p->start = ag_alloc_in(p, (size_t)p->n + 1, sizeof *p->start);
    p->batch_order = ag_alloc_in(p, (size_t)p->n, sizeof *p->batch_order);
    return p;
}

int64_t sentence_pairs_count(const SentencePairs *p)
{
    return p->n;
}

int64_t sentence_pairs_left_out(const SentencePairs *p)
{
    return p->left_out;
}

int64_t sentence_pairs_batches(const SentencePairs *p)
{
    return p->n_batches;
}

/* ---- an epoch's batches ------------------------------------------------------------------------------------------ */

static int compare_pairs(const void *left, const void *right)
{
    const Pair *a = *(Pair *const *)left, *b = *(Pair *const *)right;
    if (a->src.size != b->src.size) {
        return a->src.size < b->src.size ? -1 : 1;
    }
    if (a->tgt.size != b->tgt.size) {
        return a->tgt.size < b->tgt.size ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

static void cut_into_batches(SentencePairs *p, int64_t batch_tokens)
{
    int64_t rows = 0, longest = 0;                      /* of the last batch so far */
    p->n_batches = 0;
    p->next = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t length = longer_side(p->sorted[i]);
        if (length > longest) {
            longest = length;
        }
        rows++;
        if (i > 0 && rows * longest <= batch_tokens) {
            continue;
        }
        p->start[p->n_batches] = i;
        p->batch_order[p->n_batches] = (int32_t)p->n_batches;
        p->n_batches++;
        rows = 1;
        longest = length;
    }
    p->start[p->n_batches] = p->n;
}

static void begin_epoch(SentencePairs *p, int64_t batch_tokens, bool shuffles)
{
    for (int64_t i = 0; i < p->n; i++) {
        p->batch_order[i] = (int32_t)i;
    }
    if (shuffles) {
        ag_random_permutation(p->n, p->batch_order);
    }
    for (int64_t i = 0; i < p->n; i++) {
        p->sorted[i] = &p->pair[p->batch_order[i]];
        p->sorted[i]->place = i;
    }
    qsort(p->sorted, (size_t)p->n, sizeof *p->sorted, compare_pairs);
    cut_into_batches(p, batch_tokens);
    if (shuffles) {
        ag_random_permutation(p->n_batches, p->batch_order);
    }
}

void sentence_pairs_shuffle(SentencePairs *p, int64_t batch_tokens)
{
    begin_epoch(p, batch_tokens, true);
}

void sentence_pairs_sort(SentencePairs *p, int64_t batch_tokens)
{
    begin_epoch(p, batch_tokens, false);
}

bool sentence_pairs_next(void *pairs, TransformerBatch *batch)
{
    SentencePairs *p = pairs;
    if (p->next >= p->n_batches) {
        return false;
    }
    int64_t b = p->batch_order[p->next++], first = p->start[b], rows = p->start[b + 1] - first;
    Sentence *src = ag_scratch((size_t)rows, sizeof *src), *tgt = ag_scratch((size_t)rows, sizeof *tgt);
    for (int64_t i = 0; i < rows; i++) {
        src[i] = p->sorted[first + i]->src;
        tgt[i] = p->sorted[first + i]->tgt;
    }
    *batch = transformer_batch_new(sentences_pad(src, rows), sentences_pad(tgt, rows), KAERU_BLANK);
    return true;
}
