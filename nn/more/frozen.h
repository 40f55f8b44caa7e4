/* frozen.h: what frozen.c has for the files of adapters. */
#ifndef KAERU_FROZEN_INSIDE_H
#define KAERU_FROZEN_INSIDE_H

#include "kaeru/frozen.h"
#include "kaeru/nn.h"

/* Whether m is a Linear of nn.h. */
bool is_linear(const Module *m);
/* Whether this is a parameter of a Linear's adapter. */
bool is_of_adapter(const NnNamedTensor *p);
/* Freezes the reals that are not of an adapter. */
void freeze_all_but_adapters(const NnParameters *p);

#endif
