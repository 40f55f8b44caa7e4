/* real.h: the number that tensors are made of.
 *
 * kaeru computes in float. A second build of the same sources, libkaeru_double (-DKAERU_DOUBLE), computes in double;
 * it exists so that a gradient can be compared with a numerical one to many digits. */
#ifndef KAERU_REAL_H
#define KAERU_REAL_H

#ifdef KAERU_DOUBLE
typedef double real;
#else
typedef float real;
#endif

#endif
