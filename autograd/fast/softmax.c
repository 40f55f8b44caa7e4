/* softmax.c: softmax, log-softmax and cross entropy over rows.
 *
 * A row is read for its largest item, for the sum of exponentials, and for the result; it stays in a near cache between these
 * passes. Threads take rows. */
#include "vmath.h"

enum { GRAIN = 8192 };

static int64_t rows_grain(int64_t n) { return 1 + GRAIN / (n + 1); }

/* The largest item that is not NaN. */
INLINE float row_max(const float *x, int64_t n)
{
    Lanes best = lanes_set(-INFINITY);
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES)
        for (int k = 0; k < PARTS; k++)
            best.part[k] = vmax(vload(x + at + k * W), best.part[k]);
    for (int k = 0; k < PARTS && at + k * W < n; k++) {
        int64_t left = n - at - k * W;
        vf v = vload_left(x + at + k * W, left);
        best.part[k] = vmax(left < W ? vselect(vfirst(left), v, vset(-INFINITY)) : v, best.part[k]);
    }
    return lanes_max(best);
}

static bool has_nan(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != x[i]) return true;
    return false;
}

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

typedef struct { int64_t n; float *out; const float *x, *y; bool add; } Job;

static void softmax_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * j->n;
        float *y = j->out + row * j->n, best = row_max(x, j->n);
        if (best == -INFINITY) {                    /* every item is masked */
            const vf value = vset(has_nan(x, j->n) ? NAN : 0);
            EACH(0, j->n, y, value);
            continue;
        }
        const vf shift = vset(best);
        double sum = 0;
        SUM_OF(sum, j->n, KEEP(y, vexp_negative(LOAD(x) - shift)))
        const vf scale = vset((float)(1 / sum));
        EACH(0, j->n, y, LOAD(y) * scale);
    }
}

void ISA(softmax)(int64_t rows, int64_t n, real *y, const real *x)
{
    k_parallel(rows, rows_grain(n), softmax_rows, &(Job){ .n = n, .out = y, .x = x });
}

static void softmax_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *dy = j->x + row * j->n, *y = j->y + row * j->n;
        float *dx = j->out + row * j->n;
        double sum = 0;
        SUM_OF(sum, j->n, LOAD(dy) * LOAD(y))
        const vf dot = vset((float)sum);
        if (j->add) EACH(0, j->n, dx, vfma(LOAD(y), LOAD(dy) - dot, LOAD(dx)));
        else EACH(0, j->n, dx, LOAD(y) * (LOAD(dy) - dot));
    }
}

void ISA(softmax_backward)(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add)
{
    k_parallel(rows, rows_grain(n), softmax_backward_rows, &(Job){ n, dx, dy, y, add });
}

/* ---- log-softmax ------------------------------------------------------------------------------------------------- */

/* ln of the sum of e^(x - *best), where *best is the largest item; both are -infinity for a row of -infinity. */
static double log_sum_above(const float *x, int64_t n, float *best)
{
    *best = row_max(x, n);
    if (*best == -INFINITY) return has_nan(x, n) ? NAN : -INFINITY;
    const vf shift = vset(*best);
    double sum = 0;
    SUM_OF(sum, n, vexp_negative(LOAD(x) - shift))
    return ag_math_log(sum);
}

static void log_softmax_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * j->n;
        float *y = j->out + row * j->n, best;
        float log_sum = (float)log_sum_above(x, j->n, &best);
        if (best == -INFINITY) {
            EACH(0, j->n, y, vset(log_sum));
            continue;
        }
        EACH(0, j->n, y, (LOAD(x) - vset(best)) - vset(log_sum));
    }
}

void ISA(log_softmax)(int64_t rows, int64_t n, real *y, const real *x)
{
    k_parallel(rows, rows_grain(n), log_softmax_rows, &(Job){ .n = n, .out = y, .x = x });
}

static void log_softmax_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *dy = j->x + row * j->n, *y = j->y + row * j->n;
        float *dx = j->out + row * j->n;
        double total = 0;
        SUM_OF(total, j->n, LOAD(dy))
        const vf sum = vset((float)total);
        EACH_ADD(j->add, 0, j->n, dx, vfnma(vexp_negative(LOAD(y)), sum, LOAD(dy)));
    }
}

void ISA(log_softmax_backward)(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add)
{
    k_parallel(rows, rows_grain(n), log_softmax_backward_rows, &(Job){ n, dx, dy, y, add });
}

/* ---- cross entropy ----------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t n;
    float *loss, *top, *log_sum, *dx;
    const float *x;
    float scale;
    const int32_t *target;
    int32_t ignore;
    double smoothing;
    bool add;
} Loss;

static void loss_rows(void *arg, int64_t first, int64_t last)
{
    const Loss *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * j->n;
        float best;
        double log_sum = log_sum_above(x, j->n, &best), sum = 0;
        j->top[row] = best;
        j->log_sum[row] = (float)log_sum;
        if (j->target[row] == j->ignore)
            j->loss[row] = 0;
        else if (log_sum == -INFINITY)
            j->loss[row] = INFINITY;
        else {
            double loss = log_sum - ((double)x[j->target[row]] - best);
            if (j->smoothing != 0) {
                const vf shift = vset(best);
                SUM_OF(sum, j->n, LOAD(x) - shift)
                loss = (1 - j->smoothing) * loss + j->smoothing * (log_sum - sum / (double)j->n);
            }
            j->loss[row] = (float)loss;
        }
    }
}

/* top and log_sum are two numbers, because their sum would lose the digits of the smaller one. The
 * softmax of a row of -infinity counts as 0. */
void ISA(cross_entropy)(int64_t rows, int64_t n, real *loss, real *top, real *log_sum, const real *logits,
                         const int32_t *target, int32_t ignore, double smoothing)
{
    k_parallel(rows, rows_grain(n), loss_rows,
               &(Loss){ .n = n, .loss = loss, .top = top, .log_sum = log_sum, .x = logits, .target = target,
                        .ignore = ignore, .smoothing = smoothing });
}

static void loss_backward_rows(void *arg, int64_t first, int64_t last)
{
    const Loss *j = arg;
    for (int64_t row = first; row < last; row++) {
        const float *x = j->x + row * j->n;
        float *dx = j->dx + row * j->n;
        if (j->target[row] == j->ignore) {
            if (!j->add) EACH(0, j->n, dx, vset(0));
            continue;
        }
        bool all_masked = j->log_sum[row] == -INFINITY;         /* then every probability counts as 0 */
        const vf top = vset(all_masked ? INFINITY : j->top[row]), log_sum = vset(all_masked ? 0 : j->log_sum[row]);
        const vf scale = vset(j->scale);
        const vf smoothed = vset((float)(-j->scale * j->smoothing / (double)j->n));
        EACH_ADD(j->add, 0, j->n, dx, vfma(vexp_negative(LOAD(x) - top - log_sum), scale, smoothed));
        dx[j->target[row]] -= (float)(j->scale * (1 - j->smoothing));
    }
}

void ISA(cross_entropy_backward)(int64_t rows, int64_t n, real *dlogits, const real *logits, const real *top,
                                  const real *log_sum, const int32_t *target, int32_t ignore, double smoothing,
                                  real scale, bool add)
{
    k_parallel(rows, rows_grain(n), loss_backward_rows,
               &(Loss){ .n = n, .top = (float *)top, .log_sum = (float *)log_sum, .dx = dlogits, .x = logits, .scale = scale,
                        .target = target, .ignore = ignore, .smoothing = smoothing, .add = add });
}
