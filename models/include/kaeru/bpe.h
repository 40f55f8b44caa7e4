/* bpe.h: GPT-2's byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019).
 *
 * Text is cut into words by a fixed rule. A word's bytes are the first tokens; then neighbors are merged, of all pairs
 * in the list the one that was learned first before the others, until none is left. Since every byte is a token, any
 * bytes can be encoded, and decoding gives them back.
 *
 *     Bpe *bpe = bpe_open("vocab.json", "merges.txt");
 *     if (!bpe) { fprintf(stderr, "%s\n", ag_error()); return 1; }
 *     size_t n;
 *     int32_t *ids = bpe_encode(bpe, "Hello world", 11, BPE_TEXT, &n);
 *
 * A Bpe is for one thread at a time: encoding remembers words. */
#ifndef KAERU_BPE_H
#define KAERU_BPE_H

#include "kaeru/autograd.h"

#pragma GCC visibility push(default)

typedef struct Bpe Bpe;

/* GPT-2's two files: {"token": id, ...} with all ids from 0 up, and one merge a line, the first learned first. The text
 * of a token stands for bytes: those that print as themselves, the others as U+0100 and on (a space is U+0120). NULL
 * with ag_error() if a file cannot be read or does not fit the other. */
Bpe *bpe_open(const char *vocab_path, const char *merges_path);
/* Replaces (or makes) the two files. */
bool bpe_save(const Bpe *bpe, const char *vocab_path, const char *merges_path);
/* Learns a vocabulary of at most `size` tokens from a text: the 256 bytes, then merges, each of the pair that is most
 * frequent at that time (of equal ones that of smaller ids) as long as one occurs twice, and <|endoftext|> last. Where
 * <|endoftext|> stands in the text, it separates documents. NULL with ag_error() if size is less than 257. */
Bpe *bpe_train(const char *text, size_t n, int32_t size);
void bpe_free(Bpe *bpe);                                            /* NULL is fine */

int32_t bpe_size(const Bpe *bpe);                                   /* ids are 0..size-1 */
int32_t bpe_end_of_text(const Bpe *bpe);                            /* the id of <|endoftext|>; -1 if it has none */
/* The bytes of a token and their number, until the vocabulary ends; NULL if the id is out of range. */
const char *bpe_token(const Bpe *bpe, int32_t id, size_t *n);

typedef enum {
    BPE_TEXT,                   /* all is text: for what others have written */
    BPE_SPECIAL                 /* <|endoftext|> in the text is that token */
} BpeMode;
/* The ids of n bytes, and their number; end with ag_free. Words are cut by characters where the bytes are UTF-8; a byte
 * that is not counts as a symbol. */
int32_t *bpe_encode(Bpe *bpe, const char *text, size_t n, BpeMode mode, size_t *count);
/* The bytes of the tokens, their number, and a NUL behind; end with ag_free. NULL with ag_error() if an id is out of
 * range. */
char *bpe_decode(const Bpe *bpe, const int32_t *ids, size_t count, size_t *n);

#pragma GCC visibility pop
#endif
