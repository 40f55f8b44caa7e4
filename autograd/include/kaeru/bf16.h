/* bf16.h: matrix products in bfloat16, and weights in this type.
 *
 *     ag_precision(AG_BF16);                  products of this scope compute in bfloat16
 *     Tensor *y = ag_matmul(a, b);
 *
 * A number in bfloat16 has the range of a float and 8 bits of precision. */
#ifndef KAERU_PUBLIC_BF16_H
#define KAERU_PUBLIC_BF16_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Sets the precision of matrix products until the innermost scope ends, or from now on if no scope
 * is open. Returns the former precision. Each thread has its own; it begins with AG_FLOAT32.
 *
 * With AG_BF16, the operands of linear, linear_cross_entropy, matmul, attention, self_attention and
 * the convolutions are rounded to bfloat16, and those of their backward rules, too. Sums, results
 * and all other operations stay as they are. The backward rule of an operation computes as the
 * operation did. The bits are the same on every machine and any number of threads. Intel's AMX
 * computes such products several times as fast. */
AgPrecision ag_precision(AgPrecision precision);
/* Returns the precision that is set. */
AgPrecision ag_precision_now(void);

/* Makes a copy of a weight (out,in) in bfloat16, in half of the memory. It is for generation, where
 * reading the weights takes most of the time. The weight stays as it is; no scope may own it. In
 * products with AG_BF16 that are not recorded, ag_linear reads the copy and not the weight, with
 * the same results. After a write to the weight, the library uses the copy no more. It does not
 * notice a write through a pointer that was taken before: then call this function again. */
void ag_pack_weight(Tensor *weight);
/* Frees the copy. */
void ag_unpack_weight(Tensor *weight);

/* Freezes a weight (out,in): rounds it to bfloat16, as AG_BF16 rounds operands, and keeps only
 * that, in two bytes for each number. The type becomes AG_PACKED. No scope may own the weight, and
 * `in` must be even. With AG_BF16, ag_linear and ag_linear_cross_entropy multiply by it, with the
 * same results as by the rounded reals, and pass gradients to x. ag_embedding reads its rows, and
 * ag_from_bf16 returns its values as reals. For other functions, its type is wrong. */
void ag_freeze_bf16(Tensor *weight);

#include "kaeru/calls/bf16.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/values.h"
#endif

#endif
