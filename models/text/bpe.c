/* bpe.c: encodes text as ids of a byte-pair vocabulary. */
#include "bpe_parts.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "utf8.h"

enum { CACHE_SLOTS = 1 << 15 };

/* ---- construction ------------------------------------------------------------------------------------------------ */

/* The slot that has the rank of this pair's merge; if there is none, a free slot, which has -1. */
static int32_t *rank_of(const Bpe *b, int32_t left, int32_t right)
{
    uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    for (size_t i = (hash >> 32) & (b->n_slots - 1);; i = (i + 1) & (b->n_slots - 1)) {
        int32_t rank = b->slot[i];
        if (rank < 0 || (b->merge[rank].left == left && b->merge[rank].right == right)) return &b->slot[i];
    }
}

KaeruVocab *bpe_new(WordTable *tokens, BpeMerge *merge, int32_t n_merges)
{
    KaeruVocab *v = vocab_new(KAERU_BPE, tokens);
    Bpe *b = v->bpe = ag_alloc_in(v, 1, sizeof *b);
    *b = (Bpe){ .tokens = tokens, .merge = merge, .n_merges = n_merges, .n_slots = 1024, .begin = -1, .end = -1,
                  .unknown = -1, .rules = { .split = { BPE_GPT2 }, .n_split = 1 }, .n_vocab = tokens->n };
    ag_set_owner(merge, b);
    b->end_of_text = word_table_find(tokens, BPE_END_OF_TEXT, strlen(BPE_END_OF_TEXT));
    for (int i = 0; i < 256; i++) b->of_byte[i] = word_table_find(tokens, &(char){ (char)i }, 1);
    while (b->n_slots / 2 < (size_t)n_merges) b->n_slots *= 2;
    b->slot = ag_alloc_in(b, b->n_slots, sizeof *b->slot);
    for (size_t i = 0; i < b->n_slots; i++) b->slot[i] = -1;
    for (int32_t rank = 0; rank < n_merges; rank++) *rank_of(b, merge[rank].left, merge[rank].right) = rank;
    b->cache = ag_alloc_in(b, CACHE_SLOTS, sizeof *b->cache);
    BpeAdded *end = ag_alloc(1, sizeof *end);
    *end = (BpeAdded){ .text = BPE_END_OF_TEXT, .size = strlen(BPE_END_OF_TEXT), .id = b->end_of_text, .special = true };
    bpe_set_added(b, end, b->end_of_text >= 0);
    return v;
}

/* By bytes: one with which another begins comes before it. Of equal texts, the smaller id. */
static int by_text(const void *left, const void *right)
{
    const BpeAdded *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (order != 0) return order;
    return a->size != b->size ? (a->size < b->size ? -1 : 1) : a->id < b->id ? -1 : 1;
}

void bpe_set_added(Bpe *b, BpeAdded *added, int32_t n)
{
    ag_set_owner(added, b);
    ag_free(b->added);
    b->added = added;
    b->n_added = n;
    memset(b->starts_added, 0, sizeof b->starts_added);
    for (int32_t i = 0; i < n; i++) {
        const BpeAdded *a = &added[i];
        const Word *token = &b->tokens->word[a->id];
        b->starts_added[(unsigned char)a->text[0]] = true;
        if (a->letters) continue;
        if (a->size == token->size && memcmp(a->text, token->text, a->size) == 0) continue;
        if (!b->normal) b->normal = ag_alloc_in(b, (size_t)b->tokens->n, sizeof *b->normal);
        b->normal[a->id] = (Word){ a->text, a->size, 0 };
    }
    if (n) qsort(added, (size_t)n, sizeof *added, by_text);
}

/* ---- one word ---------------------------------------------------------------------------------------------------- */

/* Adds a candidate to a heap of n. The smallest is heap[0]. */
static void push(uint64_t *heap, size_t n, uint64_t candidate)
{
    while (n > 0 && heap[(n - 1) / 2] > candidate) {
        heap[n] = heap[(n - 1) / 2];
        n = (n - 1) / 2;
    }
    heap[n] = candidate;
}

/* Removes the smallest of n candidates. */
static void pop(uint64_t *heap, size_t n)
{
    uint64_t last = heap[n - 1];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < n - 1; i = child) {
        if (child + 1 < n - 1 && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= last) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
}

/* If symbol i and the next one have a merge, adds it to the heap of n candidates. Returns the heap's new size. */
static size_t add_candidate(Bpe *b, size_t n, int32_t i)
{
    int32_t next = i < 0 ? -1 : b->symbol[i].next;
    int32_t rank = next < 0 ? -1 : *rank_of(b, b->symbol[i].id, b->symbol[next].id);
    if (rank < 0) return n;
    push(b->heap, n, (uint64_t)rank << 32 | (uint32_t)i);
    return n + 1;
}

/* The id of the byte, or of the character, with which a text of n bytes begins, and in *length its bytes; -1: it is no
 * token. */
static int32_t first_token(const Bpe *b, const char *text, size_t n, size_t *length)
{
    uint32_t code;
    int size = b->rules.characters ? utf8_decode(text, n, &code) : 1;
    *length = size ? (size_t)size : 1;
    int32_t id = b->rules.characters ? word_table_find(b->tokens, text, *length) : b->of_byte[(unsigned char)text[0]];
    return id < b->n_vocab ? id : -1;
}

/* Encodes a word of n bytes; returns its number of ids. Each step applies the merge of lowest rank, and of equal ranks
 * the leftmost one; with the heap, this takes O(n log n). A candidate whose symbols have changed is skipped. */
static size_t merge_word(Bpe *b, const char *text, size_t n, int32_t *ids)
{
    if (n > INT32_MAX) ag_usage_error(AG_HERE, "kaeru_vocab_encode", "a word of %zu bytes is too long", n);
    if (n > b->capacity) {
        b->symbol = ag_resize_in(b, b->symbol, b->capacity, 2 * n, sizeof *b->symbol);
        b->heap = ag_resize_in(b, b->heap, 3 * b->capacity, 6 * n, sizeof *b->heap);
        b->capacity = 2 * n;
    }
    BpeSymbol *symbol = b->symbol;
    size_t candidates = 0, count = 0;
    int32_t symbols = 0;
    bool was_unknown = false;
    for (size_t i = 0, length; i < n; i += length) {
        int32_t id = first_token(b, text + i, n - i, &length);
        bool unknown = id < 0, fused = unknown && was_unknown && b->fuses_unknown;
        was_unknown = unknown;
        if (unknown) id = b->unknown;
        if (id < 0 || fused) continue;
        symbol[symbols] = (BpeSymbol){ id, symbols - 1, symbols + 1 };
        symbols++;
    }
    if (symbols == 0) return 0;
    symbol[symbols - 1].next = -1;
    for (int32_t i = 0; i < symbols; i++) candidates = add_candidate(b, candidates, i);
    while (candidates > 0) {
        const BpeMerge *merge = &b->merge[b->heap[0] >> 32];
        int32_t i = (int32_t)(uint32_t)b->heap[0];
        pop(b->heap, candidates--);
        int32_t next = symbol[i].next;
        if (symbol[i].id != merge->left || next < 0 || symbol[next].id != merge->right) continue;
        symbol[i].id = merge->result;
        symbol[i].next = symbol[next].next;
        symbol[next].id = -1;
        if (symbol[i].next >= 0) symbol[symbol[i].next].previous = i;
        candidates = add_candidate(b, candidates, symbol[i].previous);
        candidates = add_candidate(b, candidates, i);
    }
    for (int32_t i = 0; i >= 0; i = symbol[i].next) ids[count++] = symbol[i].id;
    return count;
}

/* Encodes a word as merge_word does, from the cache if it is there. A long word, or one of many ids, is not cached. */
static size_t encode_word(Bpe *b, const char *text, size_t n, int32_t *ids)
{
    int32_t whole = b->whole_words ? word_table_find(b->tokens, text, n) : -1;
    if (whole >= 0 && whole < b->n_vocab) {
        ids[0] = whole;
        return 1;
    }
    if (n > BPE_CACHED_BYTES) return merge_word(b, text, n, ids);
    BpeCached *c = &b->cache[word_hash(text, n) & (CACHE_SLOTS - 1)];
    if (c->size == n && memcmp(c->text, text, n) == 0) {
        for (int i = 0; i < c->count; i++) ids[i] = c->id[i];
        return c->count;
    }
    size_t count = merge_word(b, text, n, ids);
    if (count <= BPE_CACHED_IDS) {
        c->size = (uint8_t)n;
        c->count = (uint8_t)count;
        memcpy(c->text, text, n);
        memcpy(c->id, ids, count * sizeof *ids);
    }
    return count;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

typedef struct { int32_t *id; size_t n, capacity; } Ids;

static void reserve(Ids *ids, size_t more)
{
    ids->id = array_for(NULL, ids->id, ids->n + more, &ids->capacity, sizeof *ids->id);
}

/* Splits n bytes by the rules from `rule` on, and encodes each piece. */
static void encode_pieces(Bpe *b, const char *text, size_t n, int rule, Ids *ids)
{
    if (rule == b->rules.n_split) {
        reserve(ids, n);
        ids->n += encode_word(b, text, n, ids->id + ids->n);
    } else if (b->rules.split[rule] == BPE_PREFIX_SPACE && text[0] != ' ') {
        char *spaced = ag_alloc(n + 1, 1);
        spaced[0] = ' ';
        memcpy(spaced + 1, text, n);
        encode_pieces(b, spaced, n + 1, rule + 1, ids);
        ag_free(spaced);
    } else {
        bool kept;
        for (size_t i = 0, length; i < n; i += length) {
            length = bpe_piece(b->rules.split[rule], text + i, n - i, &kept);
            if (kept) encode_pieces(b, text + i, length, rule + 1, ids);
        }
    }
}

/* Of the added tokens from `low` to high - 1, which differ first in byte k, the first one with this byte or a higher one. */
static int32_t first_with(const BpeAdded *added, int32_t low, int32_t high, size_t k, int byte)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((unsigned char)added[middle].text[k] < byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The longest added token with which the text begins; NULL if there is none. */
static const BpeAdded *added_at(const Bpe *b, const char *text, size_t n, bool special, bool late)
{
    const BpeAdded *a = b->added, *longest = NULL;
    int32_t low = 0, high = b->starts_added[(unsigned char)text[0]] ? b->n_added : 0;
    for (size_t k = 0; low < high; k++) {
        /* those from low to high - 1 have the text's first k bytes; those that end there come first */
        const BpeAdded *found = NULL;
        for (; low < high && a[low].size == k; low++)
            if (!found && a[low].late == late && (special || !a[low].special)) found = &a[low];
        if (found) longest = found;
        if (low == high || k == n) break;
        unsigned char byte = (unsigned char)text[k];
        if ((unsigned char)a[low].text[k] == byte && (unsigned char)a[high - 1].text[k] == byte) continue;
        low = first_with(a, low, high, k, byte);
        high = first_with(a, low, high, k, byte + 1);
    }
    return longest;
}

/* Finds the early added tokens; between them, after the normalizer, the late ones; and encodes the text between all these. */
static void encode_text(Bpe *b, const char *text, size_t n, bool special, bool late, Ids *ids)
{
    size_t start = 0;
    for (size_t i = 0; i <= n; i++) {
        const BpeAdded *added = i < n ? added_at(b, text + i, n - i, special, late) : NULL;
        if (i < n && !added) continue;
        const char *between = text + start;
        size_t size = i - start;
        char *normal = late ? NULL : bpe_normalize(&b->rules, &between, &size);
        if (late && size > 0) encode_pieces(b, between, size, 0, ids);
        else if (!late) encode_text(b, between, size, special, true, ids);
        ag_free(normal);
        if (!added) return;
        reserve(ids, 1);
        ids->id[ids->n++] = added->id;
        start = i + added->size;
        i = start - 1;
    }
}

int32_t *bpe_encode(const KaeruVocab *v, const char *text, size_t n, bool special, size_t *count)
{
    Ids ids = { 0 };
    reserve(&ids, n / 3 + 64);
    if (n > 0) encode_text(v->bpe, text, n, special, false, &ids);
    *count = ids.n;
    return ag_resize(ids.id, ids.n, ids.n, sizeof *ids.id);         /* without the rest of the capacity */
}
