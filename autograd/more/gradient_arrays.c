/* gradient_arrays.c: gradients as arrays of their own, for the sum of those of several batches or processes. */
#include "alloc.h"
#include "buffers.h"
#include "checks.h"
#include "kaeru/gradient_arrays.h"
#include "kernels.h"
#include "tensor.h"
#include "tensor_struct.h"

Tensor *ag_take_gradient(Tensor *leaf)
{
    check_leaf(__func__, "the leaf", leaf);
    if (!leaf->grad) return NULL;
    Tensor *t = tensor_header_owned("ag_take_gradient", &leaf->shape, AG_REAL);
    t->buffer = leaf->grad;
    t->data = buffer_data(t->buffer);
    leaf->grad = NULL;
    return t;
}

void ag_put_gradient(Tensor *leaf, Tensor *gradient)
{
    check_leaf(__func__, "the leaf", leaf);
    check_tensor(__func__, "the gradient", gradient, AG_REAL);
    if (gradient == leaf || !gradient->owned || block_has_owner(gradient) || !ag_shape_equal(gradient->shape, leaf->shape))
        ag_usage_error(__func__, "expected the result of ag_take_gradient of this leaf");
    buffer_release(leaf->grad);
    leaf->grad = buffer_share(gradient->buffer);
    ag_free(gradient);
}

double ag_sum_squares(const real *x, int64_t n)
{
    if (n > 0) ag_check_pointer(__func__, "x", x);
    return k_squared_distance(n, x, NULL);
}

void ag_add_to(real *y, const real *x, int64_t n)
{
    if (n > 0) ag_check_pointer(__func__, "y", y);
    if (n > 0) ag_check_pointer(__func__, "x", x);
    k_axpy(n, y, 1, x);
}
