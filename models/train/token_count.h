/* token_count.h: the number of tokens that a loss counts. */
#ifndef KAERU_TOKEN_COUNT_H
#define KAERU_TOKEN_COUNT_H

#include "kaeru/tensor.h"

/* How many of the ids are not pad. */
int64_t batch_count_tokens(const Tensor *ids, int32_t pad);

#endif
