/* bpe.h: GPT-2's byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019).
 *
 * Text is split into words by a fixed rule. At first, each byte of a word is a token. Then neighboring tokens are merged:
 * of the pairs that have a merge, the one that was learned first, until no pair has one. Each byte is a token, so any
 * bytes can be encoded, and decoding returns them unchanged.
 *
 *     KaeruBpe *bpe = kaeru_bpe_open("vocab.json", "merges.txt");
 *     if (!bpe) { fprintf(stderr, "%s\n", ag_error()); return 1; }
 *     size_t n;
 *     int32_t *ids = kaeru_bpe_encode(bpe, "Hello world", 11, KAERU_BPE_TEXT, &n);
 *
 * As in tensor.h, NAME_at(AgSite at, ...) is called as NAME(...). A pointer that is NULL or was freed is a usage error.
 * Only one thread at a time may use a KaeruBpe, because encoding writes to a cache of words. */
#ifndef KAERU_BPE_H
#define KAERU_BPE_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* A vocabulary of byte pairs. */
typedef struct KaeruBpe KaeruBpe;

/* Reads GPT-2's two files: {"token": id, ...} with each id from 0 to size-1, and one merge per line, the first learned
 * first. Each character of a token's text stands for a byte: a printable byte for itself, any other as U+0100 or above (a
 * space is U+0120). NULL with ag_error() if a file cannot be read, or if the files do not fit together. */
KaeruBpe *kaeru_bpe_open_at(AgSite at, const char *vocab_path, const char *merges_path);
/* Writes the two files. */
bool kaeru_bpe_save_at(AgSite at, const KaeruBpe *bpe, const char *vocab_path, const char *merges_path);

/* Learns a vocabulary of at most `size` tokens from a text. First come the 256 bytes, then the merges, last <|endoftext|>.
 * Each merge is that of the most frequent pair at that time (of equally frequent pairs, the one of smaller ids), as long
 * as a pair occurs twice. <|endoftext|> in the text separates documents. NULL with ag_error() if size is less than 257,
 * or if the text has too many different words. */
KaeruBpe *kaeru_bpe_train_at(AgSite at, const char *text, size_t n, int32_t size);

/* Reads Hugging Face's tokenizer.json, if it is a byte-level BPE that splits text as GPT-2, Llama 3, Qwen2 and Qwen3, or SmolLM
 * do, with its added tokens. If its normalizer is NFC, text is brought into this form first, which decoding then returns. NULL
 * with ag_error() if the file is another kind of tokenizer, has another normalizer or decoder, or truncates or pads a text by
 * itself (`truncation`, `padding`): ids or text would differ from those of the library `tokenizers`. */
KaeruBpe *kaeru_bpe_open_json_at(AgSite at, const char *path);

/* Frees it; NULL is fine. */
void kaeru_bpe_free_at(AgSite at, KaeruBpe *bpe);

int32_t kaeru_bpe_size_at(AgSite at, const KaeruBpe *bpe);          /* ids are 0..size-1 */
int32_t kaeru_bpe_end_of_text_at(AgSite at, const KaeruBpe *bpe);   /* the id of <|endoftext|>; -1 if it has none */
/* The id of the token that a tokenizer.json puts before each text, which kaeru_bpe_encode does not do; -1 if it has none. */
int32_t kaeru_bpe_begin_at(AgSite at, const KaeruBpe *bpe);

/* The n bytes of a token, valid until ag_free; NULL if the id is out of range. */
const char *kaeru_bpe_token_at(AgSite at, const KaeruBpe *bpe, int32_t id, size_t *n);

typedef enum {
    KAERU_BPE_TEXT,             /* <|endoftext|> is text like any other, and so is each special token of a tokenizer.json */
    KAERU_BPE_SPECIAL           /* they are the special tokens: not for text from an untrusted source */
} KaeruBpeMode;
/* The ids of n bytes, and in *count their number; free them with ag_free. A byte that is not UTF-8 is split like a
 * symbol. */
int32_t *kaeru_bpe_encode_at(AgSite at, KaeruBpe *bpe, const char *text, size_t n, KaeruBpeMode mode, size_t *count);

/* The bytes of the tokens, followed by a NUL, and in *n their number; free them with ag_free. NULL with ag_error() if an
 * id is out of range. Two results differ from those of `tokenizers`. An added token is its own text; there, the letters of an
 * added "é!" are taken for bytes, which gives U+FFFD and "!". A tokenizer.json without a decoder is decoded as one with
 * ByteLevel; there, tokens are joined by spaces. */
char *kaeru_bpe_decode_at(AgSite at, const KaeruBpe *bpe, const int32_t *ids, size_t count, size_t *n);

#include "kaeru/models_at.h"

AG_PUBLIC_END
#endif
