/* optimizer.c: the optimizers' steps, each one pass over the parameter, its state and its gradient. What bounds them is the
 * memory's speed, so the arithmetic is written for clarity. */
#include "simd.h"
#include "update.h"

#include "update.def"

enum { GRAIN = 16384 };

/* ---- Adam -------------------------------------------------------------------------------------------------------- */

typedef struct {
    float *w, *m, *v;
    const float *grad;
    float grad_scale, decay, shrink, b1, less1, b2, less2, root_c2, eps, step;
} Adam;

static void adam_range(void *arg, int64_t begin, int64_t end)
{
    const Adam *j = arg;
    float *w = j->w, *m = j->m, *v = j->v;
    const float *grad = j->grad;
    for (int64_t i = begin; i < end; i += W) {
        int64_t left = end - i < W ? end - i : W;
        vf g = vfma(vset(j->decay), LOAD(w), vset(j->grad_scale) * LOAD(grad));
        vf mi = KEEP(m, vfma(vset(j->b1), LOAD(m), vset(j->less1) * g));
        vf square = KEEP(v, vfma(vset(j->b2), LOAD(v), vset(j->less2) * g * g));
        vf size = vfma(vsqrt(square), vset(j->root_c2), vset(j->eps));
        KEEP(w, vfnma(vset(j->step), mi / size, LOAD(w) * vset(j->shrink)));
    }
}

/* lr (m/c1) / (sqrt(v/c2) + eps) as (lr/c1) m / (sqrt(v) / sqrt(c2) + eps). */
void ISA(adam)(int64_t n, real *w, real *m, real *v, const real *grad, const KAdam *k)
{
    Adam j = {
        w, m, v, grad, (float)k->grad_scale, k->decoupled ? 0 : (float)k->decay,
        k->decoupled ? (float)(1 - k->lr * k->decay) : 1, (float)k->b1, (float)(1 - k->b1), (float)k->b2,
        (float)(1 - k->b2), (float)(1 / sqrt(k->c2)), (float)k->eps, (float)(k->lr / k->c1)
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

void ISA(sgd)(int64_t n, real *w, real *buf, const real *grad, const KSgd *k)
{
    Sgd j = { w, buf, grad, (float)k->grad_scale, (float)k->decay, (float)k->momentum, (float)k->lr, k->nesterov, k->first };
    k_parallel(n, GRAIN, sgd_range, &j);
}
