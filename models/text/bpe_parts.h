/* bpe_parts.h: what reading, training and saving a Bpe share. */
#ifndef KAERU_BPE_PARTS_H
#define KAERU_BPE_PARTS_H

#include "kaeru/bpe.h"
#include "word_table.h"

typedef struct { int32_t left, right, result; } BpeMerge;

enum { BPE_CACHED_BYTES = 30, BPE_CACHED_IDS = 8 };
/* A word and its ids, for those that have few. */
typedef struct {
    uint8_t size, count;                    /* size 0: free */
    char text[BPE_CACHED_BYTES];
    int32_t id[BPE_CACHED_IDS];
} BpeCached;

/* A token of a word while its pairs are being merged. */
typedef struct { int32_t id, before, after; } BpeSymbol;            /* id -1: merged into the one before */

struct Bpe {
    Region *region;
    const Word *token;                      /* bytes, by id */
    int32_t n_tokens, end_of_text;
    int32_t of_byte[256];
    const BpeMerge *merge;                  /* by rank: the first is done first */
    int32_t n_merges;
    int32_t *slot;                          /* hash table from pairs to ranks; -1: free */
    size_t n_slots;                         /* a power of two */
    BpeCached *cache;
    BpeSymbol *symbol;                      /* for a word of up to `room` bytes */
    uint64_t *chance;                       /* its possible merges, as a heap: rank, then place in the word */
    size_t room;
};

/* A Bpe in the region that holds the arrays given; all 256 bytes are tokens, and tokens differ. */
Bpe *bpe_new(Region *region, const Word *token, int32_t n_tokens, const BpeMerge *merge, int32_t n_merges);

/* A file's name, for messages, and what it holds. */
typedef struct { const char *name, *text; size_t size; } BpeFile;
/* What bpe_open does when it has read the files. */
Bpe *bpe_parse(BpeFile vocab, BpeFile merges);

static inline size_t bpe_hash_pair(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 32);
}

/* Bytes in the order of the code points that stand for them in files, '!' first: a new vocabulary's first 256 ids. */
void bpe_byte_order(uint8_t byte[256]);
/* The code point that stands for each byte. */
void bpe_byte_codes(uint32_t code[256]);

#endif
