/* table.c: the table of all operations. */
#include "ops/table.h"

#include "op_parameters.h"

const Op op_table[] = {
#define OP(name, params, needs, forward, backward) \
    { #name, name##_backward, name##_sample, needs, forward, backward, name##_inputs, name##_numbers },
#include "ops/ops.def"
#undef OP
};

#define AGAIN(name) [OP_##name] = { .run = name##_again }
static const Again again_table[OP_COUNT] = {
    AGAIN(neg), AGAIN(scale), AGAIN(pow_scalar), AGAIN(exp), AGAIN(log), AGAIN(sqrt), AGAIN(abs), AGAIN(clamp), AGAIN(tanh),
    AGAIN(sigmoid), AGAIN(relu), AGAIN(gelu), AGAIN(gelu_erf), AGAIN(silu), AGAIN(softplus), AGAIN(erf), AGAIN(sin),
    AGAIN(cos), AGAIN(sign), AGAIN(add), AGAIN(sub), AGAIN(mul), AGAIN(div), AGAIN(pow), AGAIN(maximum), AGAIN(minimum),
    AGAIN(dropout), AGAIN(layer_norm), AGAIN(rms_norm), AGAIN(swiglu), AGAIN(rope), AGAIN(embedding), AGAIN(slice),
    [OP_linear] = { .run = linear_again, .is_product = true }, [OP_matmul] = { .run = matmul_again, .is_product = true },
    [OP_reshape] = { .run = reshape_again, .shares = true },
};

const Again *again_of(const Op *op)
{
    const Again *again = op >= op_table && op < op_table + OP_COUNT ? &again_table[op - op_table] : NULL;
    return again && again->run ? again : NULL;
}

int ag_op_count(void)
{
    return OP_COUNT;
}

/* A usage error unless there is an operation number i. */
static const Op *op_number(AgSite at, const char *what, int i)
{
    if (i < 0 || i >= OP_COUNT) ag_usage_error(at, what, "%d is not in 0..%d", i, OP_COUNT - 1);
    return &op_table[i];
}

const char *ag_op_name_at(AgSite at, int i)
{
    return op_number(at, "ag_op_name", i)->name;
}

const char *ag_op_forward_text_at(AgSite at, int i)
{
    return op_number(at, "ag_op_forward_text", i)->forward_text;
}

const char *ag_op_backward_text_at(AgSite at, int i)
{
    return op_number(at, "ag_op_backward_text", i)->backward_text;
}
