/* plain.h: every kernel once more as plain loops, ref_<name>: its definition, to compare with, and
 * what the double build runs. They compute in double, call libm and use one thread. */
#ifndef KAERU_PLAIN_H
#define KAERU_PLAIN_H

#include "kernels.h"

#define KERNEL(result, name, parameters, arguments, ret) result ref_##name parameters;
#include "kernels.def"

/* y = f(x) for one number. */
double ref_unary_1(KUnary f, double x, double p, double q);

#endif
