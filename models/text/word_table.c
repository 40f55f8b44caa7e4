/* word_table.c: a hash table of words with open addressing and linear probing. */
#include "word_table.h"

#include "kaeru/tensor.h"

enum { FIRST_ROOM = 512 };

int compare_words(const void *left, const void *right)
{
    const Word *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static void make_slots(WordTable *t, size_t n)
{
    t->slot = ag_alloc_in(t, n, sizeof *t->slot);
    t->n_slots = n;
    for (size_t i = 0; i < n; i++) t->slot[i].index = -1;
}

WordTable *word_table_new(void *owner)
{
    WordTable *t = ag_alloc_in(owner, 1, sizeof *t);
    t->word = ag_alloc_in(t, FIRST_ROOM, sizeof *t->word);
    t->room = FIRST_ROOM;
    make_slots(t, 2 * FIRST_ROOM);
    return t;
}

/* The slot of the word; if it has none, the free slot for it. */
static WordSlot *look_up(const WordTable *t, const char *text, size_t size, uint32_t hash)
{
    for (size_t i = hash & (t->n_slots - 1);; i = (i + 1) & (t->n_slots - 1)) {
        WordSlot *slot = &t->slot[i];
        if (slot->index < 0) return slot;
        const Word *word = &t->word[slot->index];
        if (slot->hash == hash && word->size == size && memcmp(word->text, text, size) == 0) return slot;
    }
}

/* Doubles the room for words, and the number of slots. */
static void grow(WordTable *t)
{
    if (t->n > INT32_MAX / 2) ag_usage_error(AG_HERE, "word table", "%d different words are too many", (int)t->n);
    t->word = ag_resize_in(t, t->word, (size_t)t->room, 2 * (size_t)t->room, sizeof *t->word);
    t->room *= 2;
    WordSlot *old = t->slot;
    size_t n_old = t->n_slots;
    make_slots(t, 2 * n_old);
    for (size_t k = 0; k < n_old; k++) {
        if (old[k].index < 0) continue;
        const Word *word = &t->word[old[k].index];
        *look_up(t, word->text, word->size, old[k].hash) = old[k];
    }
    ag_free(old);
}

int32_t word_table_add(WordTable *t, const char *text, size_t size)
{
    uint32_t hash = word_hash(text, size);
    if (t->n == t->room) grow(t);
    WordSlot *slot = look_up(t, text, size, hash);
    if (slot->index < 0) {
        t->word[t->n] = (Word){ ag_strndup_in(t, text, size), size, 0 };
        *slot = (WordSlot){ hash, t->n++ };
    }
    t->word[slot->index].count++;
    return slot->index;
}

WordTable *word_table_of(void *owner, const Word *word, int32_t n)
{
    WordTable *t = word_table_new(owner);
    for (int32_t i = 0; i < n; i++) word_table_add(t, word[i].text, word[i].size);
    return t;
}

int32_t word_table_find(const WordTable *t, const char *text, size_t size)
{
    return look_up(t, text, size, word_hash(text, size))->index;
}

char *word_table_join(const WordTable *t, const char *kind, const char *between, const int32_t *ids, size_t count, size_t *n)
{
    size_t gap = strlen(between), size = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= t->n) {
            ag_set_error("id %d at place %zu is not in the vocabulary of %d %s", (int)ids[i], i, (int)t->n, kind);
            return NULL;
        }
        size_t more = t->word[ids[i]].size + (i > 0 ? gap : 0);
        if (more > SIZE_MAX - 1 - size) ag_usage_error(AG_HERE, "decode", "the text is too long");
        size += more;
    }
    char *text = ag_alloc(size + 1, 1), *p = text;
    for (size_t i = 0; i < count; i++) {
        const Word *word = &t->word[ids[i]];
        size_t skip = i > 0 ? gap : 0;
        memcpy(p, between, skip);
        memcpy(p + skip, word->text, word->size);
        p += skip + word->size;
    }
    *n = size;
    return text;
}
