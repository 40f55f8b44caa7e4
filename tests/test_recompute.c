/* test_recompute.c: ag_recompute and nn_recompute give the bits of a plain call in every kind of graph, need less memory, and
 * report what changes between the two runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "faults.h"
#include "kaeru/kaeru.h"
#include "suites.h"
#include "usage_error.h"

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

/* A graph is built twice: each function in it is called plainly, or by ag_recompute. */
typedef Tensor *Caller(AgFunction *f, void *arg, Tensor **in, int n);

static Tensor *plainly(AgFunction *f, void *arg, Tensor **in, int n)
{
    (void)n;
    return f(in, arg);
}

static Tensor *recomputed(AgFunction *f, void *arg, Tensor **in, int n)
{
    return ag_recompute(f, arg, in, n);
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
    return ag_where(in[2], ag_tanh(ag_embedding(p->leaf[1], in[0])), in[1]);
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
    Scope s = ag_begin(AG_NO_GRAD);
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

static Graph *const graphs[] = { blocks, input_used_inside_and_outside, leaf_as_input, two_inputs, one_tensor_as_two_inputs,
                                 input_without_gradient, only_leaves_require_a_gradient, ids_and_masks, no_inputs, nested,
                                 nested_twice, closures, result_used_twice, functions_that_compute_nothing,
                                 result_without_gradient, functions_with_scopes, another_precision_later, precision_inside,
                                 retained_input };
enum { N_GRAPHS = sizeof graphs / sizeof *graphs };

/* How the loss is run: each result has a loss, gradients, and the random state at the end. */
typedef enum { BACKWARD, KEEP_AND_AGAIN, TWO_LOSSES, WITH_GRADIENTS_BEFORE, N_KINDS } Kind;
typedef struct { real y[SIDE * SIDE], grad[LEAVES][SIDE * SIDE]; bool has_grad[LEAVES]; AgRandom forward, end; } Result;

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
    Scope s = ag_begin(AG_RECORD);
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
        const real *grad = tensor_grad_data(p.leaf[i]);
        r->has_grad[i] = grad != NULL;
        if (grad) memcpy(r->grad[i], grad, sizeof r->grad[i]);
    }
    r->end = ag_random_state();
    ag_end(s);
}

static void check_same_bits(int graph, Kind kind)
{
    Result plain, again;
    run(&plain, graphs[graph], kind, plainly);
    run(&again, graphs[graph], kind, recomputed);
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

START_TEST(the_bits_of_a_plain_call)
{
    for (int kind = 0; kind < N_KINDS; kind++) check_same_bits(_i, kind);
}
END_TEST

START_TEST(the_same_in_guard_mode_and_in_a_search_for_nan)
{
    ag_guard(true);
    for (int kind = 0; kind < N_KINDS; kind++) check_same_bits(_i, kind);
    ag_guard(false);
    ag_find_nan(true);
    check_same_bits(_i, BACKWARD);
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
        Scope s = ag_begin(AG_RECORD);
        Tensor *ids = tensor_randint(SHAPE(2, 12), 0, 11), *targets = tensor_randint(SHAPE(2, 12), 0, 11);
        Tensor *l = gpt_loss(m, ids, targets);
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
    Settings *s = nn_settings_new();
    GPTOptions found = { .recompute = true };
    gpt_to_settings(&m->options, s);
    ck_assert(gpt_from_settings(&found, s) && found.layers == 3 && !found.recompute);      /* files are the same */
    ag_free(s);
    nn_free(copy);
    nn_free(m);
    nn_free(plain);
}
END_TEST

static Tensor *block_as_function(Tensor **in, void *arg)
{
    Parts p = { recomputed, { NULL, in[1], in[2], NULL } };
    (void)arg;
    AgRandom before = ag_random_state();
    ag_set_random_state((AgRandom){ 5, 0 });
    Tensor *y = ag_recompute(block, &p, in, 1);
    ag_set_random_state(before);
    return y;
}

static Tensor *of_two_as_function(Tensor **in, void *arg)
{
    return ag_recompute(arg ? uses_thrice : of_two, &(Parts){ .leaf = { NULL, in[2] } }, in, 2);
}

START_TEST(numerical_gradients_agree)
{
    (void)block_as_function;
    (void)of_two_as_function;
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
    suite_add_tcase(suite, bits);
    return suite;
}
