/* text.h: text in, numbers out, and back: files in UTF-8, vocabularies of characters and of words.
 *
 *     Text text;
 *     if (!text_open(&text, "story.txt")) { fprintf(stderr, "%s\n", ag_error()); return 1; }
 *     CharVocab *vocab = char_vocab_new(text.bytes, text.size);
 *     size_t n;
 *     int32_t *ids = char_vocab_encode(vocab, text.bytes, text.size, &n);
 *
 * Functions that return NULL or false have said why in ag_error(). Texts have a size and may hold NUL bytes. What a
 * function returns is the caller's: ids and texts end with ag_free, the rest with its own free or close. */
#ifndef KAERU_TEXT_H
#define KAERU_TEXT_H

#include "kaeru/autograd.h"

#pragma GCC visibility push(default)

/* ---- UTF-8 ------------------------------------------------------------------------------------------------------- */

/* A file of UTF-8, seen as memory: as large as the disk allows, but nobody may shorten it meanwhile. No NUL follows. */
typedef struct { const char *bytes; size_t size; struct FileMap *map; } Text;
/* False if it cannot be read or is not UTF-8 throughout: "story.txt: line 2, column 5, byte 17: expected UTF-8, found
 * byte 0xE9". Lines and columns count from 1, columns in characters, bytes from 0. */
bool text_open(Text *text, const char *path);
void text_close(Text *text);                                        /* once closed, or zeroed, it is fine */

/* Whether n bytes are UTF-8; `name` stands in the message if they are not. */
bool text_check(const char *name, const char *text, size_t n);
/* The same, where the text is a part of a longer one and begins with that line of it. */
bool text_check_part(const char *name, int64_t first, const char *text, size_t n);
/* Where byte `at` is, in such a part: "line 2, column 5, byte 17". Returns out. */
#define TEXT_PLACE 80
const char *text_place(int64_t first, const char *text, size_t at, char out[TEXT_PLACE]);
/* The character at `text`, where n >= 1 bytes are left: its length, 1 to 4, and code point; 0 if this is not UTF-8. */
int text_next(const char *text, size_t n, uint32_t *code);

/* Prints text that comes in pieces, as tokens do, which may end within a character: its bytes are held back until the
 * rest comes. A byte that is not UTF-8 becomes U+FFFD. */
typedef struct { FILE *out; size_t n; char held[4]; } TextStream;   /* begin with { .out = out } */
void text_stream_put(TextStream *s, const char *bytes, size_t n);
void text_stream_end(TextStream *s);                                /* nothing more comes */

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* The characters of a text, numbered from 0 in the order of their code points. */
typedef struct CharVocab CharVocab;
CharVocab *char_vocab_new(const char *text, size_t n);              /* NULL if it is not UTF-8 */
/* The file is JSON, {"a": 0, ...}. */
CharVocab *char_vocab_open(const char *path);
bool char_vocab_save(const CharVocab *v, const char *path);
void char_vocab_free(CharVocab *v);                                 /* NULL is fine */
int32_t char_vocab_size(const CharVocab *v);
/* Whether all of a text is; `name` stands in the message if not. */
bool char_vocab_check(const CharVocab *v, const char *name, const char *text, size_t n);
/* One id a character; NULL if one is not in the vocabulary. */
int32_t *char_vocab_encode(const CharVocab *v, const char *text, size_t n, size_t *count);
/* The text and its size, with a NUL behind it; NULL if an id is out of range. */
char *char_vocab_decode(const CharVocab *v, const int32_t *ids, size_t count, size_t *n);

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* The words of a text, which whitespace (Unicode's) separates: four special tokens, then by falling count, words of
 * equal count in the order of their bytes (The Annotated Transformer, load_vocab). */
typedef struct WordVocab WordVocab;
enum { WORD_START, WORD_END, WORD_BLANK, WORD_UNKNOWN };            /* <s> </s> <blank> <unk> */
/* Every word that occurs at least min_count times; NULL if the text is not UTF-8. */
WordVocab *word_vocab_new(const char *text, size_t n, int64_t min_count);
/* The file is JSON, {"<s>": 0, ...}. */
WordVocab *word_vocab_open(const char *path);
bool word_vocab_save(const WordVocab *v, const char *path);
void word_vocab_free(WordVocab *v);                                 /* NULL is fine */
int32_t word_vocab_size(const WordVocab *v);
/* WORD_UNKNOWN if the word is not there. */
int32_t word_vocab_find(const WordVocab *v, const char *word, size_t n);
/* The word of an id, with a NUL behind it, and in *n, if that is not NULL, its size, until the vocabulary ends; NULL if
 * the id is out of range. */
const char *word_vocab_word(const WordVocab *v, int32_t id, size_t *n);
/* The words of a text that are not in the vocabulary, to be told: each once, in quotes, with commas between; NULL if
 * there are none; end with ag_free. */
char *word_vocab_unknown(const WordVocab *v, const char *text, size_t n);
/* One id a word. */
int32_t *word_vocab_encode(const WordVocab *v, const char *text, size_t n, size_t *count);
/* The words with a space between, and a NUL behind; NULL if an id is out of range. */
char *word_vocab_decode(const WordVocab *v, const int32_t *ids, size_t count, size_t *n);

#pragma GCC visibility pop
#endif
