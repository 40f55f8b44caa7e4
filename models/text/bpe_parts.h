/* bpe_parts.h: the rules of byte pairs, for the files that read, train, use and save them. WordPiece has the same ones before
 * and after it, and other pieces of a word. */
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

/* What is done with a text before its words are encoded, in the order of the file. */
typedef enum {                              /* the normalizer, of the text between the early added tokens */
    BPE_NFC,
    BPE_NFD,
    BPE_NFKC,
    BPE_NFKD,
    BPE_LOWER_CASE,
    BPE_STRIP_LEFT,                         /* white space */
    BPE_STRIP_RIGHT,
    BPE_CLEAN,                              /* no control characters, and each white space is a space */
    BPE_IDEOGRAPHS,                         /* spaces around each */
    BPE_NO_ACCENTS
} BpeNormal;
typedef enum {                              /* the pre-tokenizer: each rule splits the pieces of the rule before it */
    BPE_GPT2,
    BPE_LLAMA3,                             /* numbers in groups of up to three digits */
    BPE_QWEN2,                              /* digits one by one */
    BPE_DIGITS,                             /* digits one by one, the rest is one piece */
    BPE_NUMBERS,                            /* numbers, the rest is one piece */
    BPE_WORD_CHARACTERS,                    /* word characters and other ones, without white space */
    BPE_NO_SPACE,                           /* what is between white space */
    BPE_PUNCTUATION,                        /* each character that BERT takes for punctuation, and what is between them */
    BPE_PREFIX_SPACE                        /* splits nothing: a piece gets a space before it if it has none */
} BpeSplit;
enum { BPE_RULES = 16 };
typedef struct {
    BpeNormal normal[BPE_RULES];
    BpeSplit split[BPE_RULES];
    int n_normal, n_split;
    bool characters;                        /* a word begins as its characters, instead of its bytes */
    bool spaced;                            /* in a decoded text, a space is between two tokens */
    bool joined;                            /* but not before a token with WordPiece's prefix, which is left out */
} BpeRules;

/* A token that is found in the text before it is split. */
typedef struct {
    const char *text;                       /* what is found: if `late`, in the normal form */
    size_t size;
    int32_t id;
    bool special;                           /* found only with KAERU_WITH_SPECIAL */
    bool late;                              /* found only in what is left when the others have been found */
    bool letters;                           /* its text is letters of other bytes, which its id keeps */
} BpeAdded;

/* The added tokens of one kind as a trie, with the links of Aho and Corasick (1975): it finds them in a text in a time that
 * does not depend on their number. Node 0 is the root. */
typedef struct {
    int32_t fail;                           /* the longest proper end of this node's bytes that is a node */
    int32_t parent;
    int32_t found[2];                       /* the longest added token with which its bytes end; [0]: not a special one; -1 */
    uint16_t depth;                         /* number of its bytes */
    unsigned char byte;                     /* the last of them */
} BpeNode;
typedef struct {
    BpeNode *node;
    int32_t n;
    int32_t *slot;                          /* hash table of the nodes by parent and byte; 0: free */
    size_t n_slots;                         /* a power of two */
    bool starts[256];                       /* whether a token starts with this byte */
} BpeFinder;

/* How WordPiece splits a word: the longest token with which it begins, then the longest of the rest, behind a prefix. */
typedef struct {
    const char *prefix;                     /* "##"; NULL: this is no WordPiece */
    size_t prefix_size;
    int64_t most;                           /* a word of more characters is unknown */
    size_t longest;                         /* bytes of a token */
    char *buffer;                           /* of that size */
} WordPiece;

typedef struct Bpe {
    const WordTable *tokens;                /* the bytes of each id, which belong to the vocabulary */
    int32_t end_of_text;                    /* the id of <|endoftext|>, or -1 */
    int32_t begin, end;                     /* the ids of the tokens before and after a text, or -1 */
    int32_t unknown;                        /* the id of a byte or character that is no token; -1: it is left out */
    bool fuses_unknown;                     /* several of them become one token */
    BpeRules rules;
    WordPiece pieces;
    bool whole_words;                       /* a word that is a token is not made from merges */
    int32_t n_vocab;                        /* from this id on, tokens are only added ones */
    BpeAdded *added;                        /* sorted by their bytes */
    int32_t n_added;
    Word *normal;                           /* by id: the normal form of an added token that is another text; NULL: of none */
    BpeFinder finder[2];                    /* [1]: of the late ones */
    int32_t of_byte[256];                   /* the id of each byte; -1: it is no token */
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
/* Replaces the added tokens by these n, in any order, which the Bpe owns then with their texts. */
void bpe_set_added(Bpe *b, BpeAdded *added, int32_t n);

/* Construct byte pairs from the parsed content of vocab.json, and merges.txt, or from that of a tokenizer.json. `work` owns
 * what is needed only while the files are read. */
KaeruVocab *bpe_parse(void *work, const char *name, const Json *root, VocabFile merges);
KaeruVocab *bpe_parse_json(void *work, KaeruVocabKind kind, const char *name, const Json *root);
/* Sets the content of GPT-2's two files, owned by `work`. False with ag_error(), which begins with `name`, if they cannot hold
 * this vocabulary. */
bool bpe_texts(void *work, const char *name, const KaeruVocab *v, VocabFile *vocab, VocabFile *merges);
/* The texts of all tokens in these files, by id, owned by `work`. */
Word *bpe_token_texts(void *work, const KaeruVocab *v);
/* Whether GPT-2's rules alone hold, as for a vocabulary of its two files. */
bool bpe_is_gpt2(const Bpe *b);

/* GPT-2's files have a code point for each byte. A new vocabulary begins with the bytes in the order of their code points. */
enum { BPE_CODES = 512 };
typedef struct {
    uint32_t code[256];                     /* of each byte */
    int16_t byte[BPE_CODES];                /* of each code point; -1: none */
} BpeBytes;
BpeBytes bpe_bytes(void);
/* Converts a token's text to its bytes, at most `size`, and sets *n to their number. False if a character does not stand for a
 * byte. */
bool bpe_to_bytes(const BpeBytes *of, const char *text, size_t size, char *bytes, size_t *n);

/* The number of bytes, of n >= 1, in the first word of a text by the rule of GPT-2. */
size_t bpe_word(const char *text, size_t n);
/* The same for the first piece by any rule. A piece that is not *kept is white space, which has no tokens. */
size_t bpe_piece(BpeSplit rule, const char *text, size_t n, bool *kept);
/* Applies the rules' normalizer to a text. Returns the memory in which the new text is, for ag_free; NULL: it is part of the
 * old one. */
char *bpe_normalize(const BpeRules *rules, const char **text, size_t *n);

/* Applies one rule of BERT's normalizer: the new text, for ag_free, and its size. */
char *wordpiece_normalize(BpeNormal rule, const char *text, size_t n, size_t *size);
/* The number of bytes, of n >= 1, in the first piece by the rule BPE_PUNCTUATION. */
size_t wordpiece_part(const char *text, size_t n);
/* Writes the ids of a word of n >= 1 bytes, at most n; returns their number. */
size_t wordpiece_encode(Bpe *b, const char *text, size_t n, int32_t *ids);
/* Checks the model of a tokenizer.json; and reads it for b, which has its tokens. */
bool wordpiece_check(const char *path, const Json *model);
void wordpiece_begin(Bpe *b, const Json *model);

/* Reads the normalizer, the pre-tokenizer and the decoder of a tokenizer.json. */
bool bpe_read_rules(const char *path, const Json *root, BpeRules *rules);
/* Reads its tokens before and after a text, from the post-processor; -1: none. */
bool bpe_read_ends(const char *path, const Json *root, const WordTable *tokens, int32_t *begin, int32_t *end);
/* Whether a member is absent, null, false, 0 or "". */
bool bpe_is_unset(const Json *object, const char *name);
/* Whether a member is true; `usual` if it is absent or null. */
bool bpe_is_true(const Json *object, const char *name, bool usual);
/* Sets the error 'PATH: WHAT: expected EXPECTED, found VALUE'. */
bool bpe_wrong(const char *path, const char *what, const char *expected, const Json *found);
/* Sets the error 'PATH: PART TYPE is not supported: expected EXPECTED' for a part of that type, which is a string. */
bool bpe_unsupported(const char *path, const char *part, const Json *type, const char *expected);

/* What reading a vocabulary and merges needs. */
typedef struct {
    const char *path, *vocab_path;
    const char *unit;                       /* what merges are counted in: "line" */
    const BpeBytes *bytes;                  /* NULL: the texts are the bytes themselves */
    const WordTable *tokens;
    WordTable *pairs;                       /* of ids that were read, each as a word of eight bytes */
    size_t line;                            /* of the merges, from 1 */
} MergeReader;
/* Converts the n tokens' texts to bytes, but for those where `raw` (NULL: none) is true. `of` NULL: no text is converted. A
 * raw token may have the bytes of another one, which is then the one that is found: an added "  " beside one of two spaces. */
bool bpe_read_tokens(void *work, const BpeBytes *of, const char *path, const Word *text, const bool *raw, int32_t n,
                     WordTable *tokens);
/* The first byte that is no token; -1: there is none. */
int bpe_missing_byte(const WordTable *tokens);
/* Reads a new merge from its text: two tokens with a space between them, the first of `left` bytes; left 0: there is one space.
 * `bytes` is a buffer of that size. */
bool bpe_read_merge(const MergeReader *r, const char *text, size_t size, size_t left, char *bytes, BpeMerge *merge);

#define BPE_END_OF_TEXT "<|endoftext|>"
/* The offset of the first <|endoftext|>; n if there is none. */
size_t bpe_find_end_of_text(const char *text, size_t n);

#endif
