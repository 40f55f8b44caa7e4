/* translation.h: translation with an encoder-decoder: sentences to ids and back, batches of sentence pairs of similar length,
 * translating, and BLEU.
 *
 *     KaeruLines german, english;
 *     if (!kaeru_lines_open(&german, "train.de") || !kaeru_lines_open(&english, "train.en")) { ... ag_error() ... }
 *     KaeruSentenceVocab de = kaeru_sentence_vocab_of_words(&german, 1, 2), en = kaeru_sentence_vocab_of_words(&english, 1, 2);
 *     KaeruSentencePairs *pairs = kaeru_sentence_pairs_new(&german, &de, &english, &en, 72);
 *     Transformer *m = transformer_new(kaeru_sentence_vocab_size(&de), kaeru_sentence_vocab_size(&en), transformer_defaults());
 *     for (int epoch = 0; epoch < 8; epoch++) {
 *         kaeru_sentence_pairs_shuffle(pairs, 2000);
 *         transformer_run_epoch(m, kaeru_sentence_pairs_next, pairs, &options, &state);
 *     }
 *
 * As in tensor.h, NAME_at(Site at, ...) is called as NAME(...). A pointer that is NULL or was freed is a usage error. A
 * function that returns NULL or false sets ag_error(). The caller owns what a function returns. */
#ifndef KAERU_TRANSLATION_H
#define KAERU_TRANSLATION_H

#include "kaeru/bpe.h"
#include "kaeru/text.h"
#include "kaeru/training.h"

AG_PUBLIC_BEGIN

/* ---- sentences, one per line ------------------------------------------------------------------------------------- */

/* The lines of a text in UTF-8, without the "\n" or "\r\n" at their ends, which the last line need not have. No NUL follows
 * a line. A line of more than 1,000,000 bytes is refused. */
typedef struct { const char *text; size_t size; } KaeruLine;
typedef struct { int64_t n; KaeruLine *line; void *owner; int64_t first; } KaeruLines; /* first: number of line[0] */
bool kaeru_lines_open_at(AgSite at, KaeruLines *l, const char *path);
/* The same for a text in memory, which is copied; `name` is for messages. */
bool kaeru_lines_of_text_at(AgSite at, KaeruLines *l, const char *name, const char *text, size_t size);
/* The same for a part of a longer text. `first` is the number of the part's first line in that text, from 1, for
 * messages. */
bool kaeru_lines_of_part_at(AgSite at, KaeruLines *l, const char *name, int64_t first, const char *text, size_t size);

/* Converts all letters to lower case. */
void kaeru_lines_lower_at(AgSite at, KaeruLines *l);
void kaeru_lines_close_at(AgSite at, KaeruLines *l);                /* may be closed already, or zeroed */

/* ---- sentences and ids ------------------------------------------------------------------------------------------- */

/* Owns a vocabulary of words between spaces or one of byte pairs. In both, the first four ids are KAERU_WORD_START,
 * KAERU_WORD_END, KAERU_WORD_BLANK (padding) and KAERU_WORD_UNKNOWN. For one thread at a time. */
typedef enum { KAERU_SENTENCE_WORDS, KAERU_SENTENCE_BPE } KaeruSentenceVocabKind;
typedef struct {
    KaeruSentenceVocabKind kind;
    union { KaeruWordVocab *words; KaeruBpe *bpe; };
} KaeruSentenceVocab;

/* A vocabulary of the words that occur at least min_count times in n texts. */
KaeruSentenceVocab kaeru_sentence_vocab_of_words_at(AgSite at, const KaeruLines *texts, int n, int64_t min_count);
/* A vocabulary of at most `size` tokens (300 or more), learned as byte pairs from n texts. Its `bpe` is NULL, with
 * ag_error(), if the texts have too many different words. */
KaeruSentenceVocab kaeru_sentence_vocab_of_bpe_at(AgSite at, const KaeruLines *texts, int n, int32_t size);

/* Opens a vocabulary by kaeru_word_vocab_open, if merges_path is NULL, or else by kaeru_bpe_open. */
bool kaeru_sentence_vocab_open_at(AgSite at, KaeruSentenceVocab *v, const char *vocab_path, const char *merges_path);
bool kaeru_sentence_vocab_save_at(AgSite at, const KaeruSentenceVocab *v, const char *vocab_path, const char *merges_path);
void kaeru_sentence_vocab_close_at(AgSite at, KaeruSentenceVocab *v);  /* may be closed already, or zeroed */
int32_t kaeru_sentence_vocab_size_at(AgSite at, const KaeruSentenceVocab *v);

/* The ids KAERU_WORD_START, those of the sentence, KAERU_WORD_END; free them with ag_free. */
int32_t *kaeru_sentence_encode_at(AgSite at, const KaeruSentenceVocab *v, const char *text, size_t n, size_t *count);

/* The words of a line that become KAERU_WORD_UNKNOWN, as kaeru_word_vocab_unknown returns them. NULL if there are none. With
 * byte pairs there are none. */
char *kaeru_sentence_unknown_at(AgSite at, const KaeruSentenceVocab *v, KaeruLine line);

/* The sentence up to KAERU_WORD_END, followed by a NUL, in one line: line ends and NULs become spaces. Free it with ag_free.
 * An id out of range is a usage error. */
char *kaeru_sentence_decode_at(AgSite at, const KaeruSentenceVocab *v, const int32_t *ids, size_t count, size_t *n);

/* The text of one id, in one line, to show it: "<s>", "Büsche", " the". Free it with ag_free. */
char *kaeru_sentence_token_at(AgSite at, const KaeruSentenceVocab *v, int32_t id);

/* ---- pairs of sentences ------------------------------------------------------------------------------------------ */

typedef struct KaeruSentencePairs KaeruSentencePairs;
/* Pairs line i of one text with line i of the other. Pairs with an empty side, or with more than max_tokens on a side (0:
 * any number), are left out. NULL if the texts do not have the same number of lines, or if no pair is left. Free them with
 * ag_free. */
KaeruSentencePairs *kaeru_sentence_pairs_new_at(AgSite at, const KaeruLines *src, const KaeruSentenceVocab *src_vocab,
                                                const KaeruLines *tgt, const KaeruSentenceVocab *tgt_vocab, int64_t max_tokens);

/* How many pairs there are, and how many were left out. */
int64_t kaeru_sentence_pairs_count_at(AgSite at, const KaeruSentencePairs *p);
int64_t kaeru_sentence_pairs_left_out_at(AgSite at, const KaeruSentencePairs *p);

/* Begins an epoch with new random batches, by this thread's random generator. A batch has pairs of similar length, with at
 * most batch_tokens on each side, padding included, but at least one pair. */
void kaeru_sentence_pairs_shuffle_at(AgSite at, KaeruSentencePairs *p, int64_t batch_tokens);
/* Begins an epoch with batches in the order of their length, without random numbers: for evaluation. */
void kaeru_sentence_pairs_sort_at(AgSite at, KaeruSentencePairs *p, int64_t batch_tokens);
int64_t kaeru_sentence_pairs_batches_at(AgSite at, const KaeruSentencePairs *p);

/* A KaeruNextBatch for transformer_run_epoch, whose source is a KaeruSentencePairs. After the last batch it returns false; the
 * next epoch must begin with kaeru_sentence_pairs_shuffle or kaeru_sentence_pairs_sort. The name without (...) is a function,
 * which transformer_run_epoch takes. */
bool kaeru_sentence_pairs_next_at(AgSite at, void *pairs, TransformerBatch *batch);
bool (kaeru_sentence_pairs_next)(void *pairs, TransformerBatch *batch);

/* ---- translating ------------------------------------------------------------------------------------------------- */

/* A model with the vocabularies of its two languages. */
typedef struct { Transformer *model; const KaeruSentenceVocab *src, *tgt; } TransformerTranslator;
typedef struct {
    int beam;                           /* 1: greedy decoding, of many sentences at a time */
    double length_penalty;              /* see KaeruBeamOptions */
    void (*done)(void *arg, int64_t lines);   /* called with the number of lines translated so far; may be NULL */
    void *arg;
} KaeruTranslateOptions;
/* Translates every line of src; an empty line stays empty. False if a sentence has more tokens than the model has positions:
 * "line 3: 600 tokens with start and end, expected at most 512, the positions that the model has", or if
 * transformer_greedy_decode or transformer_beam_search returns NULL. */
bool transformer_translate_lines_at(AgSite at, const TransformerTranslator *t, const KaeruLines *src,
                                    const KaeruTranslateOptions *how, KaeruLines *out);

/* ---- BLEU -------------------------------------------------------------------------------------------------------- */

/* Corpus BLEU (Papineni et al. 2002) of plain text, the number that sacrebleu gives by default (Post 2018: the tokens of
 * mteval-v13a, n-grams up to 4, exponential smoothing). With lower_case, it is the number of sacrebleu -lc. Zero it before
 * the first kaeru_bleu_add. */
typedef struct {
    bool lower_case;
    int64_t correct[4], total[4];       /* number of n-grams that are also in the reference; number of all n-grams */
    int64_t length, reference_length;   /* in tokens */
} KaeruBleu;
void kaeru_bleu_add_at(AgSite at, KaeruBleu *b, const char *translation, size_t n, const char *reference, size_t reference_n);
double kaeru_bleu_score_at(AgSite at, const KaeruBleu *b);          /* 0 to 100 */

AG_PUBLIC_END

#endif
