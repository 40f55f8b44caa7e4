/* test_recompute.c: ag_recompute and nn_recompute give the bits of a plain call in every kind of graph, need less memory, and
 * report values that were written before they are computed again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "faults.h"
#include "kaeru/graph.h"
#include "kaeru/kaeru.h"
#include "op_samples.h"
#include "ops/table.h"
#include "recompute.h"
#include "scope.h"
#include "suites.h"
#include "system.h"
#include "tape.h"
#include "tensor_struct.h"
#include "usage_error.h"

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

/* A graph is built three times: each function in it is called plainly, or by ag_recompute of either kind. */
typedef Tensor *Caller(AgFunction *f, void *arg, Tensor **in, int n);

static Tensor *plainly(AgFunction *f, void *arg, Tensor **in, int n)
{
    (void)n;
    return f(in, arg);
}

static Tensor *recomputed(AgFunction *f, void *arg, Tensor **in, int n)
{
    (void)n;
    AgMark begin = ag_mark();
    return ag_recompute(begin, f(in, arg), AG_PRODUCTS);
}

static Tensor *cheaply(AgFunction *f, void *arg, Tensor **in, int n)
{
    (void)n;
    recompute_least_bytes = 0;
    AgMark begin = ag_mark();
    return ag_recompute(begin, f(in, arg), AG_CHEAP);
}

enum { SIDE = 8, LEAVES = 4 };
/* What a graph is built from: leaves (SIDE,SIDE) that require a gradient. Functions get it as `arg`. */
typedef struct { Caller *call; Tensor *leaf[LEAVES]; } Parts;
typedef Tensor *Graph(Parts *p);                                        /* returns what is summed to the loss */

/* h = tanh(x w1) with dropout, then x + h w2. */
static Tensor *block(Tensor **in, void *arg)
{
    Parts *p = arg;
    Tensor *h = ag_dropout(ag_tanh(ag_matmul(in[0], p->leaf[1])), 0.4);
    return ag_add(in[0], ag_dropout(ag_matmul(h, p->leaf[2]), 0.2));
}

static Tensor *call_block(Parts *p, Tensor *x)
{
    return p->call(block, p, &x, 1);
}

static Tensor *blocks(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    for (int i = 0; i < 3; i++) x = call_block(p, x);
    return ag_mul(x, ag_dropout(p->leaf[3], 0.5));
}

/* The order of the sums matters: x has uses before, inside and after the function. */
static Tensor *uses_thrice(Tensor **in, void *arg)
{
    Parts *p = arg;
    return ag_mul(ag_mul(in[0], p->leaf[1]), ag_add(ag_tanh(in[0]), in[0]));
}

static Tensor *input_used_inside_and_outside(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]), *before = ag_mul(x, p->leaf[2]);
    Tensor *y = p->call(uses_thrice, p, &x, 1);
    return ag_add(ag_add(before, ag_mul(y, y)), ag_mul(ag_exp(x), p->leaf[3]));
}

static Tensor *leaf_as_input(Parts *p)
{
    Tensor *before = ag_mul(p->leaf[1], p->leaf[2]), *in[] = { p->leaf[1] };    /* the function uses it as in[0] as well */
    return ag_add(ag_mul(before, p->leaf[0]), ag_mul(p->call(uses_thrice, p, in, 1), ag_exp(p->leaf[1])));
}

static Tensor *of_two(Tensor **in, void *arg)
{
    Parts *p = arg;
    return ag_add(ag_matmul(ag_mul(in[0], in[1]), p->leaf[1]), ag_sub(ag_exp(in[1]), in[0]));
}

static Tensor *two_inputs(Parts *p)
{
    Tensor *in[] = { ag_tanh(p->leaf[0]), ag_sigmoid(p->leaf[3]) };
    return ag_mul(p->call(of_two, p, in, 2), in[1]);
}

static Tensor *one_tensor_as_two_inputs(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]), *in[] = { x, x };
    return ag_mul(p->call(of_two, p, in, 2), x);
}

static Tensor *input_without_gradient(Parts *p)
{
    Tensor *in[] = { tensor_normal(SHAPE(SIDE, SIDE), 0, 1), ag_tanh(p->leaf[0]) };
    return ag_mul(p->call(of_two, p, in, 2), in[0]);
}

static Tensor *only_leaves_require_a_gradient(Parts *p)
{
    Tensor *x = tensor_normal(SHAPE(SIDE, SIDE), 0, 1);
    return call_block(p, call_block(p, x));
}

static Tensor *takes_rows(Tensor **in, void *arg)
{
    Parts *p = arg;
    Tensor *row = ag_tanh(ag_slice(in[1], 0, 3, 4));
    return ag_where(in[2], ag_tanh(ag_embedding(p->leaf[1], in[0])), ag_mul(in[1], row));
}

static Tensor *ids_and_masks(Parts *p)
{
    static const int32_t ids[SIDE] = { 0, 3, 3, 7, 1, 3, 2, 2 };
    static const uint8_t mask[SIDE] = { 1, 0, 1, 1, 0, 1, 0, 1 };
    Tensor *in[] = { tensor_ints(SHAPE(SIDE), ids), ag_exp(p->leaf[0]), tensor_bools(SHAPE(SIDE), mask) };
    return ag_mul(p->call(takes_rows, p, in, 3), ag_embedding(p->leaf[1], in[0]));
}

static Tensor *of_none(Tensor **in, void *arg)
{
    (void)in;
    Parts *p = arg;
    return ag_tanh(ag_matmul(p->leaf[1], ag_dropout(p->leaf[2], 0.3)));
}

static Tensor *no_inputs(Parts *p)
{
    return ag_mul(p->call(of_none, p, NULL, 0), p->leaf[2]);
}

static Tensor *outer(Tensor **in, void *arg)
{
    Parts *p = arg;
    Tensor *x = call_block(p, ag_mul(in[0], p->leaf[3])), *both[] = { x, in[0] };
    return ag_add(call_block(p, x), p->call(of_two, p, both, 2));
}

static Tensor *nested(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    return ag_mul(p->call(outer, p, &x, 1), x);
}

static Tensor *outermost(Tensor **in, void *arg)
{
    Parts *p = arg;
    return ag_mul(p->call(outer, p, in, 1), ag_dropout(in[0], 0.1));
}

static Tensor *nested_twice(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    return ag_mul(p->call(outermost, p, &x, 1), x);
}

/* The inner function uses the input of the outer one without getting it as an input of its own: a leaf in both runs. */
typedef struct { Parts *parts; Tensor *x; } Closure;

static Tensor *uses_closure(Tensor **in, void *arg)
{
    const Closure *c = arg;
    return ag_mul(ag_tanh(in[0]), c->x);
}

static Tensor *makes_closure(Tensor **in, void *arg)
{
    Closure c = { arg, in[0] };
    Tensor *h = ag_mul(in[0], c.parts->leaf[1]);
    return ag_add(plainly(uses_closure, &c, &h, 1), in[0]);
}

static Tensor *closures(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    return p->call(makes_closure, p, &x, 1);
}

/* Only the leaves of the inner functions require a gradient. */
static Tensor *calls_inside(Tensor **in, void *arg)
{
    Parts *p = arg;
    return ag_add(p->call(of_none, p, NULL, 0), in[0]);
}

static Tensor *leaves_of_an_inner_function(Parts *p)
{
    Tensor *x = tensor_normal(SHAPE(SIDE, SIDE), 0, 1);
    return p->call(calls_inside, p, &x, 1);
}

static Tensor *calls_another(Tensor **in, void *arg)
{
    Tensor *other[2] = { ag_exp(in[0]) };
    other[1] = ag_mul(other[0], in[1]);
    return of_two(other, arg);
}

static Tensor *functions_that_call_another(Parts *p)
{
    Tensor *in[] = { ag_tanh(p->leaf[0]), p->leaf[3] }, *x = in[0];
    return ag_mul(p->call(calls_another, p, in, 2), x);
}

static Tensor *result_used_twice(Parts *p)
{
    Tensor *y = call_block(p, ag_tanh(p->leaf[0]));
    return ag_mul(ag_mul(y, ag_exp(y)), p->leaf[3]);
}

static Tensor *returns_input(Tensor **in, void *arg)
{
    (void)arg;
    return in[0];
}

static Tensor *returns_leaf(Tensor **in, void *arg)
{
    (void)in;
    return ((Parts *)arg)->leaf[2];
}

static Tensor *functions_that_compute_nothing(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    x = p->call(returns_input, p, &x, 1);
    return ag_mul(ag_mul(x, p->call(returns_leaf, p, &x, 1)), p->call(returns_input, p, &p->leaf[1], 1));
}

static Tensor *detaches(Tensor **in, void *arg)
{
    return ag_detach(ag_mul(in[0], ((Parts *)arg)->leaf[1]));
}

static Tensor *result_without_gradient(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    return ag_mul(p->call(detaches, p, &x, 1), x);
}

/* The function opens scopes of its own, and leaves of its own are not those of the graph. */
static Tensor *has_scopes(Tensor **in, void *arg)
{
    Parts *p = arg;
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *constant = ag_end_return(s, ag_tanh(ag_matmul(in[0], p->leaf[2])));
    s = ag_begin(AG_RECORD);
    ag_end(s);
    Tensor *own = tensor_set_requires_grad(tensor_normal(SHAPE(SIDE, SIDE), 0, 1), true);
    return ag_mul(ag_mul(constant, own), ag_mul(in[0], p->leaf[1]));
}

static Tensor *functions_with_scopes(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    return ag_mul(p->call(has_scopes, p, &x, 1), x);
}

static Tensor *another_precision_later(Parts *p)
{
    ag_precision(AG_BF16);
    Tensor *x = call_block(p, ag_tanh(p->leaf[0]));
    ag_precision(AG_FLOAT32);
    x = ag_matmul(call_block(p, x), p->leaf[3]);
    ag_precision(AG_BF16);
    return x;
}

static Tensor *sets_precision(Tensor **in, void *arg)
{
    AgPrecision before = ag_precision(AG_BF16);
    Tensor *y = block(in, arg);
    ag_precision(before);
    return ag_matmul(y, ((Parts *)arg)->leaf[3]);
}

static Tensor *precision_inside(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    return p->call(sets_precision, p, &x, 1);
}

static Tensor *retained_input(Parts *p)
{
    Tensor *x = ag_retain(ag_tanh(p->leaf[0])), *y = ag_retain(call_block(p, x));
    return ag_mul(y, ag_exp(x));
}

/* Attention is kept with what it reads, and so is a value that shares the memory of another. */
static Tensor *attends(Tensor **in, void *arg)
{
    Parts *p = arg;
    Tensor *x = ag_layer_norm(in[0], ag_sum_dims(p->leaf[1], DIMS(0), false), NULL, (AgNorm){ 1e-5, true, false });
    Tensor *q = ag_reshape(ag_linear(x, p->leaf[1], NULL), SHAPE(1, SIDE, SIDE)), *k = ag_reshape(x, SHAPE(1, SIDE, SIDE));
    AgAttention how = { .heads = 2, .causal = true, .dropout = 0.2 };
    Tensor *y = ag_reshape(ag_attention(q, ag_rms_norm(k, NULL, 1e-5), k, NULL, how), SHAPE(SIDE, SIDE));
    Tensor *h = ag_linear_activate(ag_add(ag_linear(y, p->leaf[2], NULL), in[0]), p->leaf[3], NULL, AG_RELU);
    h = ag_linear_activate(h, p->leaf[1], NULL, AG_GELU);
    return ag_add(h, ag_dropout(ag_linear(ag_concat((Tensor *[]){ h, ag_mul(ag_silu(h), h) }, 1, 1),
                                          p->leaf[2], NULL), 0.2));
}

static Tensor *layers_of_attention(Parts *p)
{
    Tensor *x = ag_tanh(p->leaf[0]);
    for (int i = 0; i < 2; i++) x = p->call(attends, p, &x, 1);
    return x;
}

/* A released value is used again in the forward pass. */
static Tensor *keeps_handle(Tensor **in, void *arg)
{
    Closure *c = arg;
    c->x = ag_tanh(ag_matmul(in[0], c->parts->leaf[1]));
    return ag_mul(ag_exp(c->x), in[0]);
}

static Tensor *inner_value_used_later(Parts *p)
{
    Closure c = { p, NULL };
    Tensor *x = ag_tanh(p->leaf[0]), *y = p->call(keeps_handle, &c, &x, 1);
    return ag_mul(ag_sigmoid(c.x), y);
}

/* No rule reads x, and its gradient begins before the sum is computed again. */
static Tensor *adds_and_squares(Tensor **in, void *arg)
{
    Tensor *sum = ag_add(in[0], ((Parts *)arg)->leaf[1]);
    return ag_mul(sum, sum);
}

static Tensor *input_that_no_rule_reads(Parts *p)
{
    Tensor *x = ag_scale(p->leaf[0], 2), *y = p->call(adds_and_squares, p, &x, 1);
    return ag_add(y, ag_neg(x));
}

static Graph *const graphs[] = { blocks, input_used_inside_and_outside, leaf_as_input, two_inputs, one_tensor_as_two_inputs,
                                 input_without_gradient, only_leaves_require_a_gradient, ids_and_masks, no_inputs, nested,
                                 nested_twice, closures, leaves_of_an_inner_function, result_used_twice,
                                 functions_that_call_another, functions_that_compute_nothing, result_without_gradient,
                                 functions_with_scopes, another_precision_later, precision_inside, retained_input,
                                 layers_of_attention, inner_value_used_later, input_that_no_rule_reads };
enum { N_GRAPHS = sizeof graphs / sizeof *graphs };

/* How the loss is run: each result has a loss, gradients, and the random state at the end. */
typedef enum { BACKWARD, KEEP_AND_AGAIN, TWO_LOSSES, WITH_GRADIENTS_BEFORE, N_KINDS } Kind;
typedef struct { ag_real y[SIDE * SIDE], grad[LEAVES][SIDE * SIDE]; bool has_grad[LEAVES]; AgRandom forward, end; } Result;

static void run_backward(Kind kind, Parts *p, Tensor *y)
{
    Tensor *loss = ag_sum(y), *other = kind == TWO_LOSSES ? ag_mean(ag_exp(ag_scale(y, 0.1))) : NULL;
    if (kind == KEEP_AND_AGAIN) ag_backward_keep(loss);
    if (kind == WITH_GRADIENTS_BEFORE) ag_backward(ag_sum(ag_exp(p->leaf[1])));
    if (kind == TWO_LOSSES) ag_backward(other);
    ag_backward(loss);
}

static void run(Result *r, Graph *graph, Kind kind, Caller *call)
{
    *r = (Result){ .y = { 0 } };
    ag_seed(5);
    AgScope s = ag_begin(AG_RECORD);
    Parts p = { .call = call };
    for (int i = 0; i < LEAVES; i++) {
        p.leaf[i] = tensor_set_requires_grad(tensor_normal(SHAPE(SIDE, SIDE), 0, 1), true);
        tensor_name(p.leaf[i], ((const char *[]){ "a", "b", "c", "d" })[i]);
    }
    Tensor *y = graph(&p);
    ck_assert_int_eq(tensor_numel(y), SIDE * SIDE);
    memcpy(r->y, tensor_data(y), sizeof r->y);
    r->forward = ag_random_state();
    run_backward(kind, &p, y);
    for (int i = 0; i < LEAVES; i++) {
        const ag_real *grad = tensor_grad_data(p.leaf[i]);
        r->has_grad[i] = grad != NULL;
        if (grad) memcpy(r->grad[i], grad, sizeof r->grad[i]);
    }
    r->end = ag_random_state();
    ag_end(s);
}

static void check_same_bits(int graph, Kind kind, Caller *caller)
{
    Result plain, again;
    run(&plain, graphs[graph], kind, plainly);
    run(&again, graphs[graph], kind, caller);
    ck_assert_msg(memcmp(plain.y, again.y, sizeof plain.y) == 0, "graph %d, kind %d: another result", graph, (int)kind);
    for (int i = 0; i < LEAVES; i++) {
        ck_assert_msg(plain.has_grad[i] == again.has_grad[i], "graph %d, kind %d, leaf %d", graph, (int)kind, i);
        ck_assert_msg(memcmp(plain.grad[i], again.grad[i], sizeof plain.grad[i]) == 0,
                      "graph %d, kind %d: another gradient of leaf %d", graph, (int)kind, i);
    }
    ck_assert(plain.forward.seed == again.forward.seed && plain.forward.counter == again.forward.counter);
    ck_assert(plain.end.seed == again.end.seed && plain.end.counter == again.end.counter);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}

/* A value that the program has changed cannot be computed again. */
START_TEST(a_value_that_was_written_stays)
{
    AgScope s = ag_begin(AG_RECORD);
    AgMark begin = ag_mark();
    Tensor *a = tensor_set_requires_grad(tensor_full(SHAPE(2), 1), true), *h = ag_add(a, a);
    tensor_mutable_data(ag_detach(h))[0] = 5;
    Tensor *y = ag_recompute(begin, ag_neg(ag_mul(h, h)), AG_PRODUCTS);
    ck_assert(tensor_data(h)[0] == 5 && tensor_data(h)[1] == 2);
    ag_backward(ag_sum(y));
    ck_assert(tensor_grad_data(a)[0] == -20 && tensor_grad_data(a)[1] == -8);
    ag_end(s);
}
END_TEST

START_TEST(the_bits_of_a_plain_call)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        check_same_bits(_i, kind, recomputed);
        check_same_bits(_i, kind, cheaply);
    }
}
END_TEST

START_TEST(the_same_in_guard_mode_and_in_a_search_for_nan)
{
    ag_guard(true);
    for (int kind = 0; kind < N_KINDS; kind++) check_same_bits(_i, kind, recomputed);
    ag_guard(false);
    ag_find_nan(true);
    check_same_bits(_i, BACKWARD, recomputed);
    ag_find_nan(false);
}
END_TEST

static GPTOptions small_gpt(bool recompute)
{
    return (GPTOptions){ .layers = 3, .heads = 2, .width = 16, .vocab = 11, .context = 12, .dropout = 0.2, .bias = true,
                         .eps = 1e-5, .recompute = recompute };
}

/* Trains for some steps; returns the model. */
static GPT *trained_gpt(bool recompute, double loss[6])
{
    ag_seed(3);
    GPT *m = gpt_new(small_gpt(recompute));
    Optimizer *adam = nn_adamw_new(m, 1e-2);
    for (int step = 0; step < 6; step++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *ids = tensor_randint(SHAPE(2, 12), 0, 11), *targets = tensor_randint(SHAPE(2, 12), 0, 11);
        Tensor *l = lm_loss(m, ids, targets);
        ag_backward(l);
        loss[step] = tensor_item(l);
        nn_clip_grad_norm(m, 1);
        nn_optimizer_step(adam);
        ag_end(s);
    }
    ag_free(adam);
    return m;
}

START_TEST(gpt_learns_the_same)
{
    ag_precision(_i == 0 ? AG_FLOAT32 : AG_BF16);
    double plain_loss[6], loss[6];
    GPT *plain = trained_gpt(false, plain_loss);
    AgRandom state = ag_random_state();
    GPT *m = trained_gpt(true, loss), *copy = nn_clone(m);
    ck_assert_mem_eq(plain_loss, loss, sizeof loss);
    ck_assert_uint_eq(state.counter, ag_random_state().counter);
    check_same_parameters(plain, m);
    ck_assert(copy->options.recompute);
    ag_precision(AG_FLOAT32);
    NnSettings *s = nn_settings_new();
    GPTOptions found = { .recompute = false };
    nn_fields_to_settings(&gpt_fields, &m->options, s);
    ck_assert(nn_fields_from_settings(&gpt_fields, &found, s) && found.layers == 3 && !found.recompute);    /* not saved */
    ag_free(s);
    ag_free(copy);
    ag_free(m);
    ag_free(plain);
}
END_TEST

static Tensor *of_three(Tensor **in, void *arg)
{
    (void)arg;
    AgRandom before = ag_random_state();
    ag_set_random_state((AgRandom){ 5, 0 });
    Tensor *h = ag_dropout(ag_tanh(ag_matmul(in[0], in[1])), 0.4);
    ag_set_random_state(before);
    return ag_mul(ag_add(h, in[0]), in[2]);
}

static Tensor *recomputed_of_three(Tensor **in, void *arg)
{
    return recomputed(of_three, arg, in, 3);
}

START_TEST(numerical_gradients_agree)
{
    ag_seed(1);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *in[] = { tensor_normal(SHAPE(3, 4), 0, 1), tensor_normal(SHAPE(4, 4), 0, 1), tensor_normal(SHAPE(3, 4), 0, 1) };
    for (int i = 0; i < 3; i++) tensor_set_requires_grad(in[i], true);
    ck_assert(ag_gradcheck(recomputed_of_three, NULL, in, 3, stderr));
    tensor_set_requires_grad(in[1], false);
    ck_assert(ag_gradcheck(recomputed_of_three, NULL, in, 3, stderr));
    ag_end(s);
}
END_TEST

static Tensor *w_times_w(Tensor **in, void *arg)
{
    Tensor *w = arg;
    return ag_mul(ag_mul(in[0], w), w);
}

START_TEST(the_graph_can_be_kept)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_full(AG_SCALAR, 0.5), true);
    Tensor *a = ag_add(w, w), *x = ag_scale(a, 2), *loss = recomputed(w_times_w, w, &x, 1);
    for (int i = 1; i < 4; i++) {
        ag_backward_keep(loss);
        ck_assert(tensor_item(a) == 1 && tensor_item(x) == 2 && tensor_item(loss) == 0.5);
        ck_assert(tensor_item(tensor_grad(w)) == 3 * i);
    }
    ag_end(s);
}
END_TEST

/* ---- every operation --------------------------------------------------------------------------------------------- */

/* The operations whose results stay, and why. All others are computed again. */
#define LONG_WORK "it takes as long as a product"
#define SMALL     "the result has fewer items than the input"
#define ELSEWHERE "no layer of a model keeps a large one"
static const char *const stays[OP_COUNT] = {
    [OP_attention] = LONG_WORK, [OP_self_attention] = LONG_WORK, [OP_conv2d] = LONG_WORK,
    [OP_conv2d_with] = LONG_WORK, [OP_conv_transpose2d] = LONG_WORK, [OP_max_pool2d] = SMALL,
    [OP_mean_pool2d] = SMALL, [OP_sum_dims] = SMALL, [OP_mean_dims] = SMALL, [OP_max_dim] = SMALL, [OP_min_dim] = SMALL,
    [OP_var_dims] = SMALL, [OP_mse_loss] = SMALL, [OP_binary_cross_entropy] = SMALL, [OP_cross_entropy] = SMALL,
    [OP_linear_cross_entropy] = SMALL, [OP_nll_loss] = SMALL, [OP_kl_div] = SMALL, [OP_label_smoothing] = SMALL,
    [OP_where] = ELSEWHERE, [OP_masked_fill] = ELSEWHERE, [OP_cumsum] = ELSEWHERE, [OP_softmax] = ELSEWHERE,
    [OP_log_softmax] = ELSEWHERE, [OP_masked_softmax] = ELSEWHERE, [OP_gather] = ELSEWHERE, [OP_scatter_add] = ELSEWHERE,
    [OP_scatter_max] = ELSEWHERE, [OP_index_add] = ELSEWHERE,
    [OP_permute] = ELSEWHERE, [OP_index_select] = ELSEWHERE, [OP_concat] = ELSEWHERE, [OP_expand] = ELSEWHERE,
};

enum { ITEMS = 1000 };
typedef struct { ag_real y[ITEMS], grad[MAX_INPUTS][ITEMS]; } OpResult;

static Tensor *scaled(Sample *s, int i, AgShape shape, SampleRange range)
{
    (void)shape;
    (void)range;
    return ag_scale(s->in[i], 1);
}

static void copy_items(ag_real *to, const Tensor *x)
{
    ck_assert_int_le(x->numel, ITEMS);
    memcpy(to, tensor_data(x), (size_t)x->numel * sizeof *to);
}

/* A case of the operation between two others. `read`: the result is read before backward. */
static void run_sample(const Op *op, int number, Tensor **in, bool again, bool read, OpResult *r)
{
    memset(r, 0, sizeof *r);
    ag_seed(7);
    AgScope s = ag_begin(AG_RECORD);
    AgMark begin = ag_mark();
    Sample sample = { .number = number, .in = in, .make_input = scaled };
    Tensor *y = op_samples[op - op_table](&sample), *square = ag_mul(y, y);
    if (again) ag_recompute(begin, square, AG_PRODUCTS);
    for (const Tensor *t = tape(); again && t && t != begin.newest; t = t->older) {
        if (t->op != op || t == square || t->numel == 0) continue;
        const char *why = stays[op - op_table];
        ck_assert_msg(!t->data == !why, "%s, case %d: the value %s", op->name, number, why ? "was released" : "stays");
    }
    if (read) copy_items(r->y, y);
    ag_backward(ag_sum(square));
    for (int i = 0; i < MAX_INPUTS; i++)
        if (in[i] && tensor_grad(in[i])) copy_items(r->grad[i], tensor_grad(in[i])), tensor_zero_grad(in[i]);
    ag_end(s);
}

START_TEST(every_operation)
{
    static OpResult plain, released, was_read;
    const Op *op = &op_table[_i];
    int number = 0;
    for (;; number++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *in[MAX_INPUTS] = { NULL };
        bool found = op_samples[op - op_table](&(Sample){ .number = number, .in = in }) != NULL;
        ag_end(s);
        if (!found) break;
        run_sample(op, number, in, false, true, &plain);
        run_sample(op, number, in, true, false, &released);
        run_sample(op, number, in, true, true, &was_read);
        ck_assert_msg(memcmp(&plain, &was_read, sizeof plain) == 0, "%s, case %d: read before backward", op->name, number);
        ck_assert_msg(memcmp(plain.grad, released.grad, sizeof plain.grad) == 0, "%s, case %d", op->name, number);
        for (int i = 0; i < MAX_INPUTS; i++) tensor_free(in[i]);
    }
    ck_assert_int_ge(number, 8);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A chain of large values, of which a plain call keeps 20. */
static Tensor *chain(Tensor **in, void *arg)
{
    Tensor *x = in[0];
    for (int i = 0; i < 20; i++) x = ag_tanh(x);
    return ag_mul(x, arg);
}

enum { LONG = 10000 };

/* The most bytes during a step of ten chains, in values of LONG numbers. */
static double peak_of(Caller *call)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *w = tensor_set_requires_grad(tensor_ones(SHAPE(LONG)), true);
    AgScope step = ag_begin(AG_RECORD);
    size_t before = ag_memory().in_use;
    ag_memory_reset_peak();
    Tensor *x = w;
    for (int i = 0; i < 10; i++) x = call(chain, w, &x, 1);
    ag_backward(ag_sum(x));
    double peak = (double)(ag_memory().peak - before) / (LONG * sizeof(ag_real));
    ag_end(step);
    ag_end(s);
    return peak;
}

START_TEST(the_peak_is_that_of_one_function)
{
    ck_assert(peak_of(plainly) > 200);
    double peak = peak_of(recomputed);
    ck_assert_msg(peak < 37, "%g", peak);               /* 10 inputs, 21 values of one chain, gradients */
    ck_assert(peak_of(cheaply) < 37);
    recompute_least_bytes = LONG * sizeof(ag_real) + 1;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(LONG)), true);
    AgMark begin = ag_mark();
    Tensor *y = ag_exp(ag_tanh(x));
    size_t before = ag_memory().in_use;
    ag_recompute(begin, y, AG_CHEAP);                   /* a smaller value stays */
    ck_assert_uint_eq(ag_memory().in_use, before);
    recompute_least_bytes = LONG * sizeof(ag_real);
    ag_recompute(begin, y, AG_CHEAP);
    ck_assert_uint_lt(ag_memory().in_use, before);
    ag_end(s);
}
END_TEST

/* No rule reads the sums but the last. To ask for it again changes nothing. */
START_TEST(what_only_a_later_value_needs_is_released_at_once)
{
    enum { SUMS = 30 };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(LONG)), true), *sum = x;
    ag_fill_normal(x, 0, 1);
    AgMark begin = ag_mark();
    for (int i = 0; i < SUMS; i++) sum = ag_add(sum, x);
    Tensor *y = ag_mul(sum, sum);
    for (int i = 0; i <= _i; i++) ag_recompute(begin, y, AG_PRODUCTS);
    Tensor *loss = ag_sum(y);
    ag_memory_reset_peak();
    size_t before = ag_memory().in_use;
    ag_backward(loss);
    size_t peak = (ag_memory().peak - before) / (LONG * sizeof(ag_real));
    ck_assert_msg(peak < 5, "%zu", peak);
    ag_end(s);
}
END_TEST

static size_t peak_of_gpt(bool recompute)
{
    GPTOptions o = small_gpt(recompute);
    o.layers = 8;
    GPT *m = gpt_new(o);
    AgScope s = ag_begin(AG_RECORD);
    size_t before = ag_memory().in_use;
    ag_memory_reset_peak();
    ag_backward(lm_loss(m, tensor_randint(SHAPE(8, 12), 0, 11), tensor_randint(SHAPE(8, 12), 0, 11)));
    size_t peak = ag_memory().peak - before;
    ag_end(s);
    ag_free(m);
    return peak;
}

START_TEST(gpt_needs_less)
{
    size_t plain = peak_of_gpt(false), again = peak_of_gpt(true);
    ck_assert_msg(again < plain * 0.6, "%zu of %zu bytes", again, plain);
    recompute_least_bytes = 0;
    size_t cheap = peak_of_gpt(false);
    ck_assert_msg(cheap < plain * 0.8 && again < cheap, "%zu of %zu bytes", cheap, plain);
}
END_TEST

START_TEST(steps_ask_the_system_for_no_memory)
{
    ag_guard(false);                        /* it caches no memory */
    GPT *m = gpt_new(small_gpt(true));
    int64_t calls = 0;
    for (int step = 0; step < 60; step++) {
        if (step == 30) calls = ag_memory().system_calls;
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(lm_loss(m, tensor_randint(SHAPE(2, 12), 0, 11), tensor_randint(SHAPE(2, 12), 0, 11)));
        nn_zero_grad(m);
        ag_end(s);
    }
    ck_assert_int_eq(ag_memory().system_calls, calls);
    ag_free(m);
}
END_TEST

static size_t peak_of_reshaped(AgRecompute *what)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_ones(SHAPE(LONG)), true);
    AgMark begin = ag_mark();
    Tensor *y = ag_retain(ag_reshape(ag_exp(w), SHAPE(10, LONG / 10)));
    if (what) ag_recompute(begin, y, *what);
    size_t before = ag_memory().in_use;
    ag_memory_reset_peak();
    ag_backward(ag_sum(y));
    size_t peak = ag_memory().peak - before;
    ag_end(s);
    return peak;
}

/* To release one of two tensors that share memory would free nothing, and computing it again would need more. */
START_TEST(memory_that_is_shared_with_a_kept_value_stays)
{
    size_t plain = peak_of_reshaped(NULL);
    ck_assert_uint_eq(peak_of_reshaped(&(AgRecompute){ AG_PRODUCTS }), plain);
}
END_TEST

START_TEST(nothing_is_recorded_without_gradients)
{
    Parts p = { .call = recomputed };
    AgScope s = ag_begin(AG_RECORD);
    for (int i = 0; i < LEAVES; i++) p.leaf[i] = tensor_normal(SHAPE(SIDE, SIDE), 0, 1);
    ck_assert(!tensor_requires_grad(call_block(&p, p.leaf[0])));
    tensor_set_requires_grad(p.leaf[2], true);
    Tensor *y = call_block(&p, p.leaf[0]), *h = ag_tanh(y);
    ck_assert(tensor_requires_grad(y));
    AgScope inner = ag_begin(AG_NO_GRAD);
    p.leaf[1] = h;                                              /* nothing needs to reach it */
    ck_assert(!tensor_requires_grad(call_block(&p, h)));
    ag_end(inner);
    ag_end(s);
}
END_TEST

static void use_everything(void)
{
    Result r;
    run(&r, nested_twice, BACKWARD, recomputed);
    run(&r, ids_and_masks, KEEP_AND_AGAIN, recomputed);
}

START_TEST(each_allocation_fails_once)
{
    int64_t requests = faults_everywhere(use_everything, _i);
    if (faults_work()) ck_assert_int_gt(requests, 5);
}
END_TEST

/* ---- looking inside ---------------------------------------------------------------------------------------------- */

static void check_part(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is missing in\n%s", part, text);
}

/* Two calls of w_times_w, on numbers: y = (2 w)^2 3 w^2, and again. */
static Tensor *explained_graph(Tensor *w, Caller *call)
{
    Tensor *x = ag_scale(w, 2), *y = call(w_times_w, w, &x, 1), *z = ag_mul(x, y);
    return ag_add(y, call(w_times_w, w, &z, 1));
}

/* A drawing has identifiers of tensors, which differ, so the words are compared. */
START_TEST(it_is_explained_and_drawn)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_name(tensor_set_requires_grad(tensor_full(AG_SCALAR, 3), true), "w");
    char *plain = explained(explained_graph(w, plainly));
    Tensor *y = explained_graph(w, recomputed);
    char *text = explained(y), *drawing = drawn(y), *again = explained(y);
    ck_assert_str_eq(text, plain);
    ck_assert_str_eq(text, again);
    check_part(text, "\nGradients of the leaves:\n  dw     = 5886\n");
    check_part(drawing, "324");
    ck_assert_ptr_null(tensor_grad_data(w));                    /* the explanation has changed nothing */
    ag_backward(y);
    ck_assert(tensor_grad_data(w)[0] == 5886);
    free(again);
    free(drawing);
    free(text);
    free(plain);
    ag_end(s);
}
END_TEST

/* ---- reading, and usage errors ----------------------------------------------------------------------------------- */

START_TEST(a_released_value_can_be_read)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(2), 3), true);
    AgMark begin = ag_mark();
    Tensor *h = ag_mul(w, w), *kept = ag_retain(ag_scale(h, 2)), *y = ag_mul(ag_exp(ag_neg(kept)), h);
    size_t before = ag_memory().in_use;
    ck_assert_ptr_eq(ag_recompute(begin, y, AG_PRODUCTS), y);
    ck_assert_uint_lt(ag_memory().in_use, before);
    ck_assert(tensor_data(h)[1] == 9 && tensor_data(kept)[0] == 18);
    ag_recompute(begin, y, AG_PRODUCTS);
    ck_assert(tensor_data(h)[1] == 9);
    ag_backward(ag_sum(y));
    ck_assert(tensor_data(kept)[0] == 18);
    EXPECT_USAGE_ERROR("was released by backward; call ag_retain on it first", tensor_data(h));
    ag_end(s);
}
END_TEST

/* Nothing else reads the retained value. After backward it could not be computed again. */
START_TEST(a_retained_value_is_there_after_backward)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(2), 3), true);
    AgMark begin = ag_mark();
    Tensor *kept = ag_retain(ag_scale(w, 2)), *y = ag_recompute(begin, ag_neg(ag_neg(kept)), AG_PRODUCTS);
    ag_backward(ag_sum(y));
    ck_assert(tensor_data(kept)[1] == 6);
    ag_end(s);
}
END_TEST

/* u needs b, which can be computed again, and x, which was released by backward. b is newer than what v needs. */
START_TEST(after_an_error_other_values_can_be_read)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(2), 3), true), *x = ag_scale(w, 4);
    AgMark begin = ag_mark();
    Tensor *a = ag_scale(w, 2), *b = ag_scale(w, 5), *u = ag_add(b, x), *v = ag_mul(a, a);
    ag_recompute(begin, ag_add(u, v), AG_PRODUCTS);
    ag_backward(ag_sum(x));
    EXPECT_USAGE_ERROR("cannot be computed again after backward: call ag_retain on it first", tensor_data(u));
    ck_assert(tensor_data(v)[1] == 36);
    ag_end(s);
}
END_TEST

START_TEST(reading_a_released_value_leaves_what_was_kept)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(2, 2), 3), true);
    recompute_least_bytes = 0;
    AgMark begin = ag_mark();
    Tensor *product = ag_matmul(w, w), *sum = ag_add(product, w), *y = ag_recompute(begin, ag_mul(sum, sum), AG_CHEAP);
    ck_assert(tensor_data(sum)[0] == 21);
    ck_assert(tensor_data(product)[0] == 18);
    ag_backward(ag_sum(y));
    ag_end(s);
}
END_TEST

/* A value that is read in the forward pass stays, with those that it was computed from. */
START_TEST(what_was_read_stays)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(LONG), 3), true);
    recompute_least_bytes = 0;
    AgMark begin = ag_mark();
    Tensor *x = ag_add(w, w), *t = ag_add(x, w), *y = ag_recompute(begin, ag_add(ag_mul(t, t), w), AG_CHEAP);
    const ag_real *values = tensor_data(x);
    ck_assert(tensor_data(t)[LONG - 1] == 9);
    Tensor *other = tensor_full(SHAPE(LONG), 7);
    ck_assert(values[LONG - 1] == 6 && tensor_data(other)[0] == 7);
    ag_backward(ag_sum(y));
    ck_assert(tensor_grad_data(w)[LONG - 1] == 2 * 9 * 3 + 1);

    tensor_zero_grad(w);
    begin = ag_mark();
    x = ag_add(w, w), t = ag_add(x, w);
    y = ag_recompute(begin, ag_add(ag_mul(t, t), w), AG_CHEAP);
    Tensor *z = ag_add(x, t);                           /* two released values, of which one needs the other */
    ck_assert(tensor_data(z)[0] == 15);
    ag_backward(ag_sum(ag_add(y, z)));
    ck_assert(tensor_grad_data(w)[0] == 2 * 9 * 3 + 1 + 5);

    tensor_zero_grad(w);
    begin = ag_mark();
    x = ag_add(w, w), t = ag_add(x, w);
    Tensor *unread = ag_add(x, t);                      /* the sum after it does not read it */
    y = ag_recompute(begin, ag_add(ag_mul(t, t), unread), AG_CHEAP);
    ck_assert(tensor_data(unread)[0] == 15);
    ag_backward(ag_sum(y));
    ck_assert(tensor_grad_data(w)[0] == 2 * 9 * 3 + 5);
    ag_end(s);
}
END_TEST

/* Whether t was read before backward or not. */
START_TEST(backward_releases_what_was_read)
{
    size_t after[2];
    recompute_least_bytes = 0;
    for (int read = 0; read < 2; read++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(LONG), 3), true);
        AgMark begin = ag_mark();
        Tensor *t = ag_add(ag_add(w, w), w), *y = ag_recompute(begin, ag_mul(t, t), AG_CHEAP);
        if (read) ck_assert(tensor_data(t)[0] == 9);
        ag_backward(ag_sum(y));
        after[read] = ag_memory().in_use;
        ag_end(s);
    }
    ck_assert_uint_eq(after[1], after[0]);
}
END_TEST

/* Nothing needed u when it was released. A value that is released later needs it. */
START_TEST(a_released_value_is_needed_later)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(4, 4), 3), true);
    recompute_least_bytes = 0;
    AgMark outer = ag_mark();
    Tensor *x = ag_transpose(w, 0, 1);
    AgMark inner = ag_mark();
    Tensor *u = ag_add(x, w), *v = ag_recompute(inner, ag_add(u, w), AG_CHEAP);
    Tensor *y = ag_recompute(outer, ag_add(ag_mul(v, v), w), AG_CHEAP);
    ag_backward(ag_sum(ag_add(y, x)));
    ck_assert(tensor_grad_data(w)[0] == 2 * 9 * 3 + 1 + 1);
    ag_end(s);
}
END_TEST

/* Released memory of LONG numbers that was written in place. */
static void write_and_release(void)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(LONG));
    for (int i = 0; i < 3; i++) ag_fill(x, i);
    ag_end(s);
}

START_TEST(memory_that_was_written_before_is_used_again)
{
    ag_guard(false);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_ones(SHAPE(LONG / 10, 10)), true), *x = tensor_ones(SHAPE(10, 10));
    for (int i = 0; i < 2; i++) {
        write_and_release();                            /* the result of linear takes it, */
        AgMark begin = ag_mark();
        Tensor *y = ag_scale(ag_mul(ag_linear_activate(x, w, NULL, AG_RELU), ag_tanh(ag_linear(x, w, NULL))), 2);
        if (i == 1) ag_recompute(begin, y, AG_PRODUCTS);
        write_and_release();                            /* or the value that is computed again */
        ag_backward(ag_sum(y));
    }
    ag_end(s);
}
END_TEST

/* A released value that the statement reads cannot be computed again: the message names the statement and its line. */
#define REPORTS_CHANGE(what, statement) do {                                                                           \
        char end[100];                                                                                                 \
        snprintf(end, sizeof end, "or give add a copy (ag_keep) (at %s:%d)", __FILE__, __LINE__);                      \
        EXPECT_USAGE_ERROR(what "the recomputation of add (made at tests/test_recompute.c:", statement);               \
        ck_assert_msg(strstr(usage_message, "reads input 1, but ag_fill wrote it at") && strstr(usage_message, end),   \
                      "%s", usage_message);                                                                            \
    } while (0)

START_TEST(misuse_is_reported)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_name(tensor_set_requires_grad(tensor_ones(SHAPE(2)), true), "w"), *c = tensor_full(SHAPE(2), 2);
    AgMark begin = ag_mark();
    Tensor *y = ag_mul(ag_scale(w, 2), w);
    EXPECT_USAGE_ERROR("ag_recompute: y is NULL", ag_recompute(begin, NULL, AG_PRODUCTS));
    EXPECT_USAGE_ERROR("ag_recompute: 7 is not an AgRecompute; expected AG_CHEAP or AG_PRODUCTS", ag_recompute(begin, y, 7));
    AgScope inner = ag_begin(AG_RECORD);
    ag_tanh(w);
    AgMark ended = ag_mark();
    ag_end(inner);
    EXPECT_USAGE_ERROR("ag_recompute: the scope in which ag_mark was called has ended", ag_recompute(ended, y, AG_CHEAP));
    begin = ag_mark();
    Tensor *h = ag_add(w, c);
    y = ag_sum(ag_recompute(begin, ag_tanh(ag_exp(h)), AG_PRODUCTS));
    ag_fill(c, 3);
    REPORTS_CHANGE("ag_backward: ", ag_backward(y));
    REPORTS_CHANGE("tensor_data: ", tensor_data(h));
    REPORTS_CHANGE("ag_explain: ", ag_explain(stderr, y));
    begin = ag_mark();
    Tensor *owned = ag_keep(tensor_ones(SHAPE(2)));
    y = ag_sum(ag_recompute(begin, ag_tanh(ag_exp(ag_add(w, owned))), AG_PRODUCTS));
    tensor_free(owned);
    EXPECT_USAGE_ERROR("input 1 of add (made at tests/test_recompute.c:", ag_backward(y));
    begin = ag_mark();                                          /* the errors leave no state */
    tensor_zero_grad(w);
    y = ag_sum(ag_recompute(begin, ag_scale(ag_scale(w, 2), 3), AG_PRODUCTS));
    ag_backward(y);
    ck_assert(tensor_grad_data(w)[1] == 6);
    EXPECT_USAGE_ERROR("an earlier backward has run through", ag_backward(y));
    ag_end(s);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

/* A change of the mode changes nothing in a graph that exists. */
START_TEST(layers)
{
    ag_seed(2);
    Sequential *s = nn_sequential_new();
    nn_sequential_add(s, nn_linear_new(4, 4));
    nn_sequential_add(s, nn_dropout_new(0.5));
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x = tensor_normal(SHAPE(3, 4), 0, 1);
    Tensor *y = ag_sum(nn_recompute(s, x));
    nn_eval(s);
    ag_backward(y);
    EXPECT_USAGE_ERROR(", in nn_recompute called at tests/test_recompute.c:", nn_recompute(s, tensor_ones(SHAPE(2, 3))));
    ck_assert(strstr(usage_message, "linear: x (2, 3) and weight (4, 4) do not fit") != NULL);
    EXPECT_USAGE_ERROR("nn_recompute: a ModuleList has no forward with one input", nn_recompute(nn_list_new(), x));
    EXPECT_USAGE_ERROR("nn_recompute: the module is NULL", nn_recompute(NULL, x));
    y = ag_sum(nn_recompute(s, x));
    ag_free(s);
    EXPECT_USAGE_ERROR("was freed before backward", ag_backward(y));
    ag_end(scope);
}
END_TEST

static size_t peak_of_llama(bool recompute)
{
    LlamaOptions o = llama_defaults();
    o.layers = 4, o.heads = o.kv_heads = 2, o.head_width = 8, o.width = 16, o.hidden = 64, o.vocab = 16, o.context = 64;
    o.recompute = recompute;
    ag_seed(1);
    Llama *m = llama_new(o);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids = tensor_randint(SHAPE(4, 64), 0, 16);
    ag_memory_reset_peak();
    ag_backward(lm_loss_with(m, ids, ids, AG_MEAN));
    size_t peak = ag_memory().peak;
    ag_end(s);
    ag_free(m);
    return peak;
}

START_TEST(llama_needs_less)
{
    size_t kept = peak_of_llama(false), less = peak_of_llama(true);
    ck_assert_msg(less < kept * 8 / 10, "%zu of %zu", less, kept);
}
END_TEST

Suite *recompute_suite(void)
{
    Suite *suite = suite_create("recompute");
    TCase *bits = tcase_create("bits");
    tcase_add_loop_test(bits, the_bits_of_a_plain_call, 0, N_GRAPHS);
    tcase_add_loop_test(bits, the_same_in_guard_mode_and_in_a_search_for_nan, 0, N_GRAPHS);
    tcase_add_loop_test(bits, gpt_learns_the_same, 0, 2);
    tcase_add_test(bits, numerical_gradients_agree);
    tcase_add_test(bits, the_graph_can_be_kept);
    tcase_add_test(bits, a_value_that_was_written_stays);
    suite_add_tcase(suite, bits);
    TCase *operations = tcase_create("operations");
    tcase_add_loop_test(operations, every_operation, 0, OP_COUNT);
    suite_add_tcase(suite, operations);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, the_peak_is_that_of_one_function);
    tcase_add_loop_test(memory, what_only_a_later_value_needs_is_released_at_once, 0, 2);
    tcase_add_test(memory, gpt_needs_less);
    if (KEEPS_MEMORY) tcase_add_test(memory, steps_ask_the_system_for_no_memory);
    tcase_add_test(memory, memory_that_is_shared_with_a_kept_value_stays);
    tcase_add_test(memory, nothing_is_recorded_without_gradients);
    tcase_add_loop_test(memory, each_allocation_fails_once, 0, 2);
    tcase_add_test(memory, llama_needs_less);
    suite_add_tcase(suite, memory);
    TCase *inside = tcase_create("looking inside");
    tcase_add_test(inside, it_is_explained_and_drawn);
    tcase_add_test(inside, a_released_value_can_be_read);
    tcase_add_test(inside, a_retained_value_is_there_after_backward);
    tcase_add_test(inside, after_an_error_other_values_can_be_read);
    tcase_add_test(inside, reading_a_released_value_leaves_what_was_kept);
    tcase_add_test(inside, what_was_read_stays);
    tcase_add_test(inside, backward_releases_what_was_read);
    tcase_add_test(inside, a_released_value_is_needed_later);
    tcase_add_test(inside, memory_that_was_written_before_is_used_again);
    tcase_add_test(inside, misuse_is_reported);
    tcase_add_test(inside, layers);
    suite_add_tcase(suite, inside);
    return suite;
}
