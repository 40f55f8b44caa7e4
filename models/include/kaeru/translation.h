/* translation.h: translation with an encoder-decoder: sentences, batches of sentence pairs of similar length, translating, and
 * BLEU.
 *
 *     KaeruLines german, english;
 *     if (!kaeru_lines_open(&german, "train.de") || !kaeru_lines_open(&english, "train.en")) { ... ag_error() ... }
 *     size_t n;
 *     char *text = kaeru_lines_join(&german, 1, &n);
 *     KaeruVocab *de = kaeru_vocab_words(text, n, 2), *en = ...
 *     KaeruSentencePairs *pairs = kaeru_sentence_pairs_new(&german, de, &english, en, 72);
 *     Transformer *m = transformer_new(kaeru_vocab_size(de), kaeru_vocab_size(en), transformer_defaults());
 *     for (int epoch = 0; epoch < 8; epoch++) {
 *         kaeru_sentence_pairs_shuffle(pairs, 2000);
 *         transformer_run_epoch(m, kaeru_sentence_pairs_next, pairs, &options, &state);
 *     }
 *
 * A pointer that is NULL or was freed is a usage error. A
 * function that returns NULL or false sets ag_error(). The caller owns what a function returns. */
#ifndef KAERU_TRANSLATION_H
#define KAERU_TRANSLATION_H

#include "kaeru/text.h"
#include "kaeru/training.h"

AG_PUBLIC_BEGIN

/* ---- sentences, one per line ------------------------------------------------------------------------------------- */

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

/* ---- pairs of sentences ------------------------------------------------------------------------------------------ */

typedef struct KaeruSentencePairs KaeruSentencePairs;
/* Pairs line i of one text with line i of the other, encoded by kaeru_sentence_encode. Pairs with an empty side, or with
 * more than max_tokens on a side (0: any number), are left out. NULL if the texts do not have the same number of lines, or if
 * no pair is left. Free them with ag_free. */
KaeruSentencePairs *kaeru_sentence_pairs_new(const KaeruLines *src, const KaeruVocab *src_vocab, const KaeruLines *tgt,
                                             const KaeruVocab *tgt_vocab, int64_t max_tokens);

/* How many pairs there are, and how many were left out. */
int64_t kaeru_sentence_pairs_count(const KaeruSentencePairs *p);
int64_t kaeru_sentence_pairs_left_out(const KaeruSentencePairs *p);

/* Begins an epoch with new random batches, by this thread's random generator. A batch has pairs of similar length, with at
 * most batch_tokens on each side, padding included, but at least one pair. */
void kaeru_sentence_pairs_shuffle(KaeruSentencePairs *p, int64_t batch_tokens);
/* Begins an epoch with batches in the order of their length, without random numbers: for evaluation. */
void kaeru_sentence_pairs_sort(KaeruSentencePairs *p, int64_t batch_tokens);
int64_t kaeru_sentence_pairs_batches(const KaeruSentencePairs *p);

/* A KaeruNextBatch for transformer_run_epoch, whose source is a KaeruSentencePairs. After the last batch it returns false; the
 * next epoch must begin with kaeru_sentence_pairs_shuffle or kaeru_sentence_pairs_sort. The name without (...) is a function,
 * which transformer_run_epoch takes. */
bool kaeru_sentence_pairs_next(void *pairs, TransformerBatch *batch);

/* ---- translating ------------------------------------------------------------------------------------------------- */

/* A model with the vocabularies of its two languages. */
typedef struct { Transformer *model; const KaeruVocab *src, *tgt; } TransformerTranslator;
typedef struct {
    int beam;                           /* 1: greedy decoding, of many sentences at a time */
    double length_penalty;              /* see KaeruBeamOptions */
    void (*done)(void *arg, int64_t lines);   /* called with the number of lines translated so far; may be NULL */
    void *arg;
} KaeruTranslateOptions;
/* Translates every line of src. The translation of an empty line is empty. False if a sentence has more tokens than the model
 * has positions: "line 3: 600 tokens with start and end, expected at most 512, the positions that the model has", or if
 * transformer_greedy_decode or transformer_beam_search returns NULL. */
bool transformer_translate_lines(const TransformerTranslator *t, const KaeruLines *src, const KaeruTranslateOptions *how,
                                 KaeruLines *out);

/* ---- BLEU -------------------------------------------------------------------------------------------------------- */

/* Corpus BLEU (Papineni et al. 2002) of plain text, the number that sacrebleu gives by default (Post 2018: the tokens of
 * mteval-v13a, n-grams up to 4, exponential smoothing). With lower_case, it is the number of sacrebleu -lc. Zero it before
 * the first kaeru_bleu_add. */
typedef struct {
    bool lower_case;
    int64_t correct[4], total[4];       /* number of n-grams that are also in the reference; number of all n-grams */
    int64_t length, reference_length;   /* in tokens */
} KaeruBleu;
void kaeru_bleu_add(KaeruBleu *b, const char *translation, size_t n, const char *reference, size_t reference_n);
double kaeru_bleu_score(const KaeruBleu *b);          /* 0 to 100 */

#include "kaeru/calls/translation.h"

AG_PUBLIC_END

#endif
