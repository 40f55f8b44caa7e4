/* bpe_train.c: learns merges from a text.
 *
 * The text's different words, each with its count, lie one behind the other as lists of tokens. For each pair of
 * neighbors there is a record of how often it occurs and at which places. A merge visits only its own places, and there
 * changes the counts of the pairs to the left and to the right; a heap gives the most frequent pair. */
#include <stdlib.h>
#include <string.h>

#include "bpe_parts.h"
#include "bpe_words.h"

typedef struct { int32_t token, before, after, word; } Place;   /* -1: merged away; nothing before, after in the word */
typedef struct { int32_t place, older; } Entry;                 /* in a pair's list of places; older -1: the last */
typedef struct {
    int64_t count;
    int32_t left, right, newest;                                /* newest: its list of entries, -1 if empty */
    bool grown;                                                 /* during this merge, so that the heap must know */
} Pair;
typedef struct { int64_t count; int32_t pair; } Candidate;

typedef struct {
    Region *region;                                             /* holds what is needed only during training */
    int64_t *word_count;
    Place *place;
    Entry *entry;
    size_t n_entries, entry_room;
    int32_t free_entry;                                         /* list of those that can be used again */
    Pair *pair;
    size_t n_pairs, pair_room;
    int32_t *slot;                                              /* hash table from tokens to pairs; -1: free */
    size_t n_slots;                                             /* a power of two */
    Candidate *heap;
    size_t n_heap, heap_room;
    int32_t *grown, *visit;                                     /* pairs that have grown; the places of a merge */
    size_t n_grown, grown_room, visit_room;
} Trainer;

/* Makes room for item number n of an array that has `room`. */
static void *with_room(Region *region, void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room) return array;
    size_t larger = *room ? 2 * *room : 1024;
    array = region_resize(region, array, *room, larger, size);
    *room = larger;
    return array;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static WordTable *count_words(Trainer *t, const char *text, size_t n)
{
    WordTable *words = word_table_new(t->region);
    size_t room = 0;
    for (size_t at = 0; at < n; at += strlen(BPE_END_OF_TEXT)) {
        size_t end = at + bpe_find_end_of_text(text + at, n - at);
        for (size_t length; at < end; at += length) {
            length = bpe_word(text + at, end - at);
            size_t i = (size_t)word_table_add(words, text + at, length);
            t->word_count = with_room(t->region, t->word_count, i, &room, sizeof *t->word_count);
            t->word_count[i]++;
        }
    }
    return words;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* The slot of a pair, or the free one where it would go. */
static int32_t *look_up(const Trainer *t, int32_t left, int32_t right)
{
    for (size_t i = bpe_hash_pair(left, right) & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1)) {
        int32_t *slot = &t->slot[i];
        if (*slot < 0 || (t->pair[*slot].left == left && t->pair[*slot].right == right)) return slot;
    }
}

static void make_slots(Trainer *t, size_t n)
{
    t->slot = region_resize(t->region, t->slot, t->n_slots, n, sizeof *t->slot);
    t->n_slots = n;
    for (size_t i = 0; i < n; i++) t->slot[i] = -1;
    for (size_t i = 0; i < t->n_pairs; i++) *look_up(t, t->pair[i].left, t->pair[i].right) = (int32_t)i;
}

static Pair *find_pair(Trainer *t, int32_t left, int32_t right)
{
    int32_t *slot = look_up(t, left, right);
    if (*slot < 0) {
        if (t->n_pairs >= t->n_slots / 2) {
            make_slots(t, 2 * t->n_slots);
            slot = look_up(t, left, right);
        }
        t->pair = with_room(t->region, t->pair, t->n_pairs, &t->pair_room, sizeof *t->pair);
        t->pair[t->n_pairs] = (Pair){ .left = left, .right = right, .newest = -1 };
        *slot = (int32_t)t->n_pairs++;
    }
    return &t->pair[*slot];
}

/* Notes that a pair begins at this place. */
static void add_place(Trainer *t, int32_t left, int32_t right, int32_t place)
{
    Pair *pair = find_pair(t, left, right);
    int32_t i = t->free_entry;
    if (i >= 0) t->free_entry = t->entry[i].older;
    else {
        t->entry = with_room(t->region, t->entry, t->n_entries, &t->entry_room, sizeof *t->entry);
        i = (int32_t)t->n_entries++;
    }
    t->entry[i] = (Entry){ place, pair->newest };
    pair->newest = i;
    pair->count += t->word_count[t->place[place].word];
    if (pair->grown) return;
    pair->grown = true;
    t->grown = with_room(t->region, t->grown, t->n_grown, &t->grown_room, sizeof *t->grown);
    t->grown[t->n_grown++] = (int32_t)(pair - t->pair);
}

/* ---- the most frequent pair -------------------------------------------------------------------------------------- */

/* By falling count, then by the pair's tokens. */
static bool goes_before(const Trainer *t, Candidate a, Candidate b)
{
    const Pair *p = &t->pair[a.pair], *q = &t->pair[b.pair];
    if (a.count != b.count) return a.count > b.count;
    return p->left != q->left ? p->left < q->left : p->right < q->right;
}

static void push(Trainer *t, int32_t pair)
{
    Candidate c = { t->pair[pair].count, pair };
    t->heap = with_room(t->region, t->heap, t->n_heap, &t->heap_room, sizeof *t->heap);
    size_t i = t->n_heap++;
    for (; i > 0 && goes_before(t, c, t->heap[(i - 1) / 2]); i = (i - 1) / 2) t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = c;
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

/* Tells the heap of the pairs that have grown. Those that have shrunk are corrected when they come to its top. */
static void push_grown(Trainer *t)
{
    for (size_t i = 0; i < t->n_grown; i++) {
        t->pair[t->grown[i]].grown = false;
        push(t, t->grown[i]);
    }
    t->n_grown = 0;
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

static int compare_places(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* Empties a pair's list into t->visit, in the order of the text; returns how many there are. */
static size_t take_places(Trainer *t, Pair *pair)
{
    size_t n = 0;
    bool sorted = true;
    while (pair->newest >= 0) {
        int32_t i = pair->newest;
        t->visit = with_room(t->region, t->visit, n, &t->visit_room, sizeof *t->visit);
        t->visit[n++] = t->entry[i].place;
        if (n > 1 && t->visit[n - 1] > t->visit[n - 2]) sorted = false;
        pair->newest = t->entry[i].older;
        t->entry[i].older = t->free_entry;
        t->free_entry = i;
    }
    for (size_t i = 0; i < n / 2; i++) {                        /* the newest, often the last in the text, came first */
        int32_t other = t->visit[i];
        t->visit[i] = t->visit[n - 1 - i];
        t->visit[n - 1 - i] = other;
    }
    if (!sorted) qsort(t->visit, n, sizeof *t->visit, compare_places);
    return n;
}

/* Makes `merged` of the pair wherever it stands. */
static void merge_pair(Trainer *t, int32_t number, int32_t merged)
{
    int32_t left = t->pair[number].left, right = t->pair[number].right;
    size_t n = take_places(t, &t->pair[number]);
    for (size_t i = 0; i < n; i++) {
        Place *a = &t->place[t->visit[i]], *b = a->after < 0 ? NULL : &t->place[a->after];
        if (a->token != left || !b || b->token != right) continue;      /* gone since it was noted */
        int64_t count = t->word_count[a->word];
        a->token = merged;
        b->token = -1;
        a->after = b->after;
        if (a->before >= 0) {
            int32_t before = t->place[a->before].token;
            find_pair(t, before, left)->count -= count;
            add_place(t, before, merged, a->before);
        }
        if (a->after >= 0) {
            int32_t after = t->place[a->after].token;
            t->place[a->after].before = t->visit[i];
            find_pair(t, right, after)->count -= count;
            add_place(t, merged, after, t->visit[i]);
        }
    }
    t->pair[number].count = 0;                                  /* overlaps, as in aaa, have been counted twice */
    push_grown(t);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* Lays out the words of two bytes and more, and notes their pairs. */
static bool lay_out(Trainer *t, const WordTable *words, const int32_t of_byte[256])
{
    size_t n = 0;
    for (int32_t w = 0; w < words->n; w++) n += words->word[w].size;
    if (n > INT32_MAX / 4)
        return ag_set_error("expected at most %d bytes of different words, found %zu", INT32_MAX / 4, n);
    t->place = region_alloc(t->region, n, sizeof *t->place);
    int32_t at = 0;
    for (int32_t w = 0; w < words->n; w++) {
        int32_t size = (int32_t)words->word[w].size;
        for (int32_t k = 0; k < size; k++, at++)
            t->place[at] = (Place){ of_byte[(unsigned char)words->word[w].text[k]], k ? at - 1 : -1,
                                    k + 1 < size ? at + 1 : -1, w };
        for (int32_t k = at - size; k + 1 < at; k++) add_place(t, t->place[k].token, t->place[k + 1].token, k);
    }
    push_grown(t);
    return true;
}

/* The two tokens' bytes in one piece. */
static Word join(Region *region, Word a, Word b)
{
    char *text = region_alloc(region, a.size + b.size + 1, 1);
    memcpy(text, a.text, a.size);
    memcpy(text + a.size, b.text, b.size);
    return (Word){ text, a.size + b.size };
}

/* Two different merges may make the same token; it is the same id then. */
static Bpe *learn(Trainer *t, Region *region, const char *text, size_t n, int32_t size)
{
    uint8_t order[256];
    int32_t of_byte[256];
    WordTable *tokens = word_table_new(region);
    bpe_byte_order(order);
    for (int i = 0; i < 256; i++) of_byte[order[i]] = word_table_add(tokens, (const char *)&order[i], 1);
    make_slots(t, 1 << 12);
    if (!lay_out(t, count_words(t, text, n), of_byte)) return NULL;

    BpeMerge *merge = NULL;
    size_t n_merges = 0, room = 0;
    while (tokens->n < size - 1) {
        int32_t number = most_frequent(t);
        if (number < 0) break;
        const Pair *pair = &t->pair[number];
        Word joined = join(t->region, tokens->word[pair->left], tokens->word[pair->right]);
        int32_t merged = word_table_add(tokens, joined.text, joined.size);
        merge = with_room(region, merge, n_merges, &room, sizeof *merge);
        merge[n_merges++] = (BpeMerge){ pair->left, pair->right, merged };
        merge_pair(t, number, merged);
    }
    word_table_add(tokens, BPE_END_OF_TEXT, strlen(BPE_END_OF_TEXT));
    return bpe_new(region, tokens->word, tokens->n, merge, (int32_t)n_merges);
}

Bpe *bpe_train(const char *text, size_t n, int32_t size)
{
    if (size < 257) {
        ag_set_error("expected a vocabulary of at least 257 tokens, bytes and %s, found %d", BPE_END_OF_TEXT, (int)size);
        return NULL;
    }
    Trainer t = { .region = region_new(), .free_entry = -1 };
    Region *region = region_new();
    Bpe *b = learn(&t, region, text, n, size);
    region_free(t.region);
    if (!b) region_free(region);
    return b;
}
