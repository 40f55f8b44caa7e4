/* test_gradcheck.c: every operation's gradient is right on its samples; and the check fails for rules with each of the usual
 * mistakes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/graph.h"
#include "kernels.h"
#include "op.h"
#include "op_samples.h"
#include "ops/table.h"
#include "suites.h"
#include "tape.h"
#include "tensor_struct.h"
#include "usage_error.h"

enum { CASES = 8 };             /* that each operation must have at least */

START_TEST(every_operation)
{
    const char *name = op_table[_i].name;
    int passed = check_samples(op_samples[_i], stderr);
    ck_assert_msg(passed >= 0, "%s: case %d is wrong", name, -1 - passed);
    ck_assert_msg(passed >= CASES, "%s: %d cases, expected %d or more", name, passed, CASES);
}
END_TEST

/* ---- wrong rules: tanh with another rule ------------------------------------------------------------------------- */

static void right(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) {
        ag_real dx = grad_of(y)[i] * (1 - reals(y)[i] * reals(y)[i]);
        g.data[i] = g.add ? g.data[i] + dx : dx;
    }
}

static void wrong_factor(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) {
        ag_real dx = 2 * grad_of(y)[i] * (1 - reals(y)[i] * reals(y)[i]);
        g.data[i] = g.add ? g.data[i] + dx : dx;
    }
}

static void overwrites(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) g.data[i] = grad_of(y)[i] * (1 - reals(y)[i] * reals(y)[i]);
}

static void zero(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; !g.add && i < y->numel; i++) g.data[i] = 0;
}

static void forgets_dy(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) {
        ag_real dx = 1 - reals(y)[i] * reals(y)[i];
        g.data[i] = g.add ? g.data[i] + dx : dx;
    }
}

static void forgets_the_last_item(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) {
        ag_real dx = i == y->numel - 1 ? 0 : grad_of(y)[i] * (1 - reals(y)[i] * reals(y)[i]);
        g.data[i] = g.add ? g.data[i] + dx : dx;
    }
}

static void is_not_a_number(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) g.data[i] = (ag_real)NAN;
}

static void is_infinite(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) g.data[i] = (ag_real)INFINITY;
}

/* Wrong where grad_into returns memory that is not initialized. */
static void always_adds(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) g.data[i] += grad_of(y)[i] * (1 - reals(y)[i] * reals(y)[i]);
}

static void leaves_the_last_item(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i + 1 < y->numel; i++) {
        ag_real dx = grad_of(y)[i] * (1 - reals(y)[i] * reals(y)[i]);
        g.data[i] = g.add ? g.data[i] + dx : dx;
    }
}

static Tensor *tanh_sample_of(Sample *s, const Op *op)
{
    if (s->number >= 3) return NULL;
    Tensor *x = sample_in(s, 0, SHAPE(2, 3));
    Tensor *y = op_new_n(op, &x->shape, &x, 1);
    k_unary(K_TANH, y->numel, reals(y), reals(x), 0, 0);
    return op_done(y);
}

#define TANH_WITH(name, rule, reads)                                                                         \
    static const Op name##_op = { #name, .forward_text = "tanh x", .backward = (rule), .needs = (reads) };   \
    static Tensor *name##_call(Sample *s) { return AG_CALL_POINTER(Tensor *, tanh_sample_of(s, &name##_op)); }
TANH_WITH(right, right, NEEDS_Y)
TANH_WITH(wrong_factor, wrong_factor, NEEDS_Y)
TANH_WITH(overwrites, overwrites, NEEDS_Y)
TANH_WITH(zero, zero, NEEDS_Y)
TANH_WITH(forgets_dy, forgets_dy, NEEDS_Y)
TANH_WITH(forgets_the_last_item, forgets_the_last_item, NEEDS_Y)
TANH_WITH(is_not_a_number, is_not_a_number, NEEDS_Y)
TANH_WITH(is_infinite, is_infinite, NEEDS_Y)
TANH_WITH(always_adds, always_adds, NEEDS_Y)
TANH_WITH(leaves_the_last_item, leaves_the_last_item, NEEDS_Y)

START_TEST(a_right_rule_passes_all_its_cases)
{
    ck_assert_int_eq(check_samples(right_call, stderr), 3);           /* fewer than CASES */
    ck_assert_int_lt(check_samples(right_call, NULL), CASES);
}
END_TEST

START_TEST(a_wrong_rule_is_rejected)
{
    static const struct { const char *name; SampleCall *call; } wrong[] = {
        { "wrong_factor", wrong_factor_call }, { "overwrites", overwrites_call }, { "zero", zero_call },
        { "forgets_dy", forgets_dy_call }, { "forgets_the_last_item", forgets_the_last_item_call },
        { "is_not_a_number", is_not_a_number_call }, { "is_infinite", is_infinite_call },
        { "always_adds", always_adds_call }, { "leaves_the_last_item", leaves_the_last_item_call },
    };
    ck_assert_msg(check_samples(wrong[_i].call, NULL) == -1, "%s", wrong[_i].name);
}
END_TEST

/* ---- right rules that read values that they do not declare ------------------------------------------------------- */

/* dx = dy (1 - tanh(x)^2), which reads x before or after its call of grad_into. */
static void reads_x_early(Tensor *y)
{
    const ag_real *x = reals(y->in[0]);
    ag_real *slope = op_scratch("slope", y->numel, sizeof(ag_real));
    for (int64_t i = 0; i < y->numel; i++) slope[i] = 1 - (ag_real)(tanh((double)x[i]) * tanh((double)x[i]));
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) g.data[i] = (g.add ? g.data[i] : 0) + grad_of(y)[i] * slope[i];
}

static void reads_x_late(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) {
        double t = tanh((double)reals(y->in[0])[i]);
        g.data[i] = (g.add ? g.data[i] : 0) + grad_of(y)[i] * (ag_real)(1 - t * t);
    }
}

TANH_WITH(declares_no_y, right, NEEDS_NONE)
TANH_WITH(declares_x_for_y, right, NEEDS_X0)
TANH_WITH(declares_no_x, reads_x_early, NEEDS_NONE)
TANH_WITH(declares_y_for_x, reads_x_late, NEEDS_Y)
TANH_WITH(declares_x, reads_x_early, NEEDS_X0)
TANH_WITH(declares_too_much, reads_x_late, NEEDS_X0 + NEEDS_Y)

START_TEST(reading_an_undeclared_value_is_reported)
{
    EXPECT_USAGE_ERROR("declares_no_y: its backward rule reads the value of its result, made by declares_no_y at tests/",
                       check_samples(declares_no_y_call, NULL));
    EXPECT_USAGE_ERROR("the value of its result, made by declares_x_for_y at", check_samples(declares_x_for_y_call, NULL));
    EXPECT_USAGE_ERROR("declares_no_x: its backward rule reads the value of input 0, made by scale at ",
                       check_samples(declares_no_x_call, NULL));
    EXPECT_USAGE_ERROR("the value of input 0, made by scale at ", check_samples(declares_y_for_x_call, NULL));
    ck_assert(!mark_unwritten(false));
    ck_assert_int_eq(check_samples(declares_x_call, stderr), 3);
    ck_assert_int_eq(check_samples(declares_too_much_call, stderr), 3);
}
END_TEST

static Tensor *no_sample(Sample *s)
{
    (void)s;
    return NULL;
}

START_TEST(an_operation_without_cases_has_none)
{
    ck_assert_int_eq(check_samples(no_sample, NULL), 0);
}
END_TEST

/* The gradient of a plain sum of softmax is 0, since the outputs sum to 1: a check without weights would accept this rule. */
static Tensor *softmax_without_gradient(Tensor **in, void *arg)
{
    static const Op op = { "softmax", .backward = zero, .needs = NEEDS_Y };
    Tensor *y = ag_softmax(in[0], -1);
    if (y->op) y->op = &op;
    (void)arg;
    return y;
}

/* ---- functions of a user ----------------------------------------------------------------------------------------- */

static Tensor *leaf(AgShape shape)
{
    return tensor_set_requires_grad(tensor_normal(shape, 0, 1), true);
}

static Tensor *network(Tensor **in, void *arg)                  /* x (5,3), W (4,3), b (4), V (2,4) -> scalar */
{
    const int32_t *targets = arg;
    Tensor *h = ag_tanh(ag_linear(in[0], in[1], in[2]));
    h = ag_add(h, ag_gelu(h));
    return ag_cross_entropy(ag_linear(h, in[3], NULL), tensor_ints(SHAPE(5), targets), AG_MEAN, -100, 0.1);
}

START_TEST(a_composed_function_passes_and_is_unchanged)
{
    ag_seed(3);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *in[] = { leaf(SHAPE(5, 3)), leaf(SHAPE(4, 3)), leaf(SHAPE(4)), leaf(SHAPE(2, 4)) };
    ag_real before[15];
    memcpy(before, tensor_data(in[0]), sizeof before);
    AgRandom random = ag_random_state();
    size_t in_use = ag_memory().in_use;
    ck_assert(ag_gradcheck(network, (int32_t[]){ 0, 1, 1, 0, 1 }, in, 4, stderr));
    ck_assert_mem_eq(before, tensor_data(in[0]), sizeof before);
    ck_assert_uint_eq(ag_random_state().counter, random.counter);
    ck_assert_uint_eq(ag_memory().in_use, in_use);          /* no gradient is left, either */
    ck_assert(!ag_recording());
    ag_end(s);
}
END_TEST

static Tensor *half_a_square(Tensor **in, void *arg)
{
    (void)arg;
    return ag_mul(in[0], ag_detach(in[0]));
}

START_TEST(a_function_with_a_cut_is_rejected)
{
    ag_seed(4);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = leaf(SHAPE(3, 2));
    ck_assert(!ag_gradcheck(half_a_square, NULL, &x, 1, NULL));
    Tensor *y = leaf(SHAPE(2, 5));
    ck_assert(!ag_gradcheck(softmax_without_gradient, NULL, &y, 1, NULL));
    ag_end(s);
}
END_TEST

static Tensor *constant(Tensor **in, void *arg)
{
    (void)in;
    (void)arg;
    return tensor_ones(SHAPE(2));
}

static Tensor *identity(Tensor **in, void *arg)
{
    (void)arg;
    return in[0];
}

START_TEST(functions_without_operations)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = leaf(SHAPE(3));
    ck_assert(ag_gradcheck(constant, NULL, &x, 1, stderr));
    ck_assert(ag_gradcheck(identity, NULL, &x, 1, stderr));
    ag_end(s);
}
END_TEST

static const char *report_of_all(AgFunction *f, Tensor **in, int n)
{
    static char text[4096];
    FILE *report = tmpfile();
    ck_assert_ptr_nonnull(report);
    ck_assert(!ag_gradcheck(f, NULL, in, n, report));
    rewind(report);
    text[fread(text, 1, sizeof text - 1, report)] = '\0';
    fclose(report);
    return text;
}

static const char *report_of(AgFunction *f, Tensor *x) { return report_of_all(f, &x, 1); }

/* in[0] times half of the square of in[1] */
static Tensor *half_of_second(Tensor **in, void *arg) { return ag_mul(in[0], half_a_square(in + 1, arg)); }

START_TEST(the_report_names_the_input_that_is_wrong)
{
    ag_seed(5);
    AgScope s = ag_begin(AG_NO_GRAD);
    const char *text = report_of_all(half_of_second, (Tensor *[]){ leaf(SHAPE(2)), leaf(SHAPE(2)) }, 2);
    const char *first = "input 1 (2,): 2 of 2 entries are wrong: each is 0.5 times the correct value\n";
    ck_assert_msg(strncmp(text, first, strlen(first)) == 0 && !strstr(text, "input 0"), "%s", text);
    ag_end(s);
}
END_TEST

START_TEST(the_report_names_what_is_wrong)
{
    ag_seed(5);
    AgScope s = ag_begin(AG_NO_GRAD);
    const char *text = report_of(half_a_square, leaf(SHAPE(2, 10)));
    const char *first = "input 0 (2, 10): 20 of 20 entries are wrong: each is 0.5 times the correct value\n  [0][0] gradient ";
    ck_assert_msg(strncmp(text, first, strlen(first)) == 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "  [0][7] gradient "));
    ck_assert_ptr_null(strstr(text, "[0][8]"));
    ck_assert_ptr_nonnull(strstr(text, ", numerical "));
    double ratio = atof(strstr(text, "ratio ") + 6);
    ck_assert_double_eq_tol(ratio, 0.5, 0.05);
    ck_assert_ptr_nonnull(strstr(text, "  ... and 12 more\n"));
    ag_end(s);
}
END_TEST

/* ---- kinds of errors in the report ------------------------------------------------------------------------------- */

static Tensor *tanh_by(const Op *op, Tensor *x)
{
    Tensor *y = op_new_n(op, &x->shape, &x, 1);
    k_unary(K_TANH, y->numel, reals(y), reals(x), 0, 0);
    return op_done(y);
}

static Tensor *without_gradient(Tensor **in, void *arg) { (void)arg; return tanh_by(&zero_op, in[0]); }
static Tensor *overwritten(Tensor **in, void *arg) { (void)arg; return tanh_by(&overwrites_op, in[0]); }
static Tensor *added_to_nothing(Tensor **in, void *arg) { (void)arg; return tanh_by(&always_adds_op, in[0]); }
static Tensor *left_unwritten(Tensor **in, void *arg) { (void)arg; return tanh_by(&leaves_the_last_item_op, in[0]); }
static Tensor *undefined(Tensor **in, void *arg) { (void)arg; return tanh_by(&is_not_a_number_op, in[0]); }
static Tensor *by_itself(Tensor **in, void *arg) { (void)arg; return ag_mul(in[0], ag_exp(ag_detach(in[0]))); }
static Tensor *ignores_dy(Tensor **in, void *arg) { (void)arg; return tanh_by(&forgets_dy_op, in[0]); }
static Tensor *zero_slope(Tensor **in, void *arg) { (void)arg; return ag_sub(in[0], ag_detach(in[0])); }

/* A function with derivative 0, whose rule gives another one. */
static Tensor *invented(Tensor **in, void *arg)
{
    (void)arg;
    return ag_mul(zero_slope(in, NULL), tensor_full(AG_SCALAR, 1));
}

/* y[i][j] = x[j] for four rows. The wrong rules use only the gradient of the last row: they write it, or add it. */
static void put_rows(const AgCustomCall *c)
{
    int64_t n = tensor_numel(c->in[0]);
    for (int64_t k = 0; k < tensor_numel(c->y); k++) tensor_mutable_data(c->y)[k] = tensor_data(c->in[0])[k % n];
}

static void take_last_row(const AgCustomCall *c)
{
    int64_t n = tensor_numel(c->in[0]);
    for (int64_t k = 0; k < tensor_numel(c->y); k++) c->dx[0][k % n] = c->dy[k];
}

static void add_last_row(const AgCustomCall *c)
{
    int64_t n = tensor_numel(c->in[0]);
    for (int64_t j = 0; j < n; j++) c->dx[0][j] += c->dy[tensor_numel(c->y) - n + j];
}

static Tensor *rows_of(const AgCustom *op, Tensor *x)
{
    return ag_custom(op, SHAPE(4, tensor_numel(x)), &x, 1, NULL, 0);
}

static Tensor *last_row(Tensor **in, void *arg)
{
    static const AgCustom op = { "rows", put_rows, take_last_row, AG_NEEDS_NONE, "", "" };
    (void)arg;
    return rows_of(&op, in[0]);
}

static Tensor *last_row_added(Tensor **in, void *arg)
{
    static const AgCustom op = { "rows", put_rows, add_last_row, AG_NEEDS_NONE, "", "" };
    (void)arg;
    return rows_of(&op, in[0]);
}

/* y = x^2, with the rule dx = dy (a + b x + c x^2) + d. */
static const ag_real *coefficients;                             /* a, b, c, d */
static void square(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) tensor_mutable_data(c->y)[i] = x[i] * x[i];
}

static void polynomial(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]), *by = coefficients;
    for (int64_t i = 0; i < tensor_numel(c->y); i++)
        c->dx[0][i] += c->dy[i] * (by[0] + by[1] * x[i] + by[2] * x[i] * x[i]) + by[3];
}

static Tensor *square_by(Tensor *x, const ag_real rule[4])
{
    static const AgCustom op = { "square", square, polynomial, AG_NEEDS_X(0), "", "" };
    coefficients = rule;
    return ag_custom(&op, tensor_shape(x), &x, 1, NULL, 0);
}

static Tensor *square_with(Tensor **in, void *rule) { return square_by(in[0], rule); }
static const ag_real without_x[] = { 2, 0, 0, 0 }, with_x_twice[] = { 0, 0, 2, 0 };
static Tensor *factor_missing(Tensor **in, void *arg) { (void)arg; return square_by(in[0], without_x); }
static Tensor *factor_twice(Tensor **in, void *arg) { (void)arg; return square_by(in[0], with_x_twice); }

START_TEST(small_errors_are_found)
{
    ag_seed(9);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_set_requires_grad(tensor_uniform(SHAPE(6), -2, 2), true);
    ck_assert(ag_gradcheck(square_with, (ag_real[]){ 0, 2, 0, 0 }, &x, 1, stderr));
    ck_assert(!ag_gradcheck(square_with, (ag_real[]){ 0, (ag_real)2.08, 0, 0 }, &x, 1, NULL));
    ck_assert(!ag_gradcheck(square_with, (ag_real[]){ 0, 2, 0, (ag_real)0.05 }, &x, 1, NULL));
    ck_assert(!ag_gradcheck(square_with, (ag_real[]){ (ag_real)0.02, 2, 0, 0 }, &x, 1, NULL));
    ag_end(s);
}
END_TEST

static Tensor *fast_wave(Tensor **in, void *arg) { (void)arg; return ag_sin(ag_scale(in[0], 30)); }
static Tensor *fast_wave_by_itself(Tensor **in, void *arg) { return ag_mul(in[0], ag_detach(fast_wave(in, arg))); }

/* In float, the difference quotient of sin(30 x) is 1.5 % too small. */
START_TEST(a_curved_function_is_right)
{
    ag_seed(9);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = leaf(SHAPE(20));
    ck_assert(ag_gradcheck(fast_wave, NULL, &x, 1, stderr));
    ck_assert(!ag_gradcheck(fast_wave_by_itself, NULL, &x, 1, NULL));
    ag_end(s);
}
END_TEST

#define UNWRITTEN_HINT ": where grad_into returns add = false, it must write"
#define OVERWRITTEN "only one of two uses counts: a rule must add to the gradient (+=), not overwrite it\n"
#define ADDED       "a rule adds to memory that was not written" UNWRITTEN_HINT " (=)\n"
#define LEFT        "a rule leaves memory unwritten" UNWRITTEN_HINT " every entry\n"
#define LAST_PART   "only the last of several entries of the result counts: a rule must add up (+=) the parts of all of them\n"
#define IGNORED     "they are right for the loss y[0] + y[1] + ...: a rule must multiply by dy, the gradient of its result\n"

START_TEST(the_kind_of_error_is_reported)
{
    /* the message for three entries, of which `wrong` are wrong, and that for one entry */
    static const struct { AgFunction *f; const char *words, *of_one; int wrong; } kinds[] = {
        { without_gradient, "the gradient is 0\n", "the gradient is 0\n", 3 },
        { overwritten, OVERWRITTEN, OVERWRITTEN, 3 },
        { undefined, "some are not finite\n", "it is not finite\n", 3 },
        { by_itself, " times the correct values\n", " times the correct value\n", 3 },
        { invented, "some should be 0\n", "it should be 0\n", 3 },
        { added_to_nothing, ADDED, ADDED, 3 },
        { left_unwritten, LEFT, LEFT, 1 },
        { last_row, LAST_PART, LAST_PART, 3 },
        { last_row_added, LAST_PART, LAST_PART, 3 },
        { ignores_dy, IGNORED, IGNORED, 3 },
        { factor_missing, "is missing\n", "is missing\n", 3 },
        { factor_twice, "is there once too often\n", "is there once too often\n", 3 },
        { half_a_square, " wrong: each is 0.5 times the correct value\n", " wrong: it is 0.5 times the correct value\n", 3 },
    };
    ag_seed(6);
    AgScope s = ag_begin(AG_NO_GRAD);
    const char *text = report_of(kinds[_i].f, tensor_name(leaf(SHAPE(3)), "x"));
    char first[64];
    int wrong = kinds[_i].wrong;
    snprintf(first, sizeof first, "input 0, x (3,): %d of 3 entries %s wrong: ", wrong, wrong == 1 ? "is" : "are");
    ck_assert_msg(strncmp(text, first, strlen(first)) == 0 && strstr(text, kinds[_i].words), "%s", text);
    text = report_of(kinds[_i].f, leaf(SHAPE(1)));
    snprintf(first, sizeof first, "input 0 (1,): its only entry is wrong: ");
    ck_assert_msg(strncmp(text, first, strlen(first)) == 0 && strstr(text, kinds[_i].of_one), "%s", text);
    text = report_of(half_a_square, leaf(AG_SCALAR));
    ck_assert_ptr_nonnull(strstr(text, "\n   gradient "));                 /* a scalar has no index */
    ag_end(s);
}
END_TEST

static Tensor *nothing(Tensor **in, void *arg)
{
    (void)in;
    (void)arg;
    return NULL;
}

static Tensor *dropped(Tensor **in, void *arg)
{
    (void)arg;
    return ag_dropout(in[0], 0.5);
}

static Tensor *another_size_each_call(Tensor **in, void *calls)
{
    return ag_slice(in[0], 0, 0, 1 + (*(int *)calls)++ % 2);
}

/* Writes its second input, which requires no gradient. */
static Tensor *changes_its_input(Tensor **in, void *arg)
{
    (void)arg;
    Tensor *y = ag_mul(in[0], ag_scale(in[1], 1));
    ag_fill(in[1], 0.5);
    return y;
}

START_TEST(a_function_must_depend_on_its_inputs_alone)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *in[] = { leaf(SHAPE(40)), tensor_ones(SHAPE(40)) };
    Tensor *zero = tensor_set_requires_grad(tensor_full(AG_SCALAR, -0.0), true);
    ck_assert(ag_gradcheck(identity, NULL, &zero, 1, stderr));
    int calls = 0;
    EXPECT_USAGE_ERROR("ag_gradcheck: two calls of the function with the same inputs give different results",
                       ag_gradcheck(dropped, NULL, in, 1, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: two calls of the function", ag_gradcheck(another_size_each_call, &calls, in, 1, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: the function changes the values of its input 1",
                       ag_gradcheck(changes_its_input, NULL, in, 2, NULL));
    ag_end(s);
}
END_TEST

START_TEST(usage_errors_are_reported)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(3)), *made = ag_neg(x), *none = NULL, *ids = tensor_ints(SHAPE(2), NULL);
    EXPECT_USAGE_ERROR("ag_gradcheck: input 0 was made by neg, expected a leaf",
                       ag_gradcheck(identity, NULL, &made, 1, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: an input is NULL", ag_gradcheck(identity, NULL, &none, 1, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: an input is AG_INT, expected AG_REAL", ag_gradcheck(identity, NULL, &ids, 1, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: the result of f is NULL", ag_gradcheck(nothing, NULL, &x, 1, NULL));
    Tensor *fixed = tensor_ones(SHAPE(3));
    EXPECT_USAGE_ERROR("ag_gradcheck: none of the 1 inputs requires a gradient", ag_gradcheck(identity, NULL, &fixed, 1, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: none of the 0 inputs requires a gradient", ag_gradcheck(identity, NULL, &x, 0, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: f is NULL", ag_gradcheck(NULL, NULL, &x, 1, NULL));
    EXPECT_USAGE_ERROR("ag_gradcheck: in is NULL", ag_gradcheck(identity, NULL, NULL, 1, NULL));
    ag_end(s);
}
END_TEST

Suite *gradcheck_suite(void)
{
    Suite *suite = suite_create("gradcheck");
    TCase *operations = tcase_create("operations");
    tcase_add_loop_test(operations, every_operation, 0, OP_COUNT);
    suite_add_tcase(suite, operations);
    TCase *check = tcase_create("the check itself");
    tcase_add_test(check, a_right_rule_passes_all_its_cases);
    tcase_add_loop_test(check, a_wrong_rule_is_rejected, 0, 9);
    tcase_add_test(check, reading_an_undeclared_value_is_reported);
    tcase_add_test(check, an_operation_without_cases_has_none);
    tcase_add_test(check, a_composed_function_passes_and_is_unchanged);
    tcase_add_test(check, a_function_with_a_cut_is_rejected);
    tcase_add_test(check, functions_without_operations);
    tcase_add_test(check, the_report_names_the_input_that_is_wrong);
    tcase_add_test(check, the_report_names_what_is_wrong);
    tcase_add_loop_test(check, the_kind_of_error_is_reported, 0, 13);
    tcase_add_test(check, small_errors_are_found);
    tcase_add_test(check, a_curved_function_is_right);
    tcase_add_test(check, a_function_must_depend_on_its_inputs_alone);
    tcase_add_test(check, usage_errors_are_reported);
    suite_add_tcase(suite, check);
    return suite;
}
