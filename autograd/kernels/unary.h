/* unary.h: functions of one number, and their derivatives. */
#ifndef KAERU_UNARY_H
#define KAERU_UNARY_H

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

/* K_NEG, K_EXP, ...: each is y = f(x) and dx = dy f'(x). unary_functions.def lists them with their formulas. */
typedef enum {
#define UNARY(name, reads, cost, value, gradient) K_##name,
#include "unary_functions.def"
} KUnary;

/* Which array the derivative is computed from, also as constants K_NEG_READS, K_EXP_READS, ... */
typedef enum { K_READS_NONE, K_READS_X, K_READS_Y } KReads;
enum {
#define UNARY(name, reads, cost, value, gradient) K_##name##_READS = K_READS_##reads,
#include "unary_functions.def"
};
static inline KReads k_unary_reads(KUnary f)
{
    switch (f) {
#define UNARY(name, reads, cost, value, gradient) case K_##name: return K_READS_##reads;
#include "unary_functions.def"
    }
    return K_READS_NONE;
}

/* Sine and cosine take |x| up to this, and give NaN beyond: their range reduction is exact up to there. */
#define K_MOST_ANGLE 1e5
/* p and q are the function's own numbers. In place (y == x) is allowed. */
void k_unary(KUnary f, int64_t n, real *y, const real *x, double p, double q);
/* Only the array that k_unary_reads names is read; the other may be NULL. dx == dy is allowed if !add. */
void k_unary_backward(KUnary f, int64_t n, real *dx, const real *dy, const real *x, const real *y, double p, double q,
                      bool add);

#endif
