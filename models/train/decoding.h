/* decoding.h: greedy decoding, for all models with an encoder and a decoder. */
#ifndef KAERU_DECODING_H
#define KAERU_DECODING_H

#include "kaeru/training.h"

/* A usage error, in the name of function `what`, if the generator does not know the symbols. An end of -1 is no token. */
void check_decoding(const char *what, const TransformerGenerator *g, int64_t max_len, int32_t start, int32_t end);

/* Writes the token that follows each of the tokens `last` (B). False with ag_error(). */
typedef bool NextTokens(void *arg, Tensor *last, int32_t *token);
/* Writes the most probable tokens by the log-probabilities p (B,V). False with ag_error() if a row is NaN, as NaN or infinity
 * in the weights make it. */
bool most_probable(Tensor *p, int32_t *token);
/* (rows,max_len) ids. Each row begins with `start`; next gives the others. It stops when each row has an `end`, and fills the
 * rest of a row with it. *good: whether next never failed. */
Tensor *decode_greedily(int64_t rows, int64_t max_len, int32_t start, int32_t end, NextTokens *next, void *arg, bool *good);

/* Evaluation mode until the result is freed, by ag_free or at the end of a scope that an error unwinds: then each module has
 * its former mode. */
void *evaluation_begin(Module *m);

#endif
