/* families.h: the sentences of families, and the tests of its three models. */
#ifndef KAERU_EXAMPLES_FAMILIES_H
#define KAERU_EXAMPLES_FAMILIES_H

#include "kaeru/text.h"
#include "kaeru/training.h"

enum {
    ALL = 300, TRAIN = 240,         /* sentences; the last 60 are held out */
    LENGTH = 8, PASSIVE = 10,       /* words of a row with <s> and </s> */
    VERB = 4,                       /* the verb's position in a row */
    HIDDEN = KAERU_UNKNOWN
};
/* "the old girl plays the piano" and "the piano is played by the old girl" */
extern int32_t active[ALL][LENGTH], passive[ALL][PASSIVE];

/* Fills both arrays, in a random order, and returns the vocabulary. */
KaeruVocab *make_sentences(void);
/* Prints a row's words, up to </s>; a hidden one is ____. */
void print_words(const KaeruVocab *v, const int32_t *row, int n);

/* fills: an encoder; goes_on: a decoder */
void show_filling(const KaeruVocab *vocab, TransformerEncoderOnly *fills, TransformerEncoderOnly *goes_on);
void show_going_on(const KaeruVocab *vocab, TransformerEncoderOnly *goes_on);
void show_rewriting(const KaeruVocab *vocab, Transformer *rewrites);

#endif
