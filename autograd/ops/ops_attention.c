/* ops_attention.c: scaled dot-product attention with several heads as one operation (Vaswani et al. 2017, 3.2). The heads are
 * parts of the last dimension, so nothing is transposed. The weights of only a few rows exist at a time
 * (kernels/attention_blocks.c), so they cannot be read; nn/attention.c composes the same of single operations. */
#include <math.h>

#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/table.h"

/* ---- attention: W = dropout(softmax(q k^T / sqrt(K), masked)), y = W v
 * dv = W^T dy, dW = dy v^T, ds = W (dW - rowsum(dW W)) / sqrt(K), dq = ds k, dk = ds^T q --------------------------- */

static void check_heads(Site at, const char *what, const Tensor *x, int64_t width, int heads, double p)
{
    char text[AG_SHAPE_TEXT];
    if (heads < 1 || width % heads != 0 || width == 0)
        ag_usage_error(at, what, "%s does not divide into %d heads", shape_text(x->shape, text), heads);
    if (!(p >= 0 && p < 1)) ag_usage_error(at, what, "dropout p is %g, expected 0 <= p < 1", p);
}

static void set_mask(Site at, const char *what, KAttention *a, const Tensor *mask)
{
    if (!mask) return;
    Shape scores = SHAPE(a->b, a->h, a->t, a->s);
    check_mask(at, what, mask, "(B,heads,T,S) =", &scores);
    int64_t stride[AG_MAX_DIMS];
    broadcast_strides(&mask->shape, &scores, stride);
    a->mask = bools(mask);
    a->mask_b = stride[0];
    a->mask_h = stride[1];
    a->mask_t = stride[2];
    a->mask_s = stride[3];
}

/* Reserves the random numbers for the dropout of the weights. */
static void set_dropout(KAttention *a, double p)
{
    AgRandom *random = &context()->random;
    a->dropout = p;
    a->seed = random->seed;
    a->counter = random->counter;
    if (p > 0) random->counter += (uint64_t)(a->b * a->h * a->t) * (((uint64_t)a->s + 3) / 4);
}

static Tensor *run_forward(Tensor *y, KAttention *a, const real *q, const real *k, const real *v)
{
    a->bf16 = y->precision == AG_BF16;
    if (y->op) *(KAttention *)op_args(y, sizeof *a) = *a;
    real *work = scratch_new(y->site, "attention", k_attention_work(a), sizeof *work);
    k_attention(a, reals(y), q, k, v, work);
    return op_done(y);
}

static void run_backward(Tensor *y, Grad q, Grad k, Grad v, const real *xq, const real *xk, const real *xv)
{
    const KAttention *a = y->args;
    real *work = scratch_new(y->site, y->op->name, k_attention_backward_work(a), sizeof *work);
    k_attention_backward(a, q.data, q.add, k.data, k.add, v.data, v.add, grad_of(y), xq, xk, xv, work);
}

Tensor *ag_attention_at(Site at, Tensor *q, Tensor *k, Tensor *v, Tensor *mask, int heads, bool causal, double p)
{
    check_tensor(at, "attention", "q", q, AG_REAL);
    check_tensor(at, "attention", "k", k, AG_REAL);
    check_tensor(at, "attention", "v", v, AG_REAL);
    char tq[AG_SHAPE_TEXT], tk[AG_SHAPE_TEXT], tv[AG_SHAPE_TEXT];
    if (q->shape.ndim != 3 || k->shape.ndim != 3 || !shape_equal(k->shape, v->shape) ||
        q->shape.dim[0] != k->shape.dim[0] || q->shape.dim[2] != k->shape.dim[2])
        ag_usage_error(at, "attention", "q %s, k %s and v %s do not fit: expected (B,T,D), (B,S,D) and (B,S,D)",
                       shape_text(q->shape, tq), shape_text(k->shape, tk), shape_text(v->shape, tv));
    int64_t t = q->shape.dim[1], s = k->shape.dim[1], width = q->shape.dim[2], part = heads > 0 ? width / heads : 0;
    check_heads(at, "attention", q, width, heads, p);
    KSteps rows = { t * width, part, width }, sources = { s * width, part, width };
    KAttention a = { .b = q->shape.dim[0], .h = heads, .t = t, .s = s, .k = part, .q = rows, .kv = sources, .y = rows,
                     .scale = 1 / sqrt((double)part), .causal = causal };
    set_mask(at, "attention", &a, mask);
    set_dropout(&a, p);
    Tensor *in[] = { q, k, v, mask };
    return run_forward(op_new_n(at, &op_table[OP_attention], &q->shape, in, 4), &a, reals(q), reals(k), reals(v));
}

void attention_backward(Tensor *y)
{
    Tensor *q = y->in[0], *k = y->in[1], *v = y->in[2];
    if (q != k && q != v && k != v) {
        run_backward(y, grad_into(q), grad_into(k), grad_into(v), reals(q), reals(k), reals(v));
        return;
    }
    for (int i = 0; i < 3; i++) {           /* one tensor is several inputs: their gradients must be added one after another */
        Grad g[3] = { { NULL, false } };
        g[i] = grad_into(y->in[i]);
        run_backward(y, g[0], g[1], g[2], reals(q), reals(k), reals(v));
    }
}

/* Calls attention, or self_attention if k is NULL, with the same random numbers each time. */
static Tensor *call_sample(Tensor *q, Tensor *k, Tensor *v, Tensor *mask, int heads, bool causal, double p)
{
    AgRandom before = ag_random_state();
    ag_set_random_state((AgRandom){ 5, 0 });
    Tensor *y = k ? ag_attention(q, k, v, mask, heads, causal, p) : ag_self_attention(q, mask, heads, causal, p);
    ag_set_random_state(before);
    return y;
}

Tensor *attention_sample(Sample *s)
{
    static const struct { int b, t, s, width, heads; bool causal, masked; double p; } cases[] = {
        { 1, 1, 1, 1, 1, false, false, 0 }, { 2, 3, 4, 4, 2, false, false, 0 }, { 1, 5, 5, 6, 3, true, false, 0 },
        { 2, 3, 4, 4, 1, false, true, 0 },  { 1, 2, 5, 2, 1, true, false, 0 },  { 2, 4, 4, 4, 2, true, true, 0 },
        { 1, 3, 4, 4, 2, false, false, 0.4 }, { 0, 3, 4, 4, 2, false, false, 0 }, { 1, 4, 3, 2, 1, true, false, 0 },
        { 1, 3, 0, 2, 1, false, false, 0 }, { 1, 70, 3, 2, 1, false, false, 0.3 },
        { 1, 0, 3, 2, 1, false, false, 0 },
    };
    if (s->number >= 12) return NULL;
    int i = s->number;
    Tensor *q = sample_in(s, 0, SHAPE(cases[i].b, cases[i].t, cases[i].width));
    Tensor *k = sample_in(s, 1, SHAPE(cases[i].b, cases[i].s, cases[i].width));
    Tensor *v = sample_in(s, 2, SHAPE(cases[i].b, cases[i].s, cases[i].width));
    Tensor *mask = cases[i].masked ? sample_mask(SHAPE(cases[i].b, 1, cases[i].t, cases[i].s)) : NULL;
    return call_sample(q, k, v, mask, cases[i].heads, cases[i].causal, cases[i].p);
}

/* ---- self_attention: the same on queries, keys and values side by side ------------------------------------------- */

Tensor *ag_self_attention_at(Site at, Tensor *qkv, Tensor *mask, int heads, bool causal, double p)
{
    check_tensor(at, "self_attention", "qkv", qkv, AG_REAL);
    char text[AG_SHAPE_TEXT];
    if (qkv->shape.ndim != 3 || qkv->shape.dim[2] % 3 != 0)
        ag_usage_error(at, "self_attention", "qkv %s, expected (B,T,3D)", shape_text(qkv->shape, text));
    Shape shape = qkv->shape;
    int64_t t = shape.dim[1], width = shape.dim[2] /= 3, part = heads > 0 ? width / heads : 0;
    check_heads(at, "self_attention", qkv, width, heads, p);
    KSteps packed = { 3 * t * width, part, 3 * width };
    KAttention a = { .b = shape.dim[0], .h = heads, .t = t, .s = t, .k = part, .q = packed, .kv = packed,
                     .y = { t * width, part, width }, .scale = 1 / sqrt((double)part), .causal = causal };
    set_mask(at, "self_attention", &a, mask);
    set_dropout(&a, p);
    const real *x = reals(qkv);
    return run_forward(op_new(at, OP_self_attention, &shape, qkv, mask, NULL), &a, x, x + width, x + 2 * width);
}

void self_attention_backward(Tensor *y)
{
    int64_t width = y->shape.dim[2];
    const real *x = reals(y->in[0]);
    Grad q = grad_into(y->in[0]), k = { q.data + width, q.add }, v = { q.data + 2 * width, q.add };
    run_backward(y, q, k, v, x, x + width, x + 2 * width);
}

Tensor *self_attention_sample(Sample *s)
{
    static const struct { int b, t, width, heads; bool causal, masked; double p; } cases[] = {
        { 1, 1, 1, 1, false, false, 0 }, { 2, 3, 4, 2, false, false, 0 }, { 1, 5, 6, 3, true, false, 0 },
        { 2, 3, 4, 1, false, true, 0 },  { 1, 4, 2, 1, true, false, 0 },  { 2, 4, 4, 2, true, true, 0 },
        { 1, 3, 4, 2, true, false, 0.4 }, { 0, 3, 4, 2, true, false, 0 }, { 1, 67, 2, 1, true, false, 0 },
    };
    if (s->number >= 9) return NULL;
    int i = s->number;
    Tensor *qkv = sample_in(s, 0, SHAPE(cases[i].b, cases[i].t, 3 * cases[i].width));
    Tensor *mask = cases[i].masked ? sample_mask(SHAPE(cases[i].t, cases[i].t)) : NULL;
    return call_sample(qkv, NULL, NULL, mask, cases[i].heads, cases[i].causal, cases[i].p);
}
