/* word_table.h: a hash table that numbers different words, which are any bytes, in the order in which they are added. */
#ifndef KAERU_WORD_TABLE_H
#define KAERU_WORD_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *text;
    size_t size;                                                /* does not include the NUL that follows */
    int64_t count;                                              /* how often it was added to a table */
} Word;
/* Compares two words by their bytes, for qsort. */
int compare_words(const void *left, const void *right);

typedef struct { uint32_t hash; int32_t index; } WordSlot;      /* index -1: free */
typedef struct {
    Word *word;
    int32_t n, capacity;
    WordSlot *slot;
    size_t n_slots;                                             /* a power of two; more than half are free */
} WordTable;

WordTable *word_table_new(void *owner);
/* Returns the word's number. A new word gets the next number, and its bytes are copied. */
int32_t word_table_add(WordTable *t, const char *text, size_t size);
/* The two steps of this for a table with equal words: the first one gives the word the next number. The second one makes it
 * the word that is found, unless an equal one is; returns the number of the one that is found. */
int32_t word_table_append(WordTable *t, const char *text, size_t size);
int32_t word_table_enter(WordTable *t, int32_t index);
/* Returns the word's number; -1 if it is not in the table. */
int32_t word_table_find(const WordTable *t, const char *text, size_t size);

/* A hash of the bytes, eight at a time. */
static inline uint32_t word_hash(const char *text, size_t size)
{
    uint64_t h = size;
    for (; size >= 8; text += 8, size -= 8) {
        uint64_t part;
        memcpy(&part, text, 8);
        h = (h ^ part) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < size; i++) rest = rest << 8 | (unsigned char)text[i];
    h = (h ^ rest) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

#endif
