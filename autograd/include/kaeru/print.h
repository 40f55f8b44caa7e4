/* print.h: prints a tensor. */
#ifndef KAERU_PUBLIC_PRINT_H
#define KAERU_PUBLIC_PRINT_H

#include <stdio.h>

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Prints as PyTorch does: 4 digits, scientific if magnitudes differ much; a long dimension shows its first and last 3 items. */
void tensor_fprint(FILE *out, const Tensor *t);
#define tensor_print(t) tensor_fprint(stdout, t)

#include "kaeru/calls/print.h"

AG_PUBLIC_END

#endif
