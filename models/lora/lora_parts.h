/* lora_parts.h: what lora.c has for the files of adapters. */
#ifndef KAERU_LORA_PARTS_H
#define KAERU_LORA_PARTS_H

#include "kaeru/lora.h"

/* The Linear of which this is the weight; NULL: it is another parameter. */
Linear *lora_linear_of(const NnNamedTensor *p);
/* Whether an adapter is one of lora.h, not one of the program. */
bool is_lora(const Module *adapter);
/* The adapter of lora.h of the Linear of which this is the weight; NULL: there is none. */
Lora *lora_of(const NnNamedTensor *p);
/* Whether this is the weight of a Linear of that name: "layers.0.q_proj.weight" of a "q_proj". */
bool lora_is_named(const NnNamedTensor *p, const char *target);
void lora_add(Linear *l, int64_t rank, double alpha, double dropout);
/* Removes all adapters; merged: adds them to the weights before. */
void lora_remove_all(void *module, bool merged);

#endif
