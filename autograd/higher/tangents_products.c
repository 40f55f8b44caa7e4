/* tangents_products.c: tangent rules of products and convolutions, which are linear in each of
 * their inputs, and of attention. */
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "conv_blocks.h"
#include "ops/attention_blocks.h"
#include "tangents.h"
#include "tensor.h"

Tensor *matmul_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *from_a = dx[0] ? ag_matmul(dx[0], y->in[1]) : NULL;
    return sum_of(from_a, dx[1] ? ag_matmul(y->in[0], dx[1]) : NULL);
}

Tensor *linear_tangent(Tensor *y, Tensor *const *dx)
{
    Tensor *bias = tangent_of_input(y, dx, 2);
    if (!dx[0] && !dx[1]) return spread_to(bias, y);
    Tensor *from_x = dx[0] ? ag_linear(dx[0], y->in[1], bias) : NULL;
    return sum_of(from_x, dx[1] ? ag_linear(y->in[0], dx[1], dx[0] ? NULL : bias) : NULL);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Returns a bias (O) repeated to y (B,O,H,W). */
static Tensor *bias_over(Tensor *bias, const Tensor *y)
{
    return spread_to(ag_reshape(bias, SHAPE(1, bias->numel, 1, 1)), y);
}

Tensor *conv2d_with_tangent(Tensor *y, Tensor *const *dx)
{
    const KConv *a = y->args;
    AgConv options = { .groups = (int)a->channel_groups };
    for (int i = 0; i < 2; i++) {
        options.stride[i] = (int)a->stride[i];
        options.padding[i] = (int)a->padding[i];
        options.dilation[i] = (int)a->dilation[i];
    }
    Tensor *bias = tangent_of_input(y, dx, 2);
    if (!dx[0] && !dx[1]) return bias_over(bias, y);
    Tensor *from_x = dx[0] ? ag_conv2d_with(dx[0], y->in[1], bias, options) : NULL;
    Tensor *rest = dx[0] ? NULL : bias;
    return sum_of(from_x, dx[1] ? ag_conv2d_with(y->in[0], dx[1], rest, options) : NULL);
}

Tensor *conv2d_tangent(Tensor *y, Tensor *const *dx)
{
    return conv2d_with_tangent(y, dx);
}

Tensor *conv_transpose2d_tangent(Tensor *y, Tensor *const *dx)
{
    const KConv *a = y->args;
    int stride = (int)a->stride[0], padding = (int)a->padding[0];
    int more = (int)(a->h - ((a->oh - 1) * a->stride[0] - 2 * a->padding[0] + a->kh));
    Tensor *bias = tangent_of_input(y, dx, 2), *from_x = NULL, *from_weight = NULL;
    if (!dx[0] && !dx[1]) return bias_over(bias, y);
    if (dx[0]) {
        from_x = ag_conv_transpose2d(dx[0], y->in[1], bias, stride, padding, more);
    }
    if (dx[1]) {
        Tensor *rest = dx[0] ? NULL : bias;
        from_weight = ag_conv_transpose2d(y->in[0], dx[1], rest, stride, padding, more);
    }
    return sum_of(from_x, from_weight);
}

Tensor *mean_pool2d_tangent(Tensor *y, Tensor *const *dx)
{
    const KPool *p = y->args;
    return ag_mean_pool2d(dx[0], (int)p->size, (int)p->stride, (int)p->padding);
}

/* ---- attention: composed of single operations, with (B,heads,T,S) weights at a time ---------- */

/* The arrays of an attention, or their tangents: (B,heads,T,K) or (B,heads,S,K). */
typedef struct { Tensor *q, *k, *v; } Heads;

/* Returns x (B,T,heads K) as (B,heads,T,K), where each head is repeated `group` times. */
static Tensor *heads_of(Tensor *x, int64_t width, int64_t group)
{
    if (!x) return NULL;
    int64_t b = x->shape.dim[0], t = x->shape.dim[1], h = x->shape.dim[2] / width;
    x = ag_permute(ag_reshape(x, SHAPE(b, t, h, width)), DIMS(0, 2, 1, 3));
    if (group == 1) return x;
    x = ag_expand(ag_reshape(x, SHAPE(b, h, 1, t, width)), SHAPE(b, h, group, t, width));
    return ag_reshape(x, SHAPE(b, h * group, t, width));
}

static Heads all_heads(Heads x, const KAttention *a)
{
    return (Heads){ heads_of(x.q, a->k, 1), heads_of(x.k, a->k, a->group),
                    heads_of(x.v, a->k, a->group) };
}

/* Returns which keys each query sees, (B,heads,T,S), or NULL if it sees all. */
static Tensor *visible(const KAttention *a)
{
    if (!a->mask && !a->causal) return NULL;
    Tensor *seen = tensor_new("attention", &SHAPE(a->b, a->h, a->t, a->s), AG_BOOL);
    uint8_t *next = bools(seen);
    for (int64_t b = 0; b < a->b; b++) {
        for (int64_t h = 0; h < a->h; h++) {
            for (int64_t t = 0; t < a->t; t++) {
                for (int64_t s = 0; s < a->s; s++) {
                    *next++ = attention_sees(a, b, h, t, s);
                }
            }
        }
    }
    return seen;
}

/* Returns which queries see no key, (B,heads,T,1), or which keys no query of the head sees. */
static Tensor *hidden(const KAttention *a, bool queries)
{
    int64_t n = queries ? a->t : a->s, others = queries ? a->s : a->t;
    Tensor *mask = tensor_new("attention", &SHAPE(a->b, a->h, n, 1), AG_BOOL);
    for (int64_t i = 0; i < mask->numel; i++) {
        int64_t b = i / (a->h * n), h = i / n % a->h, at = i % n;
        bool seen = false;
        for (int64_t k = 0; k < others && !seen; k++) {
            seen = attention_sees(a, b, h, queries ? at : k, queries ? k : at);
        }
        bools(mask)[i] = !seen;
    }
    return mask;
}

static bool is_finite(const Tensor *x)
{
    return !x || k_all_finite(x->numel, reals(x));
}

static bool are_finite(Heads x)
{
    return is_finite(x.q) && is_finite(x.k) && is_finite(x.v);
}

static Tensor *zero_where(Tensor *mask, Tensor *x)
{
    return x ? ag_masked_fill(x, mask, 0) : NULL;
}

/* Returns 0 at hidden positions, as attention computes with if there are NaN or infinity. */
static Heads without_hidden(Heads x, const KAttention *a)
{
    Tensor *queries = hidden(a, true), *keys = hidden(a, false);
    return (Heads){ zero_where(queries, x.q), zero_where(keys, x.k), zero_where(keys, x.v) };
}

/* Returns 1 / (1 - p) where the attention has kept a weight, else 0. The random numbers are those
 * of attention_blocks.c. */
static Tensor *kept_weights(const KAttention *a)
{
    Tensor *kept = tensor_ones(SHAPE(a->b, a->h, a->t, a->s));
    uint64_t per_row = ((uint64_t)a->s + 3) / 4;
    for (int64_t row = 0; row < a->b * a->h * a->t; row++) {
        real *p = reals(kept) + row * a->s;
        k_dropout(a->s, p, p, a->dropout, a->seed, a->counter + (uint64_t)row * per_row, false);
    }
    return kept;
}

/* Returns a b, or a b^T if b is `transposed`. */
static Tensor *heads_product(Tensor *a, Tensor *b, bool transposed)
{
    if (!a || !b) return NULL;
    return ag_matmul(a, transposed ? ag_transpose(b, 2, 3) : b);
}

/* Returns the tangent of y = W v with W = dropout(softmax(scale q k^T + bias)). */
static Tensor *attend_tangent(const Tensor *y, Heads x, Heads dx, Tensor *bias, Tensor *dbias)
{
    const KAttention *a = y->args;
    x = all_heads(x, a);
    dx = all_heads(dx, a);
    if (!are_finite(x) || !are_finite(dx)) {
        x = without_hidden(x, a);
        dx = without_hidden(dx, a);
    }
    Tensor *scores = ag_scale(heads_product(x.q, x.k, true), a->scale);
    Tensor *w = ag_masked_softmax(sum_of(scores, bias), visible(a), 1), *dw = NULL;
    Tensor *ds = sum_of(heads_product(dx.q, x.k, true), heads_product(x.q, dx.k, true));
    ds = sum_of(scaled(ds, a->scale), dbias);
    if (ds) {
        dw = ag_mul(w, ag_sub(ds, ag_sum_dims(ag_mul(w, ds), DIMS(-1), true)));
    }
    if (a->dropout > 0) {
        Tensor *kept = kept_weights(a);
        dw = product_of(dw, kept);
        w = ag_mul(w, kept);
    }
    Tensor *dy = sum_of(heads_product(dw, x.v, false), heads_product(w, dx.v, false));
    return ag_reshape(ag_permute(dy, DIMS(0, 2, 1, 3)), y->shape);
}

/* Returns input i of y if it is a mask of reals, which is added to the scores, else NULL. */
static Tensor *bias_of(const Tensor *y, int i)
{
    Tensor *mask = input_of(y, i);
    return mask && mask->dtype == AG_REAL ? mask : NULL;
}

Tensor *attention_tangent(Tensor *y, Tensor *const *dx)
{
    Heads x = { y->in[0], y->in[1], y->in[2] };
    return attend_tangent(y, x, (Heads){ dx[0], dx[1], dx[2] }, bias_of(y, 3), dx[3]);
}

/* Returns the queries, keys and values that lie side by side in qkv. */
static Heads parts_of(Tensor *qkv, const Tensor *y)
{
    if (!qkv) return (Heads){ NULL, NULL, NULL };
    int64_t row = qkv->shape.dim[2], keys = y->shape.dim[2], values = (keys + row) / 2;
    return (Heads){ ag_slice(qkv, 2, 0, keys), ag_slice(qkv, 2, keys, values),
                    ag_slice(qkv, 2, values, row) };
}

Tensor *self_attention_tangent(Tensor *y, Tensor *const *dx)
{
    return attend_tangent(y, parts_of(y->in[0], y), parts_of(dx[0], y), bias_of(y, 1),
                          tangent_of_input(y, dx, 1));
}
