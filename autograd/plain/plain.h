/* plain.h: every kernel once more as plain loops, ref_<name>: its definition. They compute in real,
 * with the same order of every sum and the same formulas as the fast kernels, so in the float build
 * they have their bits. They use one thread. The double build and the book alone run them. */
#ifndef KAERU_PLAIN_H
#define KAERU_PLAIN_H

#include "kernels.h"

#define KERNEL(result, name, parameters, arguments, ret) result ref_##name parameters;
#include "kernels.def"

/* y = f(x) for one number. */
real ref_unary_1(KUnary f, real x, double p, double q);

#endif
