/* schedule.c: learning-rate schedules: pure functions of the step. */
#include <math.h>

#include "kaeru/nn.h"

#define PI 3.14159265358979323846

double nn_schedule_cosine_at(AgSite at, int64_t step, double lr, double lr_min, int64_t warmup, int64_t total)
{
    if (step < 0 || warmup < 0 || total < 0)
        ag_usage_error(at, "nn_schedule_cosine", "step %lld, warmup %lld, total %lld: expected 0 or more", (long long)step,
                       (long long)warmup, (long long)total);
    if (warmup > total)
        ag_usage_error(at, "nn_schedule_cosine", "a warmup of %lld steps, expected at most the total of %lld",
                       (long long)warmup, (long long)total);
    if (!isfinite(lr) || !isfinite(lr_min))
        ag_usage_error(at, "nn_schedule_cosine", "lr %g and lr_min %g, expected finite numbers", lr, lr_min);
    if (step < warmup) return lr * (double)step / (double)warmup;
    if (step >= total) return lr_min;
    double part = (double)(step - warmup) / (double)(total - warmup);
    return lr_min + (lr - lr_min) * 0.5 * (1 + ag_math_cos(PI * part));
}

double nn_schedule_noam_at(AgSite at, int64_t step, int64_t width, double factor, int64_t warmup)
{
    if (step < 0 || width < 1 || warmup < 0)
        ag_usage_error(at, "nn_schedule_noam", "step %lld, width %lld, warmup %lld: expected 0 or more, 1 or more, 0 or more",
                       (long long)step, (long long)width, (long long)warmup);
    if (!isfinite(factor)) ag_usage_error(at, "nn_schedule_noam", "factor is %g, expected a finite number", factor);
    double t = step < 1 ? 1 : (double)step, w = (double)warmup;
    double falling = 1 / sqrt(t), rising = t / (w * sqrt(w));
    return factor / sqrt((double)width) * (falling < rising ? falling : rising);
}
