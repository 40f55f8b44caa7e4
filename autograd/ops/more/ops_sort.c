/* ops_sort.c: sorted items and the largest ones. The order has no gradient; the items are gathered, which has one. */
#include <math.h>
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"

/* Whether b comes before a in ascending order: NaN last. */
static bool is_below(real b, real a)
{
    return b < a || (isnan(a) && !isnan(b));
}

/* Sorts ids[0..n), numbers of items of x, by merging runs of 1, 2, 4, ... ids: equal items keep their order. Item i is
 * x[i step]. */
static void sort_ids(const real *x, int64_t step, int64_t n, bool descending, int32_t *ids, int32_t *other)
{
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t at = 0; at < n; at += 2 * run) {
            int64_t a = at, middle = at + run < n ? at + run : n, b = middle, end = at + 2 * run < n ? at + 2 * run : n;
            for (int64_t to = at; to < end; to++) {
                bool second = a == middle;
                if (a < middle && b < end) {
                    real left = x[ids[a] * step], right = x[ids[b] * step];
                    second = descending ? is_below(left, right) : is_below(right, left);
                }
                other[to] = second ? ids[b++] : ids[a++];
            }
        }
        memcpy(ids, other, (size_t)n * sizeof *ids);
    }
}

/* The first k items in this order, and *ids, their numbers, unless `ids` is NULL: x's shape with size k along dim. */
static Tensor *first_items(const char *what, Tensor *x, int dim, bool descending, int64_t k, Tensor **ids)
{
    check_tensor(what, "x", x, AG_REAL);
    int d = check_along(what, x, dim);
    Along a = shape_along(&x->shape, d, d);
    if (k > a.n || k < 0 || a.n > INT32_MAX || (k == 0 && x->shape.ndim == 0))
        ag_usage_error(what, "%lld items along dimension %d of %s", (long long)k, dim, shape_text(x->shape));
    AgShape shape = x->shape;
    shape.dim[d] = k;
    Tensor *first = tensor_new(what, &shape, AG_INT);
    int32_t *order = op_scratch(what, 2 * a.n, sizeof *order);
    for (int64_t line = 0; a.n > 0 && line < a.outer * a.inner; line++) {
        for (int64_t i = 0; i < a.n; i++) order[i] = (int32_t)i;
        sort_ids(reals(x) + line / a.inner * a.n * a.inner + line % a.inner, a.inner, a.n, descending, order, order + a.n);
        for (int64_t i = 0; i < k; i++) ints(first)[(line / a.inner * k + i) * a.inner + line % a.inner] = order[i];
    }
    op_scratch_end();
    if (ids) *ids = first;
    return ag_gather(x, dim, first);
}

Tensor *ag_sort(Tensor *x, int dim, bool descending, Tensor **ids)
{
    check_tensor(__func__, "x", x, AG_REAL);
    int d = check_along(__func__, x, dim);
    return first_items(__func__, x, dim, descending, shape_along(&x->shape, d, d).n, ids);
}

Tensor *ag_topk(Tensor *x, int64_t k, int dim, Tensor **ids)
{
    return first_items(__func__, x, dim, true, k, ids);
}
