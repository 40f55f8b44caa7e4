/* elementwise.h: functions of two arrays with broadcasting, choices by a mask, copies between strided arrays, and simple
 * loops over whole arrays. */
#ifndef KAERU_ELEMENTWISE_H
#define KAERU_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "real.h"

/* ---- functions of two numbers ------------------------------------------------------------------------------------ */

#define K_DIMS 8
/* A strided iteration over two arrays a and b of the same shape. Strides count elements; stride 0 repeats an element
 * (broadcasting). The kernels merge neighboring dimensions where they can; the caller need not. */
typedef struct { int ndim; int64_t dim[K_DIMS], a[K_DIMS], b[K_DIMS]; } KWalk;

typedef enum {
    K_ADD, K_SUB, K_MUL, K_DIV,
    K_POW,                  /* a^b: as C's pow for a < 0 with whole b, 0^0 = 1 */
    K_MAX, K_MIN            /* NaN if either is NaN */
} KBinary;
/* y (dense, of the walk's shape) = f(a, b). y may be a if a is dense, too. */
void k_binary(KBinary f, const KWalk *walk, real *y, const real *a, const real *b);
/* da (dense, of the walk's shape) = dy df/da, or with `second` dy df/db; the caller sums it down to the operand's own
 * shape. Where a and b are equal, max and min give half of dy to each. a and b may be NULL where the rule does not read
 * them: add and sub read neither, mul reads the other operand only, div reads b, and for its second operand a too. Only pow
 * reads y. */
void k_binary_backward(KBinary f, bool second, const KWalk *walk, real *da, const real *dy, const real *a, const real *b,
                       const real *y, bool add);

void k_compare(AgCompare f, const KWalk *walk, uint8_t *y, const real *a, const real *b);

/* ---- choices by a mask: its strides are the walk's a, those of the other input the walk's b; y is dense ---------- */

/* y = chosen where the mask is set (with `negate`: not set), else 0; with add, y += that. The backward of `where` and of
 * masked_fill; two calls make `where`. */
void k_select(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate, bool add);
/* y = value where the mask is set, else x. */
void k_masked_fill(const KWalk *walk, real *y, const uint8_t *mask, const real *x, real value);

/* ---- copies: dst has the walk's strides a, src its strides b ----------------------------------------------------- */

/* dst = src: permute, slice, concatenate, expand and, with the roles exchanged, their backward. No two items may share a
 * destination. size: bytes of an element (1 or 4, and 8 in the double build). */
void k_copy(const KWalk *walk, void *dst, const void *src, size_t size);
/* dst += src. A destination stride of 0 sums, in an order that depends on the shape alone. */
void k_copy_add(const KWalk *walk, real *dst, const real *src);

/* ---- whole arrays ------------------------------------------------------------------------------------------------ */

void k_fill(int64_t n, real *y, real value);
/* y += s x */
void k_axpy(int64_t n, real *y, real s, const real *x);
/* y = (or +=) s (a - b): the backward of k_squared_distance. */
void k_difference(int64_t n, real *y, const real *a, const real *b, real s, bool add);

#endif
