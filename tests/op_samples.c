/* op_samples.c: the inputs of sample calls, and the check of their gradients. The calls are in op_samples_*.c. */
#include <math.h>

#include "kaeru/autograd.h"
#include "op_samples.h"

SampleCall *const op_samples[OP_COUNT] = {
#define OP(name, ...) name##_sample,
#include "ops/ops.def"
#define OP(name, ...) name##_sample,
#include "more.def"
};

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* Input i of a sample call. The first call of a case creates the inputs; later calls get the same ones. *is_new: the caller
 * must fill it. */
static Tensor *sample_input(Sample *s, int i, AgShape shape, SampleRange range, bool *is_new)
{
    *is_new = false;
    if (s->make_input) return s->make_input(s, i, shape, range);
    if (i >= MAX_INPUTS) ag_usage_error("sample", "input %d; a sample has at most %d", i, MAX_INPUTS);
    if (s->alias && i > 0 && s->in[0] && ag_shape_equal(s->in[0]->shape, shape)) return s->in[0];
    if (!s->in[i]) {
        s->in[i] = tensor_set_requires_grad(ag_keep(tensor_zeros(shape)), true);
        *is_new = true;
    }
    return s->in[i];
}

Tensor *sample_in(Sample *s, int i, AgShape shape)
{
    bool is_new;
    Tensor *x = sample_input(s, i, shape, (SampleRange){ false, -INFINITY, INFINITY }, &is_new);
    if (is_new) ag_fill_normal(x, 0, 1);
    return x;
}

Tensor *sample_range(Sample *s, int i, AgShape shape, double low, double high)
{
    bool is_new;
    Tensor *x = sample_input(s, i, shape, (SampleRange){ false, low, high }, &is_new);
    if (is_new) ag_fill_uniform(x, low, high);
    return x;
}

Tensor *sample_positive(Sample *s, int i, AgShape shape)
{
    return sample_range(s, i, shape, 0.3, 2.0);
}

/* 0.15, 0.35, ... with alternating signs, not in sorted order. */
double sample_apart_value(int i, int64_t j, int64_t n)
{
    int64_t rank = n % 7 ? j * 7 % n : j;
    return (0.15 + 0.05 * i + 0.2 * (double)rank) * (j % 2 ? -1 : 1);
}

Tensor *sample_apart(Sample *s, int i, AgShape shape)
{
    bool is_new;
    Tensor *x = sample_input(s, i, shape, (SampleRange){ true, -INFINITY, INFINITY }, &is_new);
    for (int64_t j = 0; is_new && j < x->numel; j++) reals(x)[j] = (ag_real)sample_apart_value(i, j, x->numel);
    return x;
}

Tensor *sample_ids(AgShape shape, int32_t below)
{
    Tensor *ids = tensor_ints(shape, NULL);
    for (int64_t i = 0; i < ids->numel; i++) ints(ids)[i] = (int32_t)((i * 5 + 2) % below);
    return ids;
}

Tensor *sample_mask(AgShape shape)
{
    Tensor *mask = tensor_bools(shape, NULL);
    for (int64_t i = 0; i < mask->numel; i++) bools(mask)[i] = i % 3 != 1;
    return mask;
}

/* ---- the check of gradients -------------------------------------------------------------------------------------- */

typedef struct { SampleCall *call; Sample sample; } CheckedCall;

/* Calls the sample with these inputs in place of those that the first call created. */
static Tensor *call_with(Tensor **in, void *arg)
{
    const CheckedCall *checked = arg;
    Tensor *inputs[MAX_INPUTS] = { NULL };
    for (int i = 0, n = 0; i < MAX_INPUTS; i++)
        if (checked->sample.in[i]) inputs[i] = in[n++];
    Sample sample = checked->sample;
    sample.in = inputs;
    return checked->call(&sample);
}

/* ag_gradcheck expects multiples of 1/16 with AG_BF16. */
static void round_for_bf16(Tensor *x)
{
    for (int64_t j = 0; ag_precision_now() == AG_BF16 && j < x->numel; j++)
        reals(x)[j] = (ag_real)(round((double)reals(x)[j] * 16) / 16);
}

/* Checks one case. 1: passed, 0: failed, -1: there is no such case. */
static int check_case(SampleCall *call, int number, bool alias, FILE *report)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *created[MAX_INPUTS] = { NULL }, *in[MAX_INPUTS];
    CheckedCall checked = { call, { .number = number, .in = created, .alias = alias } };
    const Tensor *y = call(&checked.sample);
    int n = 0;
    for (int i = 0; i < MAX_INPUTS; i++)
        if (created[i]) in[n++] = created[i];
    for (int i = 0; i < n; i++) round_for_bf16(in[i]);
    int result = !y ? -1 : ag_gradcheck(call_with, &checked, in, n, report);
    for (int i = 0; i < n; i++) tensor_free(in[i]);
    ag_end(s);
    return result;
}

int check_samples(SampleCall *call, FILE *report)
{
    AgRandom random = ag_random_state();
    ag_seed(1);
    int cases = 0, result = 1;
    while (result == 1) {
        result = check_case(call, cases, false, report);
        if (result == 1) result = check_case(call, cases, true, report);
        if (result == 1) cases++;
    }
    ag_set_random_state(random);
    return result == 0 ? -1 - cases : cases;
}
