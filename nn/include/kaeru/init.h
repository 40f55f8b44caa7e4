/* init.h: first values of parameters. Each function fills one tensor, with random values of this
 * thread's generator.
 *
 *     nn_init_kaiming_normal(l->weight, 0);               // a Linear *l before a ReLU
 *
 * Constants, and random values that do not depend on the tensor's sizes, are written by ag_fill,
 * ag_fill_uniform and ag_fill_normal. */
#ifndef KAERU_INIT_H
#define KAERU_INIT_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* The methods of Xavier Glorot (2010) and Kaiming He (2015). A tensor needs two dimensions or more:
 * fan_in is the product of all sizes but the first, fan_out of all but the second. `a` is the
 * negative slope of a leaky ReLU, 0 for ReLU. */

/* Fills w, uniform in +-gain sqrt(6/(fan_in + fan_out)). */
void nn_init_xavier_uniform(Tensor *w, double gain);
/* Fills w, normal with deviation gain sqrt(2/(fan_in + fan_out)). */
void nn_init_xavier_normal(Tensor *w, double gain);
/* Fills w, uniform in +-sqrt(6/((1 + a^2) fan_in)). */
void nn_init_kaiming_uniform(Tensor *w, double a);
/* Fills w, normal with deviation sqrt(2/((1 + a^2) fan_in)). */
void nn_init_kaiming_normal(Tensor *w, double a);

#include "kaeru/calls/init.h"

AG_PUBLIC_END
#endif
