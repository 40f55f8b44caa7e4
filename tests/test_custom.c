/* test_custom.c: a program's custom operations work like the library's: they are recorded, checked, explained, drawn, searched
 * for NaN and freed, and their usage errors are reported. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "faults.h"
#include "kaeru/autograd.h"
#include "suites.h"
#include "usage_error.h"

/* ---- y = x^3 ----------------------------------------------------------------------------------------------------- */

static void cube_forward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]);
    ag_real *y = tensor_mutable_data(c->y);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) y[i] = x[i] * x[i] * x[i];
}

static void cube_backward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) c->dx[0][i] += c->dy[i] * 3 * x[i] * x[i];
}

static void overwriting_backward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) c->dx[0][i] = c->dy[i] * 3 * x[i] * x[i];
}

/* 3 x^2 = 3 y / x */
static void backward_by_y(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]), *y = tensor_data(c->y);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) c->dx[0][i] += c->dy[i] * 3 * y[i] / x[i];
}

static const AgCustom cube = { "cube", cube_forward, cube_backward, AG_NEEDS_X(0), "x^3", "dx = dy 3 x^2" };
static const AgCustom overwriting = { "overwriting", cube_forward, overwriting_backward, AG_NEEDS_X(0), NULL, NULL };
static const AgCustom declares_nothing = { "declares_nothing", cube_forward, cube_backward, AG_NEEDS_NONE, NULL, NULL };
static const AgCustom declares_x = { "declares_x", cube_forward, backward_by_y, AG_NEEDS_X(0), NULL, NULL };
static const AgCustom declares_both = { "declares_both", cube_forward, backward_by_y, AG_NEEDS_X(0) + AG_NEEDS_Y, NULL,
                                         NULL };

static Tensor *call(const AgCustom *op, Tensor *x)
{
    return ag_custom(op, tensor_shape(x), &x, 1, NULL, 0);
}

static Tensor *leaf(AgShape shape)
{
    return tensor_set_requires_grad(tensor_uniform(shape, 0.5, 1.5), true);
}

static Tensor *call_of(Tensor **in, void *op)
{
    return call(op, in[0]);
}

static bool passes(const AgCustom *op, FILE *report)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = leaf(SHAPE(2, 3));
    bool right = ag_gradcheck(call_of, (void *)op, &x, 1, report);
    ag_end(s);
    return right;
}

START_TEST(values_and_gradients)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_from(SHAPE(3), ((ag_real[]){ 1, 2, -3 })), true);
    Tensor *y = call(&cube, x);
    ck_assert_mem_eq(tensor_data(y), ((ag_real[]){ 1, 8, -27 }), 3 * sizeof(ag_real));
    ck_assert(tensor_requires_grad(y));
    ag_backward(ag_sum(y));
    ck_assert_mem_eq(tensor_grad_data(x), ((ag_real[]){ 3, 12, 27 }), 3 * sizeof(ag_real));
    ag_backward(ag_sum(ag_add(call(&cube, x), call(&cube, x))));    /* adds to the gradient */
    ck_assert_mem_eq(tensor_grad_data(x), ((ag_real[]){ 9, 36, 81 }), 3 * sizeof(ag_real));
    ag_end(s);
    s = ag_begin(AG_NO_GRAD);
    ck_assert(!tensor_requires_grad(call(&cube, leaf(SHAPE(2)))));
    ag_end(s);
}
END_TEST

/* Computes x^3 by another operation of the program's own, and writes its result after that call. */
static void nested_forward(const AgCustomCall *c)
{
    Tensor *inner = call(&cube, c->in[0]);
    memcpy(tensor_mutable_data(c->y), tensor_data(inner), (size_t)tensor_numel(c->y) * sizeof(ag_real));
}

static const AgCustom nested = { "nested", nested_forward, cube_backward, AG_NEEDS_X(0), NULL, NULL };

START_TEST(a_forward_function_may_call_another_operation)
{
    ck_assert(passes(&nested, stderr));
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = call(&nested, leaf(SHAPE(2)));
    EXPECT_USAGE_ERROR("only leaves are written", tensor_mutable_data(y));
    ag_end(s);
}
END_TEST

START_TEST(the_check_accepts_only_right_rules)
{
    ag_seed(1);
    ck_assert(passes(&cube, stderr));
    ck_assert(passes(&declares_both, stderr));
    ck_assert(!passes(&overwriting, NULL));
}
END_TEST

/* What is not declared is not there for the rule, whether backward has released it by then or not. */
START_TEST(undeclared_values_are_reported)
{
    EXPECT_USAGE_ERROR("declares_nothing: its backward rule reads the value of input 0, made by tensor_uniform at ",
                       ag_backward(ag_sum(call(&declares_nothing, leaf(SHAPE(2))))));
    EXPECT_USAGE_ERROR("declares_x: its backward rule reads the value of its result, made by declares_x at tests/",
                       ag_backward(ag_sum(call(&declares_x, leaf(SHAPE(2))))));
    EXPECT_USAGE_ERROR("reads the value of input 0, made by neg at ",
                       ag_backward(ag_sum(call(&declares_nothing, ag_neg(leaf(SHAPE(2)))))));
    EXPECT_USAGE_ERROR("declares_nothing: its backward rule reads", passes(&declares_nothing, NULL));
    EXPECT_USAGE_ERROR("declares_x: its backward rule reads", passes(&declares_x, NULL));
    ck_assert(passes(&cube, stderr));                               /* the error leaves no state */
}
END_TEST

/* ---- several inputs, numbers, other types: y = factor (x0 + x1[ids]) + x3 -------------------------------------- */

typedef struct { double factor; int added; } Numbers;

static void mixed_forward(const AgCustomCall *c)
{
    const Numbers *n = c->args;
    const int32_t *ids = tensor_int_data(c->in[2]);
    ag_real *y = tensor_mutable_data(c->y);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) {
        ck_assert(y[i] == 0);
        y[i] = (ag_real)n->factor * (tensor_data(c->in[0])[i] + tensor_data(c->in[1])[ids[i]]);
        if (c->in[3]) y[i] += tensor_data(c->in[3])[i];
    }
    ck_assert_int_eq(c->n, 4);
    ck_assert(!c->dy && !c->dx);
}

static void mixed_backward(const AgCustomCall *c)
{
    const Numbers *n = c->args;
    const int32_t *ids = tensor_int_data(c->in[2]);
    ck_assert_ptr_null(c->dx[2]);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) {
        if (c->dx[0]) c->dx[0][i] += (ag_real)n->factor * c->dy[i];
        if (c->dx[1]) c->dx[1][ids[i]] += (ag_real)n->factor * c->dy[i];
        if (c->dx[3]) c->dx[3][i] += c->dy[i];
    }
}

static const AgCustom mixed = { "mixed", mixed_forward, mixed_backward, AG_NEEDS_X(2), "factor (x0 + x1[x2]) + x3",
                                "dx0 = factor dy, dx1[x2] += factor dy, dx3 = dy" };

static Tensor *mixed_of(Tensor **in, void *arg)
{
    Tensor *x[] = { in[0], in[1], tensor_ints(SHAPE(4), ((int32_t[]){ 1, 0, 1, 1 })), arg ? in[2] : NULL };
    Numbers numbers = { -2.5, 0 };
    Tensor *y = ag_custom(&mixed, SHAPE(4), x, 4, &numbers, sizeof numbers);
    numbers.factor = 0;                                             /* ag_custom has copied the numbers */
    return y;
}

START_TEST(inputs_of_all_types)
{
    ag_seed(2);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *in[] = { leaf(SHAPE(4)), leaf(SHAPE(2)), leaf(SHAPE(4)) };
    ck_assert(ag_gradcheck(mixed_of, NULL, in, 2, stderr));
    ck_assert(ag_gradcheck(mixed_of, in, in, 3, stderr));
    in[1] = in[0];                                                  /* one tensor for several inputs */
    in[2] = in[0];
    ck_assert(ag_gradcheck(mixed_of, in, in, 3, stderr));
    tensor_set_requires_grad(in[0], false);
    in[1] = leaf(SHAPE(2));
    ck_assert(ag_gradcheck(mixed_of, in, in, 3, stderr));
    ag_end(s);
}
END_TEST

/* ---- lifetimes --------------------------------------------------------------------------------------------------- */

START_TEST(backward_releases_undeclared_values)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(4)), *table = leaf(SHAPE(2));
    Tensor *h = ag_neg(x), *y = mixed_of((Tensor *[]){ h, table, h }, &x), *z = call(&cube, y), *loss = ag_sum(z);
    ag_backward(loss);
    EXPECT_USAGE_ERROR("the value of t (neg made at", tensor_data(h));
    EXPECT_USAGE_ERROR("the value of t (mixed made at", tensor_data(y));
    EXPECT_USAGE_ERROR("the value of t (cube made at tests/test_custom.c:", tensor_data(z));
    ck_assert_ptr_nonnull(tensor_grad_data(x));
    ag_end(s);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

START_TEST(results_can_outlive_their_scope)
{
    AgScope outer = ag_begin(AG_RECORD), inner = ag_begin(AG_RECORD);
    Tensor *y = ag_end_return(inner, call(&cube, tensor_full(SHAPE(2), 2)));
    ck_assert(tensor_data(y)[1] == 8);
    ag_end(outer);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

static void use_everything(void)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_backward(ag_sum(call(&cube, call(&declares_both, ag_neg(leaf(SHAPE(3)))))));
    ag_end(s);
}

START_TEST(each_allocation_fails_once)
{
    int64_t requests = faults_everywhere(use_everything, false);
    if (faults_work()) ck_assert_int_gt(requests, 5);
}
END_TEST

/* ---- looking inside ---------------------------------------------------------------------------------------------- */

/* The text must have this part; it is freed. */
static void check_part(char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is missing in\n%s", part, text);
    free(text);
}

START_TEST(it_is_explained_and_drawn)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_name(tensor_set_requires_grad(tensor_full(AG_SCALAR, 2), true), "w");
    Tensor *y = tensor_name(call(&cube, w), "y");
    check_part(explained(y), "  y      = cube(w) = 8    w^3\n");
    check_part(explained(y), "       rule    dw = dy 3 w^2\n       with    dy = 1, w = 2\n       gives   dw = 12\n");
    check_part(drawn(y), "[label=\"y = cube(w)\\n8\\ndy = 1\"");
    check_part(printed(y), "tensor(8., op=cube)");
    Tensor *in[] = { ag_expand(w, SHAPE(4)), ag_expand(w, SHAPE(2)), ag_expand(y, SHAPE(4)) };
    check_part(explained(ag_sum(mixed_of(in, in))), "[ids1] += factor d");
    y = call(&overwriting, w);                                      /* without formulas */
    check_part(explained(y), "= overwriting(w) = 8\n");
    char *text = explained(y);
    ck_assert_ptr_null(strstr(text, "rule "));
    free(text);
    ag_end(s);
}
END_TEST

static void nan_backward(const AgCustomCall *c)
{
    c->dx[0][1] += (ag_real)NAN * c->dy[1];
}

static const AgCustom nan_back = { "nan_back", cube_forward, nan_backward, AG_NEEDS_NONE, NULL, NULL };

START_TEST(the_search_for_nan_names_it)
{
    ag_find_nan(true);
    EXPECT_USAGE_ERROR("cube: first infinity found in its result, item 0; shape (1,) of inputs (1,) (at tests/",
                       call(&cube, tensor_full(SHAPE(1), sizeof(ag_real) == 4 ? 1e20 : 1e200)));
    EXPECT_USAGE_ERROR("nan_back: first NaN found in the gradient that it computed, item 1; shape (3,) of inputs (3,)",
                       ag_backward(ag_sum(call(&nan_back, leaf(SHAPE(3))))));
    ag_find_nan(false);
}
END_TEST

/* ---- usage errors ------------------------------------------------------------------------------------------------ */

/* Cubes x and then writes it, so that the rule would read other values. */
static void writing_forward(const AgCustomCall *c)
{
    cube_forward(c);
    ag_fill(c->in[0], 2);
}

static void failing_forward(const AgCustomCall *c) { (void)c, ag_neg(NULL); }

START_TEST(usage_errors_are_reported)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(2)), *gone = ag_neg(x), *in[17] = { x };
    const AgCustom unnamed = { NULL, cube_forward, cube_backward, 0, NULL, NULL };
    const AgCustom no_rule = { "half", cube_forward, NULL, 0, NULL, NULL };
    const AgCustom strange = { "strange", cube_forward, cube_backward, AG_NEEDS_Y << 1, NULL, NULL };
    EXPECT_USAGE_ERROR("ag_custom: an operation needs a name, a forward and a backward",
                       ag_custom(NULL, AG_SCALAR, in, 1, NULL, 0));
    EXPECT_USAGE_ERROR("ag_custom: an operation needs a name, a forward and a backward", call(&unnamed, x));
    EXPECT_USAGE_ERROR("ag_custom: an operation needs a name, a forward and a backward", call(&no_rule, x));
    EXPECT_USAGE_ERROR("strange: needs is 0x20000, expected a sum of AG_NEEDS_X(i) and AG_NEEDS_Y", call(&strange, x));
    EXPECT_USAGE_ERROR("cube: 17 inputs; an operation has 0 to 16", ag_custom(&cube, AG_SCALAR, in, 17, NULL, 0));
    EXPECT_USAGE_ERROR("cube: -1 inputs; an operation has 0 to 16", ag_custom(&cube, AG_SCALAR, in, -1, NULL, 0));
    EXPECT_USAGE_ERROR("cube: in is NULL, expected 1 inputs", ag_custom(&cube, AG_SCALAR, NULL, 1, NULL, 0));
    EXPECT_USAGE_ERROR("cube: args is NULL, expected 8 bytes", ag_custom(&cube, SHAPE(2), in, 1, NULL, 8));
    EXPECT_USAGE_ERROR("cube: negative size in shape (-2,)", ag_custom(&cube, SHAPE(-2), in, 1, NULL, 0));
    const AgCustom failing = { "failing", failing_forward, cube_backward, AG_NEEDS_X(0), NULL, NULL };
    EXPECT_USAGE_ERROR("neg: x is NULL", call(&failing, gone));     /* after this nothing waits for gone's value */
    ag_backward(ag_sum(gone));
    EXPECT_USAGE_ERROR("cube: the value of input 0 (neg made at", call(&cube, gone));
    const AgCustom writing = { "writing", writing_forward, cube_backward, AG_NEEDS_X(0), NULL, NULL };
    Tensor *written = call(&writing, leaf(SHAPE(2)));
    EXPECT_USAGE_ERROR("the rule of writing", ag_backward(ag_sum(written)));
    ag_end(s);
    ag_guard(true);                 /* keeps the descriptions of tensors whose scope has ended */
    s = ag_begin(AG_RECORD);
    in[0] = leaf(SHAPE(2));
    ag_end(s);
    EXPECT_USAGE_ERROR("cube: input 0 is not a live tensor: it was made by tensor_uniform",
                       ag_custom(&cube, SHAPE(2), in, 1, NULL, 0));
    ag_guard(false);
}
END_TEST

/* Rules that take away what the pass needs. They may write to the gradients afterwards. */
static void zeroing_input(const AgCustomCall *c)
{
    tensor_zero_grad(c->in[0]);
    c->dx[0][0] += 1;
}

static void zeroing_result(const AgCustomCall *c)
{
    tensor_zero_grad(c->y);
    c->dx[0][0] += c->dy[0];
}

static void taking_gradient(const AgCustomCall *c)
{
    tensor_free(ag_take_gradient(c->in[0]));
    c->dx[0][0] += 1;
}

static void freeing_input(const AgCustomCall *c)
{
    tensor_free(c->in[0]);
    c->dx[0][0] += 1;
}

static AgScope around_pass;

static void ending_scope(const AgCustomCall *c)
{
    ag_end(around_pass);
    c->dx[0][0] += c->dy[0];
}

static void beginning_scope(const AgCustomCall *c)
{
    (void)c;
    ag_begin(AG_RECORD);
    tensor_ones(SHAPE(2));
}

static void beginning_pass(const AgCustomCall *c)
{
    (void)c;
    ag_explain(stdout, ag_sum(leaf(SHAPE(1))));
}

START_TEST(rules_cannot_remove_gradients)
{
    static const struct { void (*backward)(const AgCustomCall *c); const char *message; } row[] = {
        { zeroing_input, "rule: its backward rule has removed the gradient of input 0, or freed it" },
        { zeroing_result, "rule: its backward rule has removed the gradient of its result" },
        { taking_gradient, "rule: its backward rule has removed the gradient of input 0, or freed it" },
        { freeing_input, "rule: its backward rule has removed the gradient of input 0, or freed it" },
        { ending_scope, "ag_backward: a rule or a function of ag_watch_backward has ended the scope of this pass, at tests/" },
        { beginning_scope, "ag_backward: scopes that a rule or a function of ag_watch_backward has begun and not ended: 1" },
        { beginning_pass, "ag_explain: a backward pass of this thread is running (ag_backward)" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const AgCustom op = { "rule", cube_forward, row[i].backward, AG_NEEDS_X(0) | AG_NEEDS_Y, NULL, NULL };
        Tensor *x = tensor_set_requires_grad(tensor_new_owned(SHAPE(2), AG_REAL), true);
        EXPECT_USAGE_ERROR(row[i].message, around_pass = ag_begin(AG_RECORD); ag_backward(ag_sum(call(&op, x))));
        if (row[i].backward != freeing_input) tensor_free(x);
    }
    /* The gradient of a result of another operation is released with its last user. */
    const AgCustom op = { "rule", cube_forward, zeroing_input, AG_NEEDS_X(0), NULL, NULL };
    EXPECT_USAGE_ERROR("rule: its backward rule has removed the gradient of input 0",
                       ag_backward(ag_sum(call(&op, ag_neg(leaf(SHAPE(2)))))));
}
END_TEST

/* Messages name the line of a write in a rule or a layer of the program, and the call of the library around it. */
static Tensor *written;
enum { LINE_IN_RULE = __LINE__ + 5, LINE_IN_LAYER = LINE_IN_RULE + 6 };

static void writing(const AgCustomCall *c)
{
    (void)c;
    tensor_mutable_data(written)[0] = 1;
}

static Tensor *writing_layer(Tensor *x)
{
    AG_LAYER;
    tensor_mutable_data(written)[0] = 2;
    return x;
}

START_TEST(a_write_in_a_rule_or_a_layer_is_reported)
{
    const AgCustom op = { "rule", cube_forward, writing, AG_NEEDS_X(0), NULL, NULL };
    char text[200];
    AgScope s = ag_begin(AG_RECORD);
    written = leaf(SHAPE(2));
    Tensor *h = ag_mul(written, written), *y = ag_sum(call(&op, h));
    snprintf(text, sizeof text, "tensor_mutable_data wrote it at tests/test_custom.c:%d, called from tests/test_custom.c:%d "
             "after mul had read it", LINE_IN_RULE, __LINE__ + 1);
    EXPECT_USAGE_ERROR(text, ag_backward(y));
    h = ag_mul(written, written);
    snprintf(text, sizeof text, "tensor_mutable_data wrote it at tests/test_custom.c:%d after mul had read it", LINE_IN_LAYER);
    y = ag_sum(writing_layer(h));
    EXPECT_USAGE_ERROR(text, ag_backward(y));
    ag_end(s);
}
END_TEST

/* ---- rules that the program leaves --------------------------------------------------------------------------------- */

static jmp_buf outside;

static void leaving(const AgCustomCall *c)
{
    (void)c;
    ag_begin(AG_NO_GRAD);
    longjmp(outside, 1);
}

START_TEST(a_pass_ends_with_its_scope)
{
    const AgCustom op = { "rule", cube_forward, leaving, AG_NEEDS_X(0), NULL, NULL };
    Tensor *x = tensor_set_requires_grad(tensor_new_owned(SHAPE(2), AG_REAL), true), *out;
    ag_fill(x, 1);
    for (volatile int grad = 0; grad < 2; grad++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(ag_sum(ag_neg(x)));                     /* a gradient from before, which ag_grad sets aside */
        if (setjmp(outside) == 0) {
            if (grad) ag_grad(ag_sum(call(&op, x)), &x, 1, &out);
            else ag_backward(ag_sum(call(&op, x)));
        }
        ag_end(s);
        ck_assert_ptr_nonnull(tensor_grad_data(x));
        ck_assert(tensor_grad_data(x)[0] == -1);
        tensor_zero_grad(x);
        s = ag_begin(AG_RECORD);
        ag_backward(ag_sum(ag_mul(x, x)));
        ck_assert(tensor_grad_data(x)[1] == 2);
        ag_end(s);
        tensor_zero_grad(x);
    }
    tensor_free(x);
}
END_TEST

START_TEST(a_forward_that_is_left_ends_its_scopes)
{
    const AgCustom op = { "forward", leaving, cube_backward, AG_NEEDS_X(0), NULL, NULL };
    for (volatile int recorded = 0; recorded < 2; recorded++) {
        AgScope s = ag_begin(recorded ? AG_RECORD : AG_NO_GRAD);
        for (volatile int i = 0; i < 2; i++) {
            AgScope inner = ag_begin(AG_RECORD);
            if (setjmp(outside) == 0) {
                if (i == 0) call(&op, leaf(SHAPE(2)));
                else (ag_custom)(&op, SHAPE(1), NULL, 0, NULL, 0);      /* without the macro that notes its place */
            }
            ag_end(inner);
            ck_assert_int_eq(ag_recording(), recorded);
        }
        ag_end(s);
    }
}
END_TEST

/* A rule may itself end the scope of its pass and go on, so what it reads and writes stays until the next scope ends. */
START_TEST(what_a_rule_held_ends_with_the_next_scope)
{
    const AgCustom op = { "rule", cube_forward, leaving, AG_NEEDS_X(0), NULL, NULL };
    Tensor *x = tensor_set_requires_grad(tensor_new_owned(SHAPE(2), AG_REAL), true);
    const size_t before = ag_memory().in_use;
    ag_fill(x, 1);
    AgScope s = ag_begin(AG_RECORD);
    if (setjmp(outside) == 0) ag_backward(ag_sum(call(&op, x)));
    ag_end(s);
    tensor_zero_grad(x);
    ag_end(ag_begin(AG_NO_GRAD));
    ck_assert_uint_eq(ag_memory().in_use, before);
    tensor_free(x);
}
END_TEST

/* No rule runs any more, but the pass was not left. */
START_TEST(a_rule_that_is_left_must_leave_its_scope)
{
    const AgCustom op = { "rule", cube_forward, leaving, AG_NEEDS_NONE, NULL, NULL };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(2));
    if (setjmp(outside) == 0) ag_backward(ag_sum(call(&op, x)));
    EXPECT_USAGE_ERROR("If this rule was left by longjmp or throw, leave its scope, too", ag_mul(x, x));
    ag_end(s);
}
END_TEST

static AgScope swap_end;
static void swap_forward(const AgCustomCall *c)
{
    (void)c;
    ag_end(swap_end);
    ag_begin(AG_RECORD);
}
static void swap_backward(const AgCustomCall *c) { (void)c; }

START_TEST(forward_may_not_swap_its_scope)
{
    static const AgCustom swaps = { "swaps", swap_forward, swap_backward, 0, NULL, NULL };
    EXPECT_USAGE_ERROR("forward ended a scope", swap_end = ag_begin(AG_RECORD); ag_custom(&swaps, SHAPE(1), NULL, 0, NULL, 0));
}
END_TEST

/* ---- loops in several threads, in vectors ------------------------------------------------------------------------ */

START_TEST(arrays_have_the_bits_of_operations)
{
    static void (*const array[])(ag_real *y, const ag_real *x, int64_t n) = {
        ag_array_exp, ag_array_log, ag_array_tanh, ag_array_sigmoid
    };
    static Tensor *(*const operation[])(Tensor *x) = { ag_exp, ag_log, ag_tanh, ag_sigmoid };
    enum { N = 20011 };
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(N), 0, 4);
    ag_real *values = tensor_mutable_data(x), *y = ag_scratch(N, sizeof *y);
    const ag_real special[] = { 0, (ag_real)-0.0, (ag_real)NAN, (ag_real)INFINITY, (ag_real)-INFINITY, 1, (ag_real)1e-30, 100 };
    memcpy(values, special, sizeof special);
    for (int f = 0; f < 4; f++) {
        const ag_real *expected = tensor_data(operation[f](x));
        for (int64_t n = 0; n <= 20; n++) {                     /* short rows */
            y[n] = 7;
            array[f](y, values, n);
            ck_assert(memcmp(y, expected, (size_t)n * sizeof *y) == 0 && y[n] == 7);
        }
        array[f](y, values, N);
        ck_assert(memcmp(y, expected, N * sizeof *y) == 0);
        memcpy(y, values, N * sizeof *y);
        array[f](y, y, N);                                      /* in place */
        ck_assert(memcmp(y, expected, N * sizeof *y) == 0);
    }
    ag_end(s);
}
END_TEST

/* h[t] = e^(d[t] a) h[t-1] + d[t] x[t],  y[t] = h[t], for each row of x and d (R,T), a (R). Rows are computed in threads. */
typedef struct { int64_t steps; const ag_real *x, *d, *a, *dy; ag_real *decay, *h, *const *dx; } Scan;

static void scan_rows(void *arg, int64_t begin, int64_t end)
{
    const Scan *s = arg;
    for (int64_t r = begin; r < end; r++) {
        const int64_t first = r * s->steps, next = first + s->steps;
        for (int64_t i = first; i < next; i++) s->decay[i] = s->d[i] * s->a[r];
        ag_array_exp(s->decay + first, s->decay + first, s->steps);
        for (int64_t i = first; i < next; i++) s->h[i] = s->decay[i] * (i > first ? s->h[i - 1] : 0) + s->d[i] * s->x[i];
    }
}

static Scan scan_job(const AgCustomCall *c)
{
    return (Scan){ .steps = tensor_dim(c->y, 1), .x = tensor_data(c->in[0]), .d = tensor_data(c->in[1]),
                   .a = tensor_data(c->in[2]), .dy = c->dy, .dx = c->dx,
                   .decay = ag_scratch((size_t)tensor_numel(c->y), sizeof(ag_real)) };
}

static void scan_forward(const AgCustomCall *c)
{
    Scan s = scan_job(c);
    s.h = tensor_mutable_data(c->y);
    ag_parallel(tensor_dim(c->y, 0), 1, scan_rows, &s);
}

static void scan_rows_backward(void *arg, int64_t begin, int64_t end)
{
    const Scan *s = arg;
    for (int64_t r = begin; r < end; r++) {
        ag_real dh = 0, da = 0;
        for (int64_t t = s->steps - 1; t >= 0; t--) {
            const int64_t i = r * s->steps + t;
            const ag_real decayed = t > 0 ? s->decay[i] * s->h[i - 1] : 0;
            dh += s->dy[i];
            if (s->dx[0]) s->dx[0][i] += dh * s->d[i];
            if (s->dx[1]) s->dx[1][i] += dh * (s->a[r] * decayed + s->x[i]);
            da += dh * s->d[i] * decayed;
            dh *= s->decay[i];
        }
        if (s->dx[2]) s->dx[2][r] += da;
    }
}

static void scan_backward(const AgCustomCall *c)
{
    Scan s = scan_job(c);
    s.h = ag_scratch((size_t)tensor_numel(c->y), sizeof(ag_real));
    ag_parallel(tensor_dim(c->y, 0), 1, scan_rows, &s);
    ag_parallel(tensor_dim(c->y, 0), 1, scan_rows_backward, &s);
}

static const AgCustom scan = { "scan", scan_forward, scan_backward, AG_NEEDS_X(0) | AG_NEEDS_X(1) | AG_NEEDS_X(2), NULL, NULL };

static Tensor *scan_of(Tensor **in, void *unused)
{
    (void)unused;
    return ag_custom(&scan, tensor_shape(in[0]), in, 3, NULL, 0);
}

static Tensor *composed_scan(Tensor **in)
{
    const int64_t rows = tensor_dim(in[0], 0), steps = tensor_dim(in[0], 1);
    Tensor **y = ag_scratch((size_t)steps, sizeof *y), *h = tensor_zeros(SHAPE(rows, 1)), *a = ag_unsqueeze(in[2], 1);
    for (int64_t t = 0; t < steps; t++) {
        Tensor *x = ag_slice(in[0], 1, t, t + 1), *d = ag_slice(in[1], 1, t, t + 1);
        h = y[t] = ag_add(ag_mul(ag_exp(ag_mul(d, a)), h), ag_mul(d, x));
    }
    return ag_concat(y, (int)steps, 1);
}

START_TEST(a_scan_in_threads)
{
    enum { ROWS = 37, STEPS = 9 };
    const int threads = ag_threads();
    uint64_t bits = 0;
    for (int n = 1; n <= 4; n++) {
        ag_set_threads(n);
        ag_seed(3);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *in[] = { leaf(SHAPE(ROWS, STEPS)), leaf(SHAPE(ROWS, STEPS)), leaf(SHAPE(ROWS)) };
        Tensor *y = scan_of(in, NULL);
        uint64_t now = tensor_hash(y, 0);
        ag_backward(ag_sum(ag_mul(y, y)));
        for (int i = 0; i < 3; i++) now = tensor_hash(tensor_grad(in[i]), now);
        ck_assert(n == 1 || now == bits);
        bits = now;
        Tensor *gradient[3], *expected = composed_scan(in);
        ag_grad(ag_sum(ag_mul(expected, expected)), in, 3, gradient);
        for (int i = 0; i < 3; i++) {
            const ag_real *own = tensor_grad_data(in[i]), *composed = tensor_data(gradient[i]);
            for (int64_t k = 0; k < tensor_numel(in[i]); k++)
                ck_assert_double_eq_tol((double)own[k] / (double)composed[k], 1, 1e-5);
        }
        ag_end(s);
    }
    ag_set_threads(threads);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *in[] = { leaf(SHAPE(3, 4)), leaf(SHAPE(3, 4)), leaf(SHAPE(3)) };
    ck_assert(ag_gradcheck(scan_of, NULL, in, 3, stderr));
    ag_end(s);
}
END_TEST

static void count_items(void *arg, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) ((int *)arg)[i]++;
}

static void count_rows(void *arg, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) ag_parallel(10, 1, count_items, (int *)arg + 10 * i);
}

START_TEST(each_item_is_in_one_part)
{
    int count[1000] = { 0 };
    ag_parallel(1000, 1, count_items, count);
    ag_parallel(1000, 5000, count_items, count);
    ag_parallel(100, 3, count_rows, count);             /* a loop inside a body */
    ag_parallel(0, 1, count_items, NULL);
    for (int i = 0; i < 1000; i++) ck_assert_int_eq(count[i], 3);
}
END_TEST

START_TEST(wrong_loops_are_reported)
{
    ag_real x[2] = { 0 };
    REPORTS("ag_parallel: -1 items in parts of 1, expected 0 or more items and parts of 1 or more",
            ag_parallel(-1, 1, count_items, NULL));
    REPORTS("ag_parallel: 3 items in parts of 0, expected 0 or more items and parts of 1 or more",
            ag_parallel(3, 0, count_items, NULL));
    REPORTS("ag_parallel: body is NULL", ag_parallel(3, 1, NULL, NULL));
    REPORTS("ag_array_exp: -1 numbers, expected 0 or more", ag_array_exp(x, x, -1));
    REPORTS("ag_array_log: y is NULL", ag_array_log(NULL, x, 2));
    REPORTS("ag_array_tanh: x is NULL", ag_array_tanh(x, NULL, 2));
    ag_array_sigmoid(NULL, NULL, 0);
}
END_TEST

Suite *custom_suite(void)
{
    Suite *suite = suite_create("custom");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, values_and_gradients);
    tcase_add_test(rules, a_forward_function_may_call_another_operation);
    tcase_add_test(rules, the_check_accepts_only_right_rules);
    tcase_add_test(rules, undeclared_values_are_reported);
    tcase_add_test(rules, inputs_of_all_types);
    tcase_add_test(rules, forward_may_not_swap_its_scope);
    tcase_add_test(rules, rules_cannot_remove_gradients);
    tcase_add_test(rules, a_write_in_a_rule_or_a_layer_is_reported);
    tcase_add_test(rules, a_pass_ends_with_its_scope);
    tcase_add_test(rules, a_forward_that_is_left_ends_its_scopes);
    tcase_add_test(rules, what_a_rule_held_ends_with_the_next_scope);
    tcase_add_test(rules, a_rule_that_is_left_must_leave_its_scope);
    suite_add_tcase(suite, rules);
    TCase *lifetimes = tcase_create("lifetimes");
    tcase_add_test(lifetimes, backward_releases_undeclared_values);
    tcase_add_test(lifetimes, results_can_outlive_their_scope);
    tcase_add_test(lifetimes, each_allocation_fails_once);
    suite_add_tcase(suite, lifetimes);
    TCase *loops = tcase_create("loops");
    tcase_add_test(loops, arrays_have_the_bits_of_operations);
    tcase_add_test(loops, a_scan_in_threads);
    tcase_add_test(loops, each_item_is_in_one_part);
    tcase_add_test(loops, wrong_loops_are_reported);
    suite_add_tcase(suite, loops);
    TCase *inside = tcase_create("looking inside");
    tcase_add_test(inside, it_is_explained_and_drawn);
    tcase_add_test(inside, the_search_for_nan_names_it);
    tcase_add_test(inside, usage_errors_are_reported);
    suite_add_tcase(suite, inside);
    return suite;
}
