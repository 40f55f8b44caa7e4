/* sentence_pairs.c: pairs of sentences as ids, and batches of pairs of similar length. */
#include <inttypes.h>
#include <stdlib.h>

#include "sentence_vocab.h"

typedef struct { int32_t *src, *tgt; int64_t src_size, tgt_size; } Pair;

/* The sort key of a pair: its lengths, then its index before sorting, which makes the order unique. */
typedef struct { int64_t src_size, tgt_size, index; int32_t pair; } SortKey;

struct SentencePairs {
    void *owner;
    Pair *pair;
    int64_t n, left_out;
    SortKey *key;                /* buffer for sorting */
    /* The epoch. Batch b has the pairs order[start[b]..start[b+1]-1]; batch_order has the batches in the order of the
     * epoch, and `next` is the index of the next one there. */
    int32_t *order, *batch_order;
    int64_t *start;
    int64_t n_batches, next;
};

static int64_t longer_side(const Pair *pair)
{
    return pair->src_size > pair->tgt_size ? pair->src_size : pair->tgt_size;
}

SentencePairs *sentence_pairs_new(const Lines *src, const SentenceVocab *src_vocab, const Lines *tgt,
                                  const SentenceVocab *tgt_vocab, int64_t max_tokens)
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
    void *owner = ag_alloc(1, 1);
    SentencePairs *p = ag_alloc_in(owner, 1, sizeof *p);
    p->owner = owner;
    p->pair = ag_alloc_in(owner, (size_t)src->n, sizeof *p->pair);
    for (int64_t i = 0; i < src->n; i++) {
        Pair pair;
        pair.src = sentence_encode_in(owner, src_vocab, src->line[i], &pair.src_size);
        pair.tgt = sentence_encode_in(owner, tgt_vocab, tgt->line[i], &pair.tgt_size);
        bool empty = src->line[i].size == 0 || tgt->line[i].size == 0;
        if (empty || (max_tokens > 0 && longer_side(&pair) > max_tokens)) p->left_out++;
        else p->pair[p->n++] = pair;
    }
    if (p->n == 0) {
        ag_set_error("none of %" PRId64 " pairs of sentences can be used: each has an empty side or more than %" PRId64
                     " tokens", src->n, max_tokens);
        ag_free(owner);
        return NULL;
    }
    p->order = ag_alloc_in(owner, (size_t)p->n, sizeof *p->order);
    p->key = ag_alloc_in(owner, (size_t)p->n, sizeof *p->key);
    p->start = ag_alloc_in(owner, (size_t)p->n + 1, sizeof *p->start);
    p->batch_order = ag_alloc_in(owner, (size_t)p->n, sizeof *p->batch_order);
    return p;
}

void sentence_pairs_free(SentencePairs *p)
{
    if (p) ag_free(p->owner);
}

int64_t sentence_pairs_count(const SentencePairs *p)
{
    return p->n;
}

int64_t sentence_pairs_left_out(const SentencePairs *p)
{
    return p->left_out;
}

/* ---- an epoch's batches ------------------------------------------------------------------------------------------ */

static int compare_keys(const void *left, const void *right)
{
    const SortKey *a = left, *b = right;
    if (a->src_size != b->src_size) return a->src_size < b->src_size ? -1 : 1;
    if (a->tgt_size != b->tgt_size) return a->tgt_size < b->tgt_size ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void sort_by_length(SentencePairs *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        const Pair *pair = &p->pair[p->order[i]];
        p->key[i] = (SortKey){ pair->src_size, pair->tgt_size, i, p->order[i] };
    }
    qsort(p->key, (size_t)p->n, sizeof *p->key, compare_keys);
    for (int64_t i = 0; i < p->n; i++) p->order[i] = p->key[i].pair;
}

static void cut_into_batches(SentencePairs *p, int64_t batch_tokens)
{
    int64_t rows = 0, longest = 0;                      /* of the last batch so far */
    p->n_batches = 0;
    p->next = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t length = longer_side(&p->pair[p->order[i]]);
        if (length > longest) longest = length;
        rows++;
        if (i > 0 && rows * longest <= batch_tokens) continue;
        p->start[p->n_batches] = i;
        p->batch_order[p->n_batches] = (int32_t)p->n_batches;
        p->n_batches++;
        rows = 1;
        longest = length;
    }
    p->start[p->n_batches] = p->n;
}

static void check_tokens(const char *what, int64_t batch_tokens)
{
    if (batch_tokens < 1) ag_usage_error(AG_HERE, what, "batches of %" PRId64 " tokens, expected 1 or more", batch_tokens);
}

void sentence_pairs_shuffle(SentencePairs *p, int64_t batch_tokens)
{
    check_tokens("sentence_pairs_shuffle", batch_tokens);
    ag_random_permutation(p->n, p->order);
    sort_by_length(p);
    cut_into_batches(p, batch_tokens);
    ag_random_permutation(p->n_batches, p->batch_order);
}

void sentence_pairs_sort(SentencePairs *p, int64_t batch_tokens)
{
    check_tokens("sentence_pairs_sort", batch_tokens);
    for (int64_t i = 0; i < p->n; i++) p->order[i] = (int32_t)i;
    sort_by_length(p);
    cut_into_batches(p, batch_tokens);
}

int64_t sentence_pairs_batches(const SentencePairs *p)
{
    return p->n_batches;
}

bool sentence_pairs_next(void *pairs, Batch *batch)
{
    SentencePairs *p = pairs;
    if (p->next >= p->n_batches) return false;
    int64_t b = p->batch_order[p->next++], first = p->start[b], rows = p->start[b + 1] - first;
    int64_t src_length = 0, tgt_length = 0;
    for (int64_t i = 0; i < rows; i++) {
        const Pair *pair = &p->pair[p->order[first + i]];
        if (pair->src_size > src_length) src_length = pair->src_size;
        if (pair->tgt_size > tgt_length) tgt_length = pair->tgt_size;
    }
    Tensor *src = tensor_ints(SHAPE(rows, src_length), NULL), *tgt = tensor_ints(SHAPE(rows, tgt_length), NULL);
    for (int64_t i = 0; i < rows; i++) {
        const Pair *pair = &p->pair[p->order[first + i]];
        int32_t *s = tensor_int_data(src) + i * src_length, *t = tensor_int_data(tgt) + i * tgt_length;
        for (int64_t j = 0; j < src_length; j++) s[j] = j < pair->src_size ? pair->src[j] : WORD_BLANK;
        for (int64_t j = 0; j < tgt_length; j++) t[j] = j < pair->tgt_size ? pair->tgt[j] : WORD_BLANK;
    }
    *batch = batch_new(src, tgt, WORD_BLANK);
    return true;
}
