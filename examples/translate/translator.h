/* translator.h: translates the lines of a text with an encoder-decoder. */
#ifndef KAERU_EXAMPLES_TRANSLATE_TRANSLATOR_H
#define KAERU_EXAMPLES_TRANSLATE_TRANSLATOR_H

#include "kaeru/text.h"
#include "kaeru/training.h"

/* A model with the vocabularies of its two languages. */
typedef struct {
    Transformer *model;
    const KaeruVocab *src, *tgt;
} Translator;

typedef struct {
    int beam;                                   /* 1: greedy decoding, of many sentences at a time */
    double length_penalty;                      /* see KaeruBeamOptions */
    void (*done)(void *arg, int64_t lines);     /* called with the number of lines translated so far; may be NULL */
    void *arg;
} TranslateOptions;

/* Translates every line of src. The translation of an empty line is empty. False with ag_error() if a sentence has more tokens
 * than the model has positions ("line 3: 600 tokens with start and end, expected at most 512, the positions that the model
 * has"), or if transformer_greedy_decode or transformer_beam_search returns NULL. */
bool translate_lines(const Translator *t, const KaeruLines *src, const TranslateOptions *how, KaeruLines *out);

#endif
