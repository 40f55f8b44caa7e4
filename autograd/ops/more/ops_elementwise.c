/* ops_elementwise.c: operations that compute each item from one item or two. */
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kernels.h"
#include "more_table.h"
#include "op.h"
#include "ops/elementwise.h"

/* Of one tensor. */
Tensor *ag_abs(Tensor *x) { return unary(__func__, &op_table[OP_abs], x, 0, 0); }
Tensor *ag_softplus(Tensor *x) { return unary(__func__, &op_table[OP_softplus], x, 0, 0); }
Tensor *ag_log_sigmoid(Tensor *x) { return unary(__func__, &op_table[OP_log_sigmoid], x, 0, 0); }
Tensor *ag_erf(Tensor *x) { return unary(__func__, &op_table[OP_erf], x, 0, 0); }
Tensor *ag_sin(Tensor *x) { return unary(__func__, &op_table[OP_sin], x, 0, 0); }
Tensor *ag_cos(Tensor *x) { return unary(__func__, &op_table[OP_cos], x, 0, 0); }
Tensor *ag_sign(Tensor *x) { return unary(__func__, &op_table[OP_sign], x, 0, 0); }

/* Of one tensor and numbers. */
Tensor *ag_pow_scalar(Tensor *x, double exponent) { return unary(__func__, &op_table[OP_pow_scalar], x, exponent, 0); }
Tensor *ag_mul_scalar(Tensor *x, double number) { return unary(__func__, &op_table[OP_scale], x, number, 0); }
Tensor *ag_leaky_relu(Tensor *x, double slope) { return unary(__func__, &op_table[OP_leaky_relu], x, slope, 0); }
Tensor *ag_elu(Tensor *x, double alpha) { return unary(__func__, &op_table[OP_elu], x, alpha, 0); }

Tensor *ag_clamp(Tensor *x, double low, double high)
{
    if (!(low <= high)) ag_usage_error(__func__, "low %g is above high %g", low, high);
    return unary(__func__, &op_table[OP_clamp], x, low, high);
}

/* Of two tensors. */
Tensor *ag_pow(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_pow], a, b); }
Tensor *ag_maximum(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_maximum], a, b); }
Tensor *ag_minimum(Tensor *a, Tensor *b) { return binary(__func__, &op_table[OP_minimum], a, b); }
