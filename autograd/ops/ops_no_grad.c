/* ops_no_grad.c: operations without gradients: comparisons, and, or, not, any, all, cast, bfloat16, one-hot, random items. */
#include <math.h>

#include "bf16.h"
#include "bf16_weights.h"
#include "buffers.h"
#include "checks.h"
#include "kaeru/autograd.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "ops/index.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* y[i] = a[i] compared with b[i], or with `number` if b is NULL: through double, which holds every int32 and every real. */
static void compare(AgCompare how, Tensor *y, AgDType dtype, const void *a, const void *b, double number)
{
    const int64_t n = y->numel;
    uint8_t *to = bools(y);
#define COMPARE(sign) \
    for (int64_t i = 0; i < n; i++) to[i] = element_number(dtype, a, i) sign (b ? element_number(dtype, b, i) : number)
    switch (how) {
    case AG_EQ: COMPARE(==); break;
    case AG_NE: COMPARE(!=); break;
    case AG_LT: COMPARE(<);  break;
    case AG_LE: COMPARE(<=); break;
    case AG_GT: COMPARE(>);  break;
    case AG_GE: COMPARE(>=); break;
    }
#undef COMPARE
}

/* t's values repeated to `shape`: t's own if it has that shape, else scratch. */
static const void *spread(const char *what, const Tensor *t, const AgShape *shape)
{
    if (ag_shape_equal(t->shape, *shape)) return t->data;
    size_t size = dtype_size((AgDType)t->dtype);
    void *full = scratch_new(what, ag_shape_numel(*shape), size);
    KWalk walk;
    walk_over(shape, shape, &t->shape, &walk);
    k_copy(&walk, full, t->data, size);
    return full;
}

static void check_comparison(const char *what, AgCompare how)
{
    if ((int)how < AG_EQ || how > AG_GE) ag_usage_error(what, "%d is no comparison; see AgCompare", (int)how);
}

Tensor *ag_compare(AgCompare how, Tensor *a, Tensor *b)
{
    check_comparison(__func__, how);
    check_any(__func__, "a", a);
    check_tensor(__func__, "b", b, a->dtype);
    AgShape shape = broadcast_shape(__func__, a, b);
    Tensor *y = tensor_new(__func__, &shape, AG_BOOL);
    compare(how, y, a->dtype, spread(__func__, a, &shape), spread(__func__, b, &shape), 0);
    scratch_end();
    return y;
}

Tensor *ag_compare_scalar(AgCompare how, Tensor *a, double b)
{
    check_comparison(__func__, how);
    check_any(__func__, "a", a);
    Tensor *y = tensor_new(__func__, &a->shape, AG_BOOL);
    if (a->dtype == AG_REAL) b = (double)(real)b;               /* 0.1 equals a tensor of 0.1 */
    compare(how, y, a->dtype, a->data, NULL, b);
    return y;
}

static Tensor *logical(const char *what, Tensor *a, Tensor *b, bool both)
{
    check_tensor(what, "a", a, AG_BOOL);
    check_tensor(what, "b", b, AG_BOOL);
    AgShape shape = broadcast_shape(what, a, b);
    Tensor *y = tensor_new(what, &shape, AG_BOOL);
    const uint8_t *va = spread(what, a, &shape), *vb = spread(what, b, &shape);
    for (int64_t i = 0; i < y->numel; i++) bools(y)[i] = both ? va[i] && vb[i] : va[i] || vb[i];
    scratch_end();
    return y;
}

Tensor *ag_and(Tensor *a, Tensor *b)
{
    return logical(__func__, a, b, true);
}

Tensor *ag_or(Tensor *a, Tensor *b)
{
    return logical(__func__, a, b, false);
}

Tensor *ag_not(Tensor *a)
{
    check_tensor(__func__, "a", a, AG_BOOL);
    Tensor *y = tensor_new(__func__, &a->shape, AG_BOOL);
    for (int64_t i = 0; i < y->numel; i++) bools(y)[i] = !bools(a)[i];
    return y;
}

/* The sum of ones and zeros is above 0 where there is a one. */
Tensor *ag_any(Tensor *mask, AgDims dims, bool keep)
{
    check_tensor(__func__, "mask", mask, AG_BOOL);
    return ag_compare_scalar(AG_GT, ag_sum_dims(ag_cast(mask, AG_REAL), dims, keep), 0);
}

Tensor *ag_all(Tensor *mask, AgDims dims, bool keep)
{
    check_tensor(__func__, "mask", mask, AG_BOOL);
    return ag_not(ag_any(ag_not(mask), dims, keep));
}

Tensor *ag_cast(Tensor *x, AgDType dtype)
{
    check_any(__func__, "x", x);
    if ((int)dtype < AG_REAL || dtype > AG_BOOL)
        ag_usage_error(__func__, "dtype is %d, expected AG_REAL, AG_INT or AG_BOOL", (int)dtype);
    if (x->dtype == dtype) return x;
    Tensor *y = tensor_new(__func__, &x->shape, dtype);
    for (int64_t i = 0; i < x->numel; i++) {
        double v = element_number(x->dtype, x->data, i);
        bool fits = dtype == AG_INT ? v > -2147483649.0 && v < 2147483648.0 : dtype != AG_REAL || (double)(real)v == v;
        if (!fits) ag_usage_error(__func__, "%.17g at item %lld does not fit %s", v, (long long)i, dtype_name(dtype));
        if (dtype == AG_REAL) reals(y)[i] = (real)v;
        else if (dtype == AG_INT) ints(y)[i] = (int32_t)v;
        else bools(y)[i] = v != 0;
    }
    return y;
}

Tensor *ag_to_bf16(Tensor *x)
{
    check_tensor(__func__, "x", x, AG_REAL);
    AgShape shape = x->shape;
    if (shape.ndim < 1 || shape.dim[shape.ndim - 1] % 2 != 0)
        ag_usage_error(__func__, "x %s, expected an even last dimension", shape_text(shape));
    shape.dim[shape.ndim - 1] /= 2;
    Tensor *y = tensor_new(__func__, &shape, AG_INT);
    const real *from = reals(x);
    uint32_t *to = values(y);
    for (int64_t i = 0; i < y->numel; i++)
        to[i] = bf16_pair(bf16_stored((float)from[2 * i]), bf16_stored((float)from[2 * i + 1]));
    return y;
}

Tensor *ag_from_bf16(Tensor *x)
{
    check_alive(__func__, "x", x);
    AgShape shape = x->shape;
    if (x->dtype == AG_PACKED) {
        Tensor *y = tensor_new(__func__, &shape, AG_REAL);
        for (int64_t i = 0; i < shape.dim[0]; i++) unpack_row_as_reals(x, i, reals(y) + i * shape.dim[1]);
        return y;
    }
    check_tensor(__func__, "x", x, AG_INT);
    if (shape.ndim < 1) ag_usage_error(__func__, "x is a scalar, expected one dimension or more");
    shape.dim[shape.ndim - 1] *= 2;
    Tensor *y = tensor_new(__func__, &shape, AG_REAL);
    const uint32_t *from = values(x);
    for (int64_t i = 0; i < y->numel; i++) reals(y)[i] = (real)bf16_of_pair(from[i / 2], i % 2);
    return y;
}

Tensor *ag_one_hot(Tensor *ids, int64_t classes)
{
    check_tensor(__func__, "ids", ids, AG_INT);
    if (classes < 0 || ids->shape.ndim == AG_MAX_DIMS)
        ag_usage_error(__func__, "%lld classes for ids %s", (long long)classes, shape_text(ids->shape));
    check_ids(__func__, ids, classes);
    AgShape shape = ids->shape;
    shape.dim[shape.ndim++] = classes;
    Tensor *y = tensor_new(__func__, &shape, AG_REAL);
    k_fill(y->numel, reals(y), 0);
    for (int64_t i = 0; i < ids->numel; i++) reals(y)[i * classes + ints(ids)[i]] = 1;
    return y;
}

/* The largest of ln p + g, with g = -ln(-ln u) for a uniform u, is item i with probability p_i (Gumbel). */
Tensor *ag_multinomial(Tensor *p, int64_t n)
{
    check_tensor(__func__, "p", p, AG_REAL);
    AgShape shape = p->shape;
    if (n < 0 || shape.ndim < 1 || shape.ndim == AG_MAX_DIMS || shape.dim[shape.ndim - 1] == 0)
        ag_usage_error(__func__, "%lld samples of p %s, expected 0 or more of (..,V) with a V above 0", (long long)n,
                       shape_text(shape));
    const int64_t width = shape.dim[shape.ndim - 1];
    bool possible = false;                  /* an item of this row is above 0 */
    for (int64_t i = 0; i < p->numel; i++) {
        if (!(reals(p)[i] >= 0) || isinf(reals(p)[i]))
            ag_usage_error(__func__, "p is %g at item %lld, expected a finite number of 0 or more", (double)reals(p)[i],
                           (long long)i);
        possible = (i % width != 0 && possible) || reals(p)[i] > 0;
        if (i % width == width - 1 && !possible) ag_usage_error(__func__, "row %lld of p is 0", (long long)(i / width));
    }
    shape.dim[shape.ndim] = shape.dim[shape.ndim - 1];
    shape.dim[shape.ndim++ - 1] = n;
    check_shape(__func__, &shape);
    Tensor *u = tensor_new(__func__, &shape, AG_REAL);
    ag_fill_uniform(u, 0, 1);
    u = ag_clamp(u, 0x1p-26, 1);     /* above 0, so that no logarithm is infinite */
    Tensor *row = ag_unsqueeze(ag_detach(p), -2), *impossible = ag_compare_scalar(AG_EQ, row, 0);
    const double least = sizeof(real) == sizeof(float) ? 0x1p-149 : 0x1p-1074;
    Tensor *noise = ag_log(ag_neg(ag_log(u)));
    Tensor *score = ag_sub(ag_log(ag_clamp(row, least, INFINITY)), noise);
    return ag_argmax(ag_masked_fill(score, impossible, -INFINITY), -1, false);
}
