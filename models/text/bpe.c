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
    KaeruVocab *v = vocab_new(KAERU_BPE, &bpe_functions, tokens);
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

/* The slot of the node with that parent and byte; if there is none, a free one. */
static int32_t *slot_of(const BpeFinder *f, int32_t parent, unsigned char byte)
{
    uint64_t hash = ((uint64_t)(uint32_t)parent << 8 | byte) * 0x9e3779b97f4a7c15u;
    for (size_t i = (hash >> 32) & (f->n_slots - 1);; i = (i + 1) & (f->n_slots - 1)) {
        int32_t node = f->slot[i];
        if (node == 0 || (f->node[node].parent == parent && f->node[node].byte == byte)) {
            return &f->slot[i];
        }
    }
}

/* The node of the longest end of the bytes read so far, of which `node` is that without the last one. */
static int32_t next_node(const BpeFinder *f, int32_t node, unsigned char byte)
{
    int32_t next;
    while (!(next = *slot_of(f, node, byte)) && node > 0) {
        node = f->node[node].fail;
    }
    return next;
}

/* The child of a node, which is made if there is none. All nodes that are nearer to the root than it exist already. */
static int32_t child_of(BpeFinder *f, int32_t parent, unsigned char byte)
{
    int32_t *slot = slot_of(f, parent, byte);
    if (*slot == 0) {
        const BpeNode *above = &f->node[parent];
        int32_t fail = parent > 0 ? next_node(f, above->fail, byte) : 0;
        BpeNode *made = &f->node[f->n];
        *made = f->node[fail];                              /* what ends there ends here */
        made->fail = fail;
        made->parent = parent;
        made->depth = (uint16_t)(above->depth + 1);
        made->byte = byte;
        *slot = f->n++;
    }
    return *slot;
}

/* Makes the trie of the early or the late added tokens, one level after another. Of equal texts, the first one counts. */
static void finder_make(Bpe *b, BpeFinder *f, bool late)
{
    int32_t *going = ag_alloc((size_t)b->n_added, sizeof *going), live = 0;     /* the tokens that have more bytes */
    int32_t *node = ag_alloc((size_t)b->n_added, sizeof *node);                 /* that of each */
    size_t most = 1;
    for (int32_t i = 0; i < b->n_added; i++) {
        if (b->added[i].late == late) {
            going[live++] = i;
            most += b->added[i].size;
        }
    }
    *f = (BpeFinder){ .node = ag_alloc_in(b, most, sizeof *f->node), .n = 1, .n_slots = 2 };
    f->node[0].found[0] = f->node[0].found[1] = -1;
    while (f->n_slots < most + most / 2) {
        f->n_slots *= 2;
    }
    f->slot = ag_alloc_in(b, f->n_slots, sizeof *f->slot);
    for (size_t k = 0; live > 0; k++) {
        int32_t left = 0;
        for (int32_t j = 0; j < live; j++) {
            int32_t i = going[j], at = child_of(f, node[j], (unsigned char)b->added[i].text[k]);
            f->starts[(unsigned char)b->added[i].text[0]] = true;
            for (int special = b->added[i].special; b->added[i].size == k + 1 && special < 2; special++) {
                int32_t *found = &f->node[at].found[special];
                *found = *found >= 0 && b->added[*found].size == k + 1 ? *found : i;
            }
            if (b->added[i].size > k + 1) {
                going[left] = i;
                node[left++] = at;
            }
        }
        live = left;
    }
    ag_free(node);
    ag_free(going);
}

void bpe_set_added(Bpe *b, BpeAdded *added, int32_t n)
{
    ag_set_owner(added, b);
    ag_free(b->added);
    b->added = added;
    b->n_added = n;
    for (int32_t i = 0; i < n; i++) {
        const BpeAdded *a = &added[i];
        const Word *token = &b->tokens->word[a->id];
        if (a->letters) continue;
        if (a->size == token->size && memcmp(a->text, token->text, a->size) == 0) continue;
        if (!b->normal) b->normal = ag_alloc_in(b, (size_t)b->tokens->n, sizeof *b->normal);
        b->normal[a->id] = (Word){ a->text, a->size, 0 };
    }
    if (n) qsort(added, (size_t)n, sizeof *added, by_text);
    for (int late = 0; late < 2; late++) {
        ag_free(b->finder[late].node);
        ag_free(b->finder[late].slot);
        finder_make(b, &b->finder[late], late);
    }
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
    if (n > INT32_MAX) ag_usage_error("kaeru_vocab_encode", "a word of %zu bytes is too long", n);
    if (n > b->capacity) {
        size_t larger = n > 2 * b->capacity ? n : 2 * b->capacity;
        b->symbol = ag_resize_in(b, b->symbol, b->capacity, larger, sizeof *b->symbol);
        /* a merge takes a candidate away and adds at most two */
        b->heap = ag_resize_in(b, b->heap, 2 * b->capacity, 2 * larger, sizeof *b->heap);
        b->capacity = larger;
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

/* Encodes a word as merge_word or WordPiece does, from the cache if it is there. A long word, or one of many ids, is not
 * cached. */
static size_t encode_word(Bpe *b, const char *text, size_t n, int32_t *ids)
{
    int32_t whole = b->whole_words ? word_table_find(b->tokens, text, n) : -1;
    if (whole >= 0 && whole < b->n_vocab) {
        ids[0] = whole;
        return 1;
    }
    size_t (*split)(Bpe *b, const char *text, size_t n, int32_t *ids) = b->pieces.prefix ? wordpiece_encode : merge_word;
    if (n > BPE_CACHED_BYTES) return split(b, text, n, ids);
    BpeCached *c = &b->cache[word_hash(text, n) & (CACHE_SLOTS - 1)];
    if (c->size == n && memcmp(c->text, text, n) == 0) {
        for (int i = 0; i < c->count; i++) ids[i] = c->id[i];
        return c->count;
    }
    size_t count = split(b, text, n, ids);
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

/* The next added token from `from` on, and in *at its place: the leftmost one, and of these the longest; NULL if there is
 * none. */
static const BpeAdded *next_added(const Bpe *b, const char *text, size_t n, size_t from, bool special, bool late, size_t *at)
{
    const BpeFinder *f = &b->finder[late];
    const BpeAdded *found = NULL;
    int32_t node = 0;
    for (size_t i = from; i < n; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (node == 0 && !f->starts[byte]) {
            continue;
        }
        node = next_node(f, node, byte);
        int32_t ending = f->node[node].found[special];
        const BpeAdded *a = ending < 0 ? NULL : &b->added[ending];
        if (a && (!found || i + 1 - a->size <= *at)) {
            found = a;
            *at = i + 1 - a->size;
        }
        if (found && i + 1 - f->node[node].depth > *at) {
            break;
        }
    }
    return found;
}

/* Finds the early added tokens; between them, after the normalizer, the late ones; and encodes the text between all these. */
static void encode_text(Bpe *b, const char *text, size_t n, bool special, bool late, Ids *ids)
{
    const BpeAdded *added;
    size_t start = 0;
    do {
        size_t end = n;
        added = next_added(b, text, n, start, special, late, &end);
        const char *between = text + start;
        size_t size = end - start;
        char *normal = late ? NULL : bpe_normalize(&b->rules, &between, &size);
        if (late && size > 0) encode_pieces(b, between, size, 0, ids);
        else if (!late) encode_text(b, between, size, special, true, ids);
        ag_free(normal);
        if (added) {
            reserve(ids, 1);
            ids->id[ids->n++] = added->id;
            start = end + added->size;
        }
    } while (added);
}

/* Frees the buffers of long words, which are rare. */
static void forget_long_words(Bpe *b)
{
    enum { KEPT = 1 << 16 };
    if (b->capacity > KEPT) {
        ag_free(b->symbol);
        ag_free(b->heap);
        b->symbol = NULL;
        b->heap = NULL;
        b->capacity = 0;
    }
}

static int32_t *bpe_encode(const KaeruVocab *v, const char *text, size_t n, bool special, size_t *count)
{
    Ids ids = { 0 };
    reserve(&ids, n / 3 + 64);
    if (n > 0) encode_text(v->bpe, text, n, special, false, &ids);
    forget_long_words(v->bpe);
    *count = ids.n;
    return ag_resize(ids.id, ids.n, ids.n, sizeof *ids.id);         /* without the rest of the capacity */
}

/* ---- the functions of the kind ----------------------------------------------------------------------------------- */

/* <|endoftext|> is the token behind a text if the file names none. */
static int32_t bpe_special(const KaeruVocab *v, KaeruSpecial which)
{
    const Bpe *b = v->bpe;
    if (which == KAERU_UNKNOWN && b->pieces.prefix) return b->unknown;
    if (which == KAERU_START) return b->begin;
    if (which != KAERU_END) return -1;
    return b->end >= 0 ? b->end : b->end_of_text;
}

/* Whether a token is joined to the one before it by WordPiece's prefix. */
static bool is_joined(const Bpe *b, Word token)
{
    size_t prefix = b->pieces.prefix_size;
    return b->rules.joined && token.size >= prefix && memcmp(token.text, b->pieces.prefix, prefix) == 0;
}

/* An added token has its normal form. */
static Word bpe_decoded(const KaeruVocab *v, int32_t id, bool first)
{
    const Word *normal = v->bpe->normal;
    Word token = normal && normal[id].text ? normal[id] : v->tokens->word[id];
    size_t left_out = !first && is_joined(v->bpe, token) ? v->bpe->pieces.prefix_size : 0;
    return (Word){ token.text + left_out, token.size - left_out, 0 };
}

static bool bpe_spaced(const KaeruVocab *v, int32_t id)
{
    return v->bpe->rules.spaced && !is_joined(v->bpe, v->tokens->word[id]);
}

const VocabFunctions bpe_functions = { bpe_encode, bpe_special, bpe_decoded, bpe_spaced };
