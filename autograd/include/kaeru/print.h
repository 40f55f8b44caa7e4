/* print.h: prints a tensor.
 *
 *     Tensor *x = tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 2, 3, 4 });
 *     tensor_print(x);
 */
#ifndef KAERU_PUBLIC_PRINT_H
#define KAERU_PUBLIC_PRINT_H

#include <stdio.h>

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Prints t to a file, as PyTorch does. A number has 4 digits, and an exponent if the numbers differ
 * much in size. A long dimension shows its first and its last 3 items. */
void tensor_fprint(FILE *out, const Tensor *t);
#define tensor_print(t) tensor_fprint(stdout, t)

#include "kaeru/calls/print.h"

AG_PUBLIC_END

#endif
