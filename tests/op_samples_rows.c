/* op_samples_rows.c: sample calls of operations on rows: sums, softmax, normalization, losses. */
#include "kaeru/autograd.h"
#include "op_samples.h"

static Tensor *reduce_sample(Sample *s, Tensor *op(Tensor *, AgDims, bool))
{
    switch (s->number) {
    case 0: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, AG_SCALAR), (AgDims){ 0, { 0 } }, false));
    case 1: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(7)), DIMS(0), false));
    case 2: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(3, 5)), DIMS(-1), true));
    case 3: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(3, 5)), DIMS(0), false));
    case 4: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(3, 5)), DIMS(0, 1), false));
    case 5: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(2, 3, 4)), DIMS(1), true));
    case 6: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(2, 3, 4)), DIMS(0, 2), false));
    case 7: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(2, 3, 2, 3)), DIMS(-1, 0, 1), true));
    case 8: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(2, 3, 2, 3, 2)), DIMS(1, 3), false));
    default: return NULL;
    }
}

Tensor *sum_dims_sample(Sample *s)
{
    if (s->number == 9) return ag_sum_dims(sample_in(s, 0, SHAPE(3, 0)), DIMS(1), false);
    return reduce_sample(s, ag_sum_dims);
}

Tensor *mean_dims_sample(Sample *s)
{
    return reduce_sample(s, ag_mean_dims);
}

Tensor *cumsum_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_cumsum(sample_in(s, 0, SHAPE(1)), 0);
    case 1: return ag_cumsum(sample_in(s, 0, SHAPE(7)), -1);
    case 2: return ag_cumsum(sample_in(s, 0, SHAPE(3, 5)), 0);
    case 3: return ag_cumsum(sample_in(s, 0, SHAPE(3, 5)), 1);
    case 4: return ag_cumsum(sample_in(s, 0, SHAPE(2, 3, 4)), 1);
    case 5: return ag_cumsum(sample_in(s, 0, SHAPE(2, 0)), 1);
    case 6: return ag_cumsum(sample_in(s, 0, SHAPE(0, 2)), 1);
    case 7: return ag_cumsum(sample_in(s, 0, SHAPE(2, 1, 3, 2)), 0);
    default: return NULL;
    }
}

static Tensor *var_biased(Tensor *x, AgDims dims, bool keep)
{
    return ag_var_dims(x, dims, false, keep);
}

Tensor *var_dims_sample(Sample *s)
{
    if (s->number < 9) return reduce_sample(s, var_biased);
    if (s->number == 9) return ag_var_dims(sample_in(s, 0, SHAPE(3, 5)), DIMS(1), true, true);
    if (s->number == 10) return ag_var_dims(sample_in(s, 0, SHAPE(2, 3, 4)), DIMS(0, 2), true, false);
    return NULL;
}

static Tensor *extreme_sample(Sample *s, Tensor *op(Tensor *, int, bool))
{
    switch (s->number) {
    case 0: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(1)), 0, false));
    case 1: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(7)), -1, true));
    case 2: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(3, 5)), 1, false));
    case 3: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(3, 5)), 0, false));
    case 4: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(2, 3, 4)), 1, true));
    case 5: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(2, 3, 4)), 2, false));
    case 6: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(0, 3)), 1, false));
    case 7: return AG_CALL_POINTER(Tensor *, op(sample_apart(s, 0, SHAPE(4, 1, 3)), 1, false));
    default: return NULL;
    }
}

Tensor *max_dim_sample(Sample *s)
{
    return extreme_sample(s, ag_max_dim);
}

Tensor *min_dim_sample(Sample *s)
{
    return extreme_sample(s, ag_min_dim);
}

/* Sample calls of softmax and log_softmax. */
static Tensor *along_sample(Sample *s, Tensor *op(Tensor *, int))
{
    switch (s->number) {
    case 0: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(1)), 0));
    case 1: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(7)), 0));
    case 2: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(3, 5)), -1));
    case 3: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(3, 5)), 0));
    case 4: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(2, 3, 4)), 1));
    case 5: return AG_CALL_POINTER(Tensor *, op(sample_range(s, 0, SHAPE(2, 33), -5, 5), 1));
    case 6: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(0, 4)), 1));
    case 7: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, SHAPE(2, 2, 3, 3)), 3));
    case 8: return AG_CALL_POINTER(Tensor *, op(sample_in(s, 0, AG_SCALAR), -1));
    default: return NULL;
    }
}

Tensor *softmax_sample(Sample *s)
{
    return along_sample(s, ag_softmax);
}

Tensor *log_softmax_sample(Sample *s)
{
    return along_sample(s, ag_log_softmax);
}

Tensor *masked_softmax_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_masked_softmax(sample_in(s, 0, SHAPE(5)), NULL, 1);
    case 1: return ag_masked_softmax(sample_in(s, 0, SHAPE(3, 4)), sample_mask(SHAPE(3, 4)), 1);
    case 2: return ag_masked_softmax(sample_in(s, 0, SHAPE(3, 4)), sample_mask(SHAPE(4)), 0.5);
    case 3: return ag_masked_softmax(sample_in(s, 0, SHAPE(2, 2, 3, 4)), sample_mask(SHAPE(2, 1, 1, 4)), 0.7);
    case 4: return ag_masked_softmax(sample_in(s, 0, SHAPE(2, 2, 4, 4)), sample_mask(SHAPE(4, 4)), 2);
    case 5: return ag_masked_softmax(sample_in(s, 0, SHAPE(3, 5)), tensor_bools(SHAPE(3, 5), NULL), 1);
    case 6: return ag_masked_softmax(sample_in(s, 0, SHAPE(0, 4)), NULL, 1);
    case 7: return ag_masked_softmax(sample_in(s, 0, SHAPE(2, 33)), sample_mask(SHAPE(2, 1)), 0.3);
    case 8: return ag_masked_softmax(sample_in(s, 0, SHAPE(3, 4)), sample_mask(SHAPE(3, 4)), -0.5);
    default: return NULL;
    }
}

Tensor *layer_norm_sample(Sample *s)
{
    static const AgNorm kinds[] = { { 1e-5, true, false }, { 1e-6, false, true }, { 1e-6, false, false },
                                    { 0, false, false }, { 0.1, true, true }, { 0.1, false, true } };
    static const AgShape shapes[] = { { 1, { 5 } }, { 2, { 3, 4 } }, { 3, { 2, 3, 5 } }, { 2, { 4, 33 } },
                                    { 2, { 0, 4 } }, { 2, { 3, 2 } } };
    if (s->number >= 12) return NULL;
    AgShape shape = shapes[s->number % 6];
    int64_t n = shape.dim[shape.ndim - 1];
    Tensor *x = sample_in(s, 0, shape);
    if (s->number == 6) return ag_layer_norm(x, NULL, NULL, kinds[1]);
    if (s->number == 7) return ag_layer_norm(x, sample_in(s, 1, SHAPE(n)), NULL, kinds[2]);
    return ag_layer_norm(x, sample_in(s, 1, SHAPE(n)), sample_in(s, 2, SHAPE(n)), kinds[s->number / 2]);
}

Tensor *rms_norm_sample(Sample *s)
{
    static const AgShape shapes[] = { { 1, { 5 } }, { 2, { 3, 4 } }, { 3, { 2, 3, 5 } }, { 2, { 4, 33 } }, { 2, { 0, 4 } } };
    static const double eps[] = { 1e-5, 1e-6, 0.1, 0, 1e-5 };
    if (s->number >= 10) return NULL;
    AgShape shape = shapes[s->number % 5];
    Tensor *x = sample_in(s, 0, shape), *gamma = s->number < 5 ? sample_in(s, 1, SHAPE(shape.dim[shape.ndim - 1])) : NULL;
    return ag_rms_norm(x, gamma, eps[s->number % 5]);
}

Tensor *rope_sample(Sample *s)
{
    static const struct { int b, t, heads, width; } cases[] = {
        { 1, 1, 1, 2 }, { 2, 3, 1, 4 }, { 1, 5, 3, 6 }, { 2, 2, 2, 66 }, { 0, 3, 1, 4 }, { 1, 0, 2, 2 }, { 1, 2, 1, 136 },
    };
    if (s->number >= 14) return NULL;
    int i = s->number % 7, width = cases[i].width;
    Tensor *x = sample_in(s, 0, SHAPE(cases[i].b, cases[i].t, cases[i].heads * width));
    return ag_rope(x, ag_rope_table(ag_rope_frequencies(width, 100), i, cases[i].t), cases[i].heads, s->number >= 7);
}

/* Shapes for the samples of losses whose targets have the predictions' shape. */
static const AgShape same_shapes[] = { { 0, { 0 } }, { 1, { 1 } }, { 1, { 7 } }, { 2, { 3, 5 } }, { 2, { 1, 4 } },
                                     { 3, { 2, 3, 4 } }, { 1, { 67 } }, { 4, { 2, 1, 2, 3 } } };

enum { SAME_SHAPES = sizeof same_shapes / sizeof *same_shapes };

Tensor *mse_loss_sample(Sample *s)
{
    if (s->number >= SAME_SHAPES) return NULL;
    return ag_mse_loss(sample_in(s, 0, same_shapes[s->number]), sample_in(s, 1, same_shapes[s->number]));
}

Tensor *binary_cross_entropy_sample(Sample *s)
{
    if (s->number >= SAME_SHAPES) return NULL;
    Tensor *logits = sample_range(s, 0, same_shapes[s->number], 0.1, 0.9);
    Tensor *target = sample_range(s, 1, same_shapes[s->number], 0.1, 0.9);
    return ag_binary_cross_entropy(logits, target, s->number % 2 ? AG_SUM : AG_MEAN);
}

Tensor *cross_entropy_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_cross_entropy(sample_in(s, 0, SHAPE(1, 1)), sample_ids(SHAPE(1), 1), AG_MEAN, -100, 0);
    case 1: return ag_cross_entropy(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_MEAN, -100, 0);
    case 2: return ag_cross_entropy(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_SUM, -100, 0);
    case 3: return ag_cross_entropy(sample_in(s, 0, SHAPE(6, 3)), sample_ids(SHAPE(6), 3), AG_MEAN, 1, 0);
    case 4: return ag_cross_entropy(sample_in(s, 0, SHAPE(2, 3, 4)), sample_ids(SHAPE(2, 3), 4), AG_MEAN, -100, 0.1);
    case 5: return ag_cross_entropy(sample_in(s, 0, SHAPE(4, 33)), sample_ids(SHAPE(4), 33), AG_SUM, 0, 0.3);
    case 6: return ag_cross_entropy(sample_in(s, 0, SHAPE(7)), sample_ids(AG_SCALAR, 7), AG_MEAN, -100, 0);
    case 7: return ag_cross_entropy(sample_in(s, 0, SHAPE(0, 4)), sample_ids(SHAPE(0), 4), AG_MEAN, -100, 0);
    case 8: return ag_cross_entropy(sample_in(s, 0, SHAPE(2, 1)), sample_ids(SHAPE(2), 1), AG_MEAN, 0, 0);
    default: return NULL;
    }
}

Tensor *linear_cross_entropy_sample(Sample *s)
{
    static const struct { AgShape x; int classes; bool bias; AgReduce reduce; int ignore; double smoothing; } cases[] = {
        { { 2, { 1, 1 } }, 1, true, AG_MEAN, -100, 0 },     { { 2, { 3, 4 } }, 5, true, AG_MEAN, -100, 0 },
        { { 2, { 3, 4 } }, 5, false, AG_SUM, -100, 0 },     { { 2, { 6, 2 } }, 3, true, AG_MEAN, 1, 0 },
        { { 3, { 2, 3, 4 } }, 4, false, AG_MEAN, -100, 0.1 }, { { 2, { 4, 3 } }, 33, true, AG_SUM, 0, 0.3 },
        { { 1, { 5 } }, 7, true, AG_MEAN, -100, 0 },        { { 2, { 0, 4 } }, 4, true, AG_MEAN, -100, 0 },
        { { 2, { 2, 0 } }, 3, true, AG_MEAN, -100, 0 },     { { 2, { 2, 3 } }, 1, false, AG_MEAN, 0, 0 },
        { { 2, { 4, 4 } }, 4, true, AG_MEAN, -100, 0 },     { { 1, { 4 } }, 4, true, AG_MEAN, -100, 0 },
    };
    if (s->number >= (int)(sizeof cases / sizeof *cases)) return NULL;
    AgShape x = cases[s->number].x, rows = x;
    int classes = cases[s->number].classes;
    rows.ndim--;
    Tensor *input = sample_in(s, 0, x), *weight = sample_in(s, 1, SHAPE(classes, x.dim[rows.ndim]));
    return ag_linear_cross_entropy(input, weight, cases[s->number].bias ? sample_in(s, 2, SHAPE(classes)) : NULL,
                                   sample_ids(rows, classes), cases[s->number].reduce, cases[s->number].ignore,
                                   cases[s->number].smoothing);
}

Tensor *nll_loss_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_nll_loss(sample_in(s, 0, SHAPE(1, 1)), sample_ids(SHAPE(1), 1), AG_MEAN, -100);
    case 1: return ag_nll_loss(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_MEAN, -100);
    case 2: return ag_nll_loss(sample_in(s, 0, SHAPE(3, 5)), sample_ids(SHAPE(3), 5), AG_SUM, -100);
    case 3: return ag_nll_loss(sample_in(s, 0, SHAPE(6, 3)), sample_ids(SHAPE(6), 3), AG_MEAN, 1);
    case 4: return ag_nll_loss(sample_in(s, 0, SHAPE(2, 3, 4)), sample_ids(SHAPE(2, 3), 4), AG_MEAN, -100);
    case 5: return ag_nll_loss(sample_in(s, 0, SHAPE(4, 6)), sample_ids(SHAPE(4), 6), AG_MEAN, -100);
    case 6: return ag_nll_loss(sample_in(s, 0, SHAPE(7)), sample_ids(AG_SCALAR, 7), AG_MEAN, -100);
    case 7: return ag_nll_loss(sample_in(s, 0, SHAPE(0, 4)), sample_ids(SHAPE(0), 4), AG_SUM, -100);
    default: return NULL;
    }
}

Tensor *kl_div_sample(Sample *s)
{
    if (s->number >= SAME_SHAPES) return NULL;
    Tensor *log_p = sample_range(s, 0, same_shapes[s->number], 0.1, 1);
    Tensor *target = sample_range(s, 1, same_shapes[s->number], 0.1, 1);
    return ag_kl_div(log_p, target, s->number % 2 ? AG_SUM : AG_MEAN);
}

Tensor *label_smoothing_sample(Sample *s)
{
    static const double smoothing[] = { 0, 0.1, 0.4, 0.3, 1, 0.1, 0.2, 0.5 };
    static const AgShape shapes[] = { { 2, { 3, 5 } }, { 2, { 4, 5 } }, { 3, { 2, 3, 4 } }, { 2, { 6, 33 } }, { 2, { 3, 5 } },
                                    { 2, { 0, 5 } }, { 2, { 1, 3 } }, { 1, { 7 } } };
    if (s->number >= 8) return NULL;
    AgShape x = shapes[s->number], rows = x;
    rows.ndim--;
    int32_t n = (int32_t)x.dim[x.ndim - 1];
    return ag_label_smoothing(sample_in(s, 0, x), sample_ids(rows, n), s->number % 3, smoothing[s->number]);
}
