/* schedule.h: the learning rate as a pure function of the step.
 *
 * Steps count from 1, as in lm_train and OptimizerUpdate: set the rate of step n before the n-th nn_optimizer_step. Step 0 of a
 * warmup has the rate 0. The notebook of the Annotated Transformer counts from 0, and transformer_run_epoch with it
 * (training.h). */
#ifndef KAERU_SCHEDULE_H
#define KAERU_SCHEDULE_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* Linear from 0 to lr over `warmup` steps, then half a cosine down to lr_min at step `total`, then lr_min. The
 * warmup is part of the total. */
double nn_schedule_cosine(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total);

/* The same with a straight line in place of the cosine. */
double nn_schedule_linear(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total);

/* lr, times `factor` after each `every` steps: PyTorch's StepLR. */
double nn_schedule_step(int64_t step, double lr, double factor, int64_t every);

/* lr = factor * width^-0.5 * min(step^-0.5, step * warmup^-1.5), Vaswani et al. 2017, 5.3; step 0 counts as 1. */
double nn_schedule_noam(int64_t step, int64_t width, double factor, int64_t warmup);

#include "kaeru/calls/schedule.h"

AG_PUBLIC_END
#endif
