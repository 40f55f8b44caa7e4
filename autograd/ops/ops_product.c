/* ops_product.c: matrix products: matmul and linear. The arithmetic is one kernel, k_gemm, which
 * also multiplies transposed matrices, as the rules of both operations do. OP_linear is the index
 * of linear's entry in the table of operations (table.h). Read linear first: it is shorter, because
 * matmul broadcasts its batch dimensions. */
#include "bf16_weights.h"
#include "checks.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kernels.h"
#include "observe.h"
#include "op.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/table.h"
#include "shape.h"
#include "tape.h"
#include "tensor_struct.h"

/* ---- matmul: y = a b                                         da = dy b^T, db = a^T dy -----------
 * (..,n,k) (..,k,m) -> (..,n,m). Batch dimensions broadcast: there is one product for each index of
 * the result's batch, and the gradient of a repeated matrix is a sum. */

/* `count` products of matrices (n,k) and (k,m). */
typedef struct {
    int64_t n, k, m, count;
    KWalk batch;                /* the batch dimensions, with the strides of a and b, in matrices */
    int64_t y[AG_MAX_DIMS];     /* the strides of y, in matrices */
} Matmul;

static AgShape batch_part(const AgShape *s)
{
    AgShape batch = *s;
    batch.ndim -= 2;
    return batch;
}

/* Sets *p. If b is a single matrix, a counts as one matrix with the rows of its whole batch: one
 * product computes all. Of the strides, only those of the batch dimensions are set, because to
 * clear all of *p takes as long as a small product. */
static void find_matrices(Matmul *p, const Tensor *y, const Tensor *a, const Tensor *b)
{
    p->n = a->shape.dim[a->shape.ndim - 2];
    p->k = a->shape.dim[a->shape.ndim - 1];
    p->m = b->shape.dim[b->shape.ndim - 1];
    if (b->shape.ndim == 2) {
        p->n = row_count(a);
        p->count = 1;
        p->batch.ndim = 0;
        return;
    }
    AgShape batch = batch_part(&y->shape);
    AgShape batch_a = batch_part(&a->shape), batch_b = batch_part(&b->shape);
    p->count = ag_shape_numel(batch);
    /* b may also be a single matrix with batch dimensions of size 1. The test of a's size is for
     * empty matrices: any number of them has as many items as a single one, none. */
    if (b->numel == p->k * p->m && a->numel == p->count * p->n * p->k) {
        p->n *= p->count;
        p->count = 1;
        batch.ndim = 0;
    }
    walk_over(&batch, &batch_a, &batch_b, &p->batch);
    broadcast_strides(&batch, &batch, p->y);
}

/* Returns whether the matrices of an operand with these strides are equally far apart; *step is
 * their distance, 0 for a single matrix. */
static bool has_one_step(const KWalk *batch, const int64_t *stride, int64_t *step)
{
    *step = 0;
    int64_t expected = 0;
    bool first = true;
    for (int i = batch->ndim - 1; i >= 0; i--) {
        if (batch->dim[i] == 1) continue;
        if (first) {
            *step = stride[i];
        } else if (stride[i] != expected) {
            return false;
        }
        expected = stride[i] * batch->dim[i];
        first = false;
    }
    return true;
}

/* Returns the number of the operand's matrix that belongs to product i. */
static int64_t matrix_index(const KWalk *batch, const int64_t *stride, int64_t i)
{
    int64_t at = 0;
    for (int d = batch->ndim - 1; d >= 0; d--) {
        at += i % batch->dim[d] * stride[d];
        i /= batch->dim[d];
    }
    return at;
}

/* Computes C = A B for each batch index, where sa, sb and sc are the strides of the operands, in
 * matrices. One call of k_gemm is enough if each operand has one step. If several products have the
 * same C, g->add must be set, and they are added one after another. */
static void multiply(KGemm *g, const Matmul *p, const int64_t *sa, const int64_t *sb,
                     const int64_t *sc, real *c, const real *a, const real *b)
{
    int64_t size_a = g->m * g->k, size_b = g->k * g->n, size_c = g->m * g->n;
    int64_t step_a, step_b, step_c;
    bool have_steps = has_one_step(&p->batch, sa, &step_a) &&
                      has_one_step(&p->batch, sb, &step_b) && has_one_step(&p->batch, sc, &step_c);
    if (have_steps && (step_c != 0 || p->count <= 1)) {
        g->batch = p->count;
        g->step_a = step_a * size_a;
        g->step_b = step_b * size_b;
        g->step_c = step_c * size_c;
        k_gemm(g, c, a, b);
        return;
    }
    g->batch = 1;
    for (int64_t i = 0; i < p->count; i++) {
        k_gemm(g, c + matrix_index(&p->batch, sc, i) * size_c,
               a + matrix_index(&p->batch, sa, i) * size_a,
               b + matrix_index(&p->batch, sb, i) * size_b);
    }
}

void matmul_values(Tensor *y, const OpCall *c)
{
    const Tensor *a = c->in[0], *b = c->in[1];
    Matmul p;
    find_matrices(&p, y, a, b);
    KGemm g = { .bf16 = y->precision == AG_BF16, .m = p.n, .n = p.m, .k = p.k, .lda = p.k,
                .ldb = p.m, .ldc = p.m };
    multiply(&g, &p, p.batch.a, p.batch.b, p.y, reals(y), reals(a), reals(b));
}

Tensor *ag_matmul(Tensor *a, Tensor *b)
{
    check_tensor(__func__, "a", a, AG_REAL);
    check_tensor(__func__, "b", b, AG_REAL);
    int da = a->shape.ndim, db = b->shape.ndim;
    if (da < 2 || db < 2) {
        ag_usage_error(__func__, "shapes %s and %s: both need two dimensions or more",
                       shape_text(a->shape), shape_text(b->shape));
    }
    int64_t n = a->shape.dim[da - 2], k = a->shape.dim[da - 1], m = b->shape.dim[db - 1];
    if (b->shape.dim[db - 2] != k) {
        ag_usage_error(__func__, "shapes %s and %s do not fit: inner sizes %lld and %lld",
                       shape_text(a->shape), shape_text(b->shape), (long long)k,
                       (long long)b->shape.dim[db - 2]);
    }
    AgShape batch_a = batch_part(&a->shape), batch_b = batch_part(&b->shape), shape;
    if (!broadcast(&batch_a, &batch_b, &shape)) {
        ag_usage_error(__func__, "shapes %s and %s do not fit: their batch dimensions do not "
                       "broadcast", shape_text(a->shape), shape_text(b->shape));
    }
    shape.dim[shape.ndim++] = n;
    shape.dim[shape.ndim++] = m;
    return op_run(&op_table[OP_matmul], &shape, (Tensor *[]){ a, b }, 2, NULL, 0);
}

void matmul_backward(Tensor *y)
{
    Tensor *a = y->in[0], *b = y->in[1];
    Matmul p;
    find_matrices(&p, y, a, b);
    int64_t n = p.n, k = p.k, m = p.m;
    for (int i = 0; i < 2; i++) {
        Tensor *x = y->in[i];
        Grad g = grad_into(x);
        if (!g.data) continue;
        /* several products add to the gradient of a repeated matrix, so it starts at zero */
        int64_t size = i == 0 ? n * k : k * m;
        bool repeated = x->numel != p.count * size;
        if (repeated && !g.add) {
            k_fill(x->numel, g.data, 0);
        }
        bool add = g.add || repeated, bf16 = y->precision == AG_BF16;
        if (i == 0) {
            KGemm da = { .bf16 = bf16, .tb = true, .add = add, .m = n, .n = k, .k = m, .lda = m,
                         .ldb = m, .ldc = k };
            multiply(&da, &p, p.y, p.batch.b, p.batch.a, g.data, grad_of(y), reals(b));
        } else {
            KGemm db = { .bf16 = bf16, .ta = true, .add = add, .m = k, .n = m, .k = n, .lda = k,
                         .ldb = m, .ldc = m };
            multiply(&db, &p, p.batch.a, p.y, p.batch.b, g.data, reals(a), grad_of(y));
        }
    }
}

/* ---- linear: y = x W^T + b       dx = dy W, dW = dy^T x, db = sum of dy's rows --------------- */

void check_linear(const char *what, const Tensor *x, const Tensor *weight, const Tensor *bias)
{
    check_tensor(what, "x", x, AG_REAL);
    check_weight(what, "weight", weight);
    if (weight->dtype == AG_PACKED && ag_precision_now() != AG_BF16) {
        ag_usage_error(what, "weight is kept in bfloat16 (AG_PACKED), but products are in float32: "
                       "expected ag_precision(AG_BF16)");
    }
    int ndim = x->shape.ndim;
    if (weight->shape.ndim != 2 || ndim < 1 || x->shape.dim[ndim - 1] != weight->shape.dim[1]) {
        ag_usage_error(what, "x %s and weight %s do not fit: expected x (..,in) and weight "
                       "(out,in)", shape_text(x->shape), shape_text(weight->shape));
    }
    if (bias) {
        check_vector(what, "bias", bias, weight->shape.dim[0], "(out)", "weight", weight);
    }
}

static Tensor *linear_new(const char *what, Tensor *x, Tensor *weight, Tensor *bias)
{
    check_linear(what, x, weight, bias);
    AgShape shape = x->shape;
    shape.dim[shape.ndim - 1] = weight->shape.dim[0];
    return op_new(&op_table[OP_linear], &shape, x, weight, bias);
}

LinearSize linear_size(const Tensor *y, const Tensor *x, const Tensor *weight)
{
    return (LinearSize){ .rows = row_count(x), .in = weight->shape.dim[1],
                         .out = weight->shape.dim[0], .bf16 = y->precision == AG_BF16,
                         .packed_weight = packed_weight(y, weight) };
}

void linear_product(const LinearSize *s, real *y, real *pre, const real *x, const real *weight,
                    const real *bias, KUnary act)
{
    KGemm g = { .bf16 = s->bf16, .tb = true, .m = s->rows, .n = s->out, .k = s->in, .lda = s->in,
                .ldb = s->in, .ldc = s->out, .batch = 1, .packed_b = s->packed_weight, .bias = bias,
                .pre = pre, .act = act };
    k_gemm(&g, y, x, weight);
}

static void linear_forward(Tensor *y, real *pre, Tensor *x, Tensor *weight, Tensor *bias,
                           KUnary act)
{
    LinearSize size = linear_size(y, x, weight);
    linear_product(&size, reals(y), pre, reals(x), weight_reals(weight), bias ? reals(bias) : NULL,
                   act);
}

Tensor *ag_linear(Tensor *x, Tensor *weight, Tensor *bias)
{
    Tensor *y = linear_new(__func__, x, weight, bias);
    linear_forward(y, NULL, x, weight, bias, K_IDENTITY);
    return op_done(y);
}

/* Returns op(linear), where `op` is an activation. Two operations are recorded, but one product
 * computes the values of both. Those of linear are stored only if the rule of `op` reads them. */
static Tensor *linear_activate(const char *what, const Op *op, Tensor *x, Tensor *weight,
                               Tensor *bias)
{
    Tensor *pre = linear_new(what, x, weight, bias);
    bool store = pre->op && (op->needs & NEEDS_X0);
    Tensor *y = store ? op_new(op, &pre->shape, pre, NULL, NULL) : op_new_in_place(op, pre, NULL);
    linear_forward(y, store ? reals(pre) : NULL, x, weight, bias, (KUnary)op->kernel);
    op_done(pre);
    return op_done(y);
}

Tensor *ag_linear_activate(Tensor *x, Tensor *weight, Tensor *bias, AgActivation kind)
{
    /* the activations that KGemm can apply */
    bool in_one_pass = kind == AG_RELU || kind == AG_GELU || kind == AG_GELU_ERF;
    if (in_one_pass && !(observers_need & NO_FUSION)) {
        return linear_activate(__func__, op_of_activation(kind), x, weight, bias);
    }
    return ag_activate(kind, ag_linear(x, weight, bias));
}

void linear_values(Tensor *y, const OpCall *c)
{
    Tensor *bias = c->n > 2 ? c->in[2] : NULL;
    linear_forward(y, NULL, c->in[0], c->in[1], bias, K_IDENTITY);
}

void linear_gradients(const LinearSize *s, Grad dx, Grad dweight, Grad dbias, const real *dy,
                      const real *x, const real *weight)
{
    if (dbias.data) {
        k_sum(1, s->rows, s->out, dbias.data, dy, 1, dbias.add);
    }
    if (dweight.data) {
        KGemm product = { .bf16 = s->bf16, .ta = true, .add = dweight.add, .m = s->out, .n = s->in,
                          .k = s->rows, .lda = s->out, .ldb = s->in, .ldc = s->in, .batch = 1 };
        k_gemm(&product, dweight.data, dy, x);
    }
    if (dx.data) {
        KGemm product = { .bf16 = s->bf16, .add = dx.add, .m = s->rows, .n = s->in, .k = s->out,
                          .lda = s->out, .ldb = s->in, .ldc = s->in, .batch = 1,
                          .packed_b = s->packed_weight };
        k_gemm(&product, dx.data, dy, weight);
    }
}

void linear_backward(Tensor *y)
{
    Tensor *x = y->in[0], *weight = y->in[1], *bias = y->n_in > 2 ? y->in[2] : NULL;
    LinearSize size = linear_size(y, x, weight);
    Grad none = { NULL, false };
    Grad dbias = grad_into(bias);
    Grad dweight = grad_into(weight);
    linear_gradients(&size, none, dweight, dbias, grad_of(y), reals_if(x, dweight.data), NULL);
    /* The values of x are not read again, so that dx may take their memory. */
    rule_has_read(y);
    if (x->requires_grad) {
        linear_gradients(&size, grad_into(x), none, none, grad_of(y), NULL, weight_reals(weight));
    }
}
