/* llama_parts.h: a Llama for its files. */
#ifndef KAERU_LLAMA_PARTS_H
#define KAERU_LLAMA_PARTS_H

#include "config.h"
#include "kaeru/llama.h"

/* A model of checked options without first values: matrices and biases are 0, norms 1. */
Llama *llama_of_zeros(LlamaOptions options);
/* The options of an open config.json; false with ag_error(). */
bool llama_read_config(const Config *c, LlamaOptions *o);

#endif
