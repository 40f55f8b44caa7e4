/* text.h: text to ids and back: files in UTF-8, and vocabularies of characters, of words, of byte pairs and of WordPiece.
 *
 *     KaeruText text;
 *     if (!kaeru_text_open(&text, "story.txt")) { fprintf(stderr, "%s\n", ag_error()); return 1; }
 *     KaeruVocab *v = kaeru_vocab_chars(text.bytes, text.size);
 *     size_t n;
 *     int32_t *ids = kaeru_vocab_encode(v, text.bytes, text.size, KAERU_AS_TEXT, &n);
 *
 * A pointer that is NULL or was freed is a usage error. A
 * function that returns NULL or false sets ag_error(). A text has a size and may contain NUL bytes. The caller owns what a
 * function returns, and frees vocabularies, ids and texts with ag_free. */
#ifndef KAERU_TEXT_H
#define KAERU_TEXT_H

#include <stdio.h>

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- UTF-8 ------------------------------------------------------------------------------------------------------- */

/* A file of UTF-8, mapped into memory, so it may be larger than the memory. It must not be truncated meanwhile. No NUL
 * follows the text. */
typedef struct { const char *bytes; size_t size; struct KaeruFile *file; } KaeruText;
/* False if the file cannot be read or is not UTF-8: "story.txt: line 2, column 5, byte 17: expected UTF-8, found byte
 * 0xE9". Lines and columns count from 1, bytes from 0. A column is a character. */
bool kaeru_text_open(KaeruText *text, const char *path) AG_MUST_CHECK;
void kaeru_text_close(KaeruText *text);               /* may be closed already, or zeroed */

/* Whether two paths lead to the same file, for programs that replace files. False if one of them does not exist. */
bool kaeru_text_is_same_file(const char *a, const char *b);

/* A file that a program writes, of any kind. It takes the place of the file at its path when it is complete: after a kill, an
 * error or with a full disk, the old one is there. Until then it is a new file of the same folder with a name of its own,
 * PATH.XXXXXXXXXXXXXXXX.tmp, so that no link with a name that can be guessed leads the bytes elsewhere. A path that is a
 * symbolic link stays one: the file that it leads to is replaced, or made. ag_free of a writer leaves the old file. */
typedef struct KaeruFileWriter KaeruWriter;
/* NULL if the folder cannot be written, if path is not a regular file, or if another program is writing it. The file gets the
 * permissions of the one at the path `like`, or (NULL) of the one that it replaces, or those of any new file. `shown`: the path
 * that the new file has from the beginning, for others who read it meanwhile, in the same folder; a kill, an error
 * and ag_free leave it. What had this name is replaced, also if it is a link. NULL: no such path. */
KaeruWriter *kaeru_writer_open(const char *path, const char *like, const char *shown);
/* The stream to write to, which stays the writer's. */
FILE *kaeru_writer_stream(KaeruWriter *w);
/* Completes the file, puts it in its place and frees the writer. False if something could not be written: then the old file is
 * there. */
bool kaeru_writer_commit(KaeruWriter *w) AG_MUST_CHECK;

/* Whether n bytes are UTF-8. For the message, they are the part of `name` from line `first` on. */
bool kaeru_text_check(const char *name, int64_t first, const char *text, size_t n);

/* Prints text that arrives in pieces, such as tokens. If a piece ends within a character, the character's bytes are held
 * until the rest arrives. A byte that is not UTF-8 is printed as U+FFFD. If the file is a terminal, the bytes of control
 * characters, except newline and tab, and of characters that change the direction of text are printed as \xNN. */
typedef struct { FILE *out; size_t n; char held[4]; } KaeruTextStream;  /* initialize with { .out = file } */
void kaeru_text_stream_put(KaeruTextStream *s, const char *bytes, size_t n);
void kaeru_text_stream_end(KaeruTextStream *s);       /* prints the bytes held */

/* ---- lines: sentences, one per line ------------------------------------------------------------------------------ */

/* The lines of a text in UTF-8, without the "\n" or "\r\n" at their ends, which the last line need not have. No NUL follows
 * a line. A line of more than 1,000,000 bytes is refused. */
typedef struct { const char *text; size_t size; } KaeruLine;
typedef struct { int64_t n; KaeruLine *line; void *owner; int64_t first; } KaeruLines; /* first: number of line[0] */
bool kaeru_lines_open(KaeruLines *l, const char *path) AG_MUST_CHECK;
/* The lines of a text in memory, which is copied. For messages, it is the part of `name` from line `first` on. */
bool kaeru_lines_of_text(KaeruLines *l, const char *name, int64_t first, const char *text, size_t size);

/* Converts all letters to lower case. */
void kaeru_lines_lower(KaeruLines *l);
/* The lines of n texts as one text, to learn a vocabulary, and in *size its size. Each line has a space before it, as in
 * kaeru_sentence_encode, and a newline after it. */
char *kaeru_lines_join(const KaeruLines *texts, int n, size_t *size);
void kaeru_lines_close(KaeruLines *l);                /* may be closed already, or zeroed */

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

/* The tokens into which text is split. Their ids are 0..size-1. Only one thread at a time may use a vocabulary, because byte
 * pairs have a cache of words. */
typedef struct KaeruVocab KaeruVocab;
typedef enum {
    KAERU_CHARS,            /* characters, in the order of their code points */
    KAERU_WORDS,            /* words between the white space of Unicode. The four special tokens come first, then the words by
                             * falling count, words of equal count in the order of their bytes (The Annotated Transformer) */
    KAERU_BPE,              /* GPT-2's byte pairs */
    KAERU_SENTENCE_BPE,     /* the four special tokens, then byte pairs; the special tokens are not in the files */
    KAERU_WORDPIECE         /* BERT's pieces of words, from a tokenizer.json alone */
} KaeruVocabKind;
/* <s> </s> <blank> <unk>: in KAERU_WORDS and KAERU_SENTENCE_BPE, these are their ids. */
typedef enum { KAERU_START, KAERU_END, KAERU_BLANK, KAERU_UNKNOWN } KaeruSpecial;

/* The characters of a text, or its words that occur at least min_count times. NULL if the text is not UTF-8. */
KaeruVocab *kaeru_vocab_chars(const char *text, size_t n);
KaeruVocab *kaeru_vocab_words(const char *text, size_t n, int64_t min_count);

/* Byte pairs (Sennrich et al. 2016; Radford et al. 2019), learned from a text: a vocabulary of at most `size` tokens. `kind` is
 * KAERU_BPE or KAERU_SENTENCE_BPE.
 *
 * To encode a text, it is split into words by a fixed rule. At first, each byte of a word is a token. Then neighboring tokens
 * are merged: of the pairs that have a merge, the one that was learned first, until no pair has one. So any bytes can be
 * encoded, and decoding returns them unchanged.
 *
 * The tokens are the 256 bytes, then the merges, last <|endoftext|>. Each merge is that of the most frequent pair at that time
 * (of equally frequent pairs, the one of smaller ids), as long as a pair occurs twice. <|endoftext|> in the text separates
 * documents. NULL if `size` has no place for the bytes, <|endoftext|> and the special tokens, or if the text has too many
 * different words.
 *
 * Memory: to learn takes up to about 70 bytes for each byte of different words, and about 150 for each pair of tokens that
 * occurs side by side; to encode, about 35 for each byte of the longest word. In the text of a language, words are short and
 * few. */
KaeruVocab *kaeru_vocab_bpe(KaeruVocabKind kind, const char *text, size_t n, int32_t size);

/* Opens a file of JSON, {"token": id, ...}, with each id from 0 to size-1. KAERU_CHARS and KAERU_WORDS ignore merges_path.
 *
 * Byte pairs have GPT-2's two files. The second one has one merge per line, the first learned first. Each character of a
 * token's text stands for a byte: a printable byte for itself, any other as U+0100 or above (a space is U+0120).
 *
 * If merges_path is NULL, byte pairs are read from Hugging Face's tokenizer.json, with the ids of the library `tokenizers`:
 *
 * - model: BPE, without dropout, continuing_subword_prefix, end_of_word_suffix and byte_fallback;
 * - normalizer: NFC, NFD, NFKC, NFKD, Lowercase, Strip, BertNormalizer, or a Sequence of them. Decoding returns the text that
 *   they make;
 * - pre_tokenizer: ByteLevel with or without a prefix space and its regular expression; before it in a Sequence, or alone:
 *   Split by the regular expression of GPT-2, Llama 3 or Qwen2, Digits, Whitespace, WhitespaceSplit, BertPreTokenizer. Without
 *   ByteLevel, a word begins as its characters instead of its bytes. Without any pre_tokenizer, a text is one word;
 * - post_processor: ByteLevel; TemplateProcessing, BertProcessing or RobertaProcessing with at most one token before a text and
 *   one behind it; a Sequence of these;
 * - decoder: ByteLevel or none; without ByteLevel in the pre_tokenizer, also Fuse;
 * - added tokens, but not with lstrip, rstrip or single_word.
 *
 * Another part is refused by its name, and so is a file that truncates or pads a text by itself (`truncation`, `padding`): ids
 * or text would differ from those of `tokenizers`. So is a member of these parts whose value has another type than
 * `tokenizers` takes, or that is missing although it needs one. A byte or character without a token (SmolLM2 lacks 21 of the
 * 256 bytes) becomes the file's `unk_token`; if it has none, it is left out.
 *
 * KAERU_WORDPIECE reads a tokenizer.json of the model WordPiece with the same other parts, but no ByteLevel, and with the
 * decoder WordPiece or none. Each word becomes the longest token with which it begins, then the longest ones of the rest that
 * have "##" before them; a word without such tokens, or of too many characters, is the file's `unk_token`. The file's
 * `truncation` and `padding` are left to the caller: no text is cut, and none gets more ids. */
KaeruVocab *kaeru_vocab_open(KaeruVocabKind kind, const char *vocab_path, const char *merges_path);
/* Writes such a file, for byte pairs GPT-2's two files. */
bool kaeru_vocab_save(const KaeruVocab *v, const char *vocab_path, const char *merges_path) AG_MUST_CHECK;
/* Writes a vocabulary of characters, or of byte pairs by the rules of GPT-2, as tokenizer.json and tokenizer_config.json. The
 * libraries `tokenizers` and `transformers` (AutoTokenizer) give the same ids with them; a character that the vocabulary does
 * not have is left out there. False if a file cannot be written or the vocabulary is another one. */
bool kaeru_vocab_export(const KaeruVocab *v, const char *tokenizer_path, const char *config_path) AG_MUST_CHECK;

/* The content of these files as texts that end with a NUL, such as for the settings of a checkpoint (kaeru/training.h), which
 * then needs no other file. The result is that of the first file. *merges receives that of the second one, or NULL if there is
 * none. The caller frees both with ag_free. NULL with ag_error() if the files cannot hold this vocabulary. */
char *kaeru_vocab_to_text(const KaeruVocab *v, char **merges);
/* The vocabulary of such texts, as kaeru_vocab_open reads it from files; `name` is for messages. */
KaeruVocab *kaeru_vocab_of_text(KaeruVocabKind kind, const char *name, const char *vocab, const char *merges);

KaeruVocabKind kaeru_vocab_kind(const KaeruVocab *v);
int32_t kaeru_vocab_size(const KaeruVocab *v);
/* A hash of the tokens in the vocabulary's file, to recognize it. */
uint64_t kaeru_vocab_fingerprint(const KaeruVocab *v);
/* The id of a special token; -1 if there is none. KAERU_BPE has at most KAERU_START and KAERU_END, the tokens
 * that a tokenizer.json puts before and behind each text, which kaeru_vocab_encode does not add. If there is none behind a
 * text, KAERU_END is <|endoftext|>. KAERU_WORDPIECE has these two (BERT: [CLS], [SEP]) and KAERU_UNKNOWN. KAERU_CHARS has
 * none. */
int32_t kaeru_vocab_special(const KaeruVocab *v, KaeruSpecial which);

/* The id of a token of n bytes; a special token comes last. An added token with the bytes of one of the vocabulary is not
 * found. If the vocabulary does not have it: what kaeru_vocab_special(v, KAERU_UNKNOWN) returns. */
int32_t kaeru_vocab_find(const KaeruVocab *v, const char *token, size_t n);
/* The bytes of a token, followed by a NUL, and their number in *n unless n is NULL. Valid until the vocabulary is freed. NULL
 * if the id is out of range. */
const char *kaeru_vocab_token(const KaeruVocab *v, int32_t id, size_t *n);

/* Whether kaeru_vocab_encode has an id for each character of a text; `name` is for the message if not. */
bool kaeru_vocab_check(const KaeruVocab *v, const char *name, const char *text, size_t n);
/* The words of a text that become KAERU_UNKNOWN, as text for a message: each once, in quotes, with commas between them. NULL if
 * there are none: only KAERU_WORDS has unknown words. */
char *kaeru_vocab_unknown(const KaeruVocab *v, const char *text, size_t n);

typedef enum {
    KAERU_AS_TEXT,          /* <|endoftext|> is text like any other, and so is each special token of a tokenizer.json */
    KAERU_WITH_SPECIAL      /* they are the special tokens: not for text from an untrusted source */
} KaeruEncoding;            /* of byte pairs and WordPiece; other kinds ignore it */
/* The ids of a text, and in *count their number. NULL if a vocabulary of characters does not have one. For byte pairs, a byte
 * that is not UTF-8 is split like a symbol. */
int32_t *kaeru_vocab_encode(const KaeruVocab *v, const char *text, size_t n, KaeruEncoding how, size_t *count);
/* The text of the ids, with a space between two words, followed by a NUL, and in *n its size. NULL if an id is out of range.
 * Four results differ from those of `tokenizers`. An added token is its own text; there, the letters of an added "é!" are
 * taken for bytes, which gives U+FFFD and "!". Tokens of bytes without a decoder are decoded by ByteLevel; there, spaces join
 * them. Tokens of characters with the decoder ByteLevel are joined; there, their letters are taken for bytes. WordPiece keeps
 * the space before a "."; there, `cleanup` removes it. */
char *kaeru_vocab_decode(const KaeruVocab *v, const int32_t *ids, size_t count, size_t *n);

/* A sentence, by a vocabulary with the four special tokens: the ids KAERU_START, those of the text, KAERU_END. In byte pairs,
 * the text has a space before it, so that its first word is the same token as elsewhere. */
int32_t *kaeru_sentence_encode(const KaeruVocab *v, const char *text, size_t n, size_t *count);
/* The text up to KAERU_END, without KAERU_START and KAERU_BLANK, in one line: line ends and NULs become spaces. An id out of
 * range is a usage error. */
char *kaeru_sentence_decode(const KaeruVocab *v, const int32_t *ids, size_t count, size_t *n);

#include "kaeru/calls/text.h"

AG_PUBLIC_END
#endif
