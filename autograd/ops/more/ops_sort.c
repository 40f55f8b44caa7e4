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

/* Sets ids[0..n) to the numbers of the items of x in order, by merging runs of 1, 2, 4, ... ids: equal items keep their order.
 * Item i is x[i step]. */
static void sort_ids(const real *x, int64_t step, int64_t n, bool descending, int32_t *ids, int32_t *other)
{
    for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)i;
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

/* ---- the first k: a heap whose root is the last one of them ------------------------------------------------------- */

/* Whether item i comes before item j in descending order: of equal ones, the one with the lower number. */
static bool comes_before(const real *x, int64_t step, int32_t i, int32_t j)
{
    const real a = x[i * step], b = x[j * step];
    return is_below(b, a) || (i < j && !is_below(a, b));
}

/* Moves the root of a heap of n ids to where no child comes after it. */
static void sift_down(const real *x, int64_t step, int64_t n, int32_t *heap, int64_t at)
{
    const int32_t moved = heap[at];
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && comes_before(x, step, heap[child], heap[child + 1])) child++;
        if (!comes_before(x, step, moved, heap[child])) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* Sets ids[0..k) to the numbers of the k largest of n items, in descending order. */
static void largest_ids(const real *x, int64_t step, int64_t n, int64_t k, int32_t *ids)
{
    for (int64_t i = 0; i < k; i++) ids[i] = (int32_t)i;
    for (int64_t i = k / 2 - 1; i >= 0; i--) sift_down(x, step, k, ids, i);
    real least = k > 0 ? x[ids[0] * step] : 0;
    for (int64_t i = k; k > 0 && i < n; i++) {
        if (x[i * step] <= least || !comes_before(x, step, (int32_t)i, ids[0])) continue;
        ids[0] = (int32_t)i;
        sift_down(x, step, k, ids, 0);
        least = x[ids[0] * step];
    }
    for (int64_t last = k - 1; last > 0; last--) {
        const int32_t id = ids[0];
        ids[0] = ids[last];
        sift_down(x, step, last, ids, 0);
        ids[last] = id;
    }
}

/* ---- of tensors --------------------------------------------------------------------------------------------------- */

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
        const real *items = reals(x) + line / a.inner * a.n * a.inner + line % a.inner;
        if (k < a.n) largest_ids(items, a.inner, a.n, k, order);
        else sort_ids(items, a.inner, a.n, descending, order, order + a.n);
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
