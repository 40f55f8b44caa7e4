/* optimizer.c: the optimizers' updates, each one pass over the parameter, its state and its gradient. The speed of the memory
 * limits them, so the arithmetic is written for clarity. */
#include "simd.h"

enum { GRAIN = 16384 };

/* ---- Adam -------------------------------------------------------------------------------------------------------- */

typedef struct {
    float *w, *exp_avg, *exp_avg_sq;
    const float *grad;
    float grad_scale, coupled_decay, shrink;            /* shrink: what decoupled decay multiplies w by */
    float b1, one_less_b1, b2, one_less_b2;
    float inverse_root_c2, eps, step;
} Adam;

static void adam_range(void *arg, int64_t begin, int64_t end)
{
    const Adam *j = arg;
    float *w = j->w, *exp_avg = j->exp_avg, *exp_avg_sq = j->exp_avg_sq;
    const float *grad = j->grad;
    for (int64_t i = begin; i < end; i += W) {
        int64_t left = end - i < W ? end - i : W;
        vf g = vfma(vset(j->coupled_decay), LOAD(w), vset(j->grad_scale) * LOAD(grad));
        vf average = KEEP(exp_avg, vfma(vset(j->b1), LOAD(exp_avg), vset(j->one_less_b1) * g));
        vf square = KEEP(exp_avg_sq, vfma(vset(j->b2), LOAD(exp_avg_sq), vset(j->one_less_b2) * g * g));
        vf divisor = vfma(vsqrt(square), vset(j->inverse_root_c2), vset(j->eps));
        KEEP(w, vfnma(vset(j->step), average / divisor, LOAD(w) * vset(j->shrink)));
    }
}

/* The step is computed as (lr/c1) exp_avg / (sqrt(exp_avg_sq) / sqrt(c2) + eps). */
void ISA(adam)(int64_t n, real *w, real *exp_avg, real *exp_avg_sq, const real *grad, const AgAdam *o,
               int64_t step, double grad_scale)
{
    double c1 = adam_correction(o->beta1, step), c2 = adam_correction(o->beta2, step);
    Adam j = {
        .w = w, .exp_avg = exp_avg, .exp_avg_sq = exp_avg_sq, .grad = grad,
        .grad_scale = (float)grad_scale,
        .coupled_decay = o->decoupled ? 0 : (float)o->weight_decay,
        .shrink = o->decoupled ? (float)(1 - o->lr * o->weight_decay) : 1,
        .b1 = (float)o->beta1, .one_less_b1 = (float)(1 - o->beta1),
        .b2 = (float)o->beta2, .one_less_b2 = (float)(1 - o->beta2),
        .inverse_root_c2 = (float)(1 / sqrt(c2)), .eps = (float)o->eps, .step = (float)(o->lr / c1)
    };
    k_parallel(n, GRAIN, adam_range, &j);
}

/* ---- stochastic gradient descent --------------------------------------------------------------------------------- */

typedef struct {
    float *w, *buf;
    const float *grad;
    float grad_scale, decay, momentum, lr;
    bool nesterov, first;
} Sgd;

static void sgd_range(void *arg, int64_t begin, int64_t end)
{
    const Sgd *j = arg;
    float *w = j->w, *buf = j->buf;
    const float *grad = j->grad;
    const vf momentum = vset(j->momentum);
    for (int64_t i = begin; i < end; i += W) {
        int64_t left = end - i < W ? end - i : W;
        vf g = vfma(vset(j->decay), LOAD(w), vset(j->grad_scale) * LOAD(grad));
        if (buf) {
            vf b = KEEP(buf, j->first ? g : vfma(momentum, LOAD(buf), g));
            g = j->nesterov ? vfma(momentum, b, g) : b;
        }
        KEEP(w, vfnma(vset(j->lr), g, LOAD(w)));
    }
}

void ISA(sgd)(int64_t n, real *w, real *buf, const real *grad, const AgSgd *o, bool first, double grad_scale)
{
    Sgd j = { w, buf, grad, (float)grad_scale, (float)o->weight_decay, (float)o->momentum, (float)o->lr, o->nesterov, first };
    k_parallel(n, GRAIN, sgd_range, &j);
}
