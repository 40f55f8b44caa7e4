/* functions.h: functions of one real, with the bits of the fast kernels in the float build. In the
 * double build their cores are those of libm: a gradient check needs all digits. */
#ifndef KAERU_FUNCTIONS_H
#define KAERU_FUNCTIONS_H

#include <math.h>

#include "kernels.h"

/* libm's function for a real: REAL(fma) is fmaf or fma. Only those are called by this name that
 * round correctly, or that are exact: no others have the same bits everywhere. */
#ifdef KAERU_DOUBLE
#define REAL(function) function
#else
#define REAL(function) function##f
#endif

real real_exp(real x);
/* Returns e^x for x <= 0, and 0 below -87: the terms of a softmax. */
real real_exp_negative(real x);
/* Returns e^x - 1 for x <= 0. */
real real_expm1(real x);
real real_log(real x);
/* Returns x^y as C's pow does. */
real real_pow(real x, real y);
real real_tanh(real x);
/* Returns 1 / (1 + e^-x). */
real real_sigmoid(real x);
/* Returns x sigmoid(x); in *slope, if it is not NULL, its derivative. */
real real_silu(real x, real *slope);
/* Returns ln(1 + e^x). */
real real_softplus(real x);
real real_erf(real x);
/* GPT's GELU, by tanh, and the one by erf. */
real real_gelu(real x);
real real_gelu_slope(real x);
real real_gelu_erf(real x);
real real_gelu_erf_slope(real x);
/* Returns the sine of x and that many right angles; 1 gives the cosine of x. */
real real_sine(real x, int quarters);
/* Computes the sine and the cosine of u turns, 0 <= u < 1. */
void real_turns(real u, real *sine, real *cosine);

#endif
