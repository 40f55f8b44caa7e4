/* bpe_parts.h: the rules of byte pairs, for the files that read, train, use and save them. */
#ifndef KAERU_BPE_PARTS_H
#define KAERU_BPE_PARTS_H

#include "vocab.h"

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

/* The rules that split text into words. */
typedef enum {
    BPE_GPT2,
    BPE_LLAMA3,                             /* numbers in groups of up to three digits */
    BPE_QWEN2,                              /* digits one by one */
    BPE_SMOLLM                              /* digits one by one, the rest as GPT-2 */
} BpeRule;

/* A token that is found in the text before it is split. */
typedef struct {
    int32_t id;
    uint32_t size;                          /* of its text */
    bool special;                           /* found only with KAERU_WITH_SPECIAL */
    bool late;                              /* found only in what is left when the others have been found */
} BpeAdded;

typedef struct Bpe {
    const WordTable *tokens;                /* the bytes of each id, which belong to the vocabulary */
    int32_t end_of_text;                    /* the id of <|endoftext|>, or -1 */
    int32_t begin;                          /* the id of the token before a text, or -1 */
    BpeRule rule;
    bool nfc;                               /* text is brought into the normal form C before it is split into words */
    bool whole_words;                       /* a word that is a token is not made from merges */
    int32_t n_vocab;                        /* from this id on, tokens are only added ones */
    BpeAdded *added;                        /* longest first */
    int32_t n_added;
    bool starts_added[256];                 /* whether an added token starts with this byte */
    int32_t of_byte[256];                   /* the id of each byte; -1: no id, the byte is left out */
    const BpeMerge *merge;                  /* by rank; the lowest rank is applied first */
    int32_t n_merges;
    int32_t *slot;                          /* hash table from pairs of ids to ranks; -1: free */
    size_t n_slots;                         /* a power of two */
    BpeCached *cache;                       /* by hash of the word */
    BpeSymbol *symbol;                      /* buffer for a word of up to `capacity` bytes */
    uint64_t *heap;                         /* its possible merges, lowest first: the rank << 32 | the left symbol */
    size_t capacity;
} Bpe;

/* Constructs byte pairs by the rules of GPT-2. They own the arguments then. */
KaeruVocab *bpe_new(WordTable *tokens, BpeMerge *merge, int32_t n_merges);
/* Replaces the added tokens by these n, in any order, which the Bpe owns then. */
void bpe_set_added(Bpe *b, BpeAdded *added, int32_t n);

/* Construct byte pairs from the parsed content of vocab.json, and merges.txt, or from that of a tokenizer.json. `work` owns
 * what is needed only while the files are read. */
KaeruVocab *bpe_parse(void *work, const char *name, const Json *root, VocabFile merges);
KaeruVocab *bpe_parse_json(void *work, const char *name, const Json *root);
/* Sets the content of GPT-2's two files, owned by `work`. False with ag_error(), which begins with `name`, if they cannot hold
 * this vocabulary. */
bool bpe_texts(void *work, const char *name, const KaeruVocab *v, VocabFile *vocab, VocabFile *merges);

/* GPT-2's files have a code point for each byte. A new vocabulary begins with the bytes in the order of their code points. */
enum { BPE_CODES = 512 };
typedef struct {
    uint32_t code[256];                     /* of each byte */
    int16_t byte[BPE_CODES];                /* of each code point; -1: none */
} BpeBytes;
BpeBytes bpe_bytes(void);

/* The number of bytes, of n >= 1, in the first word of a text: by the rule of GPT-2; by that of Llama 3 or Qwen2, which differ
 * in the digits of a number. */
size_t bpe_word(const char *text, size_t n);
size_t bpe_word_llama(const char *text, size_t n, int digits);
/* The number of bytes of the first number character, or up to the first one. */
size_t bpe_digits(const char *text, size_t n);

/* What reading a vocabulary and merges needs. */
typedef struct {
    const char *path, *vocab_path;
    const char *unit;                       /* what merges are counted in: "line" */
    const BpeBytes *bytes;
    const WordTable *tokens;
    WordTable *pairs;                       /* of ids that were read, each as a word of eight bytes */
    size_t line;                            /* of the merges, from 1 */
} MergeReader;
/* Converts the n tokens' texts to bytes, but for those where `raw` (NULL: none) is true. */
bool bpe_read_tokens(void *work, const BpeBytes *of, const char *path, const Word *text, const bool *raw, int32_t n,
                     WordTable *tokens);
/* The first byte that is no token; -1: there is none. */
int bpe_missing_byte(const WordTable *tokens);
/* Reads a new merge from its text: two tokens with a space between them. `bytes` is a buffer of that size. */
bool bpe_read_merge(const MergeReader *r, const char *text, size_t size, char *bytes, BpeMerge *merge);

#define BPE_END_OF_TEXT "<|endoftext|>"
/* The offset of the first <|endoftext|>; n if there is none. */
size_t bpe_find_end_of_text(const char *text, size_t n);

#endif
