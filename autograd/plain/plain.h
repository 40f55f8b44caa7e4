/* plain.h: each kernel k_<name> as plain loops, ref_<name>: what it computes, without what makes it
 * fast. The tests compare the fast kernels with these loops, and the double build runs them, on one
 * thread. The matrix product, and kernels that only copy, add or choose, compute in reals and have
 * the bits of the fast kernels. Others compute in double and call libm. kernels.h describes the
 * arguments. */
#ifndef KAERU_PLAIN_H
#define KAERU_PLAIN_H

#include "kernels.h"

#define KERNEL(result, name, parameters, arguments, ret) result ref_##name parameters;
#include "kernels.def"

/* Returns f(x) for one number. */
double ref_unary_1(KUnary f, double x, double p, double q);

#endif
