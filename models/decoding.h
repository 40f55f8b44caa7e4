/* decoding.h: what greedy decoding and beam search of all models share. */
#ifndef KAERU_DECODING_H
#define KAERU_DECODING_H

#include "kaeru/tensor.h"

/* False with ag_error() if a row of the log-probabilities (B,V) of the next token is NaN, as NaN or infinity in the weights
 * make it. */
bool check_log_probs(const Tensor *p);

#endif
