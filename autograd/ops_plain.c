/* ops_plain.c: operations without gradients: argmax, comparisons, one-hot, and masks put together. */
#include "tensor.h"

#include <string.h>

Tensor *ag_argmax_at(Site at, Tensor *x, int dim, bool keep)
{
    check_tensor(at, "argmax", "x", x, AG_REAL);
    int d = check_dim(at, "argmax", x, dim);
    char text[AG_SHAPE_TEXT];
    if (x->shape.dim[d] == 0)
        ag_misuse(at, "argmax", "there is nothing to choose from in shape %s", shape_text(x->shape, text));
    Shape shape = { 0, { 0 } };
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < x->shape.ndim; i++) {
        if (i != d) shape.dim[shape.ndim++] = x->shape.dim[i];
        else if (keep) shape.dim[shape.ndim++] = 1;
        if (i < d) outer *= x->shape.dim[i];
        if (i > d) inner *= x->shape.dim[i];
    }
    Tensor *y = tensor_new(at, "argmax", &shape, AG_INT);
    Buffer *largest = buffer_new(at, "argmax", (size_t)y->numel * sizeof(real));
    k_max(outer, x->shape.dim[d], inner, buffer_data(largest), ints(y), reals(x), false);
    buffer_release(largest);
    return y;
}

/* Compares entry by entry through double, which holds every int32 and every real. */
static bool holds(AgCompare how, double a, double b)
{
    switch (how) {
    case AG_EQ: return a == b;
    case AG_NE: return a != b;
    case AG_LT: return a < b;
    case AG_LE: return a <= b;
    case AG_GT: return a > b;
    default: return a >= b;
    }
}

static double entry(const Tensor *t, int64_t i)
{
    return t->dtype == AG_REAL ? (double)reals(t)[i] : t->dtype == AG_INT ? (double)ints(t)[i] : (double)bools(t)[i];
}

static int64_t walk_index(const KWalk *walk, const int64_t *stride, int64_t i)
{
    int64_t at = 0;
    for (int d = walk->ndim - 1; d >= 0; d--) {
        at += i % walk->dim[d] * stride[d];
        i /= walk->dim[d];
    }
    return at;
}

Tensor *ag_compare_at(Site at, AgCompare how, Tensor *a, Tensor *b)
{
    check_tensor(at, "compare", "a", a, a ? a->dtype : AG_REAL);
    check_tensor(at, "compare", "b", b, a->dtype);
    Shape shape = broadcast_shape(at, "compare", a, b);
    Tensor *y = tensor_new(at, "compare", &shape, AG_BOOL);
    KWalk walk = walk_over(&shape, &a->shape, &b->shape);
    static const KCompare kernel[] = { K_EQ, K_NE, K_LT, K_LE, K_GT, K_GE };
    if (a->dtype == AG_REAL) {
        k_compare(kernel[how], &walk, bools(y), reals(a), reals(b));
        return y;
    }
    for (int64_t i = 0; i < y->numel; i++)
        bools(y)[i] = holds(how, entry(a, walk_index(&walk, walk.a, i)), entry(b, walk_index(&walk, walk.b, i)));
    return y;
}

Tensor *ag_compare_scalar_at(Site at, AgCompare how, Tensor *a, double b)
{
    check_tensor(at, "compare_scalar", "a", a, a ? a->dtype : AG_REAL);
    Tensor *y = tensor_new(at, "compare_scalar", &a->shape, AG_BOOL);
    for (int64_t i = 0; i < y->numel; i++) bools(y)[i] = holds(how, entry(a, i), b);
    return y;
}

Tensor *ag_and_at(Site at, Tensor *a, Tensor *b)
{
    check_tensor(at, "and", "a", a, AG_BOOL);
    check_tensor(at, "and", "b", b, AG_BOOL);
    Shape shape = broadcast_shape(at, "and", a, b);
    Tensor *y = tensor_new(at, "and", &shape, AG_BOOL);
    KWalk walk = walk_over(&shape, &a->shape, &b->shape);
    for (int64_t i = 0; i < y->numel; i++)
        bools(y)[i] = bools(a)[walk_index(&walk, walk.a, i)] && bools(b)[walk_index(&walk, walk.b, i)];
    return y;
}

Tensor *ag_not_at(Site at, Tensor *a)
{
    check_tensor(at, "not", "a", a, AG_BOOL);
    Tensor *y = tensor_new(at, "not", &a->shape, AG_BOOL);
    for (int64_t i = 0; i < y->numel; i++) bools(y)[i] = !bools(a)[i];
    return y;
}

Tensor *ag_one_hot_at(Site at, Tensor *ids, int64_t classes)
{
    check_tensor(at, "one_hot", "ids", ids, AG_INT);
    char text[AG_SHAPE_TEXT];
    if (classes < 0 || ids->shape.ndim == AG_MAX_DIMS)
        ag_misuse(at, "one_hot", "%lld classes for ids %s", (long long)classes, shape_text(ids->shape, text));
    Shape shape = ids->shape;
    shape.dim[shape.ndim++] = classes;
    Tensor *y = tensor_new(at, "one_hot", &shape, AG_REAL);
    if (y->numel) memset(y->data, 0, (size_t)y->numel * sizeof(real));
    for (int64_t i = 0; i < ids->numel; i++) {
        if (ints(ids)[i] < 0 || ints(ids)[i] >= classes)
            ag_misuse(at, "one_hot", "id %d at item %lld is out of range: expected 0..%lld", ints(ids)[i], (long long)i,
                      (long long)classes - 1);
        reals(y)[i * classes + ints(ids)[i]] = 1;
    }
    return y;
}
