/* word_table.c: a hash table of words with open addressing and linear probing. */
#include "word_table.h"

#include "kaeru/tensor.h"

enum { FIRST_ROOM = 512 };

static void make_slots(WordTable *t, size_t n)
{
    t->slot = ag_alloc_in(t->owner, n, sizeof *t->slot);
    t->n_slots = n;
    for (size_t i = 0; i < n; i++) t->slot[i].index = -1;
}

WordTable *word_table_new(void *owner)
{
    WordTable *t = ag_alloc_in(owner, 1, sizeof *t);
    t->owner = owner;
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

/* Doubles the number of slots, and makes room for half as many words. */
static void grow(WordTable *t)
{
    if (t->n > INT32_MAX / 2) ag_usage_error(AG_HERE, "word table", "%d different words are too many", (int)t->n);
    int32_t room = t->room ? 2 * t->room : FIRST_ROOM;
    t->word = ag_resize_in(t->owner, t->word, (size_t)t->room, (size_t)room, sizeof *t->word);
    t->room = room;
    if (t->n == 0) return;
    const WordSlot *old = t->slot;
    size_t n_old = t->n_slots;
    make_slots(t, 2 * n_old);
    for (size_t k = 0; k < n_old; k++) {
        if (old[k].index < 0) continue;
        size_t i = old[k].hash & (t->n_slots - 1);
        while (t->slot[i].index >= 0) i = (i + 1) & (t->n_slots - 1);
        t->slot[i] = old[k];
    }
}

int32_t word_table_add(WordTable *t, const char *text, size_t size)
{
    uint32_t hash = word_hash(text, size);
    WordSlot *slot = look_up(t, text, size, hash);
    if (slot->index >= 0) return slot->index;
    if (t->n == t->room) {
        grow(t);
        slot = look_up(t, text, size, hash);
    }
    t->word[t->n] = (Word){ ag_strndup_in(t->owner, text, size), size };
    *slot = (WordSlot){ hash, t->n };
    return t->n++;
}

int32_t word_table_find(const WordTable *t, const char *text, size_t size)
{
    return look_up(t, text, size, word_hash(text, size))->index;
}
