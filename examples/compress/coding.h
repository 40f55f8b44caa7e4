/* coding.h: a text as bits: the predictor's probabilities and the arithmetic coder together. */
#ifndef KAERU_EXAMPLES_CODING_H
#define KAERU_EXAMPLES_CODING_H

#include "coder.h"
#include "predictor.h"

typedef struct {
    Predictor *p;
    bool known;                         /* the text is known: it is compressed, else it is decompressed */
    Encoder encoder;
    Decoder decoder;
    float *bits;                        /* that each token costs; free it with ag_free */
    double sum;                         /* of these bits */
    int64_t done;                       /* tokens */
} Coding;

/* Of the text with which p has begun. `coded`: its n bytes, which must stay; NULL: the text is compressed. */
Coding coding_begin(Predictor *p, const unsigned char *coded, size_t n);
/* Codes the next segment of each stream. False with ag_error() if that cannot be done. */
bool coding_step(Coding *c);

#endif
