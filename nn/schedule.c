/* schedule.c: schedules of the learning rate. A schedule is a function of the step alone: it keeps
 * no state. A training loop calls nn_optimizer_set_lr with its result before each step. */
#include "kaeru/schedule.h"

#include <math.h>

/* Returns the rate at `step`: it rises along a line from 0 to lr in `warmup` steps, and falls to
 * lr_min at step `total`, along half a cosine or along a line. Steps count from 1 (schedule.h):
 * step 0, which has the rate 0, is the point before them. ag_math_cos has the same bits on every
 * machine. */
static double warm_and_fall(const char *what, int64_t step, double lr, double lr_min,
                            int64_t warmup, int64_t total, bool cosine)
{
    if (step < 0 || warmup < 0 || total < 0) {
        ag_usage_error(what, "step %lld, warmup %lld, total %lld: expected 0 or more",
                       (long long)step, (long long)warmup, (long long)total);
    }
    if (warmup > total) {
        ag_usage_error(what, "a warmup of %lld steps, expected at most the total of %lld",
                       (long long)warmup, (long long)total);
    }
    if (!isfinite(lr) || !isfinite(lr_min)) {
        ag_usage_error(what, "lr %g and lr_min %g, expected finite numbers", lr, lr_min);
    }
    if (step < warmup) return lr * (double)step / (double)warmup;
    if (step >= total) return lr_min;
    double t = (double)(step - warmup) / (double)(total - warmup);      /* from 0 to 1 */
    double share = cosine ? 0.5 * (1 + ag_math_cos(3.14159265358979323846 * t)) : 1 - t;
    return lr_min + (lr - lr_min) * share;
}

double nn_schedule_cosine(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total)
{
    return warm_and_fall(__func__, step, lr, lr_min, warmup, total, true);
}

double nn_schedule_linear(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total)
{
    return warm_and_fall(__func__, step, lr, lr_min, warmup, total, false);
}

double nn_schedule_step(int64_t step, double lr, double factor, int64_t every)
{
    if (step < 0 || every < 1 || !isfinite(lr) || !(factor >= 0 && isfinite(factor))) {
        ag_usage_error(__func__, "step %lld, lr %g, factor %g, every %lld steps: expected 0 or "
                       "more, a finite number, a finite number of 0 or more, 1 or more",
                       (long long)step, lr, factor, (long long)every);
    }
    int64_t times = step < 1 ? 0 : (step - 1) / every;
    return lr * ag_math_pow(factor, (double)times);
}

double nn_schedule_noam(int64_t step, int64_t width, double factor, int64_t warmup)
{
    if (step < 0 || width < 1 || warmup < 0) {
        ag_usage_error(__func__, "step %lld, width %lld, warmup %lld: expected 0 or more, 1 or "
                       "more, 0 or more", (long long)step, (long long)width, (long long)warmup);
    }
    if (!isfinite(factor)) {
        ag_usage_error(__func__, "factor is %g, expected a finite number", factor);
    }
    double t = step < 1 ? 1 : (double)step;
    double w = (double)warmup;
    double rising = t / (w * sqrt(w));
    double falling = 1 / sqrt(t);
    return factor / sqrt((double)width) * (falling < rising ? falling : rising);
}
