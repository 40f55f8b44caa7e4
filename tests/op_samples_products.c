/* op_samples_products.c: sample calls of products, attention, convolutions and pooling. */
#include "kaeru/autograd.h"
#include "op_samples.h"

Tensor *matmul_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_matmul(sample_in(s, 0, SHAPE(1, 1)), sample_in(s, 1, SHAPE(1, 1)));
    case 1: return ag_matmul(sample_in(s, 0, SHAPE(3, 4)), sample_in(s, 1, SHAPE(4, 5)));
    case 2: return ag_matmul(sample_in(s, 0, SHAPE(1, 7)), sample_in(s, 1, SHAPE(7, 3)));
    case 3: return ag_matmul(sample_in(s, 0, SHAPE(2, 3, 4)), sample_in(s, 1, SHAPE(2, 4, 3)));
    case 4: return ag_matmul(sample_in(s, 0, SHAPE(2, 3, 4)), sample_in(s, 1, SHAPE(4, 5)));
    case 5: return ag_matmul(sample_in(s, 0, SHAPE(3, 4)), sample_in(s, 1, SHAPE(2, 4, 2)));
    case 6: return ag_matmul(sample_in(s, 0, SHAPE(2, 1, 3, 4)), sample_in(s, 1, SHAPE(3, 4, 2)));
    case 7: return ag_matmul(sample_in(s, 0, SHAPE(2, 1, 2, 3)), sample_in(s, 1, SHAPE(1, 3, 3, 2)));
    case 8: return ag_matmul(sample_in(s, 0, SHAPE(3, 0)), sample_in(s, 1, SHAPE(0, 2)));
    case 9: return ag_matmul(sample_in(s, 0, SHAPE(0, 3, 2)), sample_in(s, 1, SHAPE(0, 2, 4)));
    case 10: return ag_matmul(sample_in(s, 0, SHAPE(4, 4)), sample_in(s, 1, SHAPE(4, 4)));
    /* matrices that are repeated, together with as many numbers as the other operand has */
    case 11: return ag_matmul(sample_in(s, 0, SHAPE(2, 2, 3, 4)), sample_in(s, 1, SHAPE(2, 4, 6)));
    case 12: return ag_matmul(sample_in(s, 0, SHAPE(2, 4, 3)), sample_in(s, 1, SHAPE(2, 2, 3, 2)));
    default: return NULL;
    }
}

Tensor *linear_sample(Sample *s)
{
    static const AgShape x[] = { { 1, { 1 } }, { 1, { 4 } }, { 2, { 3, 4 } }, { 3, { 2, 3, 4 } }, { 2, { 1, 5 } },
                               { 2, { 0, 4 } }, { 2, { 3, 0 } }, { 2, { 4, 4 } }, { 4, { 2, 1, 2, 3 } } };
    static const int outs[] = { 1, 3, 5, 2, 7, 3, 2, 4, 6 };
    if (s->number >= 18) return NULL;
    int i = s->number % 9, out = outs[i];
    Tensor *input = sample_in(s, 0, x[i]), *weight = sample_in(s, 1, SHAPE(out, x[i].dim[x[i].ndim - 1]));
    return ag_linear(input, weight, s->number < 9 ? sample_in(s, 2, SHAPE(out)) : NULL);
}

/* A mask of reals, input number `input`, of a shape that depends on the case. */
static Tensor *added_mask(Sample *s, int input, int b, int heads, int t, int keys)
{
    AgShape shapes[] = { SHAPE(b, heads, t, keys), SHAPE(heads, t, keys), SHAPE(heads, 1, keys), SHAPE(b, 1, t, keys) };
    return sample_in(s, input, shapes[t > 9 ? 2 : s->number % 4]);
}

/* Calls attention, or self_attention if k is NULL, with the same random numbers each time. */
static Tensor *call_sample(Tensor *q, Tensor *k, Tensor *v, Tensor *mask, AgAttention how)
{
    AgRandom before = ag_random_state();
    ag_set_random_state((AgRandom){ 5, 0 });
    Tensor *y = k ? ag_attention(q, k, v, mask, how) : ag_self_attention(q, mask, how);
    ag_set_random_state(before);
    return y;
}

Tensor *attention_sample(Sample *s)
{
    static const struct { int b, t, s, width; AgAttention how; bool masked; } cases[] = {
        { 1, 1, 1, 1, { 1, 0, false, 0, 0 }, false },   { 2, 3, 4, 4, { 2, 0, false, 0, 0 }, false },
        { 1, 5, 5, 6, { 3, 0, true, 0, 0 }, false },    { 2, 3, 4, 4, { 1, 0, false, 0, 0 }, true },
        { 1, 2, 5, 2, { 1, 0, true, 0, 0 }, false },    { 2, 4, 4, 4, { 2, 0, true, 0, 0 }, true },
        { 1, 3, 4, 4, { 2, 0, false, 0, 0.4 }, false }, { 0, 3, 4, 4, { 2, 0, false, 0, 0 }, false },
        { 1, 4, 3, 2, { 1, 0, true, 0, 0 }, false },    { 1, 3, 0, 2, { 1, 0, false, 0, 0 }, false },
        { 1, 70, 3, 2, { 1, 0, false, 0, 0.3 }, false }, { 1, 0, 3, 2, { 1, 0, false, 0, 0 }, false },
        { 2, 3, 4, 8, { 4, 2, false, 0, 0 }, false },   { 1, 6, 9, 6, { 3, 1, true, 4, 0.3 }, true },
        { 1, 67, 67, 2, { 2, 1, true, 3, 0 }, false },
    };
    enum { N = sizeof cases / sizeof *cases };
    if (s->number >= 2 * N) return NULL;
    int i = s->number % N, kv_heads = cases[i].how.kv_heads ? cases[i].how.kv_heads : cases[i].how.heads;
    Tensor *q = sample_in(s, 0, SHAPE(cases[i].b, cases[i].t, cases[i].width));
    AgShape sources = SHAPE(cases[i].b, cases[i].s, cases[i].width / cases[i].how.heads * kv_heads);
    Tensor *k = sample_in(s, 1, sources), *v = sample_in(s, 2, sources);
    Tensor *mask = cases[i].masked ? sample_mask(SHAPE(cases[i].b, 1, cases[i].t, cases[i].s)) : NULL;
    if (s->number >= N) mask = added_mask(s, 3, cases[i].b, cases[i].how.heads, cases[i].t, cases[i].s);
    return call_sample(q, k, v, mask, cases[i].how);
}

Tensor *self_attention_sample(Sample *s)
{
    static const struct { int b, t, width; AgAttention how; bool masked; } cases[] = {
        { 1, 1, 3, { 1, 0, false, 0, 0 }, false },  { 2, 3, 12, { 2, 0, false, 0, 0 }, false },
        { 1, 5, 18, { 3, 0, true, 0, 0 }, false },  { 2, 3, 12, { 1, 0, false, 0, 0 }, true },
        { 1, 4, 6, { 1, 0, true, 0, 0 }, false },   { 2, 4, 12, { 2, 0, true, 0, 0 }, true },
        { 1, 3, 12, { 2, 0, true, 0, 0.4 }, false }, { 0, 3, 12, { 2, 0, true, 0, 0 }, false },
        { 1, 67, 6, { 1, 0, true, 0, 0 }, false },  { 2, 5, 8, { 2, 1, false, 0, 0 }, false },
        { 1, 5, 16, { 4, 2, true, 2, 0 }, false },
    };
    enum { N = sizeof cases / sizeof *cases };
    if (s->number >= 2 * N) return NULL;
    int i = s->number % N;
    Tensor *qkv = sample_in(s, 0, SHAPE(cases[i].b, cases[i].t, cases[i].width));
    Tensor *mask = cases[i].masked ? sample_mask(SHAPE(cases[i].t, cases[i].t)) : NULL;
    if (s->number >= N) mask = added_mask(s, 1, cases[i].b, cases[i].how.heads, cases[i].t, cases[i].t);
    return call_sample(qkv, NULL, NULL, mask, cases[i].how);
}

Tensor *conv2d_sample(Sample *s)
{
    static const struct { AgShape x, weight; int stride, padding; bool bias; } cases[] = {
        { { 4, { 1, 1, 1, 1 } }, { 4, { 1, 1, 1, 1 } }, 1, 0, true },
        { { 4, { 2, 2, 4, 5 } }, { 4, { 3, 2, 3, 3 } }, 1, 1, true },
        { { 4, { 2, 2, 4, 5 } }, { 4, { 3, 2, 2, 3 } }, 2, 1, false },
        { { 4, { 1, 3, 5, 4 } }, { 4, { 2, 3, 1, 1 } }, 1, 0, true },
        { { 4, { 1, 1, 7, 3 } }, { 4, { 1, 1, 3, 2 } }, 3, 2, true },
        { { 4, { 0, 2, 3, 3 } }, { 4, { 2, 2, 2, 2 } }, 1, 0, true },
        { { 4, { 2, 0, 3, 3 } }, { 4, { 2, 0, 2, 2 } }, 1, 0, true },
        { { 4, { 18, 1, 2, 2 } }, { 4, { 1, 1, 2, 2 } }, 1, 1, false },
        { { 4, { 2, 2, 3, 3 } }, { 4, { 2, 2, 3, 3 } }, 1, 1, true },
        { { 4, { 1, 1, 3, 2 } }, { 4, { 2, 1, 1, 5 } }, 2, 2, true },
    };
    if (s->number >= (int)(sizeof cases / sizeof *cases)) return NULL;
    AgShape weight = cases[s->number].weight;
    return ag_conv2d(sample_in(s, 0, cases[s->number].x), sample_in(s, 1, weight),
                     cases[s->number].bias ? sample_in(s, 2, SHAPE(weight.dim[0])) : NULL, cases[s->number].stride,
                     cases[s->number].padding);
}

Tensor *conv2d_with_sample(Sample *s)
{
    static const struct { AgShape x, weight; AgConv how; bool bias; } cases[] = {
        { { 4, { 1, 1, 1, 1 } }, { 4, { 1, 1, 1, 1 } }, { { 0 }, { 0 }, { 0 }, 0 }, true },
        { { 4, { 2, 4, 4, 5 } }, { 4, { 6, 2, 3, 3 } }, { { 0 }, { 1, 1 }, { 0 }, 2 }, true },
        { { 4, { 2, 3, 4, 5 } }, { 4, { 3, 1, 3, 2 } }, { { 2, 1 }, { 1, 0 }, { 0 }, 3 }, false },
        { { 4, { 1, 2, 7, 6 } }, { 4, { 2, 2, 3, 2 } }, { { 1, 2 }, { 0, 2 }, { 2, 3 }, 1 }, true },
        { { 4, { 1, 2, 5, 5 } }, { 4, { 4, 1, 3, 3 } }, { { 1, 1 }, { 2, 2 }, { 2, 2 }, 2 }, true },
        { { 4, { 0, 2, 3, 3 } }, { 4, { 2, 1, 2, 2 } }, { { 0 }, { 0 }, { 0 }, 2 }, true },
        { { 4, { 9, 4, 2, 2 } }, { 4, { 4, 1, 2, 2 } }, { { 0 }, { 1, 1 }, { 1, 2 }, 4 }, false },
        { { 4, { 2, 2, 3, 3 } }, { 4, { 2, 2, 3, 3 } }, { { 0 }, { 1, 1 }, { 0 }, 1 }, true },
        { { 4, { 1, 1, 3, 4 } }, { 4, { 2, 1, 1, 3 } }, { { 1, 1 }, { 0, 4 }, { 1, 3 }, 1 }, true },
    };
    if (s->number >= (int)(sizeof cases / sizeof *cases)) return NULL;
    AgShape weight = cases[s->number].weight;
    return ag_conv2d_with(sample_in(s, 0, cases[s->number].x), sample_in(s, 1, weight),
                          cases[s->number].bias ? sample_in(s, 2, SHAPE(weight.dim[0])) : NULL, cases[s->number].how);
}

Tensor *conv_transpose2d_sample(Sample *s)
{
    static const struct { AgShape x, weight; int stride, padding, output_padding; bool bias; } cases[] = {
        { { 4, { 1, 1, 1, 1 } }, { 4, { 1, 1, 1, 1 } }, 1, 0, 0, true },
        { { 4, { 2, 2, 3, 4 } }, { 4, { 2, 3, 3, 3 } }, 1, 1, 0, true },
        { { 4, { 2, 2, 3, 4 } }, { 4, { 2, 3, 2, 2 } }, 2, 0, 0, false },
        { { 4, { 1, 3, 4, 2 } }, { 4, { 3, 2, 3, 2 } }, 2, 1, 1, true },
        { { 4, { 1, 1, 3, 3 } }, { 4, { 1, 2, 1, 1 } }, 3, 0, 2, true },
        { { 4, { 0, 2, 3, 3 } }, { 4, { 2, 2, 2, 2 } }, 1, 0, 0, true },
        { { 4, { 18, 1, 2, 2 } }, { 4, { 1, 1, 2, 2 } }, 1, 1, 0, false },
        { { 4, { 2, 2, 3, 3 } }, { 4, { 2, 2, 3, 3 } }, 1, 1, 0, true },
    };
    if (s->number >= (int)(sizeof cases / sizeof *cases)) return NULL;
    AgShape weight = cases[s->number].weight;
    return ag_conv_transpose2d(sample_in(s, 0, cases[s->number].x), sample_in(s, 1, weight),
                               cases[s->number].bias ? sample_in(s, 2, SHAPE(weight.dim[1])) : NULL, cases[s->number].stride,
                               cases[s->number].padding, cases[s->number].output_padding);
}

static Tensor *pool_sample(Sample *s, Tensor *op(Tensor *, int, int, int))
{
    switch (s->number) {
    case 0: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(1, 1, 1, 1)), 1, 1, 0));
    case 1: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(1, 2, 4, 4)), 2, 2, 0));
    case 2: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(1, 1, 5, 4)), 3, 1, 1));
    case 3: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(1, 2, 5, 3)), 3, 2, 1));
    case 4: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(2, 1, 3, 3)), 2, 1, 1));
    case 5: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(2, 1, 2, 2)), 1, 3, 0));
    case 6: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(0, 1, 3, 3)), 2, 1, 0));
    case 7: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(1, 1, 2, 6)), 2, 3, 1));
    default: return NULL;
    }
}

Tensor *max_pool2d_sample(Sample *s)
{
    return pool_sample(s, ag_max_pool2d);
}

Tensor *mean_pool2d_sample(Sample *s)
{
    return pool_sample(s, ag_mean_pool2d);
}
