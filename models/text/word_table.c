/* word_table.c: a hash table of words with open addressing and linear probing. */
#include "word_table.h"

#include "kaeru/tensor.h"

enum { FIRST_CAPACITY = 512 };

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
    t->word = ag_alloc_in(t, FIRST_CAPACITY, sizeof *t->word);
    t->capacity = FIRST_CAPACITY;
    make_slots(t, 2 * FIRST_CAPACITY);
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

/* Doubles the capacity for words, and the number of slots. */
static void grow(WordTable *t)
{
    if (t->n > INT32_MAX / 2) ag_usage_error("word table", "%d different words are too many", (int)t->n);
    t->word = ag_resize_in(t, t->word, (size_t)t->capacity, 2 * (size_t)t->capacity, sizeof *t->word);
    t->capacity *= 2;
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

int32_t word_table_append(WordTable *t, const char *text, size_t size)
{
    if (t->n == t->capacity) grow(t);
    t->word[t->n] = (Word){ ag_strndup_in(t, text, size), size, 0 };
    return t->n++;
}

int32_t word_table_enter(WordTable *t, int32_t index)
{
    const Word *word = &t->word[index];
    uint32_t hash = word_hash(word->text, word->size);
    WordSlot *slot = look_up(t, word->text, word->size, hash);
    if (slot->index < 0) *slot = (WordSlot){ hash, index };
    t->word[slot->index].count++;
    return slot->index;
}

int32_t word_table_add(WordTable *t, const char *text, size_t size)
{
    int32_t known = word_table_find(t, text, size);
    if (known < 0) return word_table_enter(t, word_table_append(t, text, size));
    t->word[known].count++;
    return known;
}

int32_t word_table_find(const WordTable *t, const char *text, size_t size)
{
    return look_up(t, text, size, word_hash(text, size))->index;
}
