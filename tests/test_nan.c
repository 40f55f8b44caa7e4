/* test_nan.c: ag_find_nan finds the first NaN or infinity, forward and backward, in every operation, and reports the
 * operation, its shapes and the line that called it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/recurrent.h"
#include "linear_loss_parts.h"
#include "op_samples.h"
#include "suites.h"
#include "usage_error.h"

static void fill_nan(Tensor *t)
{
    for (int64_t i = 0; i < t->numel; i++) reals(t)[i] = (ag_real)NAN;
}

/* Whether the message names this operation and says "found in <what>". */
static bool reported(const char *name, const char *what)
{
    char start[128];
    snprintf(start, sizeof start, "%s: first NaN found in %s, item ", name, what);
    return strncmp(usage_message, start, strlen(start)) == 0 && strstr(usage_message, "; shape (") &&
           strstr(usage_message, " of inputs (") && strstr(usage_message, " (at tests/op_samples");
}

/* The inputs of case `number`, made by a first run in an outer scope; false if there is no such case. */
static bool inputs_of(const Op *op, int number, Tensor *in[MAX_INPUTS])
{
    memset(in, 0, MAX_INPUTS * sizeof *in);
    Sample sample = { .number = number, .in = in };
    return op_samples[op - op_table](&sample) != NULL;
}

static void free_inputs(Tensor *in[MAX_INPUTS])
{
    for (int i = 0; i < MAX_INPUTS; i++) tensor_free(in[i]);
}

static void run(const Op *op, int number, Tensor *in[MAX_INPUTS], AgMode mode, bool backward)
{
    AgScope s = ag_begin(mode);
    Sample sample = { .number = number, .in = in };
    ag_find_nan(!backward);
    Tensor *y = op_samples[op - op_table](&sample);
    ag_find_nan(true);
    if (backward) {
        Tensor *dy = tensor_zeros(tensor_shape(y));
        fill_nan(dy);
        ag_backward_from(y, dy);
    }
    ag_end(s);
}

/* NaN in any input gives NaN in the result of at least one case, and the report names the operation. */
START_TEST(in_a_result_of_every_operation)
{
    const Op *op = &op_table[_i];
    ag_seed(1);
    AgScope outer = ag_begin(AG_NO_GRAD);
    bool used[MAX_INPUTS] = { false }, found[MAX_INPUTS] = { false };
    for (int number = 0;; number++) {
        for (int i = 0; i < MAX_INPUTS; i++) {
            Tensor *in[MAX_INPUTS];
            if (!inputs_of(op, number, in)) goto done;
            if (in[i] && in[i]->numel > 0) {
                used[i] = true;
                fill_nan(in[i]);
                for (int mode = AG_RECORD; mode <= AG_NO_GRAD; mode++) {
                    CATCH_USAGE_ERROR(run(op, number, in, (AgMode)mode, false));
                    found[i] = found[i] || reported(op->name, "its result");
                }
            }
            ag_find_nan(false);
            free_inputs(in);
        }
    }
done:
    for (int i = 0; i < MAX_INPUTS; i++) ck_assert_msg(found[i] == used[i], "%s: NaN in input %d", op->name, i);
    ck_assert(used[0]);
    ag_end(outer);
}
END_TEST

START_TEST(in_a_gradient_of_every_operation)
{
    const Op *op = &op_table[_i];
    ag_seed(1);
    AgScope outer = ag_begin(AG_NO_GRAD);
    bool found = false;
    for (int number = 0; !found; number++) {
        Tensor *in[MAX_INPUTS];
        ck_assert_msg(inputs_of(op, number, in), "%s: no case passes NaN back", op->name);
        CATCH_USAGE_ERROR(run(op, number, in, AG_RECORD, true));
        /* The slope of sign is 0 everywhere: it passes nothing back. */
        found = op == &op_table[OP_sign] || reported(op->name, "the gradient that it computed");
        ag_find_nan(false);
        free_inputs(in);
    }
    ag_end(outer);
}
END_TEST

/* linear's rule gives the memory of its input to the gradient, but not while the search may report the input. */
START_TEST(backward_can_run_after_the_report)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(2, 4), 3), true);
    Tensor *w = tensor_set_requires_grad(tensor_ones(SHAPE(4, 4)), true), *y = ag_linear(ag_neg(x), w, NULL);
    Tensor *bad = tensor_full(SHAPE(2, 4), (ag_real)NAN), *good = tensor_ones(SHAPE(2, 4));
    ag_find_nan(true);
    EXPECT_USAGE_ERROR("linear: first NaN found in the gradient that it computed", ag_backward_from(y, bad));
    ag_find_nan(false);
    tensor_zero_grad(x);
    tensor_zero_grad(w);
    ag_backward_from(y, good);
    ck_assert(tensor_grad_data(x)[0] == -4 && tensor_grad_data(w)[0] == -6);
    ag_end(s);
}
END_TEST

/* ---- by name and line -------------------------------------------------------------------------------------------- */

static Tensor *leaf(double a, double b)
{
    Tensor *t = tensor_set_requires_grad(tensor_zeros(SHAPE(2)), true);
    tensor_mutable_data(t)[0] = (ag_real)a;
    tensor_mutable_data(t)[1] = (ag_real)b;
    return t;
}

START_TEST(forward)
{
    ag_find_nan(true);
    REPORTS("log: first infinity found in its result, item 1; shape (2,) of inputs (2,)", ag_log(leaf(1, 0)));
    REPORTS("log: first NaN found in its result, item 0; shape (2,) of inputs (2,)", ag_log(leaf(-1, 0)));
    REPORTS("div: first infinity found in its result, item 2; shape (2, 2) of inputs (2, 2), (2, 1)",
            ag_div(tensor_ones(SHAPE(2, 2)), ag_reshape(leaf(1, 0), SHAPE(2, 1))));
    REPORTS("exp: first infinity found in its result, item 1; shape (2,) of inputs (2,)", ag_exp(leaf(0, 1e4)));
    REPORTS("sqrt: first NaN found in its result, item 0; shape (2,) of inputs (2,)",
            ag_sqrt(leaf(-4, 4)));
    REPORTS("mean_dims: first NaN found in its result, item 0; shape () of inputs (0, 3)",
            ag_mean(tensor_zeros(SHAPE(0, 3))));
    ag_find_nan(false);
    CATCH_USAGE_ERROR(ag_log(leaf(-1, 0)));
    ck_assert_str_eq(usage_message, "");
}
END_TEST

#define IN_BACKWARD(text, statement) REPORTS_IN("ag_backward", text, statement)

/* The result is finite, but the gradient is not. */
START_TEST(backward)
{
    double tiny = sizeof(ag_real) == 4 ? 1e-40 : 1e-310;
    ag_find_nan(true);
    IN_BACKWARD("sqrt: first infinity found in the gradient that it computed, item 1; shape (2,) of inputs (2,)",
                ag_backward(ag_sum(ag_sqrt(leaf(4, 0)))));
    IN_BACKWARD("log: first infinity found in the gradient that it computed, item 0; shape (2,) of inputs (2,)",
                ag_backward(ag_sum(ag_log(leaf(tiny, 1)))));
    IN_BACKWARD("div: first infinity found in the gradient that it computed, item 1; shape (2,) of inputs (2,), (2,)",
                ag_backward(ag_sum(ag_div(leaf(1, tiny), leaf(1, tiny)))));
    IN_BACKWARD("pow_scalar: first infinity found in the gradient that it computed, item 0; shape (2,) of inputs (2,)",
                ag_backward(ag_sum(ag_pow_scalar(leaf(0, 1), 0.5))));
    ag_find_nan(false);
}
END_TEST

enum { LAYER_LINE = __LINE__ + 5 };

static Tensor *layer(Tensor *x)
{
    AG_LAYER;
    return ag_exp(x);
}

START_TEST(the_layer_is_named_too)
{
    ag_find_nan(true);
    char expected[128];
    snprintf(expected, sizeof expected, "(at tests/test_nan.c:%d, in layer)", LAYER_LINE);
    EXPECT_USAGE_ERROR(expected, layer(leaf(0, 1e4)));
    ag_find_nan(false);
}
END_TEST

/* The input already has NaN or infinity: the operation did not make it. */
START_TEST(an_input_with_nan_or_infinity_is_named)
{
    ag_find_nan(true);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(2, 3)), *w = tensor_set_requires_grad(tensor_ones(SHAPE(4, 3)), true);
    tensor_mutable_data(w)[7] = (ag_real)INFINITY;
    tensor_mutable_data(x)[4] = 0;
    EXPECT_USAGE_ERROR("linear: first NaN found in its result, item 6; shape (2, 4) of inputs (2, 3), (4, 3); input 1 already "
                       "has infinity, at item 7 (at", ag_linear(x, w, NULL));
    tensor_mutable_data(x)[5] = (ag_real)NAN;
    EXPECT_USAGE_ERROR("linear: first NaN found in its result, item 4; shape (2, 4) of inputs (2, 3), (4, 3); input 0 already "
                       "has NaN, at item 5 (at", ag_linear(x, w, NULL));
    tensor_mutable_data(w)[7] = 1;
    tensor_mutable_data(w)[8] = (ag_real)NAN;
    tensor_mutable_data(x)[5] = (ag_real)INFINITY;
    EXPECT_USAGE_ERROR("input 1 already has NaN, at item 8 (at", ag_linear(x, w, NULL));     /* not the infinity of input 0 */
    ag_end(s);
    ag_find_nan(false);
}
END_TEST

/* What follows from an infinity that is meant, forward and backward. */
START_TEST(an_infinity_that_an_input_has_is_no_finding)
{
    ag_find_nan(true);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(2, 3)), true), *w = leaf(1, 2), *late = leaf(0, 1);
    Tensor *hide = tensor_bools(SHAPE(2, 1), (uint8_t[]){ 0, 1 }), *y = ag_masked_fill(x, hide, (double)-INFINITY);
    y = ag_slice(ag_add(y, tensor_zeros(SHAPE(3))), 1, 0, 2);
    y = ag_concat((Tensor *[]){ ag_where(hide, y, ag_neg(y)), y }, 2, 1);
    y = ag_logsumexp(y, 1, false);
    ag_backward(ag_sum(ag_where(ag_reshape(hide, SHAPE(2)), tensor_zeros(AG_SCALAR), y)));
    ck_assert(tensor_grad_data(x)[0] != 0 && tensor_grad_data(x)[3] == 0);
    /* the gradients of w are infinite: dy x, twice, and then a finite one is added to them */
    Tensor *big = tensor_full(SHAPE(2), (ag_real)INFINITY);
    ag_backward(ag_sum(ag_add(ag_scale(w, 2), ag_add(ag_mul(w, big), ag_mul(w, big)))));
    ck_assert(isinf(tensor_grad_data(w)[0]) && isinf(tensor_grad_data(w)[1]));
    /* NaN of an infinity, and an infinity that is new */
    EXPECT_USAGE_ERROR("sub: first NaN found in its result, item 0", ag_sub(big, big));
    EXPECT_USAGE_ERROR("masked_fill: first NaN", ag_masked_fill(leaf(0, NAN), ag_compare_scalar(AG_LT, w, 2), INFINITY));
    EXPECT_USAGE_ERROR("log: first infinity found in its result, item 0", ag_log(late));
    EXPECT_USAGE_ERROR("sqrt: first infinity found in the gradient that it computed, item 0",
                       ag_backward_from(ag_sqrt(late), tensor_ones(SHAPE(2))));
    tensor_zero_grad(late);
    ag_backward_from(ag_sqrt(late), big);                   /* dy has an infinity */
    ag_end(s);
    ag_find_nan(false);
}
END_TEST

START_TEST(nan_alone)
{
    ag_find_nan_alone(true);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = ag_log(leaf(0, 1));
    ck_assert(isinf(tensor_data(y)[0]));
    ag_backward_from(ag_sqrt(leaf(0, 1)), tensor_ones(SHAPE(2)));
    EXPECT_USAGE_ERROR("mul: first NaN found in its result, item 0; shape (2,) of inputs (2,), (2,); input 0 already has "
                       "infinity, at item 0 (at", ag_mul(y, leaf(0, 1)));
    EXPECT_USAGE_ERROR("sqrt: first NaN found in the gradient that it computed, item 0",
                       ag_backward_from(ag_sqrt(leaf(0, 1)), tensor_zeros(SHAPE(2))));
    ag_find_nan(true);                                      /* the last call counts */
    EXPECT_USAGE_ERROR("log: first infinity", ag_log(leaf(0, 1)));
    ag_find_nan_alone(false);
    ag_log(leaf(-1, 0));
    ag_end(s);
}
END_TEST

START_TEST(finite_values_pass)
{
    ag_seed(2);
    ag_find_nan(true);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(40, 50), 0, 1), true);
    Tensor *mask = ag_compare_scalar(AG_GT, x, 0);
    Tensor *y = ag_softmax(ag_masked_fill(x, mask, (double)-INFINITY), -1);     /* an intended infinity */
    ag_backward(ag_mean(ag_mul(y, ag_masked_softmax(x, mask, 2))));
    ag_masked_fill(x, mask, 1e300);                         /* as a float it is infinity, too */
    ag_end(s);
    EXPECT_USAGE_ERROR("masked_softmax: first NaN", {
        tensor_mutable_data(x = leaf(1, 2))[0] = (ag_real)NAN;
        ag_masked_softmax(x, NULL, 1);
    });
    ag_find_nan(false);
}
END_TEST

/* ---- what is hidden -----------------------------------------------------------------------------------------------
 * A mask, an id, padding or an unused branch leaves a part of an input (or of dy) out. NaN or infinity there changes nothing:
 * results and gradients are those with 0 there. */

enum { LEAVES = 12 };

/* A run: its leaves, and dy, whose hidden part is filled, too. */
typedef struct { int n; Tensor *leaf[LEAVES], *dy; ag_real bad; } Hidden;

static Tensor *leaf_of(Hidden *h, AgShape shape)
{
    return h->leaf[h->n++] = tensor_set_requires_grad(tensor_uniform(shape, 0.5, 1.5), true);
}

/* Puts the bad number at items from, from + step, ... of t: `count` of them. */
static Tensor *spoil(Hidden *h, Tensor *t, int64_t from, int64_t count)
{
    for (int64_t i = 0; i < count; i++) tensor_mutable_data(t)[from + i] = h->bad;
    return t;
}

static Tensor *visible(AgShape shape, const char *digits)
{
    Tensor *mask = tensor_bools(shape, NULL);
    for (int64_t i = 0; i < tensor_numel(mask); i++)
        tensor_mutable_bool_data(mask)[i] = digits[i] == '1';
    return mask;
}

static Tensor *hidden_where(Hidden *h)
{
    Tensor *a = spoil(h, leaf_of(h, SHAPE(4)), 1, 2), *b = spoil(h, leaf_of(h, SHAPE(4)), 3, 1);
    return ag_where(visible(SHAPE(4), "1001"), a, b);
}

static Tensor *hidden_masked_fill(Hidden *h)
{
    h->dy = spoil(h, tensor_ones(SHAPE(4)), 1, 2);
    return ag_masked_fill(spoil(h, leaf_of(h, SHAPE(4)), 1, 2), visible(SHAPE(4), "0110"), 3);
}

static Tensor *hidden_masked_softmax(Hidden *h)
{
    Tensor *x = spoil(h, spoil(h, leaf_of(h, SHAPE(2, 3)), 2, 1), 3, 3);
    return ag_masked_softmax(x, visible(SHAPE(2, 3), "110000"), -0.5);
}

static Tensor *hidden_cross_entropy(Hidden *h)
{
    Tensor *x = spoil(h, leaf_of(h, SHAPE(3, 4)), 4, 4);
    return ag_cross_entropy(x, tensor_ints(SHAPE(3), (int32_t[]){ 1, -100, 3 }), AG_MEAN, -100, 0.1);
}

static Tensor *hidden_linear_cross_entropy(Hidden *h)
{
    Tensor *x = spoil(h, leaf_of(h, SHAPE(3, 5)), 5, 5), *w = leaf_of(h, SHAPE(4, 5)), *b = leaf_of(h, SHAPE(4));
    return ag_linear_cross_entropy(x, w, b, tensor_ints(SHAPE(3), (int32_t[]){ 1, -100, 3 }), AG_SUM, -100, 0);
}



static Tensor *hidden_linear_cross_entropy_in_parts(Hidden *h)
{
    int64_t usual = most_logits;
    most_logits = 4;
    Tensor *y = hidden_linear_cross_entropy(h);
    most_logits = usual;
    return y;
}

static Tensor *hidden_nll_loss(Hidden *h)
{
    Tensor *x = spoil(h, spoil(h, leaf_of(h, SHAPE(3, 4)), 2, 6), 11, 1);
    return ag_nll_loss(x, tensor_ints(SHAPE(3), (int32_t[]){ 1, -100, 2 }), AG_MEAN, -100);
}

static Tensor *hidden_kl_div(Hidden *h)
{
    Tensor *x = spoil(h, leaf_of(h, SHAPE(4)), 1, 2);
    return ag_kl_div(x, tensor_from(SHAPE(4), (ag_real[]){ 0.5, 0, 0, 0.5 }), AG_SUM);
}

static Tensor *hidden_label_smoothing(Hidden *h)
{
    Tensor *x = spoil(h, leaf_of(h, SHAPE(3, 5)), 5, 6);           /* row 1 is padding, and so is class 0 */
    spoil(h, x, 0, 1);
    return ag_label_smoothing(x, tensor_ints(SHAPE(3), (int32_t[]){ 2, 0, 4 }), 0, 0.1);
}

static Tensor *hidden_embedding(Hidden *h)
{
    Tensor *table = spoil(h, leaf_of(h, SHAPE(3, 4)), 4, 4);
    return ag_embedding(table, tensor_ints(SHAPE(3), (int32_t[]){ 0, 2, 0 }));
}

static Tensor *hidden_index_select(Hidden *h)
{
    return ag_index_select(spoil(h, leaf_of(h, SHAPE(3, 4)), 4, 4), 0, tensor_ints(SHAPE(2), (int32_t[]){ 2, 0 }));
}

static Tensor *hidden_gather(Hidden *h)
{
    return ag_gather(spoil(h, leaf_of(h, SHAPE(1, 4)), 1, 2), 1, tensor_ints(SHAPE(1, 3), (int32_t[]){ 3, 0, 3 }));
}

/* A state that no path reaches: its logarithm is -infinity, before and after a step of a forward algorithm. */
static Tensor *hidden_logsumexp(Hidden *h)
{
    Tensor *score = spoil(h, leaf_of(h, SHAPE(2, 3)), 3, 3), *dead = visible(SHAPE(2, 1), "01");
    Tensor *y = ag_logsumexp(ag_masked_fill(score, dead, -INFINITY), 1, true);
    return ag_where(dead, tensor_zeros(AG_SCALAR), ag_logsumexp(ag_add(y, leaf_of(h, SHAPE(1, 2))), -1, true));
}

static Tensor *hidden_slice(Hidden *h) { return ag_slice(spoil(h, leaf_of(h, SHAPE(5)), 0, 2), 0, 2, 5); }

/* Which items are dropped follows from the seed. */
static Tensor *hidden_dropout(Hidden *h)
{
    Tensor *x = leaf_of(h, SHAPE(64));
    ag_seed(5);
    Tensor *kept = ag_dropout(tensor_ones(SHAPE(64)), 0.5);
    h->dy = tensor_ones(SHAPE(64));
    for (int i = 0; i < 64; i++) {
        if (tensor_data(kept)[i] != 0) continue;
        spoil(h, x, i, 1);
        spoil(h, h->dy, i, 1);
    }
    ag_seed(5);
    return ag_dropout(x, 0.5);
}

/* Functions whose slope is 0 at items 1 and 2: dy does not matter there. */
static Tensor *flat_of(Hidden *h, double at, Tensor *(*f)(Tensor *))
{
    Tensor *x = leaf_of(h, SHAPE(4));
    tensor_mutable_data(x)[1] = tensor_mutable_data(x)[2] = (ag_real)at;
    h->dy = spoil(h, tensor_ones(SHAPE(4)), 1, 2);
    return f(x);
}

static Tensor *limited(Tensor *x) { return ag_clamp(x, 0, 2); }
static Tensor *relu(Tensor *x)    { return ag_relu(x); }
static Tensor *abs_of(Tensor *x)  { return ag_abs(x); }
static Tensor *sign(Tensor *x)    { return ag_sign(x); }
static Tensor *power_0(Tensor *x) { return ag_pow_scalar(x, 0); }
static Tensor *larger(Tensor *x)  { return ag_maximum(x, tensor_zeros(AG_SCALAR)); }
static Tensor *hidden_relu(Hidden *h)      { return flat_of(h, -1, relu); }
static Tensor *hidden_clamp(Hidden *h)     { return flat_of(h, 3, limited); }
static Tensor *hidden_abs(Hidden *h)       { return flat_of(h, 0, abs_of); }
static Tensor *hidden_sign(Hidden *h)      { return flat_of(h, -1, sign); }
static Tensor *hidden_power(Hidden *h)     { return flat_of(h, 2, power_0); }
static Tensor *hidden_maximum(Hidden *h)   { return flat_of(h, -1, larger); }

/* Pixels between the windows. */
static Tensor *hidden_conv2d(Hidden *h)
{
    Tensor *x = leaf_of(h, SHAPE(1, 1, 1, 7)), *w = leaf_of(h, SHAPE(1, 1, 1, 2)), *b = leaf_of(h, SHAPE(1));
    spoil(h, spoil(h, x, 2, 1), 5, 1);
    return ag_conv2d(x, w, b, 3, 0);
}

static Tensor *hidden_max_pool2d(Hidden *h)
{
    Tensor *x = leaf_of(h, SHAPE(1, 1, 5, 5));
    for (int i = 0; i < 5; i++) spoil(h, spoil(h, x, 10 + i, 1), 5 * i + 2, 1);
    return ag_max_pool2d(x, 2, 3, 0);
}

static Tensor *hidden_mean_pool2d(Hidden *h)
{
    Tensor *x = leaf_of(h, SHAPE(1, 1, 5, 5));
    for (int i = 0; i < 5; i++) spoil(h, spoil(h, x, 10 + i, 1), 5 * i + 2, 1);
    return ag_mean_pool2d(x, 2, 3, 0);
}

/* Keys 1 and 4 of 5 are hidden, with D = 8 and 2 heads. */
static Tensor *attention_with(Hidden *h, Tensor *mask, double dropout)
{
    Tensor *q = leaf_of(h, SHAPE(1, 3, 8)), *k = leaf_of(h, SHAPE(1, 5, 8)), *v = leaf_of(h, SHAPE(1, 5, 8));
    spoil(h, spoil(h, k, 8, 8), 32, 8);
    spoil(h, spoil(h, v, 8, 8), 32, 8);
    ag_seed(3);
    return ag_attention(q, k, v, mask, (AgAttention){ .heads = 2, .dropout = dropout });
}

static Tensor *hidden_attention(Hidden *h)         { return attention_with(h, visible(SHAPE(1, 1, 1, 5), "10110"), 0); }
static Tensor *hidden_attention_dropout(Hidden *h) { return attention_with(h, visible(SHAPE(1, 1, 1, 5), "10110"), 0.3); }

static Tensor *hidden_attention_added(Hidden *h)
{
    Tensor *bias = tensor_zeros(SHAPE(1, 1, 1, 5));
    tensor_mutable_data(bias)[1] = tensor_mutable_data(bias)[4] = (ag_real)-INFINITY;
    return attention_with(h, bias, 0);
}

/* Two heads share keys; a query that sees no key is hidden, too. */
static Tensor *hidden_attention_grouped(Hidden *h)
{
    Tensor *q = leaf_of(h, SHAPE(2, 3, 8)), *k = leaf_of(h, SHAPE(2, 4, 4)), *v = leaf_of(h, SHAPE(2, 4, 4));
    spoil(h, q, 8, 8);
    spoil(h, spoil(h, k, 8, 4), 16 + 12, 4);
    spoil(h, spoil(h, v, 8, 4), 16 + 12, 4);
    Tensor *mask = visible(SHAPE(2, 1, 3, 4), "110100001001" "111001101010");
    return ag_attention(q, k, v, mask, (AgAttention){ .heads = 2, .kv_heads = 1 });
}

/* The two queries at the end see the keys from 2 on. */
static Tensor *hidden_attention_window(Hidden *h)
{
    Tensor *q = leaf_of(h, SHAPE(1, 2, 4)), *k = leaf_of(h, SHAPE(1, 6, 4)), *v = leaf_of(h, SHAPE(1, 6, 4));
    spoil(h, k, 0, 8);
    spoil(h, v, 0, 8);
    return ag_attention(q, k, v, NULL, (AgAttention){ .heads = 1, .causal = true, .window = 3 });
}

/* The first two of four queries see none of the two keys. */
static Tensor *hidden_attention_causal(Hidden *h)
{
    Tensor *q = spoil(h, leaf_of(h, SHAPE(1, 4, 4)), 0, 8), *k = leaf_of(h, SHAPE(1, 2, 4)), *v = leaf_of(h, SHAPE(1, 2, 4));
    return ag_attention(q, k, v, NULL, (AgAttention){ .heads = 1, .causal = true });
}

/* Keys and values of position 2; its query sees others. */
static Tensor *hidden_self_attention(Hidden *h)
{
    Tensor *qkv = spoil(h, leaf_of(h, SHAPE(1, 3, 12)), 2 * 12 + 4, 8);
    return ag_self_attention(qkv, visible(SHAPE(1, 1, 1, 3), "110"), (AgAttention){ .heads = 2 });
}

static Tensor *hidden_attention_cached(Hidden *h)
{
    Tensor *q = tensor_uniform(SHAPE(1, 1, 8), 0, 1), *k = tensor_uniform(SHAPE(1, 5, 8), 0, 1);
    Tensor *v = spoil(h, tensor_uniform(SHAPE(1, 5, 8), 0, 1), 8, 8);
    AgAttention how = { .heads = 2 };
    Tensor *mask = visible(SHAPE(1, 1, 1, 5), "10110");
    ag_precision(AG_BF16);
    Tensor *y = ag_attention_cached(q, ag_to_bf16(k), ag_to_bf16(v), 5, mask, how);
    ag_precision(AG_FLOAT32);
    return ag_add(y, leaf_of(h, SHAPE(1)));
}

static Recurrent *recurrent;                /* the module of the last call */

/* Row 0 has two steps, row 1 all but the second, row 2 none. */
static Tensor *recurrent_of(Hidden *h, RecurrentKind kind, int layers, bool both)
{
    Tensor *x = leaf_of(h, SHAPE(3, 4, 2));
    spoil(h, spoil(h, spoil(h, x, 4, 4), 10, 2), 16, 8);
    ag_free(recurrent);
    Recurrent *r = recurrent = nn_recurrent_new_with(kind, 2, 3, layers, both, 0);
    NnParameters *p = nn_parameters(r);
    for (int i = 0; i < p->n && h->n < LEAVES; i++) h->leaf[h->n++] = p->item[i].tensor;
    ag_free(p);
    RecurrentState state = { NULL, NULL };
    Tensor *y = nn_recurrent(r, x, visible(SHAPE(3, 1, 4), "110010110000"), &state);
    return ag_add(ag_sum(y), ag_sum(state.h));
}

static Tensor *hidden_gru(Hidden *h)       { return recurrent_of(h, NN_GRU, 1, false); }
static Tensor *hidden_lstm(Hidden *h)      { return recurrent_of(h, NN_LSTM, 1, false); }
static Tensor *hidden_gru_both(Hidden *h)  { return recurrent_of(h, NN_GRU, 2, true); }
static Tensor *hidden_lstm_both(Hidden *h) { return recurrent_of(h, NN_LSTM, 2, true); }

#define HIDDEN(name) { #name, hidden_##name }
static const struct { const char *name; Tensor *(*call)(Hidden *h); } hidden[] = {
    HIDDEN(where), HIDDEN(masked_fill), HIDDEN(masked_softmax), HIDDEN(cross_entropy), HIDDEN(linear_cross_entropy),
    HIDDEN(linear_cross_entropy_in_parts), HIDDEN(nll_loss), HIDDEN(kl_div), HIDDEN(label_smoothing), HIDDEN(embedding),
    HIDDEN(index_select), HIDDEN(gather), HIDDEN(logsumexp), HIDDEN(slice), HIDDEN(dropout), HIDDEN(relu), HIDDEN(clamp),
    HIDDEN(abs), HIDDEN(sign), HIDDEN(power), HIDDEN(maximum), HIDDEN(conv2d), HIDDEN(max_pool2d), HIDDEN(mean_pool2d),
    HIDDEN(attention), HIDDEN(attention_dropout), HIDDEN(attention_added), HIDDEN(attention_grouped), HIDDEN(attention_window),
    HIDDEN(attention_causal), HIDDEN(self_attention), HIDDEN(attention_cached), HIDDEN(gru), HIDDEN(lstm), HIDDEN(gru_both),
    HIDDEN(lstm_both),
};
enum { N_HIDDEN = sizeof hidden / sizeof *hidden };

/* The numbers of t, to which -0 is 0. */
static void append(ag_real *to, int *n, Tensor *t)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) to[(*n)++] = tensor_data(t)[i] + 0;
}

enum { MOST_NUMBERS = 4096 };

/* The result and all gradients, with `bad` in what is hidden. */
static int results_of(int number, ag_real bad, ag_real *to)
{
    ag_seed(2);
    AgScope s = ag_begin(AG_RECORD);
    Hidden h = { .bad = bad };
    int n = 0;
    Tensor *y = hidden[number].call(&h);
    append(to, &n, y);
    ag_backward_from(y, h.dy ? h.dy : tensor_uniform(tensor_shape(y), 0.5, 1));
    for (int i = 0; i < h.n; i++)
        if (tensor_grad(h.leaf[i])) append(to, &n, tensor_grad(h.leaf[i]));
    ag_end(s);
    return n;
}

START_TEST(what_is_hidden_changes_nothing)
{
    static ag_real with_0[MOST_NUMBERS], with_bad[MOST_NUMBERS];
    static const double bad[] = { NAN, INFINITY, -INFINITY, 1e30 };
    int n = results_of(_i, 0, with_0);
    for (int i = 0; i < n; i++)
        ck_assert_msg(isfinite(with_0[i]), "%s: number %d is %g", hidden[_i].name, i, (double)with_0[i]);
    for (int k = 0; k < 4; k++) {
        ck_assert_int_eq(results_of(_i, (ag_real)bad[k], with_bad), n);
        for (int i = 0; i < n; i++)
            ck_assert_msg(with_bad[i] == with_0[i], "%s with %g: number %d is %g, expected %g", hidden[_i].name, bad[k], i,
                          (double)with_bad[i], (double)with_0[i]);
    }
    ag_free(recurrent);
    recurrent = NULL;
}
END_TEST

/* ---- a gradient of 0 ---------------------------------------------------------------------------------------------- */

/* Where rules multiply a gradient of 0 by a number that is infinite or NaN, so that the result is NaN: at which inputs. All
 * other rules pass 0 on as 0. docs/pytorch.md has this list. */
enum { AT_NAN = 1, AT_INFINITY = 2, AT_MINUS_INFINITY = 4, AT_0 = 8, AT_INFINITIES = AT_INFINITY + AT_MINUS_INFINITY };

static const int becomes_nan[OP_COUNT] = {
    [OP_log] = AT_NAN + AT_0,
    [OP_sqrt] = AT_NAN + AT_MINUS_INFINITY + AT_0,
    [OP_div] = AT_NAN + AT_INFINITIES + AT_0,
    [OP_pow] = AT_NAN + AT_INFINITIES + AT_0,
    [OP_pow_scalar] = AT_NAN + AT_INFINITIES + AT_0,
    [OP_kl_div] = AT_NAN + AT_INFINITIES + AT_0,
    [OP_exp] = AT_NAN + AT_INFINITY,
    [OP_softmax] = AT_NAN + AT_INFINITY,
    [OP_log_softmax] = AT_NAN + AT_INFINITY,
    [OP_masked_softmax] = AT_NAN + AT_INFINITIES,               /* its scale can be negative */
    [OP_cross_entropy] = AT_NAN + AT_INFINITY,
    [OP_mul] = AT_NAN + AT_INFINITIES,
    [OP_sin] = AT_NAN + AT_INFINITIES,
    [OP_cos] = AT_NAN + AT_INFINITIES,
    [OP_matmul] = AT_NAN + AT_INFINITIES,
    [OP_linear] = AT_NAN + AT_INFINITIES,
    [OP_linear_cross_entropy] = AT_NAN + AT_INFINITIES,
    [OP_attention] = AT_NAN + AT_INFINITIES,
    [OP_self_attention] = AT_NAN + AT_INFINITIES,
    [OP_conv2d] = AT_NAN + AT_INFINITIES,
    [OP_conv2d_with] = AT_NAN + AT_INFINITIES,
    [OP_conv_transpose2d] = AT_NAN + AT_INFINITIES,
    [OP_var_dims] = AT_NAN + AT_INFINITIES,
    [OP_layer_norm] = AT_NAN + AT_INFINITIES,
    [OP_rms_norm] = AT_NAN + AT_INFINITIES,
    [OP_mse_loss] = AT_NAN + AT_INFINITIES,
    [OP_binary_cross_entropy] = AT_NAN + AT_INFINITIES,
    [OP_tanh] = AT_NAN,
    [OP_sigmoid] = AT_NAN,
    [OP_gelu] = AT_NAN,
    [OP_gelu_erf] = AT_NAN,
    [OP_silu] = AT_NAN,
    [OP_softplus] = AT_NAN,
    [OP_log_sigmoid] = AT_NAN,
    [OP_erf] = AT_NAN,
    [OP_elu] = AT_NAN,
};

/* Runs a case with a dy of 0. Returns whether each gradient is 0. */
static bool passes_0(const Op *op, int number, Tensor *in[MAX_INPUTS])
{
    bool all_0 = true;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = op_samples[op - op_table](&(Sample){ .number = number, .in = in });
    ag_backward_from(y, tensor_zeros(tensor_shape(y)));
    for (int i = 0; i < MAX_INPUTS; i++) {
        const ag_real *dx = in[i] ? tensor_grad_data(in[i]) : NULL;
        for (int64_t j = 0; dx && j < in[i]->numel; j++) all_0 = all_0 && dx[j] == 0;
    }
    ag_end(s);
    return all_0;
}

START_TEST(a_gradient_of_0_in_every_operation)
{
    static const double extreme[] = { NAN, INFINITY, -INFINITY, 0 };
    const Op *op = &op_table[_i];
    int found = 0;
    bool more = true;
    AgScope outer = ag_begin(AG_NO_GRAD);
    for (int number = 0; more; number++) {
        for (int k = 0; more && k < 4 * 2 * MAX_INPUTS; k++) {      /* in one item of an input, or in all */
            Tensor *in[MAX_INPUTS], *x;
            ag_seed(1);
            more = inputs_of(op, number, in);
            if (more && (x = in[k / 8]) && x->numel > 0) {
                for (int64_t j = 0; j < (k % 2 ? x->numel : 1); j++) reals(x)[j] = (ag_real)extreme[k / 2 % 4];
                CATCH_USAGE_ERROR(found |= passes_0(op, number, in) ? 0 : 1 << k / 2 % 4);
            }
            free_inputs(in);
        }
    }
    ck_assert_msg(found == becomes_nan[_i], "%s: a gradient of 0 becomes NaN at %d, expected %d", op->name, found,
                  becomes_nan[_i]);
    ag_end(outer);
}
END_TEST

Suite *nan_suite(void)
{
    Suite *suite = suite_create("nan");
    TCase *every = tcase_create("every operation");
    tcase_add_loop_test(every, in_a_result_of_every_operation, 0, OP_COUNT);
    tcase_add_loop_test(every, in_a_gradient_of_every_operation, 0, OP_COUNT);
    tcase_add_loop_test(every, a_gradient_of_0_in_every_operation, 0, OP_COUNT);
    suite_add_tcase(suite, every);
    TCase *named = tcase_create("by name and line");
    tcase_add_test(named, forward);
    tcase_add_test(named, backward);
    tcase_add_test(named, the_layer_is_named_too);
    tcase_add_test(named, an_input_with_nan_or_infinity_is_named);
    tcase_add_test(named, an_infinity_that_an_input_has_is_no_finding);
    tcase_add_test(named, nan_alone);
    tcase_add_test(named, finite_values_pass);
    tcase_add_test(named, backward_can_run_after_the_report);
    suite_add_tcase(suite, named);
    TCase *masks = tcase_create("what is hidden");
    tcase_add_loop_test(masks, what_is_hidden_changes_nothing, 0, N_HIDDEN);
    suite_add_tcase(suite, masks);
    return suite;
}
