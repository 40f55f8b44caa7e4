/* bpe_parts.h: the members of a Bpe and the rules of GPT-2, for the files that read, train, use and save one. */
#ifndef KAERU_BPE_PARTS_H
#define KAERU_BPE_PARTS_H

#include "checks.h"
#include "kaeru/bpe.h"
#include "word_table.h"

typedef struct { int32_t left, right, result; } BpeMerge;

enum { BPE_CACHED_BYTES = 30, BPE_CACHED_IDS = 8 };
/* A short word and its ids, as an entry of the cache. */
typedef struct {
    uint8_t size, count;                    /* number of bytes and of ids; size 0: the entry is free */
    char text[BPE_CACHED_BYTES];
    int32_t id[BPE_CACHED_IDS];
} BpeCached;

/* A token of a word during merging, in a doubly linked list. previous and next are indices, -1 at the ends; an id of -1
 * means that the symbol was merged into the previous one. */
typedef struct { int32_t id, previous, next; } BpeSymbol;

struct Bpe {
    VocabKind kind;
    const WordTable *tokens;                /* the bytes of each id */
    int32_t end_of_text;                    /* the id of <|endoftext|>, or -1 */
    int32_t of_byte[256];                   /* the id of each byte */
    const BpeMerge *merge;                  /* by rank; the lowest rank is applied first */
    int32_t n_merges;
    int32_t *slot;                          /* hash table from pairs of ids to ranks; -1: free */
    size_t n_slots;                         /* a power of two */
    BpeCached *cache;                       /* by hash of the word */
    BpeSymbol *symbol;                      /* buffer for a word of up to `room` bytes */
    uint64_t *heap;                         /* its possible merges, lowest first: the rank << 32 | the left symbol */
    size_t room;
};

/* Constructs a Bpe, which becomes the owner of its arguments. Each of the 256 bytes must be a token. */
Bpe *bpe_new(WordTable *tokens, BpeMerge *merge, int32_t n_merges);

/* A file's name, for messages, and its content. */
typedef struct { const char *name, *text; size_t size; } BpeFile;
/* Constructs a Bpe from the two files' contents, as bpe_open does. */
Bpe *bpe_parse(BpeFile vocab, BpeFile merges);

static inline size_t bpe_hash_pair(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 32);
}

/* GPT-2's files have a code point for each byte. A new vocabulary begins with the bytes in the order of their code points. */
enum { BPE_CODES = 512 };
typedef struct {
    uint32_t code[256];                     /* of each byte */
    int16_t byte[BPE_CODES];                /* of each code point; -1: none */
} BpeBytes;
BpeBytes bpe_bytes(void);

/* The number of bytes, of n >= 1, in the first word of a text, by the rule of GPT-2. */
size_t bpe_word(const char *text, size_t n);

#define BPE_END_OF_TEXT "<|endoftext|>"
/* The offset of the first <|endoftext|>; n if there is none. */
size_t bpe_find_end_of_text(const char *text, size_t n);

#endif
