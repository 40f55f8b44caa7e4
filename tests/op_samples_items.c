/* op_samples_items.c: sample calls of operations on single items: of one tensor, of two, with masks. */
#include "kaeru/autograd.h"
#include "op_samples.h"

static const AgShape sample_shapes[] = {
    { 0, { 0 } }, { 1, { 1 } }, { 1, { 7 } }, { 2, { 3, 5 } }, { 2, { 1, 17 } },
    { 3, { 2, 3, 4 } }, { 2, { 0, 3 } }, { 8, { 1, 2, 1, 2, 1, 2, 1, 3 } }, { 1, { 67 } },
};

/* Positive inputs for functions that are defined there only, separate ones for those whose derivative jumps. */
static Tensor *function_input(int op, Sample *s, int i, AgShape shape)
{
    switch (op) {
    case OP_log: case OP_sqrt: case OP_div: case OP_pow: return sample_positive(s, i, shape);
    case OP_abs: case OP_relu: case OP_sign: case OP_clamp: case OP_maximum: case OP_minimum:
    case OP_leaky_relu: case OP_elu: return sample_apart(s, i, shape);
    default: return sample_in(s, i, shape);
    }
}

static Tensor *unary_sample(Sample *s, int op, Tensor *function(Tensor *))
{
    if (s->number >= (int)(sizeof sample_shapes / sizeof *sample_shapes)) return NULL;
    return AG_CALL_POINTER(Tensor *, function(function_input(op, s, 0, sample_shapes[s->number])));
}

static Tensor *scale_some(Tensor *x)
{
    return ag_scale(x, -1.5);
}

Tensor *scale_sample(Sample *s)
{
    return unary_sample(s, OP_scale, scale_some);
}

Tensor *pow_scalar_sample(Sample *s)
{
    static const double exponents[] = { 2, 3, 0.5, -1, -0.5, 1, 1.7, -2 };
    if (s->number >= 8) return NULL;
    AgShape shape = sample_shapes[s->number];
    return ag_pow_scalar(s->number < 2 ? sample_in(s, 0, shape) : sample_positive(s, 0, shape), exponents[s->number]);
}

static Tensor *clamp_some(Tensor *x)
{
    return ag_clamp(x, -0.42, 0.73);
}

static Tensor *add_some(Tensor *x)
{
    return ag_add_scalar(x, -1.5);
}

Tensor *add_scalar_sample(Sample *s)
{
    return unary_sample(s, OP_add_scalar, add_some);
}

static Tensor *leaky_relu_some(Tensor *x)
{
    return ag_leaky_relu(x, 0.2);
}

Tensor *leaky_relu_sample(Sample *s)
{
    return unary_sample(s, OP_leaky_relu, leaky_relu_some);
}

static Tensor *elu_some(Tensor *x)
{
    return ag_elu(x, 0.7);
}

Tensor *elu_sample(Sample *s)
{
    return unary_sample(s, OP_elu, elu_some);
}

Tensor *clamp_sample(Sample *s)
{
    return unary_sample(s, OP_clamp, clamp_some);
}

/* Shapes that broadcast in different ways. */
static Tensor *binary_sample(Sample *s, int op, Tensor *function(Tensor *, Tensor *))
{
    static const AgShape shapes[][2] = {
        { { 0, { 0 } }, { 0, { 0 } } },             { { 1, { 7 } }, { 1, { 7 } } },
        { { 2, { 3, 4 } }, { 1, { 4 } } },          { { 1, { 5 } }, { 2, { 3, 5 } } },
        { { 2, { 3, 1 } }, { 2, { 1, 4 } } },       { { 3, { 2, 3, 5 } }, { 2, { 3, 1 } } },
        { { 4, { 2, 1, 3, 1 } }, { 3, { 4, 1, 5 } } }, { { 2, { 3, 4 } }, { 0, { 0 } } },
        { { 2, { 0, 4 } }, { 1, { 4 } } },          { { 1, { 1 } }, { 8, { 2, 1, 2, 1, 2, 1, 2, 1 } } },
    };
    if (s->number >= (int)(sizeof shapes / sizeof *shapes)) return NULL;
    Tensor *a = function_input(op, s, 0, shapes[s->number][0]);
    return AG_CALL_POINTER(Tensor *, function(a, function_input(op, s, 1, shapes[s->number][1])));
}

#define UNARY_SAMPLE(name, ...) \
    Tensor *name##_sample(Sample *s) { return unary_sample(s, OP_##name, ag_##name); }
#define BINARY_SAMPLE(name, ...) \
    Tensor *name##_sample(Sample *s) { return binary_sample(s, OP_##name, ag_##name); }
#define OP(...)
#define UNARY_OP UNARY_SAMPLE
#define BINARY_OP BINARY_SAMPLE
#include "ops/ops.def"
#define OP(...)
#define UNARY_OP UNARY_SAMPLE
#define BINARY_OP BINARY_SAMPLE
#include "more.def"

Tensor *where_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_where(sample_mask(AG_SCALAR), sample_in(s, 0, AG_SCALAR), sample_in(s, 1, AG_SCALAR));
    case 1: return ag_where(sample_mask(SHAPE(7)), sample_in(s, 0, SHAPE(7)), sample_in(s, 1, SHAPE(7)));
    case 2: return ag_where(sample_mask(SHAPE(4)), sample_in(s, 0, SHAPE(3, 4)), sample_in(s, 1, SHAPE(3, 4)));
    case 3: return ag_where(sample_mask(SHAPE(3, 1)), sample_in(s, 0, SHAPE(3, 4)), sample_in(s, 1, AG_SCALAR));
    case 4: return ag_where(sample_mask(SHAPE(2, 3, 4)), sample_in(s, 0, SHAPE(4)), sample_in(s, 1, SHAPE(3, 1)));
    case 5: return ag_where(sample_mask(SHAPE(3, 5)), sample_in(s, 0, SHAPE(2, 1, 5)), sample_in(s, 1, SHAPE(1, 3, 1)));
    case 6: return ag_where(sample_mask(SHAPE(0, 3)), sample_in(s, 0, SHAPE(3)), sample_in(s, 1, SHAPE(0, 3)));
    case 7: return ag_where(sample_mask(SHAPE(2, 1, 4)), sample_in(s, 0, SHAPE(2, 3, 4)), sample_in(s, 1, SHAPE(1)));
    default: return NULL;
    }
}

Tensor *masked_fill_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_masked_fill(sample_in(s, 0, AG_SCALAR), sample_mask(AG_SCALAR), 2);
    case 1: return ag_masked_fill(sample_in(s, 0, SHAPE(7)), sample_mask(SHAPE(7)), -1);
    case 2: return ag_masked_fill(sample_in(s, 0, SHAPE(3, 4)), sample_mask(SHAPE(4)), 0);
    case 3: return ag_masked_fill(sample_in(s, 0, SHAPE(3, 4)), sample_mask(SHAPE(3, 1)), -10);
    case 4: return ag_masked_fill(sample_in(s, 0, SHAPE(2, 3, 4)), sample_mask(SHAPE(3, 4)), 1);
    case 5: return ag_masked_fill(sample_in(s, 0, SHAPE(2, 2, 3, 3)), sample_mask(SHAPE(2, 1, 1, 3)), 1);
    case 6: return ag_masked_fill(sample_in(s, 0, SHAPE(2, 0)), sample_mask(SHAPE(2, 1)), 1);
    case 7: return ag_masked_fill(sample_in(s, 0, SHAPE(5, 1)), sample_mask(AG_SCALAR), 1);
    default: return NULL;
    }
}

Tensor *dropout_sample(Sample *s)
{
    static const double rates[] = { 0, 0.1, 0.5, 0.5, 0.9, 0.3, 0.2, 0.7 };
    static const AgShape shapes[] = { { 1, { 5 } }, { 0, { 0 } }, { 1, { 7 } }, { 2, { 3, 5 } }, { 1, { 33 } },
                                    { 3, { 2, 3, 4 } }, { 2, { 0, 3 } }, { 2, { 17, 2 } } };
    if (s->number >= 8) return NULL;
    Tensor *x = sample_in(s, 0, shapes[s->number]);
    AgRandom before = ag_random_state();
    ag_set_random_state((AgRandom){ 5, 0 });                    /* the same random numbers each time */
    Tensor *y = ag_dropout(x, rates[s->number]);
    ag_set_random_state(before);
    return y;
}
