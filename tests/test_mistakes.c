/* test_mistakes.c: mistakes that a C programmer makes against the public functions, one in each row. A row is a part of the
 * expected message and the call. Each one must end as a usage error in one line that names the line of the row, or, where a
 * function reports bad input by its result, with false or NULL and a message in ag_error(). */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kaeru/kaeru.h"
#include "suites.h"
#include "usage_error.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int failures;

/* Counts and prints a row that did not end as expected. */
static void row_failed(int line, const char *what, const char *part)
{
    fprintf(stderr, "%s:%d: %s; expected \"%s\", got \"%s\"\n", __FILE__, line, what, part, usage_message);
    failures++;
}

static void check_usage_row(int line, const char *part)
{
    char place[64], next[64];
    snprintf(place, sizeof place, "%s:%d", __FILE__, line);
    snprintf(next, sizeof next, "%s:%d", __FILE__, line + 1);       /* a row may have two lines */
    if (!usage_message[0]) row_failed(line, "no usage error", part);
    else if (!strstr(usage_message, part)) row_failed(line, "another message", part);
    else if (!strstr(usage_message, place) && !strstr(usage_message, next)) row_failed(line, "another place", part);
    else if (strchr(usage_message, '\n')) row_failed(line, "more than one line", part);
}

static void check_refused_row(int line, bool refused, const char *part)
{
    if (usage_message[0]) {
        row_failed(line, "a usage error", part);
        return;
    }
    snprintf(usage_message, sizeof usage_message, "%s", ag_error());
    if (!refused) row_failed(line, "no error", part);
    else if (!strstr(usage_message, part)) row_failed(line, "another message", part);
    else if (strchr(usage_message, '\n')) row_failed(line, "more than one line", part);
}

#define ROW(...) do {                                                                         \
        usage_begin();                                                                        \
        if (setjmp(usage_escape) == 0) { __VA_ARGS__; }                                       \
        usage_end();                                                                          \
    } while (0)

/* The statement must report a usage error whose message contains this part and names this line. */
#define MISTAKE(part, ...) do { ROW(__VA_ARGS__); check_usage_row(__LINE__, part); } while (0)

/* The expression must be false or NULL, and ag_error() must contain this part. */
static bool refused;
#define REFUSED(part, ...) do {                                                               \
        ag_set_error("no message");                                                           \
        refused = false;                                                                      \
        ROW(refused = !(__VA_ARGS__));                                                        \
        check_refused_row(__LINE__, refused, part);                                           \
    } while (0)

/* A crash becomes a message, so that the other rows still run. */
static void crashed(int signal_number)
{
    ag_usage_error((Site){ "unknown", 0 }, "crash", "signal %d", signal_number);
}

static Scope around;

static void begin(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE };
    for (int i = 0; i < 3; i++) {
        struct sigaction action = { .sa_handler = crashed, .sa_flags = SA_NODEFER };
        sigaction(signals[i], &action, NULL);
    }
    ag_guard(false);                        /* its checks would report some mistakes earlier, with other messages */
    around = ag_begin(AG_RECORD);
}

static void end(void)
{
    ag_end(around);
    ck_assert_msg(failures == 0, "%d rows failed", failures);
}

/* ---- what the rows use ------------------------------------------------------------------------------------------- */

static Tensor *const none;                  /* a tensor that was forgotten */
static const char *const no_text;
static const char missing[] = "/nowhere/at/all";

static Tensor *ones(int64_t rows, int64_t columns)
{
    return tensor_ones(SHAPE(rows, columns));
}

static Tensor *ids(int64_t rows, int64_t columns)
{
    return tensor_ints(SHAPE(rows, columns), NULL);
}

static Tensor *bools(int64_t rows, int64_t columns)
{
    return tensor_bools(SHAPE(rows, columns), NULL);
}

static Tensor *leaf(int64_t rows, int64_t columns)
{
    return tensor_set_requires_grad(ones(rows, columns), true);
}

/* A tensor whose scope has ended. */
static Tensor *ended(void)
{
    Scope s = ag_begin(AG_RECORD);
    Tensor *x = ones(2, 3);
    ag_end(s);
    return x;
}

/* A module that was freed. */
static Linear *freed_linear(void)
{
    Linear *l = nn_linear_new(3, 2);
    nn_free(l);
    return l;
}

/* ---- tensor.h ---------------------------------------------------------------------------------------------------- */

START_TEST(scopes_and_memory)
{
    begin();
    Scope open = ag_begin(AG_RECORD);
    ag_end(open);
    char *text = ag_strdup("text"), *part = ag_alloc_in(text, 1, 4);
    Linear *l = nn_linear_new(3, 2);
    MISTAKE("5 is not an AgMode", ag_begin((AgMode)5));
    MISTAKE("this scope has ended already", ag_end(open));
    MISTAKE("this scope has ended already", ag_end(((Scope){ 0, 0 })));
    MISTAKE("this scope has ended already", ag_end(((Scope){ 99, 1 })));
    MISTAKE("this scope has ended already", ag_end_return(open, ones(1, 1)));
    MISTAKE("t is NULL", ag_end_return(around, none));
    MISTAKE("the scope must be the innermost", ag_end_return(around, ones(1, 1)));
    MISTAKE("scopes begun inside this one", ag_begin(AG_RECORD); ag_end(around));
    MISTAKE("no memory for", ag_alloc(SIZE_MAX / 8, 4));
    MISTAKE("no memory for", ag_alloc((size_t)-1, 1));
    MISTAKE("no memory for", ag_resize(text, 4, SIZE_MAX / 2, 8));
    MISTAKE("no memory for", ag_scratch(SIZE_MAX / 4, 8));
    MISTAKE("the owner was freed, or is not", ag_alloc_in(ended(), 1, 4));
    MISTAKE("p was freed, or is not memory", ag_resize(ones(1, 1), 1, 2, 4));
    MISTAKE("ag_strdup: s is NULL", ag_strdup(no_text));
    MISTAKE("ag_strndup_in: s is NULL", ag_strndup_in(text, no_text, 3));
    MISTAKE("ag_set_owner: p is NULL", ag_set_owner(NULL, text));
    MISTAKE("p would own itself", ag_set_owner(text, text));
    MISTAKE("p would own itself", ag_set_owner(text, part));
    MISTAKE("p was freed, or is not", ag_set_owner(ones(1, 1), text));
    MISTAKE("ag_on_free: p is NULL", ag_on_free(NULL, NULL));
    MISTAKE("the function is NULL", ag_on_free(text, NULL));
    MISTAKE("this is not memory of ag_alloc", ag_free(ones(2, 3)));
    MISTAKE("this object was freed already", Linear *x = nn_linear_new(1, 1); ag_free(x); ag_free(x));
    MISTAKE("this object was freed already", Tensor *x = ag_keep(ones(1, 1)); ag_free(x); ag_free(x));
    MISTAKE("this object was freed already", Optimizer *o = nn_sgd_new(l, 1); ag_free(o); ag_free(o));
    MISTAKE("this object was freed already", Cache *c = nn_cache_new(1, 1); ag_free(c); ag_free(c));
    MISTAKE("this object was freed already", Settings *s = nn_settings_new(); ag_free(s); ag_free(s));
    MISTAKE("s was freed", Settings *s = nn_settings_new(); ag_free(s); nn_settings_get(s, "key"));
    MISTAKE("object is NULL", ag_check_object(__func__, "object", NULL));
    MISTAKE("pointer is NULL", ag_check_pointer(__func__, "pointer", NULL));
    MISTAKE("-1 threads", ag_set_threads(-1));
    nn_free(l);
    ag_free(text);
    end();
}
END_TEST

START_TEST(shapes)
{
    begin();
    Shape nine = { 9, { 1 } };
    char text[AG_SHAPE_TEXT];
    int64_t big = (int64_t)1 << 40;
    MISTAKE("negative size in shape (2, -3)", tensor_zeros(SHAPE(2, -3)));
    MISTAKE("negative size", tensor_ones(SHAPE(-1)));
    MISTAKE("9 dimensions", tensor_full(nine, 1));
    MISTAKE("more items than can be counted", tensor_zeros(SHAPE(big, big)));
    MISTAKE("too large for this machine", tensor_zeros(SHAPE(big * 2000000)));
    MISTAKE("-2 dimensions", tensor_ints(((Shape){ -2, { 0 } }), NULL));
    MISTAKE("negative size", tensor_bools(SHAPE(0, -1), NULL));
    MISTAKE("negative size", tensor_uniform(SHAPE(-4), 0, 1));
    MISTAKE("negative size", tensor_normal(SHAPE(-4), 0, 1));
    MISTAKE("negative size", tensor_randint(SHAPE(-4), 0, 1));
    MISTAKE("negative size", tensor_new_owned(SHAPE(-4), AG_REAL));
    MISTAKE("7 is not a DType", tensor_new_owned(SHAPE(4), (DType)7));
    MISTAKE("9 dimensions", shape_text(nine, text));
    MISTAKE("shape_text: text is NULL", shape_text(SHAPE(1), NULL));
    MISTAKE("9 dimensions", shape_equal(nine, SHAPE(1)));
    MISTAKE("9 dimensions", shape_numel(nine));
    MISTAKE("there is no dimension 2", tensor_dim(ones(2, 3), 2));
    MISTAKE("there is no dimension -1 in shape ()", tensor_dim(tensor_ones(SCALAR), -1));
    end();
}
END_TEST

START_TEST(construction)
{
    begin();
    real nan = (real)NAN;
    MISTAKE("values is NULL", tensor_from(SHAPE(2), NULL));
    MISTAKE("has no end", tensor_arange(0, 10, 0));
    MISTAKE("has no end", tensor_arange(0, (double)INFINITY, 1));
    MISTAKE("has no end", tensor_arange((double)nan, 10, 1));
    MISTAKE("has no end", tensor_arange(0, 10, (double)nan));
    MISTAKE("low 2 is above high 1", tensor_uniform(SHAPE(2), 2, 1));
    MISTAKE("expected finite numbers", tensor_uniform(SHAPE(2), 0, (double)INFINITY));
    MISTAKE("expected finite numbers", tensor_uniform(SHAPE(2), (double)nan, 1));
    MISTAKE("deviation is -1", tensor_normal(SHAPE(2), 0, -1));
    MISTAKE("expected finite numbers", tensor_normal(SHAPE(2), (double)nan, 1));
    MISTAKE("expected finite numbers", tensor_normal(SHAPE(2), 0, (double)INFINITY));
    MISTAKE("low 5 is not below high 5", tensor_randint(SHAPE(2), 5, 5));
    MISTAKE("low 5 is not below high 0", tensor_randint(SHAPE(2), 5, 0));
    MISTAKE("n is 0, expected 1 or more", ag_random_below(0));
    MISTAKE("n is -3", ag_random_permutation(-3, NULL));
    MISTAKE("out is NULL", ag_random_permutation(3, NULL));
    MISTAKE("ag_keep: t is NULL", ag_keep(none));
    end();
}
END_TEST

START_TEST(reading_and_writing)
{
    begin();
    Tensor *x = ones(2, 3), *w = leaf(2, 3), *y = ag_tanh(w);
    MISTAKE("tensor_shape: t is NULL", tensor_shape(none));
    MISTAKE("tensor_ndim: t is NULL", tensor_ndim(none));
    MISTAKE("tensor_numel: t is NULL", tensor_numel(none));
    MISTAKE("tensor_dtype: t is NULL", tensor_dtype(none));
    MISTAKE("tensor_data: t is NULL", tensor_data(none));
    MISTAKE("tensor_item: t is NULL", tensor_item(none));
    MISTAKE("shape (2, 3) has not one item", tensor_item(x));
    MISTAKE("has not one item", tensor_item(tensor_zeros(SHAPE(0))));
    MISTAKE("t is AG_INT, expected AG_REAL", tensor_data(ids(1, 1)));
    MISTAKE("t is AG_REAL, expected AG_INT", tensor_int_data(x));
    MISTAKE("t is AG_REAL, expected AG_BOOL", tensor_bool_data(x));
    MISTAKE("t is AG_BOOL, expected AG_REAL", tensor_mutable_data(bools(1, 1)));
    MISTAKE("t is AG_REAL, expected AG_INT", tensor_mutable_int_data(x));
    MISTAKE("t is AG_INT, expected AG_BOOL", tensor_mutable_bool_data(ids(1, 1)));
    MISTAKE("t was made by tanh", tensor_mutable_data(y));
    MISTAKE("dst is NULL", tensor_copy(none, x));
    MISTAKE("src is NULL", tensor_copy(x, none));
    MISTAKE("differ in shape", tensor_copy(x, ones(3, 2)));
    MISTAKE("differ in shape", tensor_copy(x, tensor_ones(SHAPE(6))));
    MISTAKE("src is AG_INT, expected AG_REAL", tensor_copy(x, ids(2, 3)));
    MISTAKE("dst was made by tanh", tensor_copy(y, x));
    MISTAKE("the name is NULL", tensor_name(x, no_text));
    MISTAKE("tensor_name: t is NULL", tensor_name(none, "x"));
    MISTAKE("tensor_get_name: t is NULL", tensor_get_name(none));
    MISTAKE("the file is NULL", tensor_fprint(NULL, x));
    MISTAKE("tensor_print: t is NULL", tensor_print(none));
    MISTAKE("belongs to a scope", tensor_free(x));
    MISTAKE("belongs to a module", Linear *l = nn_linear_new(2, 2); tensor_free(l->weight));
    MISTAKE("freed already", Tensor *k = ag_keep(x); tensor_free(k); tensor_free(k));
    MISTAKE("its scope has ended", tensor_data(ended()));
    MISTAKE("its scope has ended", tensor_shape(ended()));
    MISTAKE("its scope has ended", ag_add(x, ended()));
    MISTAKE("its scope has ended", tensor_copy(x, ended()));
    MISTAKE("and freed", Tensor *k = ag_keep(x); tensor_free(k); tensor_item(k));
    MISTAKE("its scope has ended", ag_keep(ended()));
    MISTAKE("its scope has ended", tensor_name(ended(), "x"));
    MISTAKE("its scope has ended", tensor_print(ended()));
    end();
}
END_TEST

/* ---- gradients --------------------------------------------------------------------------------------------------- */

START_TEST(gradients)
{
    begin();
    Tensor *x = ones(2, 3);
    MISTAKE("t is AG_INT, expected AG_REAL", tensor_set_requires_grad(ids(2, 2), true));
    MISTAKE("t is AG_BOOL, expected AG_REAL", tensor_set_requires_grad(bools(2, 2), true));
    MISTAKE("only a leaf can be set", tensor_set_requires_grad(ag_tanh(leaf(1, 1)), false));
    MISTAKE("t is NULL", tensor_set_requires_grad(none, true));
    MISTAKE("t is NULL", tensor_requires_grad(none));
    MISTAKE("t is NULL", tensor_grad(none));
    MISTAKE("t is NULL", tensor_grad_data(none));
    MISTAKE("t is NULL", tensor_zero_grad(none));
    MISTAKE("its scope has ended", tensor_grad(ended()));
    MISTAKE("the loss is NULL", ag_backward(none));
    MISTAKE("the loss has shape (2, 3), expected one item", ag_backward(ag_tanh(leaf(2, 3))));
    MISTAKE("the loss does not require a gradient", ag_backward(ag_sum(x)));
    MISTAKE("the loss is AG_INT", ag_backward(ids(1, 1)));
    MISTAKE("does not require a gradient", Scope s = ag_begin(AG_NO_GRAD); Tensor *l = ag_sum(leaf(2, 2)); ag_backward(l);
            ag_end(s));
    MISTAKE("does not require a gradient", ag_backward(ag_detach(ag_sum(leaf(2, 2)))));
    MISTAKE("an earlier backward has run through", Tensor *l = ag_sum(ag_tanh(leaf(2, 2))); ag_backward(l); ag_backward(l));
    MISTAKE("an earlier backward has run through", Tensor *y = ag_tanh(leaf(1, 1)); ag_backward(y); ag_backward(ag_sum(y)));
    MISTAKE("released by backward", Tensor *y = ag_tanh(leaf(2, 2)); ag_backward(ag_sum(ag_mul(y, y))); tensor_data(y));
    MISTAKE("released by backward", Tensor *y = ag_exp(leaf(2, 2)); ag_backward(ag_sum(ag_mul(y, y))); ag_neg(y));
    MISTAKE("ag_fill wrote it", Tensor *w = leaf(1, 1); Tensor *y = ag_mul(w, w); ag_fill(w, 2); ag_backward(y));
    MISTAKE("tensor_copy wrote it", Tensor *w = leaf(1, 1); Tensor *y = ag_log(w); tensor_copy(w, ones(1, 1)); ag_backward(y));
    MISTAKE("tensor_mutable_data wrote it", Tensor *w = leaf(1, 1); Tensor *y = ag_abs(w); tensor_mutable_data(w)[0] = 5;
            ag_backward(y));
    MISTAKE("was freed before backward", Tensor *k = tensor_set_requires_grad(ag_keep(ones(1, 1)), true);
            Tensor *y = ag_mul(k, k); tensor_free(k); ag_backward(y));
    MISTAKE("dy is NULL", ag_backward_from(ag_tanh(leaf(2, 3)), none));
    MISTAKE("y (2, 3) and dy (3, 2) differ", ag_backward_from(ag_tanh(leaf(2, 3)), ones(3, 2)));
    MISTAKE("dy is AG_INT", ag_backward_from(ag_tanh(leaf(2, 3)), ids(2, 3)));
    MISTAKE("the loss is NULL", ag_backward_from(none, x));
    MISTAKE("the loss is NULL", ag_backward_keep(none));
    MISTAKE("does not require a gradient", ag_backward_keep(ag_sum(x)));
    MISTAKE("expected one item", ag_backward_keep(ag_tanh(leaf(2, 3))));
    MISTAKE("ag_retain: t is NULL", ag_retain(none));
    MISTAKE("expected AG_REAL", ag_retain(ids(1, 1)));
    MISTAKE("ag_detach: t is NULL", ag_detach(none));
    MISTAKE("its scope has ended", ag_detach(ended()));
    MISTAKE("found in its result", ag_find_nan(true); ag_log(tensor_full(SHAPE(2), -1)));
    ag_find_nan(false);
    MISTAKE("found in the gradient", ag_find_nan(true); ag_backward(ag_sum(ag_sqrt(tensor_set_requires_grad(tensor_zeros(
            SHAPE(1)), true)))));
    ag_find_nan(false);
    end();
}
END_TEST

START_TEST(debugging)
{
    begin();
    Tensor *l = ag_sum(leaf(2, 2));
    MISTAKE("the file is NULL", ag_explain(NULL, l));
    MISTAKE("the loss is NULL", ag_explain(stderr, none));
    MISTAKE("expected one item", ag_explain(stderr, ag_tanh(leaf(2, 2))));
    MISTAKE("does not require a gradient", ag_explain(stderr, ones(1, 1)));
    MISTAKE("released its values", Tensor *y = ag_sum(ag_tanh(leaf(2, 2))); ag_backward(y); ag_explain(stderr, y));
    MISTAKE("the file is NULL", ag_graph_dot(NULL, l));
    MISTAKE("y is NULL", ag_graph_dot(stderr, none));
    MISTAKE("the loss is NULL", ag_graph_frames(none));
    MISTAKE("the file is NULL", ag_graph_frame(NULL, l, 0));
    MISTAKE("there is no frame 99", ag_graph_frame(stderr, l, 99));
    MISTAKE("there is no frame -1", ag_graph_frame(stderr, l, -1));
    MISTAKE("-1 is not in 0..", ag_op_name(-1));
    MISTAKE("1000 is not in 0..", ag_op_forward_text(1000));
    MISTAKE("is not in 0..", ag_op_backward_text(ag_op_count()));
    end();
}
END_TEST

START_TEST(updates_in_place)
{
    begin();
    Tensor *w = leaf(2, 3), *m = ones(2, 3), *other = ones(3, 2);
    AdamOptions adam = nn_adam_options(1);
    SgdOptions sgd = { .lr = 1 };
    double nan = (double)NAN;
    MISTAKE("w is NULL", ag_adam_update(none, m, m, &adam, 1, 1));
    MISTAKE("exp_avg is NULL", ag_adam_update(w, none, m, &adam, 1, 1));
    MISTAKE("exp_avg_sq is NULL", ag_adam_update(w, m, none, &adam, 1, 1));
    MISTAKE("exp_avg (3, 2) does not fit w", ag_adam_update(w, other, m, &adam, 1, 1));
    MISTAKE("o is NULL", ag_adam_update(w, m, m, NULL, 1, 1));
    MISTAKE("step is 0", ag_adam_update(w, m, m, &adam, 0, 1));
    MISTAKE("grad_scale is nan", ag_adam_update(w, m, m, &adam, 1, nan));
    MISTAKE("w is AG_INT", ag_adam_update(ids(2, 3), m, m, &adam, 1, 1));
    MISTAKE("w was made by tanh", ag_adam_update(ag_tanh(w), m, m, &adam, 1, 1));
    MISTAKE("o is NULL", ag_sgd_update(w, NULL, NULL, true, 1));
    MISTAKE("w is NULL", ag_sgd_update(none, NULL, &sgd, true, 1));
    MISTAKE("momentum (3, 2) does not fit", ag_sgd_update(w, other, &sgd, true, 1));
    MISTAKE("grad_scale is inf", ag_sgd_update(w, NULL, &sgd, true, (double)INFINITY));
    MISTAKE("w is NULL", ag_grad_sum_squares(none));
    MISTAKE("its scope has ended", ag_grad_sum_squares(ended()));
    MISTAKE("w is NULL", ag_grad_scale(none, 1));
    MISTAKE("factor is nan", ag_grad_scale(w, nan));
    MISTAKE("w was made by tanh", ag_grad_scale(ag_tanh(w), 1));
    MISTAKE("w is NULL", ag_fill(none, 1));
    MISTAKE("w is AG_BOOL", ag_fill(bools(2, 2), 1));
    MISTAKE("w was made by tanh", ag_fill(ag_tanh(w), 1));
    MISTAKE("w is NULL", ag_fill_uniform(none, 0, 1));
    MISTAKE("low 1 is above high 0", ag_fill_uniform(w, 1, 0));
    MISTAKE("w is NULL", ag_fill_normal(none, 0, 1));
    MISTAKE("deviation is nan", ag_fill_normal(w, 0, nan));
    end();
}
END_TEST

/* ---- operations of the program's own ------------------------------------------------------------------------------- */

static void copy_forward(const AgCustomCall *c)
{
    memcpy(tensor_mutable_data(c->y), tensor_data(c->in[0]), (size_t)tensor_numel(c->y) * sizeof(real));
}

static void add_backward(const AgCustomCall *c)
{
    for (int64_t i = 0; i < tensor_numel(c->y); i++) c->dx[0][i] += c->dy[i];
}

static Site custom_at;

static void backward_reading_x(const AgCustomCall *c)
{
    tensor_data_at(custom_at, c->in[0]);
}

static void backward_reading_y(const AgCustomCall *c)
{
    tensor_data_at(custom_at, c->y);
}

static void forward_writing_x(const AgCustomCall *c)
{
    tensor_mutable_data_at(custom_at, c->in[0])[0] = 0;
}

START_TEST(custom_operations)
{
    begin();
    Tensor *x = leaf(2, 3), *h = ag_tanh(x);
    Tensor *in[20] = { h };
    AgCustom good = { "copy", copy_forward, add_backward, AG_NEEDS_NONE, NULL, NULL }, bad = good;
    const Shape shape = SHAPE(2, 3);
    MISTAKE("an operation needs a name", ag_custom(NULL, shape, in, 1, NULL, 0));
    MISTAKE("an operation needs a name", AgCustom c = good; c.name = NULL; ag_custom(&c, shape, in, 1, NULL, 0));
    MISTAKE("a forward and a backward", AgCustom c = good; c.forward = NULL; ag_custom(&c, shape, in, 1, NULL, 0));
    MISTAKE("a forward and a backward", AgCustom c = good; c.backward = NULL; ag_custom(&c, shape, in, 1, NULL, 0));
    MISTAKE("expected a sum of AG_NEEDS_X(i)", AgCustom c = good; c.needs = -1; ag_custom(&c, shape, in, 1, NULL, 0));
    MISTAKE("-1 inputs", ag_custom(&good, shape, in, -1, NULL, 0));
    MISTAKE("20 inputs; an operation has 0 to 16", ag_custom(&good, shape, in, 20, NULL, 0));
    MISTAKE("in is NULL, expected 1 inputs", ag_custom(&good, shape, NULL, 1, NULL, 0));
    MISTAKE("args is NULL, expected 8 bytes", ag_custom(&good, shape, in, 1, NULL, 8));
    MISTAKE("negative size", ag_custom(&good, SHAPE(-1), in, 1, NULL, 0));
    MISTAKE("input 0 is not a live tensor", Tensor *dead = ended(); ag_custom(&good, shape, &dead, 1, NULL, 0));
    custom_at = (Site){ __FILE__, __LINE__ + 3 };
    bad.backward = backward_reading_x;
    ck_assert_ptr_nonnull(in[0]);
    MISTAKE("reads", Tensor *y = ag_custom(&bad, shape, in, 1, NULL, 0); ag_backward(ag_sum(y)));
    bad.backward = backward_reading_y;
    custom_at = (Site){ __FILE__, __LINE__ + 1 };
    MISTAKE("reads", Tensor *y = ag_custom(&bad, shape, in, 1, NULL, 0); ag_backward(ag_sum(y)));
    bad.forward = forward_writing_x;
    custom_at = (Site){ __FILE__, __LINE__ + 1 };
    MISTAKE("only leaves are written", ag_custom(&bad, shape, in, 1, NULL, 0));
    end();
}
END_TEST

/* ---- operations: one row or more for each of ops.def and autograd.h --------------------------------------------------- */

START_TEST(elementwise)
{
    begin();
    Tensor *x = ones(2, 3), *i = ids(2, 3), *m = bools(2, 3), *other = ones(3, 2);
    double nan = (double)NAN;
    MISTAKE("add: a is NULL", ag_add(none, x));
    MISTAKE("add: b is NULL", ag_add(x, none));
    MISTAKE("(2, 3) and (3, 2) do not fit", ag_add(x, other));
    MISTAKE("b is AG_INT", ag_add(x, i));
    MISTAKE("sub: a is NULL", ag_sub(none, x));
    MISTAKE("(2, 3) and (2,) do not fit", ag_sub(x, tensor_ones(SHAPE(2))));
    MISTAKE("a is AG_INT", ag_sub(i, i));
    MISTAKE("mul: b is NULL", ag_mul(x, none));
    MISTAKE("do not fit", ag_mul(x, other));
    MISTAKE("b is AG_BOOL", ag_mul(x, m));
    MISTAKE("div: a is NULL", ag_div(none, x));
    MISTAKE("do not fit", ag_div(x, other));
    MISTAKE("b is AG_INT", ag_div(x, i));
    MISTAKE("pow: b is NULL", ag_pow(x, none));
    MISTAKE("do not fit", ag_pow(x, other));
    MISTAKE("maximum: b is NULL", ag_maximum(x, none));
    MISTAKE("maximum: a is AG_INT", ag_maximum(i, x));
    MISTAKE("minimum: a is NULL", ag_minimum(none, x));
    MISTAKE("do not fit", ag_minimum(x, other));
    MISTAKE("where: mask is NULL", ag_where(none, x, x));
    MISTAKE("where: a is NULL", ag_where(m, none, x));
    MISTAKE("where: b is NULL", ag_where(m, x, none));
    MISTAKE("mask is AG_REAL, expected AG_BOOL", ag_where(x, x, x));
    MISTAKE("mask (2, 3) does not broadcast", ag_where(m, other, other));
    MISTAKE("do not fit", ag_where(m, x, other));
    MISTAKE("neg: x is NULL", ag_neg(none));
    MISTAKE("neg: x is AG_BOOL", ag_neg(m));
    MISTAKE("scale: x is NULL", ag_scale(none, 2));
    MISTAKE("scale: x is AG_INT", ag_scale(i, 2));
    MISTAKE("pow_scalar: x is NULL", ag_pow_scalar(none, 2));
    MISTAKE("exp: x is AG_INT", ag_exp(i));
    MISTAKE("log: x is NULL", ag_log(none));
    MISTAKE("sqrt: x is AG_BOOL", ag_sqrt(m));
    MISTAKE("abs: x is AG_INT", ag_abs(i));
    MISTAKE("clamp: x is NULL", ag_clamp(none, 0, 1));
    MISTAKE("low 1 is above high 0", ag_clamp(x, 1, 0));
    MISTAKE("low nan", ag_clamp(x, nan, 1));
    MISTAKE("tanh: x is NULL", ag_tanh(none));
    MISTAKE("sigmoid: x is AG_INT", ag_sigmoid(i));
    MISTAKE("relu: x is NULL", ag_relu(none));
    MISTAKE("gelu: x is AG_BOOL", ag_gelu(m));
    MISTAKE("gelu_erf: x is NULL", ag_gelu_erf(none));
    MISTAKE("masked_fill: x is NULL", ag_masked_fill(none, m, 0));
    MISTAKE("masked_fill: mask is NULL", ag_masked_fill(x, none, 0));
    MISTAKE("mask is AG_INT, expected AG_BOOL", ag_masked_fill(x, i, 0));
    MISTAKE("does not broadcast to x (3, 2)", ag_masked_fill(other, m, 0));
    MISTAKE("dropout: x is NULL", ag_dropout(none, 0.5));
    MISTAKE("p is 1, expected 0 <= p < 1", ag_dropout(x, 1));
    MISTAKE("p is -0.1", ag_dropout(x, -0.1));
    MISTAKE("p is nan", ag_dropout(x, nan));
    MISTAKE("9 is not an AgActivation", ag_activate((AgActivation)9, x));
    MISTAKE("x is NULL", ag_activate(AG_RELU, none));
    MISTAKE("x is NULL", ag_activate(AG_IDENTITY, none));
    MISTAKE("7 is no comparison", ag_compare((AgCompare)7, x, x));
    MISTAKE("compare: b is NULL", ag_compare(AG_EQ, x, none));
    MISTAKE("b is AG_INT, expected AG_REAL", ag_compare(AG_EQ, x, i));
    MISTAKE("do not fit", ag_compare(AG_EQ, x, other));
    MISTAKE("compare_scalar: a is NULL", ag_compare_scalar(AG_EQ, none, 0));
    MISTAKE("-1 is no comparison", ag_compare_scalar((AgCompare)-1, x, 0));
    MISTAKE("and: a is AG_REAL", ag_and(x, m));
    MISTAKE("and: b is NULL", ag_and(m, none));
    MISTAKE("do not fit", ag_and(m, bools(3, 2)));
    MISTAKE("not: a is AG_INT", ag_not(i));
    MISTAKE("not: a is NULL", ag_not(none));
    end();
}
END_TEST

START_TEST(products)
{
    begin();
    Tensor *x = ones(2, 3), *i = ids(2, 3), *row = tensor_ones(SHAPE(3)), *q = tensor_ones(SHAPE(1, 2, 4));
    double nan = (double)NAN;
    MISTAKE("inner sizes 3 and 2", ag_matmul(x, x));
    MISTAKE("both need two dimensions or more", ag_matmul(x, row));
    MISTAKE("batch dimensions do not broadcast", ag_matmul(tensor_ones(SHAPE(2, 4, 3)), tensor_ones(SHAPE(5, 3, 4))));
    MISTAKE("matmul: a is NULL", ag_matmul(none, x));
    MISTAKE("matmul: b is AG_INT", ag_matmul(x, i));
    MISTAKE("linear: x is NULL", ag_linear(none, x, NULL));
    MISTAKE("linear: weight is NULL", ag_linear(x, none, NULL));
    MISTAKE("expected x (..,in) and weight (out,in)", ag_linear(x, ones(3, 2), NULL));
    MISTAKE("bias (3,) does not fit", ag_linear(x, ones(2, 3), row));
    MISTAKE("bias is AG_INT", ag_linear(x, ones(2, 3), ids(1, 2)));
    MISTAKE("expected x (..,in)", ag_linear(tensor_ones(SCALAR), ones(2, 3), NULL));
    MISTAKE("9 is not an AgActivation", ag_linear_activate(x, x, NULL, (AgActivation)9));
    MISTAKE("expected x (..,in)", ag_linear_activate(x, ones(3, 2), NULL, AG_RELU));
    MISTAKE("x is NULL", ag_linear_activate(none, x, NULL, AG_GELU));
    MISTAKE("attention: q is NULL", ag_attention(none, q, q, NULL, 2, false, 0));
    MISTAKE("attention: v is NULL", ag_attention(q, q, none, NULL, 2, false, 0));
    MISTAKE("do not fit: expected (B,T,D)", ag_attention(q, q, x, NULL, 2, false, 0));
    MISTAKE("do not fit: expected (B,T,D)", ag_attention(q, tensor_ones(SHAPE(2, 2, 4)), q, NULL, 2, false, 0));
    MISTAKE("does not divide into 3 heads", ag_attention(q, q, q, NULL, 3, false, 0));
    MISTAKE("does not divide into -1 heads", ag_attention(q, q, q, NULL, -1, false, 0));
    MISTAKE("dropout p is 1", ag_attention(q, q, q, NULL, 2, false, 1));
    MISTAKE("dropout p is nan", ag_attention(q, q, q, NULL, 2, false, nan));
    MISTAKE("mask is AG_REAL", ag_attention(q, q, q, q, 2, false, 0));
    MISTAKE("does not broadcast to (B,heads,T,S)", ag_attention(q, q, q, bools(3, 3), 2, false, 0));
    MISTAKE("expected (B,T,3D)", ag_self_attention(q, NULL, 2, true, 0));
    MISTAKE("qkv is NULL", ag_self_attention(none, NULL, 2, true, 0));
    MISTAKE("does not divide into 0 heads", ag_self_attention(tensor_ones(SHAPE(1, 2, 12)), NULL, 0, true, 0));
    MISTAKE("mask is AG_INT", ag_self_attention(tensor_ones(SHAPE(1, 2, 12)), ids(2, 2), 2, true, 0));
    end();
}
END_TEST

START_TEST(reductions)
{
    begin();
    Tensor *x = ones(2, 3), *i = ids(2, 3), *empty = ones(2, 0);
    double nan = (double)NAN;
    MISTAKE("sum: x is NULL", ag_sum(none));
    MISTAKE("x is AG_INT", ag_sum(i));
    MISTAKE("x is NULL", ag_mean(none));
    MISTAKE("x is AG_BOOL", ag_mean(bools(1, 2)));
    MISTAKE("there is nothing to choose from", ag_max(empty));
    MISTAKE("x is NULL", ag_max(none));
    MISTAKE("there is no dimension 2", ag_sum_dims(x, DIMS(2), false));
    MISTAKE("dimension -2 is named twice", ag_sum_dims(x, DIMS(0, -2), false));
    MISTAKE("9 dimensions named", ag_sum_dims(x, ((Dims){ 9, { 0 } }), false));
    MISTAKE("there is no dimension -3", ag_mean_dims(x, DIMS(-3), true));
    MISTAKE("-1 dimensions named", ag_mean_dims(x, ((Dims){ -1, { 0 } }), false));
    MISTAKE("there is no dimension 5", ag_max_dim(x, 5, false));
    MISTAKE("there is nothing to choose from", ag_max_dim(empty, 1, false));
    MISTAKE("min_dim: x is NULL", ag_min_dim(none, 0, false));
    MISTAKE("there is no dimension -5", ag_min_dim(x, -5, false));
    MISTAKE("there is no dimension 2", ag_var_dims(x, DIMS(2), true, false));
    MISTAKE("var_dims: x is NULL", ag_var_dims(none, DIMS(0), true, false));
    MISTAKE("unbiased variance", ag_var_dims(ones(2, 1), DIMS(1), true, false));
    MISTAKE("x is AG_INT, expected AG_REAL", ag_argmax(i, 0, false));
    MISTAKE("there is no dimension 3", ag_argmax(x, 3, false));
    MISTAKE("there is nothing to choose from", ag_argmax(empty, 1, false));
    MISTAKE("there is no dimension 2", ag_softmax(x, 2));
    MISTAKE("x is AG_INT", ag_softmax(i, 0));
    MISTAKE("there is no dimension -3", ag_log_softmax(x, -3));
    MISTAKE("log_softmax: x is NULL", ag_log_softmax(none, 0));
    MISTAKE("masked_softmax: x is NULL", ag_masked_softmax(none, NULL, 1));
    MISTAKE("scale is 0", ag_masked_softmax(x, NULL, 0));
    MISTAKE("scale is nan", ag_masked_softmax(x, NULL, nan));
    MISTAKE("mask is AG_REAL", ag_masked_softmax(x, x, 1));
    MISTAKE("does not broadcast to x", ag_masked_softmax(x, bools(3, 3), 1));
    MISTAKE("layer_norm: x is NULL", ag_layer_norm(none, NULL, NULL, AG_NORM_PYTORCH));
    MISTAKE("x is a scalar", ag_layer_norm(tensor_ones(SCALAR), NULL, NULL, AG_NORM_PYTORCH));
    MISTAKE("gamma (2, 3) does not fit", ag_layer_norm(x, x, NULL, AG_NORM_PYTORCH));
    MISTAKE("beta (2,) does not fit", ag_layer_norm(x, NULL, tensor_ones(SHAPE(2)), AG_NORM_PYTORCH));
    MISTAKE("gamma is AG_INT", ag_layer_norm(x, i, NULL, AG_NORM_PYTORCH));
    MISTAKE("eps is -1", ag_layer_norm(x, NULL, NULL, ((AgNorm){ -1, true, false })));
    MISTAKE("eps is nan", ag_layer_norm(x, NULL, NULL, ((AgNorm){ nan, true, false })));
    MISTAKE("is 0/0", ag_layer_norm(ones(2, 1), NULL, NULL, AG_NORM_ANNOTATED));
    end();
}
END_TEST

START_TEST(ids_and_losses)
{
    begin();
    Tensor *x = ones(2, 3), *i = ids(2, 3), *t = tensor_ints(SHAPE(2), (int32_t[]){ 0, 3 });
    Tensor *negative = tensor_ints(SHAPE(2), (int32_t[]){ -1, 0 }), *fine = tensor_ints(SHAPE(2), NULL);
    double nan = (double)NAN;
    MISTAKE("embedding: table is NULL", ag_embedding(none, i));
    MISTAKE("embedding: ids is NULL", ag_embedding(x, none));
    MISTAKE("ids is AG_REAL", ag_embedding(x, x));
    MISTAKE("id 3 at item 1 is out of range: expected 0..1", ag_embedding(x, t));
    MISTAKE("id -1 at item 0", ag_embedding(x, negative));
    MISTAKE("expected a table (V,D)", ag_embedding(tensor_ones(SHAPE(3)), i));
    MISTAKE("gather: x is NULL", ag_gather(none, 0, i));
    MISTAKE("ids is AG_REAL", ag_gather(x, 0, x));
    MISTAKE("there is no dimension 2", ag_gather(x, 2, i));
    MISTAKE("do not fit x (2, 3)", ag_gather(x, 0, fine));
    MISTAKE("id 3 at item 1", ag_gather(x, 1, ag_unsqueeze(t, 1)));
    MISTAKE("ids is AG_REAL", ag_one_hot(x, 3));
    MISTAKE("one_hot: ids is NULL", ag_one_hot(none, 3));
    MISTAKE("-1 classes", ag_one_hot(i, -1));
    MISTAKE("id 3 at item 1", ag_one_hot(t, 3));
    MISTAKE("mse_loss: target is NULL", ag_mse_loss(x, none));
    MISTAKE("x (2, 3) and target (3, 2) differ", ag_mse_loss(x, ones(3, 2)));
    MISTAKE("target is AG_INT", ag_mse_loss(x, i));
    MISTAKE("mse_loss: x is NULL", nn_mse_loss(none, x));
    MISTAKE("logits is NULL", ag_cross_entropy(none, fine, AG_MEAN, -100, 0));
    MISTAKE("target is AG_REAL, expected AG_INT", ag_cross_entropy(x, x, AG_MEAN, -100, 0));
    MISTAKE("target 3 at item 1 is out of range", ag_cross_entropy(x, t, AG_MEAN, -100, 0));
    MISTAKE("target -1 at item 0 is out of range", ag_cross_entropy(x, negative, AG_SUM, -100, 0));
    MISTAKE("do not fit: expected (..,V) and (..)", ag_cross_entropy(x, i, AG_MEAN, -100, 0));
    MISTAKE("5 is not an AgReduce", ag_cross_entropy(x, fine, (AgReduce)5, -100, 0));
    MISTAKE("smoothing 2 is not in 0..1", ag_cross_entropy(x, fine, AG_MEAN, -100, 2));
    MISTAKE("smoothing nan", ag_cross_entropy(x, fine, AG_MEAN, -100, nan));
    MISTAKE("do not fit", nn_cross_entropy(tensor_ones(SCALAR), fine));
    MISTAKE("target is NULL", nn_cross_entropy(x, none));
    MISTAKE("log_p is NULL", ag_nll_loss(none, fine, AG_MEAN, -100));
    MISTAKE("target 3 at item 1", ag_nll_loss(x, t, AG_MEAN, -100));
    MISTAKE("do not fit", ag_nll_loss(x, tensor_ints(SHAPE(3), NULL), AG_MEAN, -100));
    MISTAKE("9 is not an AgReduce", ag_nll_loss(x, fine, (AgReduce)9, -100));
    MISTAKE("kl_div: target is NULL", ag_kl_div(x, none, AG_MEAN));
    MISTAKE("differ in shape", ag_kl_div(x, ones(3, 2), AG_MEAN));
    MISTAKE("target is AG_INT", ag_kl_div(x, i, AG_MEAN));
    MISTAKE("-1 is not an AgReduce", ag_kl_div(x, x, (AgReduce)-1));
    MISTAKE("target -1 at item 0, expected a probability", ag_kl_div(x, tensor_full(SHAPE(2, 3), -1), AG_SUM));
    MISTAKE("log_p is NULL", ag_label_smoothing(none, fine, 0, 0.1));
    MISTAKE("smoothing -1 is not in 0..1", ag_label_smoothing(x, fine, 0, -1));
    MISTAKE("padding id 7 and 3 classes", ag_label_smoothing(x, fine, 7, 0.1));
    MISTAKE("padding id 0 and 2 classes", ag_label_smoothing(ones(2, 2), fine, 0, 0.1));
    MISTAKE("target 3 at item 1", ag_label_smoothing(x, t, 0, 0.1));
    end();
}
END_TEST

START_TEST(changes_of_shape)
{
    begin();
    Tensor *x = ones(2, 3), *i = ids(2, 3), *out[3];
    Tensor *list[] = { x, x, none }, *mixed[] = { x, i }, *odd[] = { x, ones(3, 3) };
    MISTAKE("with 6 items does not fit (4, 2)", ag_reshape(x, SHAPE(4, 2)));
    MISTAKE("does not fit (-1, 4)", ag_reshape(x, SHAPE(-1, 4)));
    MISTAKE("negative size", ag_reshape(x, SHAPE(-1, -1)));
    MISTAKE("negative size", ag_reshape(x, SHAPE(-2, 3)));
    MISTAKE("every size fits for -1", ag_reshape(ones(0, 3), SHAPE(0, -1)));
    MISTAKE("reshape: x is NULL", ag_reshape(none, SHAPE(1)));
    MISTAKE("9 dimensions", ag_reshape(x, ((Shape){ 9, { 1 } })));
    MISTAKE("an order of 1 dimensions", ag_permute(x, DIMS(0)));
    MISTAKE("dimension 0 is named twice", ag_permute(x, DIMS(0, 0)));
    MISTAKE("there is no dimension 2", ag_permute(x, DIMS(0, 2)));
    MISTAKE("permute: x is NULL", ag_permute(none, DIMS(0)));
    MISTAKE("there is no dimension 2", ag_transpose(x, 0, 2));
    MISTAKE("x is NULL", ag_transpose(none, 0, 1));
    MISTAKE("1..5 is not within dimension 1", ag_slice(x, 1, 1, 5));
    MISTAKE("2..1 is not within", ag_slice(x, 1, 2, 1));
    MISTAKE("-9..2 is not within", ag_slice(x, 1, -9, 2));
    MISTAKE("there is no dimension 4", ag_slice(x, 4, 0, 1));
    MISTAKE("slice: x is NULL", ag_slice(none, 0, 0, 1));
    MISTAKE("does not divide into 2 equal parts", ag_split(x, 2, 1, out));
    MISTAKE("does not divide into 0 equal parts", ag_split(x, 0, 1, out));
    MISTAKE("split: out is NULL", ag_split(x, 3, 1, NULL));
    MISTAKE("split: x is NULL", ag_split(none, 3, 1, out));
    MISTAKE("no tensors to join", ag_concat(list, 0, 0));
    MISTAKE("concat: x is NULL", ag_concat(NULL, 2, 0));
    MISTAKE("an item of x is NULL", ag_concat(list, 3, 0));
    MISTAKE("an item of x is AG_INT", ag_concat(mixed, 2, 0));
    MISTAKE("differ in another dimension than 1", ag_concat(odd, 2, 1));
    MISTAKE("there is no dimension 2", ag_concat(list, 2, 2));
    MISTAKE("does not broadcast to (3, 3)", ag_expand(x, SHAPE(3, 3)));
    MISTAKE("does not broadcast to (3,)", ag_expand(x, SHAPE(3)));
    MISTAKE("negative size", ag_expand(x, SHAPE(-1, 3)));
    MISTAKE("expand: x is NULL", ag_expand(none, SHAPE(1)));
    MISTAKE("does not have size 1", ag_squeeze(x, 0));
    MISTAKE("there is no dimension 2", ag_squeeze(x, 2));
    MISTAKE("dimension 4 cannot be inserted", ag_unsqueeze(x, 4));
    MISTAKE("unsqueeze: x is NULL", ag_unsqueeze(none, 0));
    end();
}
END_TEST

Suite *mistakes_suite(void)
{
    Suite *suite = suite_create("mistakes");
    TCase *rows = tcase_create("rows");
    tcase_set_timeout(rows, 60);
    tcase_add_test(rows, scopes_and_memory);
    tcase_add_test(rows, shapes);
    tcase_add_test(rows, construction);
    tcase_add_test(rows, reading_and_writing);
    tcase_add_test(rows, gradients);
    tcase_add_test(rows, debugging);
    tcase_add_test(rows, updates_in_place);
    tcase_add_test(rows, custom_operations);
    tcase_add_test(rows, elementwise);
    tcase_add_test(rows, products);
    tcase_add_test(rows, reductions);
    tcase_add_test(rows, ids_and_losses);
    tcase_add_test(rows, changes_of_shape);
    suite_add_tcase(suite, rows);
    return suite;
}
