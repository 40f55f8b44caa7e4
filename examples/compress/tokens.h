/* tokens.h: any bytes as tokens of a model. */
#ifndef KAERU_EXAMPLES_TOKENS_H
#define KAERU_EXAMPLES_TOKENS_H

#include "predictor.h"

/* The tokens of n bytes, and their number in *count. Free them with ag_free. */
int32_t *tokens_of(const Predictor *p, const char *bytes, size_t n, int64_t *count);
/* The bytes of a token, and their number in *n; *byte is the place of a single one. NULL if the vocabulary lacks the token. */
const char *token_bytes(const Predictor *p, int32_t id, char *byte, size_t *n);

#endif
