/* ops_attention.c: scaled dot-product attention with several heads as one operation (Vaswani et al.
 * 2017, 3.2). The heads are parts of the last dimension, so nothing is transposed. This file checks
 * the arguments and describes them in a KAttention; attention_blocks.c computes. Only the weights
 * of a few rows exist at a time, so a program cannot read them; nn/attention.c composes the same
 * attention of single operations, for programs that do. */
#include <math.h>
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "observe.h"
#include "ops/attention_blocks.h"
#include "ops/table.h"
#include "random.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- attention: W = softmax(q k^T / sqrt(K), masked), y = W v -----------------------------------
 * dv = W^T dy, dW = dy v^T, ds = W (dW - rowsum(dW W)) / sqrt(K), dq = ds k, dk = ds^T q
 *
 * With dropout, y = dropout(W) v, dv = dropout(W)^T dy, and dW = dropout(dy v^T). */

/* Returns the width of one of the heads into which `width` must divide. */
static int64_t check_heads(const char *what, const Tensor *x, int64_t width, int64_t heads)
{
    if (heads < 1 || width % heads != 0 || width == 0) {
        ag_usage_error(what, "%s does not divide into %lld heads", shape_text(x->shape),
                       (long long)heads);
    }
    return width / heads;
}

/* Returns the number of heads of keys and values. */
static int64_t check_options(const char *what, const AgAttention *options)
{
    if (options->heads < 1) {
        ag_usage_error(what, "%d heads, expected 1 or more", options->heads);
    }
    int kv_heads = options->kv_heads == 0 ? options->heads : options->kv_heads;
    if (kv_heads < 0 || (kv_heads > 0 && options->heads % kv_heads != 0)) {
        ag_usage_error(what, "%d heads of queries do not divide into groups for %d heads of keys",
                       options->heads, kv_heads);
    }
    if (options->window < 0 || (options->window > 0 && !options->causal)) {
        ag_usage_error(what, "a window of %d, expected 0 or more, and causal attention",
                       options->window);
    }
    if (!(options->dropout >= 0 && options->dropout < 1)) {
        ag_usage_error(what, "dropout p is %g, expected 0 <= p < 1", options->dropout);
    }
    return kv_heads;
}

/* Returns an attention with heads of width `part`. The strides and the mask are not set. */
static KAttention attention_of(int64_t b, int64_t t, int64_t s, int64_t part, int64_t kv_heads,
                               const AgAttention *options)
{
    return (KAttention){ .b = b, .h = options->heads, .t = t, .s = s, .k = part,
                         .group = options->heads / kv_heads, .window = options->window,
                         .scale = 1 / sqrt((double)part), .causal = options->causal,
                         .dropout = options->dropout };
}

static void set_mask(const char *what, KAttention *a, const Tensor *mask)
{
    if (!mask) return;
    AgShape scores = SHAPE(a->b, a->h, a->t, a->s);
    bool added = tensor_lives(mask) && mask->dtype == AG_REAL;
    check_mask(what, mask, added ? AG_REAL : AG_BOOL, "(B,heads,T,S) =", &scores);
    int64_t stride[AG_MAX_DIMS];
    broadcast_strides(&mask->shape, &scores, stride);
    if (added) {
        a->bias = reals(mask);
    } else {
        a->mask = bools(mask);
    }
    a->mask_b = stride[0];
    a->mask_h = stride[1];
    a->mask_t = stride[2];
    a->mask_s = stride[3];
}

/* ---- hidden positions: keys that no query sees, and queries that see no key ---------------------
 * Their weights are 0, but 0 times NaN or infinity is NaN. So if NaN or infinity occurs,
 * run_forward and run_backward compute with a copy of the input in which hidden positions are 0. */

/* Returns whether the attention can have hidden positions. */
static bool hides(const KAttention *a)
{
    return a->mask || a->bias || a->window > 0 || (a->causal && a->t > a->s);
}

static bool key_is_seen(const KAttention *a, int64_t b, int64_t kv_head, int64_t s)
{
    for (int64_t h = kv_head * a->group; h < (kv_head + 1) * a->group; h++) {
        for (int64_t t = 0; t < a->t; t++) {
            if (attention_sees(a, b, h, t, s)) return true;
        }
    }
    return false;
}

static bool query_sees_any(const KAttention *a, int64_t b, int64_t h, int64_t t)
{
    for (int64_t s = 0; s < a->s; s++) {
        if (attention_sees(a, b, h, t, s)) return true;
    }
    return false;
}

/* Returns a copy of x, which are the queries, or the keys or values, with the same strides and 0 at
 * hidden positions. A number has `size` bytes. */
static void *without_hidden(const Tensor *y, const KAttention *a, const void *x, bool queries,
                            size_t size)
{
    KSteps step = queries ? a->q : a->kv;
    int64_t heads = queries ? a->h : a->h / a->group, rows = queries ? a->t : a->s;
    if (a->b * heads * rows * a->k == 0) return NULL;
    int64_t items = (a->b - 1) * step.b + (heads - 1) * step.h + (rows - 1) * step.t + a->k;
    char *copy = op_scratch(function_of(y), items, size);
    const size_t bytes = (size_t)a->k * size;
    for (int64_t b = 0; b < a->b; b++) {
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < rows; i++) {
                size_t at = (size_t)(b * step.b + h * step.h + i * step.t) * size;
                bool seen = queries ? query_sees_any(a, b, h, i) : key_is_seen(a, b, h, i);
                if (seen) {
                    memcpy(copy + at, (const char *)x + at, bytes);
                } else {
                    memset(copy + at, 0, bytes);
                }
            }
        }
    }
    return copy;
}

/* ---- forward and backward -------------------------------------------------------------------- */

/* Computes the values of y, and returns op_done(y). Dropout needs a random number for each weight:
 * a block of random numbers has four, and each row of S weights begins a new block. */
static Tensor *run_forward(Tensor *y, KAttention *a, const real *q, const real *k, const real *v)
{
    uint64_t blocks_of_row = a->dropout > 0 ? ((uint64_t)a->s + 3) / 4 : 0;
    AgRandom random = random_blocks((uint64_t)(a->b * a->h * a->t) * blocks_of_row);
    a->seed = random.seed;
    a->counter = random.counter;
    a->bf16 = y->precision == AG_BF16;
    if (y->op) {
        *(KAttention *)op_args(y, sizeof *a) = *a;
    }
    real *work = op_scratch(function_of(y), k_attention_work(a), sizeof *work);
    k_attention(a, reals(y), q, k, v, work);
    /* NaN or infinity may come from hidden values: compute again without them */
    if (hides(a) && !k_all_finite(y->numel, reals(y))) {
        KAttention clean = *a;
        if (a->v_pairs) {
            size_t bf16 = sizeof(uint32_t) / 2;     /* an item has two numbers */
            clean.v_pairs = without_hidden(y, a, a->v_pairs, false, bf16);
        } else {
            v = without_hidden(y, a, v, false, sizeof(real));
        }
        k_attention(&clean, reals(y), q, k, v, work);
    }
    if (a->dropout > 0) {
        notify(DROPPED, y);
    }
    return op_done(y);
}

/* Returns whether the first n inputs of y are finite. */
static bool finite_inputs(const Tensor *y, int n)
{
    for (int i = 0; i < n; i++) {
        if (!k_all_finite(y->in[i]->numel, reals(y->in[i]))) return false;
    }
    return true;
}

/* Adds the gradients of the queries, keys and values, and of `bias`, a mask of reals, if it is not
 * NULL. */
static void run_backward(Tensor *y, Grad q, Grad k, Grad v, const real *xq, const real *xk,
                         const real *xv, Tensor *bias)
{
    KAttention a = *(const KAttention *)y->args;
    AgShape scores = SHAPE(a.b, a.h, a.t, a.s);
    int64_t n = ag_shape_numel(scores);
    if (bias) {
        a.dbias = op_scratch(y->op->function, n, sizeof(real));
        k_fill(n, a.dbias, 0);
    }
    real *work = op_scratch(y->op->function, k_attention_backward_work(&a), sizeof *work);
    int inputs = y->op == &op_table[OP_attention] ? 3 : 1;
    if (hides(&a) && !finite_inputs(y, inputs)) {
        xq = without_hidden(y, &a, xq, true, sizeof(real));
        xk = without_hidden(y, &a, xk, false, sizeof(real));
        xv = without_hidden(y, &a, xv, false, sizeof(real));
    }
    k_attention_backward(&a, q.data, q.add, k.data, k.add, v.data, v.add, grad_of(y), xq, xk, xv,
                         work);
    if (bias && bias->numel == n) {
        grad_add(bias, a.dbias);
    } else if (bias) {
        grad_sum_to(bias, a.dbias, &scores);
    }
}

/* Returns the mask of y, which is input i, if it requires a gradient, else NULL. */
static Tensor *trained_mask(const Tensor *y, int i)
{
    Tensor *mask = i < y->n_in ? y->in[i] : NULL;
    return mask && mask->requires_grad ? mask : NULL;
}

/* Returns the attention to the first s positions of k and v. These are reals or, without gradients,
 * pairs in bfloat16 (ag_to_bf16). */
static Tensor *attend(const char *what, Tensor *q, Tensor *k, Tensor *v, int64_t s, Tensor *mask,
                      const AgAttention *options)
{
    bool grouped = options->kv_heads != 0 && options->kv_heads != options->heads;
    bool pairs = k->dtype == AG_INT;
    AgShape keys = k->shape, of_v = v->shape;
    if (pairs) {
        keys.dim[2] *= 2;
        of_v.dim[2] *= 2;
    }
    bool fit = q->shape.ndim == 3 && keys.ndim == 3 && ag_shape_equal(keys, of_v) &&
               q->shape.dim[0] == keys.dim[0] && (grouped || q->shape.dim[2] == keys.dim[2]);
    if (!fit) {
        ag_usage_error(what, "q %s, k %s and v %s do not fit: expected (B,T,D), (B,S,D) and "
                       "(B,S,D)", shape_text(q->shape), shape_text(keys), shape_text(of_v));
    }
    int64_t t = q->shape.dim[1], width = q->shape.dim[2], kv_width = keys.dim[2];
    int64_t part = check_heads(what, q, width, options->heads);
    int64_t kv_heads = check_options(what, options);
    if (kv_width != kv_heads * part) {
        ag_usage_error(what, "k %s for %lld heads of width %lld, the width of q's heads: expected "
                       "(B,S,%lld)", shape_text(keys), (long long)kv_heads, (long long)part,
                       (long long)(kv_heads * part));
    }
    if (pairs && (part % 2 != 0 || ag_precision_now() != AG_BF16)) {
        Tensor *real_k = ag_from_bf16(ag_slice(k, 1, 0, s));
        Tensor *real_v = ag_from_bf16(ag_slice(v, 1, 0, s));
        return attend(what, q, real_k, real_v, s, mask, options);
    }
    KAttention a = attention_of(q->shape.dim[0], t, s, part, kv_heads, options);
    a.q = (KSteps){ t * width, part, width };
    a.kv = (KSteps){ keys.dim[1] * kv_width, part, kv_width };
    a.y = a.q;
    if (pairs) {
        a.k_pairs = values(k);
        a.v_pairs = values(v);
    }
    set_mask(what, &a, mask);
    Tensor *y = op_new_n(&op_table[OP_attention], &q->shape, (Tensor *[]){ q, k, v, mask }, 4);
    return run_forward(y, &a, reals(q), reals_if(k, !pairs), reals_if(v, !pairs));
}

Tensor *ag_attention(Tensor *q, Tensor *k, Tensor *v, Tensor *mask, AgAttention options)
{
    check_tensor(__func__, "q", q, AG_REAL);
    check_tensor(__func__, "k", k, AG_REAL);
    check_tensor(__func__, "v", v, AG_REAL);
    int64_t s = k->shape.ndim == 3 ? k->shape.dim[1] : 0;
    return attend(__func__, q, k, v, s, mask, &options);
}

Tensor *ag_attention_cached(Tensor *q, Tensor *k, Tensor *v, int64_t n, Tensor *mask,
                            AgAttention options)
{
    bool pairs = tensor_lives(k) && k->dtype == AG_INT;
    check_tensor(__func__, "q", q, AG_REAL);
    check_tensor(__func__, "k", k, pairs ? AG_INT : AG_REAL);
    check_tensor(__func__, "v", v, pairs ? AG_INT : AG_REAL);
    if (n < 0 || k->shape.ndim != 3 || n > k->shape.dim[1]) {
        ag_usage_error(__func__, "%lld positions of k %s, expected n positions of (B,S,D), 0 <= n "
                       "<= S", (long long)n, shape_text(k->shape));
    }
    bool trained = q->requires_grad || k->requires_grad || v->requires_grad ||
                   (mask && mask->requires_grad);
    if (ag_recording() && trained) {
        ag_usage_error(__func__, "an input requires a gradient, and none is passed on: expected a "
                       "scope with AG_NO_GRAD");
    }
    return attend(__func__, q, k, v, n, mask, &options);
}

void attention_backward(Tensor *y)
{
    Tensor *q = y->in[0], *k = y->in[1], *v = y->in[2], *bias = trained_mask(y, 3);
    if (q != k && q != v && k != v) {
        run_backward(y, grad_into(q), grad_into(k), grad_into(v), reals(q), reals(k), reals(v),
                     bias);
        return;
    }
    /* one tensor is several inputs: their gradients must be added one after another */
    for (int i = 0; i < 3; i++) {
        Grad g[3] = { { NULL, false } };
        g[i] = grad_into(y->in[i]);
        run_backward(y, g[0], g[1], g[2], reals(q), reals(k), reals(v), i == 0 ? bias : NULL);
    }
}

/* ---- self_attention: the same on queries, keys and values side by side in each row ----------- */

Tensor *ag_self_attention(Tensor *qkv, Tensor *mask, AgAttention options)
{
    check_tensor(__func__, "qkv", qkv, AG_REAL);
    int64_t kv_heads = check_options(__func__, &options);
    int64_t total = options.heads + 2 * kv_heads;
    bool grouped = kv_heads != options.heads;
    if (qkv->shape.ndim != 3 || (!grouped && qkv->shape.dim[2] % 3 != 0)) {
        ag_usage_error(__func__, "qkv %s, expected (B,T,3D)", shape_text(qkv->shape));
    }
    AgShape shape = qkv->shape;
    int64_t t = shape.dim[1], row = shape.dim[2];
    int64_t part = grouped ? check_heads(__func__, qkv, row, total)
                           : check_heads(__func__, qkv, row / 3, options.heads);
    int64_t width = part * options.heads;
    shape.dim[2] = width;
    KAttention a = attention_of(shape.dim[0], t, t, part, kv_heads, &options);
    a.q = (KSteps){ t * row, part, row };
    a.kv = a.q;
    a.y = (KSteps){ t * width, part, width };
    set_mask(__func__, &a, mask);
    const real *q = reals(qkv), *k = q + width, *v = q + (width + row) / 2;
    Tensor *y = op_new(&op_table[OP_self_attention], &shape, qkv, mask, NULL);
    return run_forward(y, &a, q, k, v);
}

void self_attention_backward(Tensor *y)
{
    Tensor *qkv = y->in[0];
    /* where they begin in a row */
    int64_t keys = y->shape.dim[2], values = (keys + qkv->shape.dim[2]) / 2;
    const real *x = reals(qkv);
    Grad q = grad_into(qkv);
    Grad k = { q.data ? q.data + keys : NULL, q.add };
    Grad v = { q.data ? q.data + values : NULL, q.add };
    run_backward(y, q, k, v, x, x + keys, x + values, trained_mask(y, 1));
}
