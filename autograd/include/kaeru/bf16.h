/* bf16.h: matrix products in bfloat16, and weights in this type. */
#ifndef KAERU_PUBLIC_BF16_H
#define KAERU_PUBLIC_BF16_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Sets in what numbers matrix products compute until the innermost scope ends, or from now on if no scope is open; returns what
 * was set before. Each thread has a setting of its own; the first is AG_FLOAT32.
 * With AG_BF16 the operands of linear, linear_cross_entropy, matmul, attention, self_attention and the convolutions, and of
 * their backward rules, are rounded to bfloat16: 8 bits of precision, the range of float. Sums, results and everything else
 * stay as they are. An operation's backward rule computes as the operation did. The bits are the same on every machine and any
 * number of threads. Intel's AMX computes such products several times as fast. */
AgPrecision ag_precision(AgPrecision precision);
AgPrecision ag_precision_now(void);                     /* what is set */

/* Makes a copy of a weight (out,in) in bfloat16, which takes half as much memory as the weight. The weight, which no scope may
 * own, stays as it is. ag_linear reads the copy instead of the weight in products with AG_BF16 that are not recorded, with the
 * same results. It is for generation, where reading the weights takes most of the time. The copy is not used after a write that
 * the library counts. A write through a pointer that was taken before is not noticed: call it again. */
void ag_pack_weight(Tensor *weight);
void ag_unpack_weight(Tensor *weight);                            /* frees the copy */

/* Freezes a weight (out,in) and keeps it in bfloat16 alone, in two bytes a number: rounds it as AG_BF16 rounds operands, and
 * changes its type to AG_PACKED. No scope may own it, and `in` must be even. ag_linear and ag_linear_cross_entropy multiply
 * by it, with AG_BF16 and with the same results as by the rounded reals, and pass gradients to x. ag_embedding reads its rows.
 * ag_from_bf16 gives its values as reals; to other functions, it is a tensor of the wrong type. */
void ag_freeze_bf16(Tensor *weight);
/* Reads or writes n rows of a packed matrix (R,C) from `first` on: C / 2 items each, of two numbers in bfloat16, the first one
 * in the lower half. */
void ag_packed_read(const Tensor *t, int64_t first, int64_t n, uint32_t *rows);
void ag_packed_write(Tensor *t, int64_t first, int64_t n, const uint32_t *rows);

#include "kaeru/calls/bf16.h"

AG_PUBLIC_END

#endif
