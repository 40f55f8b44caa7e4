/* frozen.h: what frozen.c has for the files of adapters. */
#ifndef KAERU_FROZEN_INSIDE_H
#define KAERU_FROZEN_INSIDE_H

#include "kaeru/frozen.h"
#include "kaeru/nn.h"

/* Freezes the reals that are not of an adapter. */
void freeze_all_but_adapters(const NnParameters *p);

#endif
