/* schedule.c: learning-rate schedules: pure functions of the step. */
#include <math.h>

#include "kaeru/nn.h"

#define PI 3.14159265358979323846

double nn_schedule_cosine(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total)
{
    if (step < warmup) return lr * (double)step / (double)warmup;
    if (step >= total) return lr_min;
    double part = (double)(step - warmup) / (double)(total - warmup);
    return lr_min + (lr - lr_min) * 0.5 * (1 + ag_math_cos(PI * part));
}

double nn_schedule_noam(int64_t step, int64_t width, double factor, int64_t warmup)
{
    double t = step < 1 ? 1 : (double)step, w = (double)warmup;
    double falling = 1 / sqrt(t), rising = t / (w * sqrt(w));
    return factor / sqrt((double)width) * (falling < rising ? falling : rising);
}
