/* ops_no_grad.c: operations without gradients: comparisons, and, or, not, conversions between types
 * and to bfloat16. They are not recorded, so each computes its result at once, in a plain loop. */
#include "bf16.h"
#include "bf16_weights.h"
#include "buffers.h"
#include "checks.h"
#include "kaeru/autograd.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* Sets each y[i] to whether a[i] compares with b[i], or with `number` if b is NULL. Both are
 * compared as doubles, which can hold each int32 and each real. Each comparison has a loop of its
 * own: a choice in each item of one loop takes twice the time. */
static void compare(AgCompare comparison, Tensor *y, AgDType dtype, const void *a, const void *b,
                    double number)
{
    uint8_t *to = bools(y);
    int64_t n = y->numel;
    switch (comparison) {
    case AG_EQ:
        for (int64_t i = 0; i < n; i++) {
            to[i] = element_number(dtype, a, i) == (b ? element_number(dtype, b, i) : number);
        }
        break;
    case AG_NE:
        for (int64_t i = 0; i < n; i++) {
            to[i] = element_number(dtype, a, i) != (b ? element_number(dtype, b, i) : number);
        }
        break;
    case AG_LT:
        for (int64_t i = 0; i < n; i++) {
            to[i] = element_number(dtype, a, i) < (b ? element_number(dtype, b, i) : number);
        }
        break;
    case AG_LE:
        for (int64_t i = 0; i < n; i++) {
            to[i] = element_number(dtype, a, i) <= (b ? element_number(dtype, b, i) : number);
        }
        break;
    case AG_GT:
        for (int64_t i = 0; i < n; i++) {
            to[i] = element_number(dtype, a, i) > (b ? element_number(dtype, b, i) : number);
        }
        break;
    case AG_GE:
        for (int64_t i = 0; i < n; i++) {
            to[i] = element_number(dtype, a, i) >= (b ? element_number(dtype, b, i) : number);
        }
        break;
    }
}

/* Returns t's values, or a copy in scratch memory that is broadcast to `shape`. */
static const void *spread(const char *what, const Tensor *t, const AgShape *shape)
{
    if (ag_shape_equal(t->shape, *shape)) return t->data;
    size_t size = dtype_size((AgDType)t->dtype);
    void *full = op_scratch(what, ag_shape_numel(*shape), size);
    KWalk walk;
    walk_over(shape, shape, &t->shape, &walk);
    k_copy(&walk, full, t->data, size);
    return full;
}

static void check_comparison(const char *what, AgCompare comparison)
{
    if ((int)comparison < AG_EQ || comparison > AG_GE) {
        ag_usage_error(what, "%d is no comparison; see AgCompare", (int)comparison);
    }
}

Tensor *ag_compare(AgCompare comparison, Tensor *a, Tensor *b)
{
    check_comparison(__func__, comparison);
    check_any(__func__, "a", a);
    check_tensor(__func__, "b", b, a->dtype);
    AgShape shape = broadcast_shape(__func__, a, b);
    Tensor *y = tensor_new(__func__, &shape, AG_BOOL);
    compare(comparison, y, a->dtype, spread(__func__, a, &shape), spread(__func__, b, &shape), 0);
    op_scratch_end();
    return y;
}

Tensor *ag_compare_scalar(AgCompare comparison, Tensor *a, double b)
{
    check_comparison(__func__, comparison);
    check_any(__func__, "a", a);
    Tensor *y = tensor_new(__func__, &a->shape, AG_BOOL);
    /* rounded as the values of a, so that 0.1 equals an item that was set to 0.1 */
    if (a->dtype == AG_REAL) {
        b = (double)(real)b;
    }
    compare(comparison, y, a->dtype, a->data, NULL, b);
    return y;
}

static Tensor *logical(const char *what, Tensor *a, Tensor *b, bool both)
{
    check_tensor(what, "a", a, AG_BOOL);
    check_tensor(what, "b", b, AG_BOOL);
    AgShape shape = broadcast_shape(what, a, b);
    Tensor *y = tensor_new(what, &shape, AG_BOOL);
    const uint8_t *va = spread(what, a, &shape), *vb = spread(what, b, &shape);
    for (int64_t i = 0; i < y->numel; i++) {
        bools(y)[i] = both ? va[i] && vb[i] : va[i] || vb[i];
    }
    op_scratch_end();
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
    for (int64_t i = 0; i < y->numel; i++) {
        bools(y)[i] = !bools(a)[i];
    }
    return y;
}

/* Returns whether an item of this type can hold v. An AG_INT drops the fraction, an AG_BOOL is
 * whether v is not 0, and an AG_REAL must be v itself. */
static bool number_fits(AgDType dtype, double v)
{
    if (dtype == AG_INT) return v > -2147483649.0 && v < 2147483648.0;
    return dtype == AG_BOOL || (double)(real)v == v;
}

Tensor *ag_cast(Tensor *x, AgDType dtype)
{
    check_any(__func__, "x", x);
    if ((int)dtype < AG_REAL || dtype > AG_BOOL) {
        ag_usage_error(__func__, "dtype is %d, expected AG_REAL, AG_INT or AG_BOOL", (int)dtype);
    }
    if (x->dtype == dtype) return x;
    Tensor *y = tensor_new(__func__, &x->shape, dtype);
    for (int64_t i = 0; i < x->numel; i++) {
        double v = element_number(x->dtype, x->data, i);
        if (!number_fits(dtype, v)) {
            ag_usage_error(__func__, "%.17g at item %lld does not fit %s", v, (long long)i,
                           dtype_name(dtype));
        }
        if (dtype == AG_REAL) {
            reals(y)[i] = (real)v;
        } else if (dtype == AG_INT) {
            ints(y)[i] = (int32_t)v;
        } else {
            bools(y)[i] = v != 0;
        }
    }
    return y;
}

Tensor *ag_to_bf16(Tensor *x)
{
    check_tensor(__func__, "x", x, AG_REAL);
    AgShape shape = x->shape;
    if (shape.ndim < 1 || shape.dim[shape.ndim - 1] % 2 != 0) {
        ag_usage_error(__func__, "x %s, expected an even last dimension", shape_text(shape));
    }
    shape.dim[shape.ndim - 1] /= 2;
    Tensor *y = tensor_new(__func__, &shape, AG_INT);
    const real *from = reals(x);
    uint32_t *to = values(y);
    for (int64_t i = 0; i < y->numel; i++) {
        to[i] = bf16_pair(bf16_stored((float)from[2 * i]), bf16_stored((float)from[2 * i + 1]));
    }
    return y;
}

Tensor *ag_from_bf16(Tensor *x)
{
    check_alive(__func__, "x", x);
    AgShape shape = x->shape;
    if (x->dtype == AG_PACKED) {
        Tensor *y = tensor_new(__func__, &shape, AG_REAL);
        for (int64_t i = 0; i < shape.dim[0]; i++) {
            unpack_row_as_reals(x, i, reals(y) + i * shape.dim[1]);
        }
        return y;
    }
    check_tensor(__func__, "x", x, AG_INT);
    if (shape.ndim < 1) {
        ag_usage_error(__func__, "x is a scalar, expected one dimension or more");
    }
    shape.dim[shape.ndim - 1] *= 2;
    Tensor *y = tensor_new(__func__, &shape, AG_REAL);
    const uint32_t *from = values(x);
    for (int64_t i = 0; i < y->numel; i++) {
        reals(y)[i] = (real)bf16_of_pair(from[i / 2], i % 2);
    }
    return y;
}
