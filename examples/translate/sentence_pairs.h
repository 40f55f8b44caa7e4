/* sentence_pairs.h: sentences as ids, and batches of pairs of sentences of similar length. */
#ifndef KAERU_EXAMPLES_TRANSLATE_SENTENCE_PAIRS_H
#define KAERU_EXAMPLES_TRANSLATE_SENTENCE_PAIRS_H

#include "kaeru/text.h"
#include "kaeru/training.h"

/* ---- sentences --------------------------------------------------------------------------------------------------- */

typedef struct {
    int32_t *ids;
    int64_t size, line;                 /* line: its index in the text */
} Sentence;
/* Returns the ids of a line, with start and end, which `owner` owns. */
Sentence sentence_of(void *owner, const KaeruVocab *v, const KaeruLines *lines, int64_t line);
/* Returns the ids of n sentences: (n, size of the longest), padded with KAERU_BLANK. */
Tensor *sentences_pad(const Sentence *s, int64_t n);

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

typedef struct SentencePairs SentencePairs;
/* Pairs line i of one text with line i of the other, encoded by kaeru_sentence_encode. Leaves out pairs with an empty side, or
 * with more than max_tokens on a side (0: any number). NULL with ag_error() if the texts do not have the same number of lines,
 * or if no pair is left. Free them with ag_free. */
SentencePairs *sentence_pairs_new(const KaeruLines *src, const KaeruVocab *src_vocab, const KaeruLines *tgt,
                                  const KaeruVocab *tgt_vocab, int64_t max_tokens);

/* How many pairs there are, and how many were left out. */
int64_t sentence_pairs_count(const SentencePairs *p);
int64_t sentence_pairs_left_out(const SentencePairs *p);

/* Begins an epoch with new random batches, by this thread's random generator. A batch has pairs of similar length, with at
 * most batch_tokens on each side, padding included, but at least one pair. */
void sentence_pairs_shuffle(SentencePairs *p, int64_t batch_tokens);
/* Begins an epoch with batches in the order of their length, without random numbers: for evaluation. */
void sentence_pairs_sort(SentencePairs *p, int64_t batch_tokens);
/* The number of batches of the epoch. */
int64_t sentence_pairs_batches(const SentencePairs *p);

/* A KaeruNextBatch for transformer_run_epoch, whose source is a SentencePairs. After the last batch it returns false. */
bool sentence_pairs_next(void *pairs, TransformerBatch *batch);

#endif
