/* schedule.h: the learning rate as a pure function of the step.
 *
 *     for (int64_t step = 1; step <= steps; step++) {
 *         ...                                             // forward and backward
 *         nn_optimizer_set_lr(o, nn_schedule_cosine(step, 1e-3, 1e-4, 100, steps));
 *         nn_optimizer_step(o);
 *     }
 *
 * Steps count from 1, as in lm_train and OptimizerUpdate: set the rate of step n before the n-th
 * nn_optimizer_step. Step 0 of a warmup has the rate 0. The notebook of the Annotated Transformer
 * counts from 0, and so does transformer_run_epoch (training.h). */
#ifndef KAERU_SCHEDULE_H
#define KAERU_SCHEDULE_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* Returns a rate that rises along a line from 0 to lr in `warmup` steps, falls along half a cosine
 * to lr_min at step `total`, and stays there. The warmup is part of the total. */
double nn_schedule_cosine(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total);

/* Returns the same with a straight line in place of the cosine. */
double nn_schedule_linear(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total);

/* Returns lr, multiplied by `factor` after each `every` steps, as PyTorch's StepLR does. */
double nn_schedule_step(int64_t step, double lr, double factor, int64_t every);

/* Returns factor * width^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al. 2017, section
 * 5.3). Step 0 counts as 1. */
double nn_schedule_noam(int64_t step, int64_t width, double factor, int64_t warmup);

#include "kaeru/calls/schedule.h"

AG_PUBLIC_END
#endif
