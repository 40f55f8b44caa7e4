/* rms_norm.h: RMSNorm, the norm of Llama. */
#ifndef KAERU_RMS_NORM_H
#define KAERU_RMS_NORM_H

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

/* y = gamma x / r: x (..,width) -> (..,width), with r = sqrt(m + eps) and the mean m of x^2 over
 * the last dimension (Zhang and Sennrich 2019). gamma (width) starts at 1; in files it is called
 * weight. eps is 1e-6 unless it is given. */
typedef struct { Module module; Tensor *gamma; double eps; } RMSNorm;
RMSNorm *nn_rms_norm_new_with(int64_t width, double eps);
#define nn_rms_norm_new(width) nn_rms_norm_new_with(width, 1e-6)
Tensor *nn_rms_norm(RMSNorm *l, Tensor *x);

#include "kaeru/calls/rms_norm.h"

AG_PUBLIC_END

#endif
