/* ops_decoder.c: what decoders have since Llama: RMS norm, SwiGLU and rotary positions. */
#include <math.h>

#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/table.h"

/* The size of the last dimension of x, which must have one. */
static int64_t last_size(AgSite at, const char *what, const Tensor *x)
{
    check_tensor(at, what, "x", x, AG_REAL);
    if (x->shape.ndim < 1) ag_usage_error(at, what, "x is a scalar, expected (..,D)");
    return x->shape.dim[x->shape.ndim - 1];
}

/* ---- rms_norm: y = gamma x / r, r = sqrt(mean x² + eps)
 * With g = dy gamma, n = x / r:  dx = (g - n mean(g n)) / r,  dgamma = sum over rows of dy n ------------------------ */

static void rms_values(Tensor *y, const Tensor *x, const Tensor *gamma, double eps)
{
    k_rms_norm(row_count(x), x->shape.dim[x->shape.ndim - 1], reals(y), buffer_data(y->saved), reals(x),
               gamma ? reals(gamma) : NULL, eps);
}

Tensor *ag_rms_norm_at(AgSite at, Tensor *x, Tensor *gamma, double eps)
{
    int64_t n = last_size(at, "rms_norm", x);
    char tx[AG_SHAPE_TEXT], tg[AG_SHAPE_TEXT];
    if (!(eps >= 0 && eps < INFINITY))
        ag_usage_error(at, "rms_norm", "eps is %g, expected a finite number of 0 or more", eps);
    if (gamma) check_tensor(at, "rms_norm", "gamma", gamma, AG_REAL);
    if (gamma && (gamma->shape.ndim != 1 || gamma->shape.dim[0] != n))
        ag_usage_error(at, "rms_norm", "gamma %s does not fit x %s: expected (D) and (..,D)", ag_shape_text(gamma->shape, tg),
                       ag_shape_text(x->shape, tx));
    Tensor *y = op_new(at, OP_rms_norm, &x->shape, x, gamma, NULL);
    if (y->op) *(double *)op_args(y, sizeof eps) = eps;
    op_save(y, row_count(x));
    rms_values(y, x, gamma, eps);
    return op_done(y);
}

void rms_norm_again(Tensor *y)
{
    rms_values(y, y->in[0], y->n_in > 1 ? y->in[1] : NULL, *(double *)y->args);
}

void rms_norm_backward(Tensor *y)
{
    Tensor *x = y->in[0], *gamma = y->n_in > 1 ? y->in[1] : NULL;
    const real *rstd = buffer_data(y->saved);
    Grad gx = grad_into(x), ggamma = grad_into(gamma);
    k_rms_norm_backward(row_count(x), x->shape.dim[x->shape.ndim - 1], gx.data, gx.add, ggamma.data, ggamma.add, grad_of(y),
                        reals(x), rstd, gamma ? reals(gamma) : NULL);
}

Tensor *rms_norm_sample(Sample *s)
{
    static const AgShape shapes[] = { { 1, { 5 } }, { 2, { 3, 4 } }, { 3, { 2, 3, 5 } }, { 2, { 4, 33 } }, { 2, { 0, 4 } } };
    static const double eps[] = { 1e-5, 1e-6, 0.1, 0, 1e-5 };
    if (s->number >= 10) return NULL;
    AgShape shape = shapes[s->number % 5];
    Tensor *x = sample_in(s, 0, shape), *gamma = s->number < 5 ? sample_in(s, 1, SHAPE(shape.dim[shape.ndim - 1])) : NULL;
    return ag_rms_norm(x, gamma, eps[s->number % 5]);
}

/* ---- swiglu: y = a sigmoid(a) b                              da = dy b silu'(a), db = dy silu(a) ----------------- */

Tensor *ag_swiglu_at(AgSite at, Tensor *x)
{
    int64_t n = last_size(at, "swiglu", x);
    char text[AG_SHAPE_TEXT];
    if (n % 2 != 0) ag_usage_error(at, "swiglu", "x %s, expected (..,2F)", ag_shape_text(x->shape, text));
    AgShape shape = x->shape;
    shape.dim[shape.ndim - 1] = n / 2;
    Tensor *y = op_new(at, OP_swiglu, &shape, x, NULL, NULL);
    k_swiglu(row_count(x), n / 2, reals(y), reals(x));
    return op_done(y);
}

void swiglu_again(Tensor *y)
{
    k_swiglu(row_count(y), y->shape.dim[y->shape.ndim - 1], reals(y), reals(y->in[0]));
}

void swiglu_backward(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    k_swiglu_backward(row_count(y), y->shape.dim[y->shape.ndim - 1], g.data, grad_of(y), reals(y->in[0]), g.add);
}

Tensor *swiglu_sample(Sample *s)
{
    static const AgShape shapes[] = { { 1, { 2 } }, { 1, { 10 } }, { 2, { 3, 4 } }, { 3, { 2, 3, 6 } }, { 2, { 2, 66 } },
                                    { 2, { 0, 4 } }, { 2, { 3, 0 } }, { 4, { 1, 2, 1, 8 } } };
    if (s->number >= 8) return NULL;
    return ag_swiglu(sample_in(s, 0, shapes[s->number]));
}

/* ---- rope: pairs turned by position times frequency          dx = dy turned back --------------------------------- */

/* Frequencies and angles are rounded to float, in the double build too, as in the library `transformers`: models were trained
 * with these angles. Exact ones differ by up to 1e-3 at position 8191, and logits by 2e-3. */
Tensor *ag_rope_frequencies_at(AgSite at, int64_t width, double base)
{
    if (width < 2 || width % 2 != 0 || !(base > 0 && base < INFINITY))
        ag_usage_error(at, "ag_rope_frequencies", "width %lld and base %g, expected an even width and a base above 0",
                       (long long)width, base);
    Tensor *y = tensor_new(at, "ag_rope_frequencies", &SHAPE(width / 2), AG_REAL);
    for (int64_t i = 0; i < width / 2; i++)
        reals(y)[i] = (real)(1 / (float)k_pow(base, (double)((float)(2 * i) / (float)width)));
    return y;
}

Tensor *ag_rope_table_at(AgSite at, Tensor *frequencies, int64_t start, int64_t count)
{
    static const char what[] = "ag_rope_table";
    check_tensor(at, what, "frequencies", frequencies, AG_REAL);
    char text[AG_SHAPE_TEXT];
    if (frequencies->shape.ndim != 1 || start < 0 || count < 0)
        ag_usage_error(at, what, "frequencies %s, %lld positions from %lld on: expected (K/2), and 0 or more of both",
                       ag_shape_text(frequencies->shape, text), (long long)count, (long long)start);
    int64_t n = frequencies->numel;
    Tensor *y = tensor_new(at, what, &SHAPE(count, 2 * n), AG_REAL);
    for (int64_t p = 0; p < count; p++)
        for (int64_t i = 0; i < n; i++) {
            double angle = (double)((float)(start + p) * (float)reals(frequencies)[i]);
            reals(y)[p * 2 * n + i] = (real)k_cos(angle);
            reals(y)[p * 2 * n + n + i] = (real)k_sin(angle);
        }
    return y;
}

typedef struct { int heads; bool adjacent; } RopeArgs;

static KRope rope_shape(const Tensor *x, const Tensor *table, RopeArgs args, bool back, bool add)
{
    return (KRope){ row_count(x), args.heads, table->shape.dim[1] / 2, x->shape.dim[1], args.adjacent, back, add };
}

Tensor *ag_rope_at(AgSite at, Tensor *x, Tensor *table, int heads, bool adjacent)
{
    check_tensor(at, "rope", "x", x, AG_REAL);
    check_tensor(at, "rope", "table", table, AG_REAL);
    char tx[AG_SHAPE_TEXT], tt[AG_SHAPE_TEXT];
    if (x->shape.ndim != 3 || table->shape.ndim != 2 || heads < 1 || table->shape.dim[1] % 2 != 0 ||
        x->shape.dim[1] != table->shape.dim[0] || x->shape.dim[2] != heads * table->shape.dim[1])
        ag_usage_error(at, "rope", "x %s, table %s and %d heads do not fit: expected (B,T,D) and (T,D/heads)",
                       ag_shape_text(x->shape, tx), ag_shape_text(table->shape, tt), heads);
    if (table->requires_grad) ag_usage_error(at, "rope", "the table requires a gradient, and rope computes none for it");
    Tensor *y = op_new(at, OP_rope, &x->shape, x, table, NULL);
    RopeArgs args = { heads, adjacent };
    if (y->op) *(RopeArgs *)op_args(y, sizeof args) = args;
    KRope shape = rope_shape(x, table, args, false, false);
    k_rope(&shape, reals(y), reals(x), reals(table));
    return op_done(y);
}

void rope_again(Tensor *y)
{
    KRope shape = rope_shape(y, y->in[1], *(RopeArgs *)y->args, false, false);
    k_rope(&shape, reals(y), reals(y->in[0]), reals(y->in[1]));
}

void rope_backward(Tensor *y)
{
    Tensor *x = y->in[0], *table = y->in[1];
    Grad g = grad_into(x);
    KRope shape = rope_shape(y, table, *(RopeArgs *)y->args, true, g.add);
    k_rope(&shape, g.data, grad_of(y), reals(table));
}

Tensor *rope_sample(Sample *s)
{
    static const struct { int b, t, heads, width; } cases[] = {
        { 1, 1, 1, 2 }, { 2, 3, 1, 4 }, { 1, 5, 3, 6 }, { 2, 2, 2, 66 }, { 0, 3, 1, 4 }, { 1, 0, 2, 2 }, { 1, 2, 1, 136 },
    };
    if (s->number >= 14) return NULL;
    int i = s->number % 7, width = cases[i].width;
    Tensor *x = sample_in(s, 0, SHAPE(cases[i].b, cases[i].t, cases[i].heads * width));
    return ag_rope(x, ag_rope_table(ag_rope_frequencies(width, 100), i, cases[i].t), cases[i].heads, s->number >= 7);
}
