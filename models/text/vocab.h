/* vocab.h: the members of a KaeruVocab, its files, and checks of texts. */
#ifndef KAERU_VOCAB_H
#define KAERU_VOCAB_H

#include "json.h"
#include "kaeru/text.h"
#include "word_table.h"

/* A usage error if a text of n bytes is NULL, or if n is negative as a signed number. */
void check_text(const char *what, const char *name, const char *text, size_t n);
/* Writes the position of a byte in a text whose first line is line `first`: "line 2, column 5, byte 17". Returns out. */
enum { TEXT_PLACE = 80 };
const char *text_place(int64_t first, const char *text, size_t byte, char out[TEXT_PLACE]);

/* What differs between vocabularies of units (vocab_units.c) and of byte pairs (bpe.c). Ids are those of v->tokens. */
typedef struct {
    /* kaeru_vocab_encode; `text` is the whole text. special: KAERU_WITH_SPECIAL. */
    int32_t *(*encode)(const KaeruVocab *v, const char *text, size_t n, bool special, size_t *count);
    /* kaeru_vocab_special, if the vocabulary does not have all four of them. */
    int32_t (*special)(const KaeruVocab *v, KaeruSpecial which);
    /* Returns a token as a decoded text has it; first: no other token is before it. */
    Word (*decoded)(const KaeruVocab *v, int32_t id, bool first);
    /* Tells whether a space is before a token that is not the first one of a decoded text. */
    bool (*is_spaced)(const KaeruVocab *v, int32_t id);
} VocabFunctions;
extern const VocabFunctions units_functions;
extern const VocabFunctions bpe_functions;

/* Whether a vocabulary of characters lacks one of a text: the first of these, in *unit. */
bool units_lack(const KaeruVocab *v, const char *text, size_t n, Word *unit);

struct KaeruVocab {
    KaeruVocabKind kind;
    const VocabFunctions *f;
    const WordTable *tokens;                /* by id; in KAERU_SENTENCE_BPE, without the special tokens before them */
    struct Bpe *bpe;                        /* the rules of byte pairs, or of WordPiece; NULL: another kind */
};
/* A vocabulary that becomes the owner of the tokens. */
KaeruVocab *vocab_new(KaeruVocabKind kind, const VocabFunctions *f, WordTable *tokens);

enum { N_SPECIAL = KAERU_UNKNOWN + 1 };
extern const char *const special_tokens[N_SPECIAL];                     /* by id */

/* A file's name, for messages, and its content. */
typedef struct { const char *name, *text; size_t size; } VocabFile;
/* Constructs a vocabulary from the content of its files, as kaeru_vocab_open does; merges.name NULL: there is one file. `work`
 * owns what is needed only while the files are read. */
KaeruVocab *vocab_parse(void *work, KaeruVocabKind kind, VocabFile vocab, VocabFile merges);
/* Reads {"token": id, ...} with each id from 0 to n-1 once. Returns the tokens by id, owned by `work`; there may be none. NULL
 * with ag_error() if the value is something else; `name` is the file's. */
const Word *vocab_tokens(void *work, const char *name, const Json *root, int32_t *n);
/* The content of such a file, owned by `work`; NULL with ag_error() if a token is not UTF-8. No two tokens may be equal. */
const char *vocab_text(void *work, const Word *token, int32_t n, size_t *size);
/* Replaces the files by file_commit_both; merges.text is NULL if there is one file. */
bool vocab_replace_both(const char *vocab_path, VocabFile vocab, const char *merges_path, VocabFile merges);

#endif
