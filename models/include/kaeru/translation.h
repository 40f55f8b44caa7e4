/* translation.h: an encoder-decoder at work on two languages: sentences to ids and back, pairs of them to learn from in
 * batches of like length, translating, and BLEU.
 *
 *     Lines german, english;
 *     if (!lines_open(&german, "train.de") || !lines_open(&english, "train.en")) { ... ag_error() ... }
 *     SentenceVocab de = sentence_vocab_of_words(&german, 1, 2), en = sentence_vocab_of_words(&english, 1, 2);
 *     SentencePairs *pairs = sentence_pairs_new(&german, &de, &english, &en, 72);
 *     EncoderDecoder *m = make_model(sentence_vocab_size(&de), sentence_vocab_size(&en), transformer_defaults());
 *     for (int epoch = 0; epoch < 8; epoch++) {
 *         sentence_pairs_shuffle(pairs, 2000);
 *         run_epoch(m, sentence_pairs_next, pairs, &options, &state);
 *     }
 *
 * Functions that return NULL or false have said why in ag_error(). What a function returns is the caller's. */
#ifndef KAERU_TRANSLATION_H
#define KAERU_TRANSLATION_H

#include "kaeru/bpe.h"
#include "kaeru/text.h"
#include "kaeru/training.h"

#pragma GCC visibility push(default)

/* ---- sentences, one a line --------------------------------------------------------------------------------------- */

/* The lines of a text in UTF-8, without "\n" or "\r\n"; the last one needs no end. No NUL follows a line. */
typedef struct { const char *text; size_t size; } Line;
typedef struct { int64_t n; Line *line; struct Region *region; int64_t first; } Lines;  /* first: number of line[0] */
bool lines_open(Lines *l, const char *path);
/* The same of a text in memory, which is copied; `name` is for messages. */
bool lines_of_text(Lines *l, const char *name, const char *text, size_t size);
/* The same, where the text is a part of a longer one and begins with that line of it (from 1), for messages. */
bool lines_of_part(Lines *l, const char *name, int64_t first, const char *text, size_t size);
/* Every capital letter becomes a small one. */
void lines_lower(Lines *l);
void lines_close(Lines *l);                                         /* once closed, or zeroed, it is fine */

/* ---- sentences and ids ------------------------------------------------------------------------------------------- */

/* Owns a vocabulary of words between spaces or one of byte pairs. In both, the first four ids are WORD_START, WORD_END,
 * WORD_BLANK (padding) and WORD_UNKNOWN. For one thread at a time. */
typedef enum { SENTENCE_WORDS, SENTENCE_BPE } SentenceVocabKind;
typedef struct {
    SentenceVocabKind kind;
    union { WordVocab *words; Bpe *bpe; };
} SentenceVocab;
/* The words that occur at least min_count times in n texts. */
SentenceVocab sentence_vocab_of_words(const Lines *texts, int n, int64_t min_count);
/* At most `size` tokens (300 or more) learned from n texts. */
SentenceVocab sentence_vocab_of_bpe(const Lines *texts, int n, int32_t size);
/* From files as word_vocab_open (merges_path NULL) and bpe_open read them. */
bool sentence_vocab_open(SentenceVocab *v, const char *vocab_path, const char *merges_path);
bool sentence_vocab_save(const SentenceVocab *v, const char *vocab_path, const char *merges_path);
void sentence_vocab_close(SentenceVocab *v);                        /* once closed, or zeroed, it is fine */
int32_t sentence_vocab_size(const SentenceVocab *v);
/* WORD_START, the sentence, WORD_END; end with ag_free. */
int32_t *sentence_encode(const SentenceVocab *v, const char *text, size_t n, size_t *count);
/* The words of a line that become WORD_UNKNOWN, as word_vocab_unknown gives them; NULL if there are none, as always
 * with byte pairs, which spell them. */
char *sentence_unknown(const SentenceVocab *v, Line line);
/* The sentence up to WORD_END, with a NUL behind it, in one line: line ends and NULs in it become spaces; end with
 * ag_free. Ids that are out of range are misuse. */
char *sentence_decode(const SentenceVocab *v, const int32_t *ids, size_t count, size_t *n);
/* What one id stands for, to look at, in one line: "<s>", "Büsche", " the"; end with ag_free. */
char *sentence_token(const SentenceVocab *v, int32_t id);

/* ---- pairs of sentences ------------------------------------------------------------------------------------------ */

typedef struct SentencePairs SentencePairs;
/* Line i of one text and line i of the other. Pairs with an empty side, or with more than max_tokens on a side (0: any
 * number), are left out. NULL if the texts differ in their number of lines, or if no pair is left. */
SentencePairs *sentence_pairs_new(const Lines *src, const SentenceVocab *src_vocab, const Lines *tgt,
                                  const SentenceVocab *tgt_vocab, int64_t max_tokens);
void sentence_pairs_free(SentencePairs *p);                         /* NULL is fine */
int64_t sentence_pairs_count(const SentencePairs *p);
int64_t sentence_pairs_left_out(const SentencePairs *p);
/* Begins an epoch: makes batches of sentences of like length, of at most batch_tokens on either side, padding included
 * (one pair at least), in a new order from this thread's generator. */
void sentence_pairs_shuffle(SentencePairs *p, int64_t batch_tokens);
/* The same, by length, without drawing: for evaluation. */
void sentence_pairs_sort(SentencePairs *p, int64_t batch_tokens);
int64_t sentence_pairs_batches(const SentencePairs *p);
/* A NextBatch for run_epoch, its source a SentencePairs. */
bool sentence_pairs_next(void *pairs, Batch *batch);

/* ---- translating ------------------------------------------------------------------------------------------------- */

/* A model with the vocabularies of its two languages. */
typedef struct { EncoderDecoder *model; const SentenceVocab *src, *tgt; } Translator;
typedef struct {
    int beam;                           /* 1: greedily, many sentences at a time */
    double length_penalty;              /* see BeamOptions */
    void (*done)(void *arg, int64_t lines);   /* called now and then with the number of lines translated; may be NULL */
    void *arg;
} TranslateOptions;
/* Every line of src in the other language; empty ones stay empty. False if a sentence is longer than the model's table
 * of positions: "line 3: 600 tokens, expected at most 512". */
bool translate_lines(const Translator *t, const Lines *src, const TranslateOptions *how, Lines *out);

/* ---- BLEU -------------------------------------------------------------------------------------------------------- */

/* Corpus BLEU (Papineni et al. 2002) of plain text, the number that sacrebleu gives by default (Post 2018:
 * mteval-v13a's tokens, n-grams up to 4, exponential smoothing); with lower_case, that of its option -lc. Zeroed at
 * first. */
typedef struct {
    bool lower_case;
    int64_t correct[4], total[4];       /* n-grams that are in the reference, too, and all */
    int64_t length, reference_length;   /* in tokens */
} Bleu;
void bleu_add(Bleu *b, const char *translation, size_t n, const char *reference, size_t reference_n);
double bleu_score(const Bleu *b);                                   /* 0 to 100 */

#pragma GCC visibility pop

#endif
