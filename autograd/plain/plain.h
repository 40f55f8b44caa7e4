/* plain.h: each kernel k_<name> as plain loops, ref_<name>: what it computes, without what makes
 * it fast. The loops compute in reals, with the formulas and the order of each sum of the fast
 * kernels, so a float build gets the same bits from both. The book alone and the double build
 * run the loops, on one thread. kernels.h describes the arguments, docs/arithmetic.md the order
 * and formulas. */
#ifndef KAERU_PLAIN_H
#define KAERU_PLAIN_H

#include "kernels.h"

#define KERNEL(result, name, parameters, arguments, ret) result ref_##name parameters;
#include "kernels.def"

/* Returns f(x) for one number. */
real ref_unary_1(KUnary f, real x, double p, double q);

#endif
