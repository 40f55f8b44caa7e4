/* init.h: first values of parameters, in place, on one tensor. Random values come from this thread's generator. Constants and
 * random values without fans are written by ag_fill, ag_fill_uniform and ag_fill_normal. */
#ifndef KAERU_INIT_H
#define KAERU_INIT_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* Xavier and Kaiming need two dimensions or more: fan_in is the product of all sizes but the first, fan_out of all but the
 * second. The a of Kaiming is the negative slope of a leaky ReLU, 0 for ReLU. */
void nn_init_xavier_uniform(Tensor *w, double gain);    /* +-gain sqrt(6/(fan_in+fan_out)): Glorot 2010 */
void nn_init_xavier_normal(Tensor *w, double gain);     /* deviation gain sqrt(2/(fan_in+fan_out)) */
void nn_init_kaiming_uniform(Tensor *w, double a);      /* +-sqrt(6/((1+a^2) fan_in)): He 2015 */
void nn_init_kaiming_normal(Tensor *w, double a);       /* deviation sqrt(2/((1+a^2) fan_in)) */

#include "kaeru/calls/init.h"

AG_PUBLIC_END
#endif
