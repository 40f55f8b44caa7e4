/* text.h: converts text to ids and back: files in UTF-8, and vocabularies of characters and of words.
 *
 *     KaeruText text;
 *     if (!kaeru_text_open(&text, "story.txt")) { fprintf(stderr, "%s\n", ag_error()); return 1; }
 *     KaeruCharVocab *vocab = kaeru_char_vocab_new(text.bytes, text.size);
 *     size_t n;
 *     int32_t *ids = kaeru_char_vocab_encode(vocab, text.bytes, text.size, &n);
 *
 * As in tensor.h, NAME_at(Site at, ...) is called as NAME(...). A pointer that is NULL or was freed is a usage error. A
 * function that returns NULL or false sets ag_error(). A text has a size and may contain NUL bytes. The caller owns what a
 * function returns, and frees ids and texts with ag_free, other objects with their own free or close function. */
#ifndef KAERU_TEXT_H
#define KAERU_TEXT_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- UTF-8 ------------------------------------------------------------------------------------------------------- */

/* A file of UTF-8, mapped into memory, so it may be larger than the memory. It must not be truncated meanwhile. No NUL
 * follows the text. */
typedef struct { const char *bytes; size_t size; struct KaeruFile *file; } KaeruText;
/* False if the file cannot be read or is not UTF-8: "story.txt: line 2, column 5, byte 17: expected UTF-8, found byte
 * 0xE9". Lines and columns count from 1, bytes from 0. A column is a character. */
bool kaeru_text_open_at(AgSite at, KaeruText *text, const char *path);
void kaeru_text_close_at(AgSite at, KaeruText *text);               /* may be closed already, or zeroed */

/* Whether two paths lead to the same file, for programs that replace files. False if one of them does not exist. */
bool kaeru_text_is_same_file_at(AgSite at, const char *a, const char *b);

/* Whether n bytes are UTF-8; `name` is for the message if they are not. */
bool kaeru_text_check_at(AgSite at, const char *name, const char *text, size_t n);
/* The same for a part of a longer text. `first` is the number of the part's first line in that text, for the message. */
bool kaeru_text_check_part_at(AgSite at, const char *name, int64_t first, const char *text, size_t n);

/* Writes the position of a byte in such a part: "line 2, column 5, byte 17". Returns out. */
#define KAERU_TEXT_PLACE 80
const char *kaeru_text_place_at(AgSite at, int64_t first, const char *text, size_t byte, char out[KAERU_TEXT_PLACE]);

/* Decodes the first character of n >= 1 bytes. Returns its length, 1 to 4; 0 if the bytes are not UTF-8. */
int kaeru_text_next_at(AgSite at, const char *text, size_t n, uint32_t *code);

/* Prints text that arrives in pieces, such as tokens. If a piece ends within a character, the character's bytes are held
 * until the rest arrives. A byte that is not UTF-8 is printed as U+FFFD. */
typedef struct { FILE *out; size_t n; char held[4]; } KaeruTextStream;  /* initialize with { .out = file } */
void kaeru_text_stream_put_at(AgSite at, KaeruTextStream *s, const char *bytes, size_t n);
void kaeru_text_stream_end_at(AgSite at, KaeruTextStream *s);       /* prints the bytes held */

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* The characters of a text, numbered from 0 in the order of their code points. */
typedef struct KaeruCharVocab KaeruCharVocab;

KaeruCharVocab *kaeru_char_vocab_new_at(AgSite at, const char *text, size_t n); /* NULL if it is not UTF-8 */
/* The file is JSON, {"a": 0, ...}. */
KaeruCharVocab *kaeru_char_vocab_open_at(AgSite at, const char *path);
bool kaeru_char_vocab_save_at(AgSite at, const KaeruCharVocab *v, const char *path);
void kaeru_char_vocab_free_at(AgSite at, KaeruCharVocab *v);        /* NULL is fine */
int32_t kaeru_char_vocab_size_at(AgSite at, const KaeruCharVocab *v);

/* Whether the vocabulary has all characters of a text; `name` is for the message if not. */
bool kaeru_char_vocab_check_at(AgSite at, const KaeruCharVocab *v, const char *name, const char *text, size_t n);

/* One id for each character; NULL if the vocabulary does not have a character. */
int32_t *kaeru_char_vocab_encode_at(AgSite at, const KaeruCharVocab *v, const char *text, size_t n, size_t *count);
/* The text, followed by a NUL, and in *n its size; NULL if an id is out of range. */
char *kaeru_char_vocab_decode_at(AgSite at, const KaeruCharVocab *v, const int32_t *ids, size_t count, size_t *n);

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* The words of a text, which are separated by the white space of Unicode. The four special tokens come first, then the words
 * by falling count, words of equal count in the order of their bytes (The Annotated Transformer, load_vocab). */
typedef struct KaeruWordVocab KaeruWordVocab;
enum { KAERU_WORD_START, KAERU_WORD_END, KAERU_WORD_BLANK, KAERU_WORD_UNKNOWN }; /* <s> </s> <blank> <unk> */

/* The words that occur at least min_count times; NULL if the text is not UTF-8. */
KaeruWordVocab *kaeru_word_vocab_new_at(AgSite at, const char *text, size_t n, int64_t min_count);
/* The file is JSON, {"<s>": 0, ...}. */
KaeruWordVocab *kaeru_word_vocab_open_at(AgSite at, const char *path);
bool kaeru_word_vocab_save_at(AgSite at, const KaeruWordVocab *v, const char *path);
void kaeru_word_vocab_free_at(AgSite at, KaeruWordVocab *v);        /* NULL is fine */
int32_t kaeru_word_vocab_size_at(AgSite at, const KaeruWordVocab *v);

/* The id of a word; KAERU_WORD_UNKNOWN if the vocabulary does not have it. */
int32_t kaeru_word_vocab_find_at(AgSite at, const KaeruWordVocab *v, const char *word, size_t n);
/* The word of an id, followed by a NUL, and its size in *n unless n is NULL. Valid until kaeru_word_vocab_free. NULL if the id
 * is out of range. */
const char *kaeru_word_vocab_word_at(AgSite at, const KaeruWordVocab *v, int32_t id, size_t *n);

/* The words of a text that the vocabulary does not have, as text for a message: each once, in quotes, with commas between
 * them. NULL if there are none. */
char *kaeru_word_vocab_unknown_at(AgSite at, const KaeruWordVocab *v, const char *text, size_t n);

/* One id for each word. */
int32_t *kaeru_word_vocab_encode_at(AgSite at, const KaeruWordVocab *v, const char *text, size_t n, size_t *count);
/* The words with a space between them, followed by a NUL, and in *n the size; NULL if an id is out of range. */
char *kaeru_word_vocab_decode_at(AgSite at, const KaeruWordVocab *v, const int32_t *ids, size_t count, size_t *n);

#include "kaeru/models_at.h"

AG_PUBLIC_END
#endif
