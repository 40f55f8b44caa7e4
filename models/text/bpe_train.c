/* bpe_train.c: learns the merges of a byte-pair vocabulary from a text.
 *
 * Each different word of the text is a linked list of tokens, with a count of how often the word occurs. Each pair of
 * neighboring tokens has a record with its count and its positions. A merge visits only the positions of its pair, and
 * updates the counts of the pairs to the left and to the right. A heap gives the most frequent pair. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "bpe_parts.h"

/* A token of a word. `token` is -1 once it is merged into the previous one; previous and next are positions, -1 at the
 * ends of the word. */
typedef struct { int32_t token, previous, next, word; } Position;
typedef struct {
    int64_t count;
    int32_t left, right;
    int32_t *position;                                          /* of the left tokens; some have been merged since */
    size_t n, capacity;
    bool grown;                                                 /* it is in the list of pairs that have grown */
} Pair;
typedef struct { int64_t count; int32_t pair; } Candidate;      /* of the heap: a pair, with its count at that time */

typedef struct {
    void *owner;                                                /* holds what is needed only during training */
    WordTable *words;                                           /* the different words of the text, and their counts */
    Position *position;
    WordTable *pairs;                                           /* the tokens of each pair, as a word of two ids */
    Pair *pair;                                                 /* by number in `pairs` */
    size_t pair_capacity;
    Candidate *heap;
    size_t n_heap, heap_capacity;
    int32_t *grown;                                             /* the pairs that have grown since they were pushed */
    size_t n_grown, grown_capacity;
} Trainer;

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void count_words(Trainer *t, const char *text, size_t n)
{
    t->words = word_table_new(t->owner);
    for (size_t at = 0; at < n; at += strlen(BPE_END_OF_TEXT)) {
        size_t end = at + bpe_find_end_of_text(text + at, n - at);
        for (size_t length; at < end; at += length) {
            length = bpe_word(text + at, end - at);
            word_table_add(t->words, text + at, length);
        }
    }
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

static Pair *find_pair(Trainer *t, int32_t left, int32_t right)
{
    int32_t known = t->pairs->n, number = word_table_add(t->pairs, (const char *)(int32_t[]){ left, right }, 2 * sizeof left);
    if (number == known) {
        t->pair = array_for(t->owner, t->pair, (size_t)number + 1, &t->pair_capacity, sizeof *t->pair);
        t->pair[number] = (Pair){ .left = left, .right = right };
    }
    return &t->pair[number];
}

/* Adds a position to a pair: the position of its left token. */
static void add_position(Trainer *t, int32_t left, int32_t right, int32_t position)
{
    Pair *pair = find_pair(t, left, right);
    if (!pair->grown) {
        t->grown = array_for(t->owner, t->grown, t->n_grown + 1, &t->grown_capacity, sizeof *t->grown);
        t->grown[t->n_grown++] = (int32_t)(pair - t->pair);
        pair->grown = true;
    }
    pair->position = array_for(t->owner, pair->position, pair->n + 1, &pair->capacity, sizeof *pair->position);
    pair->position[pair->n++] = position;
    pair->count += t->words->word[t->position[position].word].count;
}

/* ---- the most frequent pair -------------------------------------------------------------------------------------- */

/* The order of the heap: by falling count, then by the pair's tokens. */
static bool goes_before(const Trainer *t, Candidate a, Candidate b)
{
    const Pair *p = &t->pair[a.pair], *q = &t->pair[b.pair];
    if (a.count != b.count) return a.count > b.count;
    return p->left != q->left ? p->left < q->left : p->right < q->right;
}

/* If the pair shrinks later, most_frequent corrects its candidate. */
static void push(Trainer *t, int32_t pair)
{
    Candidate c = { t->pair[pair].count, pair };
    t->heap = array_for(t->owner, t->heap, t->n_heap + 1, &t->heap_capacity, sizeof *t->heap);
    size_t i = t->n_heap++;
    for (; i > 0 && goes_before(t, c, t->heap[(i - 1) / 2]); i = (i - 1) / 2) t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = c;
}

/* A pair is pushed after each merge by which it has grown. */
static void push_grown(Trainer *t)
{
    for (size_t i = 0; i < t->n_grown; i++) {
        t->pair[t->grown[i]].grown = false;
        push(t, t->grown[i]);
    }
    t->n_grown = 0;
}

static Candidate pop(Trainer *t)
{
    Candidate first = t->heap[0], last = t->heap[--t->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < t->n_heap; i = child) {
        if (child + 1 < t->n_heap && goes_before(t, t->heap[child + 1], t->heap[child])) child++;
        if (goes_before(t, last, t->heap[child])) break;
        t->heap[i] = t->heap[child];
    }
    t->heap[i] = last;
    return first;
}

/* The most frequent pair; -1 if none occurs twice. */
static int32_t most_frequent(Trainer *t)
{
    while (t->n_heap > 0) {
        Candidate c = pop(t);
        int64_t count = t->pair[c.pair].count;
        if (count == c.count && count > 1) return c.pair;
        if (count < c.count && count > 1) push(t, c.pair);
    }
    return -1;
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static int compare_positions(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* Replaces the pair by the token `merged` at all of its positions, from left to right. */
static void merge_pair(Trainer *t, int32_t number, int32_t merged)
{
    Pair pair = t->pair[number];
    qsort(pair.position, pair.n, sizeof *pair.position, compare_positions);
    for (size_t i = 0; i < pair.n; i++) {
        int32_t at = pair.position[i];
        Position *a = &t->position[at], *b = a->next < 0 ? NULL : &t->position[a->next];
        if (a->token != pair.left || !b || b->token != pair.right) continue;    /* another merge has changed it */
        int64_t count = t->words->word[a->word].count;
        a->token = merged;
        b->token = -1;
        a->next = b->next;
        if (a->previous >= 0) {
            int32_t previous = t->position[a->previous].token;
            find_pair(t, previous, pair.left)->count -= count;
            add_position(t, previous, merged, a->previous);
        }
        if (a->next >= 0) {
            int32_t next = t->position[a->next].token;
            t->position[a->next].previous = at;
            find_pair(t, pair.right, next)->count -= count;
            add_position(t, merged, next, at);
        }
    }
    ag_free(pair.position);
    t->pair[number] = (Pair){ .left = pair.left, .right = pair.right };     /* in aaa, overlapping pairs were counted twice */
    push_grown(t);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Makes each word a list of the tokens of its bytes, and counts the pairs. */
static bool make_positions(Trainer *t, const int32_t of_byte[256])
{
    const WordTable *words = t->words;
    size_t n = 0;
    for (int32_t w = 0; w < words->n; w++) n += words->word[w].size;
    if (n > INT32_MAX / 4)
        return ag_set_error("expected at most %d bytes of different words, found %zu", INT32_MAX / 4, n);
    t->position = ag_alloc_in(t->owner, n, sizeof *t->position);
    int32_t at = 0;
    for (int32_t w = 0; w < words->n; w++) {
        int32_t size = (int32_t)words->word[w].size;
        for (int32_t k = 0; k < size; k++, at++)
            t->position[at] = (Position){ of_byte[(unsigned char)words->word[w].text[k]], k ? at - 1 : -1,
                                          k + 1 < size ? at + 1 : -1, w };
        for (int32_t k = at - size; k + 1 < at; k++)
            add_position(t, t->position[k].token, t->position[k + 1].token, k);
    }
    push_grown(t);
    return true;
}

/* The bytes of two tokens, joined. */
static Word join(void *owner, Word a, Word b)
{
    char *text = ag_alloc_in(owner, a.size + b.size + 1, 1);
    memcpy(text, a.text, a.size);
    memcpy(text + a.size, b.text, b.size);
    return (Word){ text, a.size + b.size, 0 };
}

/* If two different merges make the same bytes, they make the same token: its id is given once. */
static KaeruVocab *learn(Trainer *t, const char *text, size_t n, int32_t size)
{
    int32_t of_byte[256];
    WordTable *tokens = word_table_new(t->owner);
    BpeBytes bytes = bpe_bytes();
    for (int code = 0; code < BPE_CODES; code++) {
        int byte = bytes.byte[code];
        if (byte >= 0) of_byte[byte] = word_table_add(tokens, &(char){ (char)byte }, 1);
    }
    t->pairs = word_table_new(t->owner);
    count_words(t, text, n);
    if (!make_positions(t, of_byte)) return NULL;

    size_t n_merges = 0, capacity = 0;
    BpeMerge *merge = array_for(t->owner, NULL, 1, &capacity, sizeof *merge);
    while (tokens->n < size - 1) {
        int32_t number = most_frequent(t);
        if (number < 0) break;
        const Pair *pair = &t->pair[number];
        Word joined = join(t->owner, tokens->word[pair->left], tokens->word[pair->right]);
        int32_t merged = word_table_add(tokens, joined.text, joined.size);
        merge = array_for(t->owner, merge, n_merges + 1, &capacity, sizeof *merge);
        merge[n_merges++] = (BpeMerge){ pair->left, pair->right, merged };
        merge_pair(t, number, merged);
    }
    word_table_add(tokens, BPE_END_OF_TEXT, strlen(BPE_END_OF_TEXT));
    return bpe_new(tokens, merge, (int32_t)n_merges);
}

KaeruVocab *kaeru_vocab_bpe(KaeruVocabKind kind, const char *text, size_t n, int32_t size)
{
    AG_LAYER;
    check_text(__func__, "text", text, n);
    if (kind != KAERU_BPE && kind != KAERU_SENTENCE_BPE)
        ag_usage_error(__func__, "kind is %d, expected KAERU_BPE or KAERU_SENTENCE_BPE", (int)kind);
    int32_t special = kind == KAERU_SENTENCE_BPE ? N_SPECIAL : 0, least = 257 + special;
    bool good = size >= least ||
                ag_set_error("expected a vocabulary of at least %d tokens, bytes, %s and special tokens, found %d", (int)least,
                             BPE_END_OF_TEXT, (int)size);
    if (!good) return NULL;
    Trainer t = { .owner = ag_alloc(1, 1) };
    KaeruVocab *v = learn(&t, text, n, size - special);
    if (v) v->kind = kind;
    ag_free(t.owner);
    return v;
}
