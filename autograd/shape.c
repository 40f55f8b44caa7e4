/* shape.c: shapes, and the rules for operands of different shapes, which are NumPy's.
 *
 * Two shapes are compared from the last dimension. Sizes fit if they are equal or one of them is 1;
 * a missing dimension counts as 1. For example, (4, 1, 3) and (2, 3) broadcast to (4, 2, 3). A
 * kernel walks over a repeated dimension with stride 0, so nothing is copied. */
#include <stdio.h>

#include "kernels.h"
#include "shape.h"
#include "tensor_struct.h"

static void check_ndim(const char *what, int ndim)
{
    if (ndim < 0 || ndim > AG_MAX_DIMS) {
        ag_usage_error(what, "%d dimensions; a tensor has 0 to %d", ndim, AG_MAX_DIMS);
    }
}

/* Returns the number of items, or -1 if there are more than can be counted. Sizes of 0 are left out
 * of that check, since strides are products of the others. */
static int64_t count_items(const AgShape *shape)
{
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < shape->ndim; i++) {
        if (shape->dim[i] == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(n, shape->dim[i], &n)) {
            return -1;
        }
    }
    return empty ? 0 : n;
}

int64_t ag_shape_numel(AgShape shape)
{
    check_ndim(__func__, shape.ndim);
    return count_items(&shape);
}

bool ag_shape_equal(AgShape a, AgShape b)
{
    check_ndim(__func__, a.ndim);
    check_ndim(__func__, b.ndim);
    if (a.ndim != b.ndim) return false;
    for (int i = 0; i < a.ndim; i++) {
        if (a.dim[i] != b.dim[i]) return false;
    }
    return true;
}

const char *ag_shape_text(AgShape shape, char text[AG_SHAPE_TEXT])
{
    ag_check_pointer(__func__, "text", text);
    check_ndim(__func__, shape.ndim);
    int n = snprintf(text, AG_SHAPE_TEXT, "(");
    for (int i = 0; i < shape.ndim; i++) {
        n += snprintf(text + n, (size_t)(AG_SHAPE_TEXT - n), i ? ", %lld" : "%lld",
                      (long long)shape.dim[i]);
    }
    snprintf(text + n, (size_t)(AG_SHAPE_TEXT - n), shape.ndim == 1 ? ",)" : ")");
    return text;
}

int64_t check_shape(const char *what, const AgShape *shape)
{
    check_ndim(what, shape->ndim);
    for (int i = 0; i < shape->ndim; i++) {
        if (shape->dim[i] < 0) {
            ag_usage_error(what, "negative size in shape %s", shape_text(*shape));
        }
    }
    int64_t n = count_items(shape);
    if (n < 0) {
        ag_usage_error(what, "shape %s has more items than can be counted", shape_text(*shape));
    }
    return n;
}

size_t dtype_size(AgDType dtype)
{
    static const size_t size[] = { sizeof(real), sizeof(int32_t), sizeof(uint8_t),
                                   sizeof(uint16_t) };
    return size[dtype];
}

const char *dtype_name(AgDType dtype)
{
    static const char *const name[] = { "AG_REAL", "AG_INT", "AG_BOOL", "AG_PACKED" };
    return name[dtype];
}

const char *write_range(int64_t n, char text[RANGE_TEXT])
{
    if (n > 0) {
        snprintf(text, RANGE_TEXT, "0..%lld", (long long)n - 1);
    } else {
        snprintf(text, RANGE_TEXT, "none, since there are 0");
    }
    return text;
}

int check_dim(const char *what, const Tensor *x, int dim)
{
    int ndim = x->shape.ndim;
    int d = dim < 0 ? dim + ndim : dim;
    if (d < 0 || d >= ndim) {
        ag_usage_error(what, "there is no dimension %d in shape %s", dim, shape_text(x->shape));
    }
    return d;
}

int check_along(const char *what, const Tensor *x, int dim)
{
    if (x->shape.ndim == 0 && (dim == 0 || dim == -1)) return 0;
    return check_dim(what, x, dim);
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

int64_t size_in(const AgShape *s, int i, int ndim)
{
    int missing = ndim - s->ndim;
    return i < missing ? 1 : s->dim[i - missing];
}

bool broadcast(const AgShape *a, const AgShape *b, AgShape *y)
{
    *y = (AgShape){ a->ndim > b->ndim ? a->ndim : b->ndim, { 0 } };
    for (int i = 0; i < y->ndim; i++) {
        int64_t m = size_in(a, i, y->ndim), n = size_in(b, i, y->ndim);
        if (m != n && m != 1 && n != 1) return false;
        y->dim[i] = m == 1 ? n : m;
    }
    return true;
}

bool broadcasts_to(const AgShape *from, const AgShape *to)
{
    AgShape both;
    return broadcast(from, to, &both) && ag_shape_equal(both, *to);
}

AgShape broadcast_shape(const char *what, const Tensor *a, const Tensor *b)
{
    AgShape y;
    if (!broadcast(&a->shape, &b->shape, &y)) {
        ag_usage_error(what, "shapes %s and %s do not fit: sizes must be equal or 1, counted from "
                       "the last dimension", shape_text(a->shape), shape_text(b->shape));
    }
    return y;
}

void broadcast_strides(const AgShape *t, const AgShape *to, int64_t stride[AG_MAX_DIMS])
{
    int64_t step = 1;
    for (int i = to->ndim - 1; i >= 0; i--) {
        int64_t size = size_in(t, i, to->ndim);
        stride[i] = size == 1 ? 0 : step;
        step *= size;
    }
}

Along shape_along(const AgShape *shape, int first, int last)
{
    Along a = { 1, 1, 1 };
    for (int i = 0; i < shape->ndim; i++) {
        if (i < first) {
            a.outer *= shape->dim[i];
        } else if (i <= last) {
            a.n *= shape->dim[i];
        } else {
            a.inner *= shape->dim[i];
        }
    }
    return a;
}

void walk_over(const AgShape *shape, const AgShape *a, const AgShape *b, KWalk *walk)
{
    walk->ndim = shape->ndim;       /* no further entries are set: small tensors must be fast */
    for (int i = 0; i < shape->ndim; i++) {
        walk->dim[i] = shape->dim[i];
    }
    broadcast_strides(a, shape, walk->a);
    broadcast_strides(b, shape, walk->b);
}
