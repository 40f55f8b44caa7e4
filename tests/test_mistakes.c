/* test_mistakes.c: mistakes that a C programmer makes against the public functions, one in each row. A row is a part of the
 * expected message and the call. Each one must end as a usage error in one line that names the line of the row, or, where a
 * function reports bad input by its result, with false or NULL and a message in ag_error(). */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "faults.h"
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

/* Whether the message names the row, which has up to three lines. Compilers differ in which of them is the line of a macro. */
static bool names_row(int line)
{
    char place[64];
    for (int i = line - 2; i <= line + 2; i++) {
        int n = snprintf(place, sizeof place, "%s:%d", __FILE__, i);
        const char *found = strstr(usage_message, place);
        if (found && strchr(",)", found[n])) return true;
    }
    return false;
}

static void check_usage_row(int line, const char *part)
{
    if (!usage_message[0]) row_failed(line, "no usage error", part);
    else if (!strstr(usage_message, part)) row_failed(line, "another message", part);
    else if (!names_row(line)) row_failed(line, "another place", part);
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
    ag_usage_error("crash", "signal %d", signal_number);
}

static AgScope around;

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
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = ones(2, 3);
    ag_end(s);
    return x;
}

/* A module that was freed. */
static Linear *freed_linear(void)
{
    Linear *l = nn_linear_new(3, 2);
    ag_free(l);
    return l;
}

/* ---- tensor.h ---------------------------------------------------------------------------------------------------- */

START_TEST(scopes_and_memory)
{
    begin();
    AgScope open = ag_begin(AG_RECORD);
    ag_end(open);
    char *text = ag_strdup("text"), *part = ag_alloc_in(text, 1, 4);
    Linear *l = nn_linear_new(3, 2);
    MISTAKE("5 is not an AgMode", ag_begin((AgMode)5));
    MISTAKE("this scope has ended already", ag_end(open));
    MISTAKE("the scope was not begun", ag_end(((AgScope){ 0, 0 })));
    MISTAKE("this scope has ended already", ag_end(((AgScope){ 99, 1 })));
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
    text = ag_resize(text, 5, 1000, 1);                         /* what it owns must know its new place */
    MISTAKE("p would own itself", ag_set_owner(text, part));
    MISTAKE("p was freed, or is not", ag_set_owner(ones(1, 1), text));
    MISTAKE("ag_on_free: p is NULL", ag_on_free(NULL, NULL));
    MISTAKE("the function is NULL", ag_on_free(text, NULL));
    MISTAKE("this is not memory of ag_alloc", ag_free(ones(2, 3)));
    MISTAKE("this object was freed already", Linear *x = nn_linear_new(1, 1); ag_free(x); ag_free(x));
    MISTAKE("this object was freed already", Tensor *x = ag_keep(ones(1, 1)); ag_free(x); ag_free(x));
    MISTAKE("this object was freed already", Optimizer *o = nn_sgd_new(l, 1); ag_free(o); ag_free(o));
    MISTAKE("this object was freed already", NnCache *c = nn_cache_new(1, 1); ag_free(c); ag_free(c));
    MISTAKE("this object was freed already", NnCache *c = nn_cache_new(1, 1); ag_free(c); ag_memory_trim(); ag_free(c));
    MISTAKE("this object was freed already", NnSettings *s = nn_settings_new(); ag_free(s); ag_free(s));
    MISTAKE("s was freed", NnSettings *s = nn_settings_new(); ag_free(s); nn_settings_get(s, "key"));
    MISTAKE("object is NULL", ag_check_object(__func__, "object", NULL));
    MISTAKE("pointer is NULL", ag_check_pointer(__func__, "pointer", NULL));
    MISTAKE("-1 threads", ag_set_threads(-1));
    MISTAKE("100000 threads, expected 1 to 256", ag_set_threads(100000));
    MISTAKE("257 threads, expected 1 to 256", ag_set_threads(257));
    ag_free(l);
    ag_free(text);
    end();
}
END_TEST

START_TEST(shapes)
{
    begin();
    AgShape nine = { 9, { 1 } };
    char text[AG_SHAPE_TEXT];
    int64_t big = (int64_t)1 << 40;
    MISTAKE("negative size in shape (2, -3)", tensor_zeros(SHAPE(2, -3)));
    MISTAKE("negative size", tensor_ones(SHAPE(-1)));
    MISTAKE("9 dimensions", tensor_full(nine, 1));
    MISTAKE("more items than can be counted", tensor_zeros(SHAPE(big, big)));
    MISTAKE("too large for this machine", tensor_zeros(SHAPE(big * 2000000)));
    MISTAKE("-2 dimensions", tensor_ints(((AgShape){ -2, { 0 } }), NULL));
    MISTAKE("negative size", tensor_bools(SHAPE(0, -1), NULL));
    MISTAKE("negative size", tensor_uniform(SHAPE(-4), 0, 1));
    MISTAKE("negative size", tensor_normal(SHAPE(-4), 0, 1));
    MISTAKE("negative size", tensor_randint(SHAPE(-4), 0, 1));
    MISTAKE("negative size", tensor_new_owned(SHAPE(-4), AG_REAL));
    MISTAKE("7 is not an AgDType", tensor_new_owned(SHAPE(4), (AgDType)7));
    MISTAKE("9 dimensions", ag_shape_text(nine, text));
    MISTAKE("ag_shape_text: text is NULL", ag_shape_text(SHAPE(1), NULL));
    MISTAKE("9 dimensions", ag_shape_equal(nine, SHAPE(1)));
    MISTAKE("9 dimensions", ag_shape_equal(SHAPE(1), nine));
    MISTAKE("9 dimensions", ag_shape_numel(nine));
    MISTAKE("there is no dimension 2", tensor_dim(ones(2, 3), 2));
    MISTAKE("there is no dimension -1 in shape ()", tensor_dim(tensor_ones(AG_SCALAR), -1));
    end();
}
END_TEST

START_TEST(construction)
{
    begin();
    ag_real nan = (ag_real)NAN;
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
    if (sizeof(ag_real) == sizeof(float)) {                 /* infinite as a float */
        MISTAKE("expected finite numbers", tensor_uniform(SHAPE(2), 1e39, 1e39));
        MISTAKE("expected finite numbers", tensor_uniform(SHAPE(2), 3e38, 6e38));
        MISTAKE("expected finite numbers", tensor_normal(SHAPE(2), 3e38, 3e38));
        MISTAKE("expected finite numbers", tensor_normal(SHAPE(2), 1e39, 1));
        MISTAKE("expected finite numbers", tensor_normal(SHAPE(2), 0, 1e39));
    }
    MISTAKE("low 5 is not below high 5", tensor_randint(SHAPE(2), 5, 5));
    MISTAKE("low 5 is not below high 0", tensor_randint(SHAPE(2), 5, 0));
    MISTAKE("n is 0, expected 1 or more", ag_random_below(0));
    MISTAKE("n is -3", ag_random_permutation(-3, NULL));
    MISTAKE("n is 2147483648", ag_random_permutation((int64_t)INT32_MAX + 1, NULL));
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
    MISTAKE("does not require a gradient", AgScope s = ag_begin(AG_NO_GRAD); Tensor *l = ag_sum(leaf(2, 2)); ag_backward(l);
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
    MISTAKE("the loss is NULL", ag_graph_frame(stderr, none, 0));
    MISTAKE("the file is NULL", ag_graph_frame(NULL, l, 0));
    MISTAKE("there is no frame 99", ag_graph_frame(stderr, l, 99));
    MISTAKE("there is no frame -1", ag_graph_frame(stderr, l, -1));
    end();
}
END_TEST

START_TEST(updates_in_place)
{
    begin();
    Tensor *w = leaf(2, 3);
    AgAdam adam = nn_adam_options(1);
    ag_real g[6] = { 0 }, m[6] = { 0 }, *nothing = NULL;
    AgSgd sgd = { .lr = 1 };
    double nan = (double)NAN;
    MISTAKE("w is NULL", ag_adam_update_part(none, 0, 6, g, m, m, &adam, 1, 1));
    MISTAKE("grad is NULL", ag_adam_update_part(w, 0, 6, nothing, m, m, &adam, 1, 1));
    MISTAKE("exp_avg is NULL", ag_adam_update_part(w, 0, 6, g, nothing, m, &adam, 1, 1));
    MISTAKE("exp_avg_sq is NULL", ag_adam_update_part(w, 0, 6, g, m, nothing, &adam, 1, 1));
    MISTAKE("7 items from 0 on", ag_adam_update_part(w, 0, 7, g, m, m, &adam, 1, 1));
    MISTAKE("o is NULL", ag_adam_update_part(w, 0, 6, g, m, m, NULL, 1, 1));
    MISTAKE("step is 0", ag_adam_update_part(w, 0, 6, g, m, m, &adam, 0, 1));
    MISTAKE("grad_scale is nan", ag_adam_update_part(w, 0, 6, g, m, m, &adam, 1, nan));
    MISTAKE("w is AG_INT", ag_adam_update_part(ids(2, 3), 0, 6, g, m, m, &adam, 1, 1));
    MISTAKE("w was made by tanh", ag_adam_update_part(ag_tanh(w), 0, 6, g, m, m, &adam, 1, 1));
    MISTAKE("o is NULL", ag_sgd_update_part(w, 0, 6, g, NULL, NULL, true, 1));
    MISTAKE("w is NULL", ag_sgd_update_part(none, 0, 6, g, NULL, &sgd, true, 1));
    MISTAKE("grad is NULL", ag_sgd_update_part(w, 0, 6, nothing, NULL, &sgd, true, 1));
    MISTAKE("-1 items from 0 on", ag_sgd_update_part(w, 0, -1, g, m, &sgd, true, 1));
    MISTAKE("grad_scale is inf", ag_sgd_update_part(w, 0, 6, g, NULL, &sgd, true, (double)INFINITY));
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
    memcpy(tensor_mutable_data(c->y), tensor_data(c->in[0]), (size_t)tensor_numel(c->y) * sizeof(ag_real));
}

static void add_backward(const AgCustomCall *c)
{
    for (int64_t i = 0; i < tensor_numel(c->y); i++) c->dx[0][i] += c->dy[i];
}

/* Their calls have the line of the row. */
static int custom_line;

static void backward_reading_x(const AgCustomCall *c)
{
    ag_in(__FILE__, custom_line);
    (tensor_data)(c->in[0]);
    ag_out();
}

static void backward_reading_y(const AgCustomCall *c)
{
    ag_in(__FILE__, custom_line);
    (tensor_data)(c->y);
    ag_out();
}

static void forward_writing_x(const AgCustomCall *c)
{
    ag_in(__FILE__, custom_line);
    (tensor_mutable_data)(c->in[0])[0] = 0;
    ag_out();
}

START_TEST(custom_operations)
{
    begin();
    Tensor *x = leaf(2, 3), *h = ag_tanh(x);
    Tensor *in[20] = { h };
    AgCustom good = { "copy", copy_forward, add_backward, AG_NEEDS_NONE, NULL, NULL }, bad = good;
    const AgShape shape = SHAPE(2, 3);
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
    bad.backward = backward_reading_x;
    custom_line = __LINE__ + 1;
    MISTAKE("reads", Tensor *y = ag_custom(&bad, shape, in, 1, NULL, 0); ag_backward(ag_sum(y)));
    bad.backward = backward_reading_y;
    custom_line = __LINE__ + 1;
    MISTAKE("reads", Tensor *y = ag_custom(&bad, shape, in, 1, NULL, 0); ag_backward(ag_sum(y)));
    bad.forward = forward_writing_x;
    custom_line = __LINE__ + 1;
    MISTAKE("only leaves are written", ag_custom(&bad, shape, in, 1, NULL, 0));
    end();
}
END_TEST

static Tensor *leaving_scope(Tensor **in, void *arg)
{
    (void)arg;
    ag_begin(AG_NO_GRAD);
    return in[0];
}

START_TEST(recomputation)
{
    begin();
    Tensor *w = leaf(2, 3), *c = ones(2, 3), *y = ag_tanh(w), *dead = ended();
    AgMark mark = ag_mark();
    MISTAKE("y is NULL", ag_recompute(mark, none, AG_CHEAP));
    MISTAKE("y is not a live tensor", ag_recompute(mark, dead, AG_CHEAP));
    MISTAKE("y is AG_INT", ag_recompute(mark, tensor_ints(SHAPE(2), NULL), AG_CHEAP));
    MISTAKE("5 is not an AgRecompute", ag_recompute(mark, y, (AgRecompute)5));
    MISTAKE("the scope in which ag_mark was called has ended",
            AgScope s = ag_begin(AG_RECORD); ag_tanh(w); AgMark inside = ag_mark(); ag_end(s); ag_recompute(inside, y,
                                                                                                            AG_CHEAP));
    MISTAKE("but ag_fill wrote it", Tensor *sum = ag_sum(ag_recompute(mark, ag_exp(ag_exp(ag_add(y, c))), AG_PRODUCTS));
            ag_fill(c, 2); ag_backward(sum));
    MISTAKE("ag_gradcheck: f must end the scopes that it begins: 3 were open", ag_gradcheck(leaving_scope, NULL, &w, 1, NULL));
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
    MISTAKE("8 is not an AgActivation", ag_activate((AgActivation)8, x));
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
    MISTAKE("expected x (..,in)", ag_linear(tensor_ones(AG_SCALAR), ones(2, 3), NULL));
    MISTAKE("8 is not an AgActivation", ag_linear_activate(x, x, NULL, (AgActivation)8));
    MISTAKE("expected x (..,in)", ag_linear_activate(x, ones(3, 2), NULL, AG_RELU));
    MISTAKE("x is NULL", ag_linear_activate(none, x, NULL, AG_GELU));
    MISTAKE("attention: q is NULL", ag_attention(none, q, q, NULL, ((AgAttention){ .heads = 2 })));
    MISTAKE("attention: v is NULL", ag_attention(q, q, none, NULL, ((AgAttention){ .heads = 2 })));
    MISTAKE("do not fit: expected (B,T,D)", ag_attention(q, q, x, NULL, ((AgAttention){ .heads = 2 })));
    MISTAKE("do not fit: expected (B,T,D)",
            ag_attention(q, tensor_ones(SHAPE(2, 2, 4)), q, NULL, ((AgAttention){ .heads = 2 })));
    MISTAKE("does not divide into 3 heads", ag_attention(q, q, q, NULL, ((AgAttention){ .heads = 3 })));
    MISTAKE("does not divide into -1 heads", ag_attention(q, q, q, NULL, ((AgAttention){ .heads = -1 })));
    MISTAKE("dropout p is 1", ag_attention(q, q, q, NULL, ((AgAttention){ .heads = 2, .dropout = 1 })));
    MISTAKE("dropout p is nan", ag_attention(q, q, q, NULL, ((AgAttention){ .heads = 2, .dropout = nan })));
    MISTAKE("mask is AG_INT", ag_attention(q, q, q, ids(2, 2), ((AgAttention){ .heads = 2 })));
    MISTAKE("does not broadcast to (B,heads,T,S)", ag_attention(q, q, q, bools(3, 3), ((AgAttention){ .heads = 2 })));
    const AgAttention how = { .heads = 2 };
    Tensor *pairs = tensor_ints(SHAPE(1, 2, 1), NULL);
    MISTAKE("attention_cached: k is NULL", ag_attention_cached(q, none, q, 2, NULL, how));
    MISTAKE("v is AG_REAL", ag_attention_cached(q, ag_to_bf16(q), q, 2, NULL, how));
    MISTAKE("3 positions of k (1, 2, 4)", ag_attention_cached(q, q, q, 3, NULL, how));
    MISTAKE("-1 positions of k (1, 2, 4)", ag_attention_cached(q, q, q, -1, NULL, how));
    MISTAKE("2 positions of k (2, 3)", ag_attention_cached(q, x, x, 2, NULL, how));
    MISTAKE("k (1, 2, 2) and v (1, 2, 2) do not fit", ag_attention_cached(q, pairs, pairs, 2, NULL, how));
    MISTAKE("to_bf16: x is NULL", ag_to_bf16(none));
    MISTAKE("x (2, 3), expected an even last dimension", ag_to_bf16(x));
    MISTAKE("expected an even last dimension", ag_to_bf16(tensor_ones(AG_SCALAR)));
    MISTAKE("from_bf16: x is AG_REAL", ag_from_bf16(x));
    MISTAKE("x is a scalar", ag_from_bf16(tensor_ints(AG_SCALAR, NULL)));
    MISTAKE("expected (B,T,3D)", ag_self_attention(q, NULL, ((AgAttention){ .heads = 2, .causal = true })));
    MISTAKE("qkv is NULL", ag_self_attention(none, NULL, ((AgAttention){ .heads = 2, .causal = true })));
    MISTAKE("0 heads, expected 1 or more",
            ag_self_attention(tensor_ones(SHAPE(1, 2, 12)), NULL, ((AgAttention){ .heads = 0, .causal = true })));
    MISTAKE("mask is AG_INT",
            ag_self_attention(tensor_ones(SHAPE(1, 2, 12)), ids(2, 2), ((AgAttention){ .heads = 2, .causal = true })));
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
    MISTAKE("9 dimensions named", ag_sum_dims(x, ((AgDims){ 9, { 0 } }), false));
    MISTAKE("there is no dimension -3", ag_mean_dims(x, DIMS(-3), true));
    MISTAKE("-1 dimensions named", ag_mean_dims(x, ((AgDims){ -1, { 0 } }), false));
    MISTAKE("there is no dimension 5", ag_max_dim(x, 5, false));
    MISTAKE("there is nothing to choose from", ag_max_dim(empty, 1, false));
    MISTAKE("min_dim: x is NULL", ag_min_dim(none, 0, false));
    MISTAKE("there is no dimension -5", ag_min_dim(x, -5, false));
    MISTAKE("there is no dimension 2", ag_var_dims(x, DIMS(2), true, false));
    MISTAKE("var_dims: x is NULL", ag_var_dims(none, DIMS(0), true, false));
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
    MISTAKE("scale is inf", ag_masked_softmax(x, NULL, (double)INFINITY));
    MISTAKE("mask is AG_REAL", ag_masked_softmax(x, x, 1));
    MISTAKE("does not broadcast to x", ag_masked_softmax(x, bools(3, 3), 1));
    MISTAKE("layer_norm: x is NULL", ag_layer_norm(none, NULL, NULL, AG_NORM_PYTORCH));
    MISTAKE("x is a scalar", ag_layer_norm(tensor_ones(AG_SCALAR), NULL, NULL, AG_NORM_PYTORCH));
    MISTAKE("gamma (2, 3) does not fit", ag_layer_norm(x, x, NULL, AG_NORM_PYTORCH));
    MISTAKE("beta (2,) does not fit", ag_layer_norm(x, NULL, tensor_ones(SHAPE(2)), AG_NORM_PYTORCH));
    MISTAKE("gamma is AG_INT", ag_layer_norm(x, i, NULL, AG_NORM_PYTORCH));
    MISTAKE("eps is -1", ag_layer_norm(x, NULL, NULL, ((AgNorm){ -1, true, false })));
    MISTAKE("eps is nan", ag_layer_norm(x, NULL, NULL, ((AgNorm){ nan, true, false })));
    MISTAKE("eps is inf", ag_layer_norm(x, NULL, NULL, ((AgNorm){ (double)INFINITY, true, false })));
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
    Tensor *no_rows = tensor_zeros(SHAPE(0, 2)), *no_columns = tensor_zeros(SHAPE(2, 0)), *zero = tensor_ints(SHAPE(2), NULL);
    MISTAKE("ag_one_hot: id 0 at item 0 is out of range: expected none, since there are 0", ag_one_hot(zero, 0));
    MISTAKE("ag_embedding: id 0 at item 0 is out of range: expected none, since there are 0", ag_embedding(no_rows, zero));
    MISTAKE("ag_index_select: id 0 at item 0 is out of range: expected none", ag_index_select(no_rows, 0, zero));
    MISTAKE("ag_gather: id 0 at item 0 is out of range: expected none", ag_gather(no_columns, 1, ids(2, 1)));
    MISTAKE("target 0 at item 0 is out of range: expected none, since there are 0, or -1 to ignore it",
            ag_cross_entropy(no_columns, zero, AG_MEAN, -1, 0));
    MISTAKE("target 0 at item 0 is out of range: expected none, since there are 0, or -1 to ignore it",
            ag_nll_loss(no_columns, zero, AG_MEAN, -1));
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
    MISTAKE("do not fit", nn_cross_entropy(tensor_ones(AG_SCALAR), fine));
    MISTAKE("do not fit", nn_cross_entropy(tensor_ones(AG_SCALAR), tensor_ints(AG_SCALAR, (int32_t[]){ 0 })));
    MISTAKE("target is NULL", nn_cross_entropy(x, none));
    MISTAKE("x is NULL", ag_linear_cross_entropy(none, x, NULL, fine, AG_MEAN, -100, 0));
    MISTAKE("weight is NULL", ag_linear_cross_entropy(x, none, NULL, fine, AG_MEAN, -100, 0));
    MISTAKE("weight is AG_INT", ag_linear_cross_entropy(x, i, NULL, fine, AG_MEAN, -100, 0));
    MISTAKE("bias (2, 3) does not fit weight", ag_linear_cross_entropy(x, x, x, fine, AG_MEAN, -100, 0));
    MISTAKE("expected x (..,in) and weight (out,in)", ag_linear_cross_entropy(x, ones(3, 2), NULL, fine, AG_MEAN, -100, 0));
    MISTAKE("target is NULL", ag_linear_cross_entropy(x, x, NULL, none, AG_MEAN, -100, 0));
    MISTAKE("target is AG_REAL, expected AG_INT", ag_linear_cross_entropy(x, x, NULL, x, AG_MEAN, -100, 0));
    MISTAKE("target 3 at item 1 is out of range", ag_linear_cross_entropy(x, x, NULL, t, AG_MEAN, -100, 0));
    MISTAKE("target -1 at item 0 is out of range", ag_linear_cross_entropy(x, x, NULL, negative, AG_MEAN, -100, 0));
    MISTAKE("do not fit: expected (..,in) and (..)", ag_linear_cross_entropy(x, x, NULL, i, AG_MEAN, -100, 0));
    MISTAKE("5 is not an AgReduce", ag_linear_cross_entropy(x, x, NULL, fine, (AgReduce)5, -100, 0));
    MISTAKE("smoothing nan", ag_linear_cross_entropy(x, x, NULL, fine, AG_MEAN, -100, nan));
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
    MISTAKE("-1 twice in (-1, -1)", ag_reshape(x, SHAPE(-1, -1)));
    MISTAKE("negative size", ag_reshape(x, SHAPE(-2, 3)));
    MISTAKE("every size fits for -1", ag_reshape(ones(0, 3), SHAPE(0, -1)));
    MISTAKE("reshape: x is NULL", ag_reshape(none, SHAPE(1)));
    MISTAKE("9 dimensions", ag_reshape(x, ((AgShape){ 9, { 1 } })));
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

/* ---- module.h ---------------------------------------------------------------------------------------------------- */

typedef struct { Module module; Linear *a, *b; Tensor *w; } Pair;

static Pair *pair_new(void)
{
    Pair *p = nn_new(Pair);
    nn_child(p, a, nn_linear_new(3, 2));
    nn_child(p, b, nn_linear_new(2, 3));
    return p;
}

/* Layers in layers in layers. */
START_TEST(levels_of_modules)
{
    begin();
    Sequential *inner = nn_sequential_new(), *outer = nn_sequential_new(), *last = outer;
    for (int i = 1; i < 500; i++) {
        Sequential *outside = nn_sequential_new(), *below = nn_sequential_new();
        nn_sequential_add(outside, inner);
        inner = outside;
        nn_sequential_add(last, below);
        last = below;
    }
    nn_sequential_add(last, inner);
    for (last = outer; last->n > 0; ) last = nn_item(Sequential, last, 0);
    MISTAKE("would make 1001 levels of modules, expected at most 1000", nn_sequential_add(last, nn_sequential_new()));
    Sequential *outside = nn_sequential_new();
    MISTAKE("would make 1001 levels of modules, expected at most 1000", nn_sequential_add(outside, outer));
    Tensor *x = ones(2, 3);
    ck_assert_ptr_eq(nn_sequential(outer, x), x);
    nn_eval(outer);
    ag_free(nn_clone(outer));
    ag_free(outside);
    ag_free(outer);
    end();
}
END_TEST

/* Each number of a layer, set by hand. */
START_TEST(settings_by_hand)
{
    begin();
    Tensor *x = ones(2, 4), *image = tensor_ones(SHAPE(2, 2, 3, 3)), *i = ids(1, 2);
    Dropout *dropout = nn_dropout_new(0.5);
    BatchNorm *batch_norm = nn_batch_norm_new(2);
    GroupNorm *group_norm = nn_group_norm_new(1, 2);
    LayerNorm *layer_norm = nn_layer_norm_new(4);
    RMSNorm *rms_norm = nn_rms_norm_new_with(4, 1e-5);
    Pair *pair = pair_new();
    TransformerEmbeddings *embeddings = transformer_embeddings_new(4, 8);
    GPT *gpt = gpt_new((GPTOptions){ 1, 2, 8, 8, 4, 0, true, 1e-5, false });
    static const char *const targets[] = { "a", NULL };
    ck_assert(nn_lora_add(pair, (NnLoraOptions){ 1, 1, 0, targets }));
    const double wrong[] = { (double)NAN, (double)INFINITY, -1 };
    for (int k = 0; k < 6; k++) {
        double w = wrong[k % 3];
        bool training = k < 3;
        void *const layers[] = { dropout, batch_norm, group_norm, layer_norm, rms_norm, pair, gpt };
        for (size_t l = 0; l < sizeof layers / sizeof *layers; l++) nn_set_training(layers[l], training);
        MISTAKE("nn_dropout: p is", dropout->p = w; nn_dropout(dropout, x));
        MISTAKE("nn_batch_norm: 2 channels, momentum", batch_norm->momentum = w; nn_batch_norm(batch_norm, image));
        batch_norm->momentum = 0.1;
        MISTAKE("nn_batch_norm: 2 channels, momentum", batch_norm->eps = w; nn_batch_norm(batch_norm, image));
        MISTAKE("eps is", group_norm->eps = w; nn_group_norm(group_norm, image));
        MISTAKE("eps is", layer_norm->kind.eps = w; nn_layer_norm(layer_norm, x));
        MISTAKE("eps is", rms_norm->eps = w; nn_rms_norm(rms_norm, x));
        Lora *adapter = (Lora *)pair->a->adapter;
        if (k % 3 < 2) MISTAKE("alpha of its adapter is", adapter->alpha = w; nn_linear(pair->a, ones(2, 3)));
        if (training) MISTAKE("dropout p is", nn_item(GPTBlock, gpt->h, 0)->attn->dropout = w; gpt_forward(gpt, i));
    }
    MISTAKE("d_model is -4", embeddings->d_model = -4; transformer_embeddings(embeddings, i));
    void *const made[] = { dropout, batch_norm, group_norm, layer_norm, rms_norm, pair, embeddings, gpt };
    for (size_t l = 0; l < sizeof made / sizeof *made; l++) ag_free(made[l]);
    end();
}
END_TEST

START_TEST(modules)
{
    begin();
    Pair *p = pair_new();
    Linear *l = nn_linear_new(3, 2), *no_child = NULL;
    ModuleList *list = nn_list_new();
    Tensor *x = ones(2, 3), *field = NULL;
    void *stranger = ag_alloc(1, 1000);
    MISTAKE("smaller than a Module", nn_new_sized(3, "Tiny"));
    MISTAKE("the type is NULL", nn_new_sized(sizeof(Pair), no_text));
    MISTAKE("the module is NULL", nn_check(__func__, NULL, 0));
    MISTAKE("this is not a module", nn_check(__func__, stranger, 0));
    MISTAKE("is a module of another type", nn_check(__func__, p, sizeof(BatchNorm)));
    MISTAKE("the module is NULL", nn_add_child(NULL, (void **)&field, l, "c"));
    MISTAKE("the module for \"a\" of Pair is NULL", nn_child(p, a, no_child));
    MISTAKE("Pair already has a \"a\"", nn_child(p, a, nn_linear_new(1, 1)));
    MISTAKE("is already in a Pair", nn_child_named(p, a, p->b, "c"));
    MISTAKE("cannot hold the Pair that contains it", nn_add_child(&p->module, (void **)&p->a, p, "c"));
    MISTAKE("cannot be a name", nn_child_named(p, a, nn_linear_new(1, 1), "x.%s", "y"));
    MISTAKE("cannot be a name", nn_child_named(p, a, nn_linear_new(1, 1), "%s", ""));
    MISTAKE("the name is NULL", nn_child_named(p, a, nn_linear_new(1, 1), no_text, 0));
    MISTAKE("this Linear was freed", nn_child_named(p, a, freed_linear(), "c"));
    MISTAKE("this is not a module", nn_add_child(&p->module, (void **)&p->a, stranger, "c"));
    MISTAKE("is not in the struct", nn_add_child(&p->module, (void **)&field, nn_linear_new(1, 1), "c"));
    MISTAKE("is not in the struct", nn_add_child(&p->module, (void **)&p->module.forward, nn_linear_new(1, 1), "c"));
    MISTAKE("the module is NULL", nn_add_tensor(NULL, &field, SHAPE(2), AG_REAL, true, true, "w"));
    MISTAKE("the name is NULL", nn_add_tensor(&p->module, &p->w, SHAPE(2), AG_REAL, true, true, no_text, 0));
    MISTAKE("the field is NULL", nn_add_tensor(&p->module, NULL, SHAPE(2), AG_REAL, true, true, "w"));
    MISTAKE("is not in the struct", nn_add_tensor(&p->module, &field, SHAPE(2), AG_REAL, true, true, "w"));
    MISTAKE("nn_add_tensor: \"w\" of Pair: negative size in shape (-2,)", nn_param(p, w, SHAPE(-2)));
    MISTAKE("nn_add_tensor: \"w\" of Pair: shape (4294967296, 4294967296) has more items than can be counted",
            nn_param(p, w, SHAPE((int64_t)1 << 32, (int64_t)1 << 32)));
    MISTAKE("nn_add_tensor: a tensor of 4611686018427387904 items is too large", nn_param(p, w, SHAPE((int64_t)1 << 62)));
    MISTAKE("nn_add_tensor: \"w\" of Pair with 9 dimensions", nn_buffer(p, w, ((AgShape){ 9, { 1 } })));
    MISTAKE("the tensor for \"w\" of Pair is NULL", nn_tie(p, w, none));
    MISTAKE("can only be tied to a parameter of the same tree", nn_tie(p, w, l->weight));
    MISTAKE("can only be tied to a parameter of the same tree", nn_tie(p, w, x));
    MISTAKE("the tensor to tie it to", nn_tie(p->a, weight, p->b->weight));
    MISTAKE("the module is NULL", nn_tie_named(NULL, "w", &field, x));
    MISTAKE("the name is NULL", nn_tie_named(&p->module, no_text, &p->w, p->a->weight));
    MISTAKE("the module is NULL", nn_list_add(NULL, l));
    MISTAKE("the module for \"0\" of ModuleList is NULL", nn_list_add(list, NULL));
    MISTAKE("this Linear was freed", nn_list_add(list, freed_linear()));
    MISTAKE("is a module of another type, expected ModuleList", nn_list_add((ModuleList *)(void *)p, l));
    MISTAKE("cannot hold the ModuleList that contains it", nn_list_add(list, list));
    MISTAKE("the module is NULL", nn_list_item(NULL, 0));
    MISTAKE("item 0 of a list of 0", nn_list_item(list, 0));
    MISTAKE("item -1 of a list of 0", nn_list_item(list, -1));
    MISTAKE("this is a part of a Pair, which frees it", ag_free(p->a));
    MISTAKE("this object was freed already", ag_free(freed_linear()));
    MISTAKE("this is a part of a Linear, which frees it", Linear *q = nn_linear_new(3, 2); ag_free(q->weight));
    MISTAKE("this is a part of a Linear, which frees it", Linear *q = nn_linear_new(3, 2); ag_set_owner(q->bias, NULL));
    MISTAKE("this is a part of a Linear, which frees it", Linear *q = nn_linear_new(3, 2); ag_free(q->module.slots));
    MISTAKE("this is a part of a Pair, which frees it", ag_set_owner(p->a, list));
    MISTAKE("this is a part of a NnCache, which frees it", ag_free(nn_cache_new(1, 2)->layer));
    Tensor *keys = tensor_zeros(SHAPE(1, INT64_C(1) << 61, 0));
    NnCache *long_cache = nn_cache_new(1, INT64_MAX);
    AgScope no_grad = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 3; i++) nn_cache_append(long_cache, 0, keys, keys);
    MISTAKE("the cache has room for 9223372036854775807", nn_cache_append(long_cache, 0, keys, keys));
    ag_end(no_grad);
    ag_free(long_cache);
    MISTAKE("the module is NULL", nn_clone(NULL));
    MISTAKE("this Linear was freed", nn_clone(freed_linear()));
    MISTAKE("the field of a in its Pair no longer points to the registered Linear", Pair *q = pair_new(); q->a = l;
            nn_clone(q));
    MISTAKE("the field of weight in its Linear no longer points to the registered tensor", Pair *q = pair_new();
            q->a->weight = leaf(2, 3); nn_clone(q));
    MISTAKE("the module is NULL", nn_train(NULL));
    MISTAKE("the module is NULL", nn_eval(NULL));
    MISTAKE("this Linear was freed", nn_eval(freed_linear()));
    MISTAKE("the module is NULL", nn_zero_grad(NULL));
    MISTAKE("the module is NULL", nn_parameters(NULL));
    MISTAKE("this Linear was freed", nn_parameters(freed_linear()));
    MISTAKE("the module is NULL", nn_find(NULL, "weight"));
    MISTAKE("the name is NULL", nn_find(l, no_text));
    MISTAKE("the module is NULL", nn_count(NULL));
    MISTAKE("the module is NULL", nn_summary(NULL, stderr));
    MISTAKE("the file is NULL", nn_summary(l, NULL));
    MISTAKE("this Linear was freed", nn_summary(freed_linear(), stderr));
    ag_free(p);
    ag_free(l);
    ag_free(list);
    ag_free(stranger);
    end();
}
END_TEST

START_TEST(initialization)
{
    begin();
    Tensor *w = leaf(2, 3), *row = tensor_ones(SHAPE(3));
    double nan = (double)NAN;
    MISTAKE("w is NULL", ag_fill(none, 1));
    MISTAKE("w is AG_INT, expected AG_REAL", ag_fill(ids(2, 2), 1));
    MISTAKE("w was made by tanh", ag_fill(ag_tanh(w), 1));
    MISTAKE("w is NULL", ag_fill_uniform(none, 0, 1));
    MISTAKE("low 1 is above high 0", ag_fill_uniform(w, 1, 0));
    MISTAKE("w is NULL", ag_fill_normal(none, 0, 1));
    MISTAKE("deviation is -2", ag_fill_normal(w, 0, -2));
    MISTAKE("the tensor is NULL", nn_init_xavier_uniform(none, 1));
    MISTAKE("needs a tensor of two dimensions or more", nn_init_xavier_uniform(row, 1));
    MISTAKE("gain is -1, expected a finite number of 0 or more", nn_init_xavier_uniform(w, -1));
    MISTAKE("gain is nan", nn_init_xavier_normal(w, nan));
    MISTAKE("the tensor is NULL", nn_init_xavier_normal(none, 1));
    MISTAKE("needs a tensor of two dimensions", nn_init_xavier_normal(row, 1));
    MISTAKE("a is inf", nn_init_kaiming_uniform(w, (double)INFINITY));
    MISTAKE("the tensor is NULL", nn_init_kaiming_uniform(none, 0));
    MISTAKE("needs a tensor of two dimensions", nn_init_kaiming_uniform(row, 0));
    MISTAKE("a is nan", nn_init_kaiming_normal(w, nan));
    MISTAKE("w is AG_INT, expected AG_REAL", nn_init_kaiming_normal(ids(2, 2), 0));
    MISTAKE("its scope has ended", nn_init_xavier_uniform(ended(), 1));
    end();
}
END_TEST

static bool every(const NnNamedTensor *p, void *unused)
{
    (void)p;
    (void)unused;
    return true;
}

/* A Pair, whose optimizer is *o, and one weight of which was tied after that was made. */
static Pair *tied_too_late(Optimizer **o)
{
    Pair *p = nn_new(Pair);
    nn_child(p, a, nn_linear_new(2, 2));
    nn_child(p, b, nn_linear_new(2, 2));
    *o = nn_sgd_new(p, 1);
    ag_backward(ag_sum(nn_linear(p->b, nn_linear(p->a, ones(1, 2)))));
    nn_tie(p->b, weight, p->a->weight);
    return p;
}

static Optimizer *updated;
static AgScope around_step;

static void update_ending_scope(const OptimizerUpdate *u)
{
    (void)u;
    ag_end(around_step);
}

static void update_beginning_scope(const OptimizerUpdate *u)
{
    (void)u;
    ag_begin(AG_RECORD);
}

static void update_stepping(const OptimizerUpdate *u)
{
    (void)u;
    nn_optimizer_step(updated);
}

static Optimizer *own_optimizer(void (*update)(const OptimizerUpdate *u))
{
    static OptimizerKind kind;
    kind = (OptimizerKind){ .name = "own", .update = update };
    Linear *l = nn_linear_new(2, 2);
    updated = nn_optimizer_new(l, &kind, NULL, 0, 1, 0);
    around_step = ag_begin(AG_RECORD);
    ag_backward(ag_sum(nn_linear(l, ones(1, 2))));
    return updated;
}

#define own_states(first, second) \
    nn_optimizer_new(l, &((OptimizerKind){ .name = "own", .state = { first, second }, .update = update_stepping }), NULL, 0, \
                     1, 0)

START_TEST(optimizers)
{
    begin();
    Linear *l = nn_linear_new(3, 2), *gone = nn_linear_new(3, 2);
    Optimizer *o = nn_adam_new(l, 1), *orphan = nn_adam_new(gone, 1), *freed = nn_adam_new(l, 1);
    ag_free(gone);
    ag_free(freed);
    double nan = (double)NAN, infinite = (double)INFINITY;
    MISTAKE("the module is NULL", nn_adam_new(NULL, 1));
    MISTAKE("this Linear was freed", nn_adamw_new(freed_linear(), 1));
    MISTAKE("has no trained parameters", nn_adam_new(nn_dropout_new(0.5), 1));
    MISTAKE("lr is -1", nn_adam_new(l, -1));
    MISTAKE("lr is nan", nn_adam_new(l, nan));
    MISTAKE("lr is inf", nn_adam_new(l, infinite));
    MISTAKE("beta1 is 1", AgAdam a = nn_adam_options(1); a.beta1 = 1; nn_adam_new_with(l, a));
    MISTAKE("beta1 is -0.1", AgAdam a = nn_adam_options(1); a.beta1 = -0.1; nn_adam_new_with(l, a));
    MISTAKE("beta2 is nan", AgAdam a = nn_adam_options(1); a.beta2 = nan; nn_adam_new_with(l, a));
    MISTAKE("beta2 is 1.5", AgAdam a = nn_adam_options(1); a.beta2 = 1.5; nn_adam_new_with(l, a));
    MISTAKE("eps is -1", AgAdam a = nn_adam_options(1); a.eps = -1; nn_adam_new_with(l, a));
    MISTAKE("eps is nan", AgAdam a = nn_adam_options(1); a.eps = nan; nn_adam_new_with(l, a));
    MISTAKE("eps is 0, expected a finite number above 0", AgAdam a = nn_adam_options(1); a.eps = 0; nn_adam_new_with(l, a));
    MISTAKE("the field of b in its Pair no longer points to", Pair *q = pair_new(); q->b = NULL; nn_adam_new(q, 1));
    MISTAKE("weight_decay is -1", AgAdam a = nn_adamw_options(1); a.weight_decay = -1; nn_adam_new_with(l, a));
    MISTAKE("the module is NULL", nn_sgd_new(NULL, 1));
    MISTAKE("lr is -1", nn_sgd_new(l, -1));
    MISTAKE("momentum is -1", nn_sgd_new_with(l, ((AgSgd){ 1, -1, 0, false })));
    MISTAKE("momentum is nan", nn_sgd_new_with(l, ((AgSgd){ 1, nan, 0, false })));
    MISTAKE("momentum is 1, expected a number in [0, 1)", nn_sgd_new_with(l, ((AgSgd){ 1, 1, 0, false })));
    MISTAKE("above 0 with nesterov", nn_sgd_new_with(l, ((AgSgd){ 1, 0, 0, true })));
    MISTAKE("weight_decay is nan", nn_sgd_new_with(l, ((AgSgd){ 1, 0, nan, false })));
    MISTAKE("alpha is 1, expected a number in [0, 1)", nn_rmsprop_new_with(l, ((NnRMSprop){ 1, 1, 1e-8, 0 })));
    MISTAKE("alpha is -0.1", nn_rmsprop_new_with(l, ((NnRMSprop){ 1, -0.1, 1e-8, 0 })));
    MISTAKE("alpha is nan", nn_rmsprop_new_with(l, ((NnRMSprop){ 1, nan, 1e-8, 0 })));
    MISTAKE("eps is 0, expected a finite number above 0", nn_rmsprop_new_with(l, ((NnRMSprop){ .lr = 1, .alpha = 0.9 })));
    MISTAKE("nn_optimizer_new: the names \"m\" and \"m\" of state tensors cannot be told apart", own_states("m", "m"));
    MISTAKE("nn_optimizer_new: the names \"m\" and \"m.fc1\" of state tensors cannot be told apart", own_states("m", "m.fc1"));
    MISTAKE("nn_optimizer_new: the names \"m\" and \"m.fc1\" of state tensors cannot be told apart", own_states("m.fc1", "m"));
    ROW(ag_free(own_states("m", "mfc1")); ag_free(own_states("m.a", "m.b")));
    ck_assert_str_eq(usage_message, "");
    MISTAKE("the optimizer is NULL", nn_optimizer_group(NULL, every, NULL, 0, 1));
    MISTAKE("the function that chooses parameters is NULL", nn_optimizer_group(o, NULL, NULL, 0, 1));
    MISTAKE("weight_decay is -1", nn_optimizer_group(o, every, NULL, -1, 1));
    MISTAKE("lr_factor is -1, expected a finite number of 0 or more", nn_optimizer_group(o, every, NULL, 0, -1));
    MISTAKE("lr_factor is nan", nn_optimizer_group(o, every, NULL, 0, nan));
    MISTAKE("lr_factor is inf, expected a finite number of 0 or more", nn_optimizer_group(o, every, NULL, 0, infinite));
    MISTAKE("the optimizer is NULL", nn_optimizer_step(NULL));
    MISTAKE("the optimizer was freed", nn_optimizer_step(freed));
    MISTAKE("this Linear was freed", nn_optimizer_step(orphan));
    MISTAKE("this Embedding was freed", Embedding *q = nn_embedding_new(3, 2); Optimizer *s = nn_sgd_new(q, 1); ag_free(q);
            nn_optimizer_step(s));
    MISTAKE("this is not an optimizer", nn_optimizer_step((Optimizer *)(void *)l));
    MISTAKE("no longer points to the registered tensor", Linear *q = nn_linear_new(2, 2); Optimizer *s = nn_sgd_new(q, 1);
            q->weight = leaf(2, 2); nn_optimizer_step(s));
    MISTAKE("the field of a in its Pair no longer points to the registered Linear", Pair *q = pair_new();
            Optimizer *s = nn_sgd_new(q, 1); q->a = nn_linear_new(3, 2); ag_backward(ag_sum(nn_linear(q->a, ones(1, 3))));
            nn_optimizer_step(s));
    MISTAKE("no parameter of its Linear has a gradient", ag_sum(nn_linear(l, ones(1, 3))); nn_optimizer_step(o));
    MISTAKE("no parameter of its Linear has a gradient", Linear *q = nn_linear_new(3, 2);
            ag_backward(ag_sum(nn_linear(q, ones(1, 3)))); nn_optimizer_step(o));
    MISTAKE("w has a gradient, but was registered, tied or unfrozen after the optimizer was made", Pair *q = pair_new();
            Optimizer *s = nn_sgd_new(q, 1); nn_param(q, w, SHAPE(2)); ag_backward(ag_sum(q->w)); nn_optimizer_step(s));
    MISTAKE("bias has a gradient, but was registered, tied or unfrozen", Linear *q = nn_linear_new(3, 2);
            tensor_set_requires_grad(q->bias, false); Optimizer *s = nn_sgd_new(q, 1);
            tensor_set_requires_grad(q->bias, true); ag_backward(ag_sum(nn_linear(q, ones(1, 3)))); nn_optimizer_step(s));
    MISTAKE("1.weight is no longer a tensor of this ModuleList", ModuleList *q = nn_list_new(); Linear *c = nn_linear_new(3, 3);
            nn_list_add(q, nn_linear_new(3, 3)); nn_list_add(q, c); Optimizer *s = nn_sgd_new(q, 1);
            nn_tie(c, weight, nn_item(Linear, q, 0)->weight); nn_optimizer_step(s));
    MISTAKE("ag_fill wrote it", Tensor *w = leaf(1, 1); Tensor *y = ag_mul(w, w); ag_fill(w, 2);
            ag_backward(y));
    Optimizer *late;
    const char *name = "late.safetensors";                  /* is not written */
#define LATE "b.weight is no longer a tensor of this Pair: make the optimizer after nn_tie"
    MISTAKE(LATE, tied_too_late(&late); nn_optimizer_step(late));
    MISTAKE(LATE, tied_too_late(&late); nn_optimizer_group(late, every, NULL, 0, 1));
    MISTAKE(LATE, tied_too_late(&late); nn_optimizer_lr(late));
    MISTAKE(LATE, tied_too_late(&late); nn_optimizer_set_lr(late, 1));
    MISTAKE(LATE, tied_too_late(&late); nn_optimizer_steps(late));
    MISTAKE(LATE, Pair *q = tied_too_late(&late); (void)!nn_checkpoint_save(name, q, late, NULL));
    MISTAKE(LATE, Pair *q = tied_too_late(&late); (void)!nn_checkpoint_load(name, q, late, NULL));
    MISTAKE(LATE, Pair *q = tied_too_late(&late); (void)!nn_checkpoint_save_trained(name, q, late, NULL));
    MISTAKE(LATE, Pair *q = tied_too_late(&late); nn_optimizer_check("f", late, q));
    MISTAKE(LATE, tied_too_late(&late); (void)!nn_parallel_new(late, 1, NULL));
    MISTAKE("the update function of \"own\" has ended a scope that it has not begun",
            nn_optimizer_step(own_optimizer(update_ending_scope)));
    MISTAKE("the update function of \"own\" has ended a scope that it has not begun, or left one open",
            nn_optimizer_step(own_optimizer(update_beginning_scope)));
    MISTAKE("a step of this optimizer runs: its update function cannot begin another one",
            nn_optimizer_step(own_optimizer(update_stepping)));
    MISTAKE("nn_optimizer_step wrote it", Linear *q = nn_linear_new(2, 2); Optimizer *s = nn_sgd_new(q, 1);
            Tensor *y = ag_sum(nn_linear(q, nn_linear(q, ones(1, 2)))); ag_backward_keep(y); nn_optimizer_step(s);
            ag_backward(y));
    MISTAKE("the optimizer is NULL", nn_optimizer_lr(NULL));
    MISTAKE("the optimizer was freed", nn_optimizer_lr(freed));
    MISTAKE("the optimizer is NULL", nn_optimizer_set_lr(NULL, 1));
    MISTAKE("lr is -0.5", nn_optimizer_set_lr(o, -0.5));
    MISTAKE("lr is nan", nn_optimizer_set_lr(o, nan));
    MISTAKE("lr is inf", nn_optimizer_set_lr(o, infinite));
    MISTAKE("the optimizer is NULL", nn_optimizer_steps(NULL));
    MISTAKE("the optimizer was freed", nn_optimizer_steps(freed));
    MISTAKE("the module is NULL", nn_clip_grad_norm(NULL, 1));
    MISTAKE("max_norm is -1", nn_clip_grad_norm(l, -1));
    MISTAKE("max_norm is nan", nn_clip_grad_norm(l, nan));
    MISTAKE("the module is NULL", nn_grad_norm(NULL));
    MISTAKE("this Linear was freed", nn_grad_norm(freed_linear()));
    MISTAKE("step -1", nn_schedule_cosine(-1, 1, 0, 10, 100));
    MISTAKE("warmup -10", nn_schedule_cosine(1, 1, 0, -10, 100));
    MISTAKE("lr nan", nn_schedule_cosine(1, nan, 0, 10, 100));
    MISTAKE("lr_min nan", nn_schedule_cosine(50, 1, nan, 10, 100));
    MISTAKE("step -1, lr 1", nn_schedule_step(-1, 1, 0.5, 3));
    MISTAKE("a warmup of 10 steps, expected at most the total of 5", nn_schedule_cosine(1, 1, 0, 10, 5));
    MISTAKE("width 0", nn_schedule_noam(1, 0, 1, 10));
    MISTAKE("warmup -4", nn_schedule_noam(1, 512, 1, -4));
    MISTAKE("factor is nan", nn_schedule_noam(1, 512, nan, 10));
    ag_free(o);
    ag_free(orphan);
    ag_free(l);
    end();
}
END_TEST

START_TEST(settings_and_files)
{
    begin();
    Linear *l = nn_linear_new(3, 2), *stranger = nn_linear_new(3, 2);
    Optimizer *o = nn_adam_new(l, 1), *freed = nn_adam_new(l, 1);
    NnSettings *s = nn_settings_new(), *no_settings = NULL, *old = nn_settings_new();
    ag_free(freed);
    ag_free(old);
    int64_t whole;
    double number;
    const char *paths[] = { missing, missing, NULL };
    nn_settings_set(s, "word", "%s", "green");
    nn_settings_set(s, "half", "%g", 0.5);
    nn_settings_set(s, "huge", "%s", "1e999");
    MISTAKE("s is NULL", nn_settings_set(no_settings, "key", "%d", 1));
    MISTAKE("\"key\" cannot be written as \"%lc\"", nn_settings_set(s, "key", "%lc", (wint_t)0xd800));     /* no character */
    MISTAKE("s was freed", nn_settings_set(old, "key", "%d", 1));
    MISTAKE("key is NULL", nn_settings_set(s, no_text, "%d", 1));
    MISTAKE("format is NULL", nn_settings_set(s, "key", no_text, 1));
    MISTAKE("s is NULL", nn_settings_get(no_settings, "key"));
    MISTAKE("key is NULL", nn_settings_get(s, no_text));
    MISTAKE("s is NULL", nn_settings_int(no_settings, "key", &whole));
    MISTAKE("key is NULL", nn_settings_int(s, no_text, &whole));
    MISTAKE("value is NULL", nn_settings_int(s, "word", NULL));
    REFUSED("the setting \"key\" is missing", nn_settings_int(s, "key", &whole));
    REFUSED("expected a whole number", nn_settings_int(s, "word", &whole));
    REFUSED("expected a whole number", nn_settings_int(s, "half", &whole));
    MISTAKE("s was freed", nn_settings_real(old, "key", &number));
    MISTAKE("value is NULL", nn_settings_real(s, "half", NULL));
    REFUSED("the setting \"key\" is missing", nn_settings_real(s, "key", &number));
    REFUSED("expected a number", nn_settings_real(s, "word", &number));
    REFUSED("too large", nn_settings_real(s, "huge", &number));
    MISTAKE("the path is NULL", nn_save(no_text, l));
    MISTAKE("the module is NULL", nn_save(missing, NULL));
    MISTAKE("this Linear was freed", nn_save(missing, freed_linear()));
    REFUSED("/nowhere/at/all", nn_save(missing, l));
    REFUSED(":", nn_save("", l));
    MISTAKE("the field of weight in its Linear no longer", Linear *q = nn_linear_new(3, 2); q->weight = NULL;
            nn_save(missing, q));
    MISTAKE("the field of a in its Pair no longer points to", Pair *q = pair_new(); q->a = q->b; nn_save(missing, q));
    MISTAKE("the field of a in its Pair no longer points to", Pair *q = pair_new(); q->a = q->b; nn_load(missing, q));
    MISTAKE("the path is NULL", nn_load(no_text, l));
    MISTAKE("the module is NULL", nn_load(missing, NULL));
    REFUSED("cannot be opened", nn_load(missing, l));
    REFUSED("expected a regular file", nn_load("/dev/null", l));
    REFUSED("expected a regular file", nn_load("/", l));
    MISTAKE("the path is NULL", nn_checkpoint_save(no_text, l, o, s));
    MISTAKE("the module is NULL", nn_checkpoint_save(missing, NULL, o, s));
    MISTAKE("the optimizer was freed", nn_checkpoint_save(missing, l, freed, s));
    MISTAKE("settings was freed", nn_checkpoint_save(missing, l, o, old));
    MISTAKE("was made for another module (Linear), expected one for this Pair", Pair *q = pair_new();
            nn_checkpoint_save(missing, q, o, s));
    MISTAKE("was made for another module (Pair), expected one for this Linear", Pair *q = pair_new();
            nn_checkpoint_save(missing, q->a, nn_sgd_new(q, 1), s));
    MISTAKE("was made for another module (Linear), expected one for this Linear", Pair *q = pair_new();
            nn_checkpoint_save(missing, l, nn_sgd_new(q->a, 1), s));
    REFUSED("/nowhere/at/all", nn_checkpoint_save(missing, l, o, s));
    MISTAKE("the path is NULL", nn_checkpoint_load(no_text, l, o, s));
    MISTAKE("the module is NULL", nn_checkpoint_load(missing, NULL, o, s));
    MISTAKE("the optimizer was freed", nn_checkpoint_load(missing, l, freed, s));
    MISTAKE("was made for another module (Linear), expected one for this Linear", nn_checkpoint_load(missing, stranger, o, s));
    MISTAKE("the optimizer is NULL", nn_optimizer_check(__func__, NULL, l));
    MISTAKE("the module is NULL", nn_optimizer_check(__func__, o, NULL));
    REFUSED("cannot be opened", nn_checkpoint_load(missing, l, NULL, NULL));
    MISTAKE("the path is NULL", nn_checkpoint_settings(no_text, s));
    MISTAKE("settings is NULL", nn_checkpoint_settings(missing, no_settings));
    MISTAKE("was freed", nn_checkpoint_settings(missing, old));
    REFUSED("cannot be opened", nn_checkpoint_settings(missing, s));
    MISTAKE("the path is NULL", nn_settings_read_json(no_text, s));
    MISTAKE("settings is NULL", nn_settings_read_json(missing, no_settings));
    MISTAKE("was freed", nn_settings_read_json(missing, old));
    REFUSED("cannot be opened", nn_settings_read_json(missing, s));
    MISTAKE("the module is NULL", nn_average_checkpoints(NULL, paths, 2));
    MISTAKE("paths is NULL", nn_average_checkpoints(l, NULL, 2));
    MISTAKE("the path is NULL", nn_average_checkpoints(l, paths + 2, 1));
    REFUSED("there are no checkpoints to average", nn_average_checkpoints(l, paths, 0));
    REFUSED("cannot be opened", nn_average_checkpoints(l, paths, 2));
    ag_free(o);
    ag_free(s);
    ag_free(l);
    ag_free(stranger);
    end();
}
END_TEST

/* ---- nn.h -------------------------------------------------------------------------------------------------------- */

START_TEST(layers)
{
    begin();
    Linear *l = nn_linear_new(3, 2), *no_linear = NULL, *dead = freed_linear();
    Embedding *e = nn_embedding_new(4, 3), *no_embedding = NULL;
    LayerNorm *n = nn_layer_norm_new(3), *no_norm = NULL;
    Dropout *d = nn_dropout_new(0.5), *no_dropout = NULL;
    Sequential *s = nn_sequential_new(), *no_sequential = NULL;
    nn_sequential_add(s, l);
    Tensor *x = ones(2, 3), *i = ids(2, 3);
    double nan = (double)NAN;
    MISTAKE("sizes 0 and 2", nn_linear_new(0, 2));
    MISTAKE("sizes 3 and -2", nn_linear_new(3, -2));
    MISTAKE("sizes 0 and 0", nn_linear_new_no_bias(0, 0));
    MISTAKE("the module is NULL", nn_linear(no_linear, x));
    MISTAKE("this Linear was freed", nn_linear(dead, x));
    MISTAKE("is a module of another type", nn_linear((Linear *)(void *)s, x));
    MISTAKE("x is NULL", nn_linear(l, none));
    MISTAKE("x (2, 2) and weight (2, 3) do not fit", nn_linear(l, ones(2, 2)));
    MISTAKE("x is AG_INT", nn_linear(l, i));
    MISTAKE("its scope has ended", nn_linear(l, ended()));
    MISTAKE("the module is NULL", nn_linear_activate(no_linear, x, AG_RELU));
    MISTAKE("8 is not an AgActivation", nn_linear_activate(l, x, (AgActivation)8));
    MISTAKE("x is NULL", nn_linear_activate(l, none, AG_TANH));
    MISTAKE("0 rows of width 3", nn_embedding_new(0, 3));
    MISTAKE("4 rows of width -3", nn_embedding_new(4, -3));
    MISTAKE("the module is NULL", nn_embedding(no_embedding, i));
    MISTAKE("ids is NULL", nn_embedding(e, none));
    MISTAKE("ids is AG_REAL", nn_embedding(e, x));
    MISTAKE("id 4 at item 0 is out of range: expected 0..3", nn_embedding(e, tensor_ints(SHAPE(1), (int32_t[]){ 4 })));
    MISTAKE("width 0", nn_layer_norm_new(0));
    MISTAKE("eps is -1", nn_layer_norm_new_kind(3, ((AgNorm){ -1, true, false })));
    MISTAKE("eps is nan", nn_layer_norm_new_with(3, ((AgNorm){ nan, true, false }), true));
    MISTAKE("width -1", nn_layer_norm_new_no_bias(-1));
    MISTAKE("the module is NULL", nn_layer_norm(no_norm, x));
    MISTAKE("x is NULL", nn_layer_norm(n, none));
    MISTAKE("does not fit x (3, 2)", nn_layer_norm(n, ones(3, 2)));
    MISTAKE("probability 1", nn_dropout_new(1));
    MISTAKE("probability -0.5", nn_dropout_new(-0.5));
    MISTAKE("probability nan", nn_dropout_new(nan));
    MISTAKE("the module is NULL", nn_dropout(no_dropout, x));
    MISTAKE("x is NULL", nn_dropout(d, none));
    MISTAKE("x is AG_INT", nn_dropout(d, i));
    MISTAKE("nn_dropout: x is NULL", Dropout *off = nn_dropout_new(0); nn_dropout(off, none));
    MISTAKE("the module is NULL", nn_sequential_add(no_sequential, nn_linear_new(1, 1)));
    MISTAKE("the module is NULL", nn_sequential_add(s, NULL));
    MISTAKE("is already in a Sequential", nn_sequential_add(s, l));
    MISTAKE("this Linear was freed", nn_sequential_add(s, dead));
    MISTAKE("a GRU has no forward with one input", nn_sequential_add(s, nn_gru_new(3, 2)));
    MISTAKE("cannot hold the Sequential that contains it", nn_sequential_add(s, s));
    MISTAKE("8 is not an AgActivation", nn_sequential_activation(s, (AgActivation)8));
    MISTAKE("the module is NULL", nn_sequential_activation(no_sequential, AG_RELU));
    MISTAKE("the module is NULL", nn_sequential(no_sequential, x));
    MISTAKE("the module is NULL", nn_recompute(NULL, x));
    MISTAKE("this Linear was freed", nn_recompute(dead, x));
    MISTAKE("a GRU has no forward with one input", nn_recompute(nn_gru_new(3, 2), x));
    MISTAKE("x is NULL", nn_recompute(l, none));
    MISTAKE("do not fit", nn_recompute(l, ones(2, 2)));
    MISTAKE("x is NULL", nn_sequential(s, none));
    MISTAKE("do not fit", nn_sequential(s, ones(2, 2)));
    MISTAKE("has no forward", ModuleList *plain = nn_list_new(); nn_list_add(plain, nn_gru_new(3, 2)); nn_sequential(plain, x));
    ag_free(s);
    ag_free(e);
    ag_free(n);
    ag_free(d);
    end();
}
END_TEST

/* ---- recurrent.h ------------------------------------------------------------------------------------------------- */

START_TEST(recurrent_layers)
{
    begin();
    Recurrent *g = nn_gru_new(3, 2), *l = nn_lstm_new(3, 2), *no_recurrent = NULL;
    Tensor *x = ones(4, 3), *long_x = tensor_ones(SHAPE(4, 5, 3));
    RecurrentState fresh = { NULL, NULL }, wide = { ones(4, 3), NULL }, with_c = { ones(4, 2), ones(4, 2) };
    RecurrentState bad_c = { NULL, ones(2, 4) }, ints = { ids(4, 2), NULL };
    MISTAKE("5 is not a RecurrentKind", nn_recurrent_new((RecurrentKind)5, 3, 2));
    MISTAKE("sizes 0 -> 2", nn_gru_new(0, 2));
    MISTAKE("sizes 3 -> -2", nn_lstm_new(3, -2));
    MISTAKE("the module is NULL", nn_recurrent_step(no_recurrent, x, &fresh));
    MISTAKE("the state is NULL", nn_recurrent_step(g, x, NULL));
    MISTAKE("nn_recurrent_step: x is NULL", nn_recurrent_step(g, none, &fresh));
    MISTAKE("x is (4, 5, 3), expected (B,in)", nn_recurrent_step(g, long_x, &fresh));
    MISTAKE("x is (4, 2), expected (B,in)", nn_recurrent_step(g, ones(4, 2), &fresh));
    MISTAKE("the state's h is (4, 3)", nn_recurrent_step(g, x, &wide));
    MISTAKE("the state has a c, which only an LSTM has", nn_recurrent_step(g, x, &with_c));
    MISTAKE("the state's c is (2, 4)", nn_recurrent_step(l, x, &bad_c));
    MISTAKE("AG_INT", nn_recurrent_step(g, x, &ints));
    MISTAKE("x is AG_INT", nn_recurrent_step(g, ids(4, 3), &fresh));
    MISTAKE("the module is NULL", nn_recurrent(no_recurrent, long_x, NULL, NULL));
    MISTAKE("nn_recurrent: x is NULL", nn_recurrent(g, none, NULL, NULL));
    MISTAKE("expected (B,T,in)", nn_recurrent(g, x, NULL, NULL));
    MISTAKE("expected one step or more", nn_recurrent(g, tensor_ones(SHAPE(4, 0, 3)), NULL, NULL));
    MISTAKE("the mask is (4, 5), expected (4, 1, 5)", nn_recurrent(g, long_x, bools(4, 5), NULL));
    MISTAKE("nn_recurrent: mask is AG_REAL, expected AG_BOOL", nn_recurrent(g, long_x, tensor_ones(SHAPE(4, 1, 5)), NULL));
    MISTAKE("the state's h is (4, 3)", nn_recurrent(l, long_x, NULL, &wide));
    ag_free(g);
    ag_free(l);
    end();
}
END_TEST

/* ---- attention.h ------------------------------------------------------------------------------------------------- */

START_TEST(attention_layers)
{
    begin();
    Tensor *q = tensor_ones(SHAPE(1, 2, 4)), *k = tensor_ones(SHAPE(1, 3, 4)), *x = ones(2, 4), *i = ids(2, 3);
    Tensor *narrow = tensor_ones(SHAPE(1, 3, 2));
    NnScore *dot = nn_score_new(NN_SCORE_DOT, 4, 4, 0), *additive = nn_score_new(NN_SCORE_ADDITIVE, 4, 4, 1), *no_score = NULL;
    Dropout *gone = nn_dropout_new(0.5);
    ag_free(gone);
    MultiHeadAttention *a = nn_multi_head_attention_new(2, 4, 0), *no_attention = NULL;
    PositionalEncoding *p = nn_positional_encoding_new(4, 0, 8), *no_position = NULL;
    PositionwiseFeedForward *f = nn_positionwise_feed_forward_new(4, 8, 0, AG_RELU), *no_forward = NULL;
    SublayerConnection *s = nn_sublayer_connection_new(4, 0, NN_PRE_NORM, AG_NORM_PYTORCH), *no_sublayer = NULL;
    double nan = (double)NAN;
    MISTAKE("n is -2, expected 0 or more", nn_causal_mask(-2));
    MISTAKE("nn_padding_mask: ids is NULL", nn_padding_mask(none, 0));
    MISTAKE("nn_padding_mask: ids is AG_REAL, expected AG_INT", nn_padding_mask(x, 0));
    MISTAKE("expected (B,T)", nn_padding_mask(tensor_ints(SHAPE(2), NULL), 0));
    MISTAKE("nn_padding_mask: ids is NULL", nn_causal_padding_mask(none, 0));
    MISTAKE("expected AG_INT", nn_causal_padding_mask(x, 0));
    MISTAKE("out is NULL", nn_mask_print(NULL, bools(2, 2)));
    MISTAKE("nn_mask_print: mask is NULL", nn_mask_print(stderr, none));
    MISTAKE("nn_mask_print: mask is AG_INT, expected AG_BOOL", nn_mask_print(stderr, i));
    MISTAKE("nn_attention: q is NULL", nn_attention(none, k, k, NULL, NULL, NULL));
    MISTAKE("x is NULL", nn_attention(q, none, k, NULL, NULL, NULL));
    MISTAKE("b is NULL", nn_attention(q, k, none, NULL, NULL, NULL));
    MISTAKE("inner sizes 4 and 2", nn_attention(q, narrow, k, NULL, NULL, NULL));
    MISTAKE("inner sizes 3 and 2", nn_attention(q, k, q, NULL, NULL, NULL));
    MISTAKE("mask is AG_INT", nn_attention(q, k, k, i, NULL, NULL));
    MISTAKE("do not fit", nn_attention(q, k, k, tensor_ones(SHAPE(3, 3)), NULL, NULL));
    MISTAKE("does not broadcast", nn_attention(q, k, k, bools(3, 3), NULL, NULL));
    MISTAKE("this Dropout was freed", nn_attention(q, k, k, NULL, gone, NULL));
    MISTAKE("9 is not a NnScoreKind", nn_score_new((NnScoreKind)9, 4, 4, 4));
    MISTAKE("a dot product needs equal widths", nn_score_new(NN_SCORE_DOT, 4, 3, 0));
    MISTAKE("a dot product needs equal widths", nn_score_new(NN_SCORE_SCALED_DOT, 3, 4, 0));
    MISTAKE("widths 0 and 0", nn_score_new(NN_SCORE_SCALED_DOT, 0, 0, 0));
    MISTAKE("widths 0 and 4", nn_score_new(NN_SCORE_ADDITIVE, 0, 4, 4));
    MISTAKE("widths 4 and 0", nn_score_new(NN_SCORE_ADDITIVE, 4, 0, 4));
    MISTAKE("hidden 0", nn_score_new(NN_SCORE_ADDITIVE, 4, 4, 0));
    MISTAKE("the module is NULL", nn_score(no_score, q, k));
    MISTAKE("nn_score: q is NULL", nn_score(dot, none, k));
    MISTAKE("nn_score: k is NULL", nn_score(additive, q, none));
    MISTAKE("inner sizes", nn_score(dot, q, narrow));
    MISTAKE("do not fit", nn_score(additive, q, narrow));
    MISTAKE("not divisible by 3 heads", nn_multi_head_attention_new(3, 4, 0));
    MISTAKE("not divisible by 0 heads", nn_multi_head_attention_new(0, 4, 0));
    MISTAKE("a width of 0", nn_multi_head_attention_new(2, 0, 0));
    MISTAKE("probability 1", nn_multi_head_attention_new(2, 4, 1));
    MISTAKE("the module is NULL", nn_multi_head_attention(no_attention, q, k, k, NULL));
    MISTAKE("x is NULL", nn_multi_head_attention(a, none, k, k, NULL));
    MISTAKE("x is NULL", nn_multi_head_attention(a, q, none, k, NULL));
    MISTAKE("do not fit", nn_multi_head_attention(a, q, narrow, k, NULL));
    MISTAKE("do not fit: expected (B,T,D)", nn_multi_head_attention(a, x, x, x, NULL));
    MISTAKE("mask is AG_INT", nn_multi_head_attention(a, q, k, k, ids(2, 3)));
    MISTAKE("does not broadcast", nn_multi_head_attention(a, q, k, k, tensor_bools(SHAPE(1, 5, 5), NULL)));
    MISTAKE("width 0 and max_len 8", nn_positional_encoding_new(0, 0, 8));
    MISTAKE("width 4 and max_len 0", nn_positional_encoding_new_learned(4, 0, 0));
    MISTAKE("width 4 and max_len -8", nn_positional_encoding_new(4, 0, -8));
    MISTAKE("probability 2", nn_positional_encoding_new(4, 2, 8));
    MISTAKE("the module is NULL", nn_positional_encoding(no_position, q));
    MISTAKE("nn_positional_encoding_from: x is NULL", nn_positional_encoding(p, none));
    MISTAKE("expected (B,T,4)", nn_positional_encoding(p, narrow));
    MISTAKE("the table has 8 positions", nn_positional_encoding(p, tensor_ones(SHAPE(1, 9, 4))));
    MISTAKE("from position -1 on", nn_positional_encoding_from(p, q, -1));
    MISTAKE("from position 7 on", nn_positional_encoding_from(p, q, 7));
    MISTAKE("sizes 0 and 8", nn_positionwise_feed_forward_new(0, 8, 0, AG_RELU));
    MISTAKE("7 is not an AgActivation", nn_positionwise_feed_forward_new(4, 8, 0, (AgActivation)7));
    MISTAKE("probability nan", nn_positionwise_feed_forward_new(4, 8, nan, AG_RELU));
    MISTAKE("the module is NULL", nn_positionwise_feed_forward(no_forward, q));
    MISTAKE("do not fit", nn_positionwise_feed_forward(f, narrow));
    MISTAKE("4 is not a NnNormPlace", nn_sublayer_connection_new(4, 0, (NnNormPlace)4, AG_NORM_PYTORCH));
    MISTAKE("width 0", nn_sublayer_connection_new(0, 0, NN_PRE_NORM, AG_NORM_PYTORCH));
    MISTAKE("probability -1", nn_sublayer_connection_new(4, -1, NN_PRE_NORM, AG_NORM_PYTORCH));
    MISTAKE("the module is NULL", nn_sublayer_in(no_sublayer, q));
    MISTAKE("x is NULL", nn_sublayer_in(s, none));
    MISTAKE("the module is NULL", nn_sublayer_out(no_sublayer, q, q));
    MISTAKE("nn_sublayer_out: x is NULL", nn_sublayer_out(s, none, q));
    MISTAKE("nn_sublayer_out: h is NULL", nn_sublayer_out(s, q, none));
    MISTAKE("do not fit", nn_sublayer_out(s, q, k));
    ag_free(dot);
    ag_free(additive);
    ag_free(a);
    ag_free(p);
    ag_free(f);
    ag_free(s);
    end();
}
END_TEST

START_TEST(caches)
{
    begin();
    NnCache *c = nn_cache_new(2, 4), *no_cache = NULL, *freed = nn_cache_new(2, 4);
    ag_free(freed);
    MultiHeadAttention *a = nn_multi_head_attention_new(2, 4, 0);
    Tensor *k = tensor_ones(SHAPE(1, 3, 4)), *v = tensor_ones(SHAPE(1, 3, 4)), *out;
    Tensor *trained = ag_reshape(leaf(3, 4), SHAPE(1, 3, 4));
    int32_t rows[] = { 0, 5 };
    const AgAttention how = { .heads = 2 };
    MISTAKE("0 layers", nn_cache_new(0, 4));
    MISTAKE("-1 layers", nn_cache_new(-1, 4));
    MISTAKE("0 positions", nn_cache_new(2, 0));
    MISTAKE("the cache is NULL", nn_cache_append(no_cache, 0, k, v));
    MISTAKE("the cache was freed", nn_cache_append(freed, 0, k, v));
    MISTAKE("layer 2 of a cache for 2 layers", nn_cache_append(c, 2, k, v));
    MISTAKE("layer -1", nn_cache_append(c, -1, k, v));
    MISTAKE("nn_cache_append: key is NULL", nn_cache_append(c, 0, none, v));
    MISTAKE("nn_cache_append: value is NULL", nn_cache_append(c, 0, k, none));
    MISTAKE("expected AG_REAL", nn_cache_append(c, 0, tensor_ints(SHAPE(1, 3, 4), NULL), v));
    MISTAKE("expected (B,t,D) for both", nn_cache_append(c, 0, ones(3, 4), ones(3, 4)));
    MISTAKE("expected (B,t,D) for both", nn_cache_append(c, 0, k, tensor_ones(SHAPE(1, 2, 4))));
    MISTAKE("the key or the value requires a gradient", nn_cache_append(c, 0, trained, v));
    MISTAKE("the key or the value requires a gradient", nn_cache_append(c, 0, k, trained));
    MISTAKE("layer 0 of the cache is empty", nn_cache_read(c, 0, &out, &out));
    MISTAKE("layer 0 of the cache is empty", nn_cache_attention(c, 0, k, NULL, how));
    MISTAKE("layer 2 of a cache", nn_cache_attention(c, 2, k, NULL, how));
    nn_cache_append(c, 0, k, v);
    MISTAKE("the cache has room for 4", nn_cache_append(c, 0, k, v));
    MISTAKE("batch or width differs", nn_cache_append(c, 0, tensor_ones(SHAPE(2, 1, 4)), tensor_ones(SHAPE(2, 1, 4))));
    MISTAKE("the cache is NULL", nn_cache_read(no_cache, 0, &out, &out));
    MISTAKE("layer 9 of a cache", nn_cache_read(c, 9, &out, &out));
    MISTAKE("nn_cache_attention: q is NULL", nn_cache_attention(c, 0, none, NULL, how));
    MISTAKE("key is NULL", nn_cache_read(c, 0, NULL, &out));
    MISTAKE("value is NULL", nn_cache_read(c, 0, &out, NULL));
    MISTAKE("the cache is NULL", nn_cache_is_filled(no_cache, 0));
    MISTAKE("layer 2 of a cache", nn_cache_is_filled(c, 2));
    MISTAKE("c is NULL", nn_cache_select(no_cache, rows, 2));
    MISTAKE("rows is NULL", nn_cache_select(c, NULL, 2));
    MISTAKE("0 rows", nn_cache_select(c, rows, 0));
    MISTAKE("row 5 at item 1 is out of range", nn_cache_select(c, rows, 2));
    MISTAKE("row -1 at item 0 is out of range", nn_cache_select(c, (int32_t[]){ -1, 0 }, 2));
    MISTAKE("c is NULL", nn_cache_keep_last(no_cache, 1));
    MISTAKE("c was freed", nn_cache_keep_last(freed, 1));
    MISTAKE("-1 positions to keep", nn_cache_keep_last(c, -1));
    MISTAKE("the cache was freed", nn_multi_head_attention_cached(a, k, k, k, NULL, freed, 0));
    MISTAKE("layer 7 of a cache", nn_multi_head_attention_cached(a, k, k, k, NULL, c, 7));
    MISTAKE("the cache has room for 4", nn_multi_head_attention_cached(a, k, k, k, NULL, c, 0));
    ag_free(c);
    ag_free(a);
    end();
}
END_TEST

/* ---- transformer.h ----------------------------------------------------------------------------------------------- */

static TransformerOptions small(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1;
    o.d_model = 8;
    o.d_ff = 16;
    o.h = 2;
    o.max_len = 8;
    return o;
}

START_TEST(transformer_parts)
{
    begin();
    TransformerOptions o = small();
    double nan = (double)NAN;
    TransformerGenerator *g = transformer_generator_new(8, 5), *no_generator = NULL;
    TransformerEmbeddings *e = transformer_embeddings_new(8, 5), *no_embeddings = NULL;
    TransformerEncoderLayer *el = transformer_encoder_layer_new(&o), *no_encoder_layer = NULL;
    TransformerDecoderLayer *dl = transformer_decoder_layer_new(&o), *no_decoder_layer = NULL;
    TransformerEncoder *en = transformer_encoder_new(&o), *no_encoder = NULL;
    TransformerDecoder *de = transformer_decoder_new(&o), *no_decoder = NULL;
    Tensor *x = tensor_ones(SHAPE(2, 3, 8)), *narrow = tensor_ones(SHAPE(2, 3, 4)), *word = ids(2, 3);
    MISTAKE("sizes 0 and 5", transformer_generator_new(0, 5));
    MISTAKE("sizes 8 and -5", transformer_generator_new(8, -5));
    MISTAKE("the module is NULL", transformer_generator(no_generator, x));
    MISTAKE("x is NULL", transformer_generator(g, none));
    MISTAKE("do not fit", transformer_generator(g, narrow));
    MISTAKE("0 rows of width 8", transformer_embeddings_new(8, 0));
    MISTAKE("the module is NULL", transformer_embeddings(no_embeddings, word));
    MISTAKE("ids is AG_REAL", transformer_embeddings(e, x));
    MISTAKE("ids is NULL", transformer_embeddings(e, none));
    MISTAKE("o is NULL", transformer_encoder_layer_new(NULL));
    MISTAKE("not divisible by 3 heads", TransformerOptions b = o; b.h = 3; transformer_encoder_layer_new(&b));
    MISTAKE("probability nan", TransformerOptions b = o; b.dropout = nan; transformer_encoder_layer_new(&b));
    MISTAKE("the module is NULL", transformer_encoder_layer(no_encoder_layer, x, NULL));
    MISTAKE("x is NULL", transformer_encoder_layer(el, none, NULL));
    MISTAKE("mask is AG_INT", transformer_encoder_layer(el, x, word));
    MISTAKE("o is NULL", transformer_encoder_new(NULL));
    MISTAKE("transformer.N is 0", TransformerOptions b = o; b.N = 0; transformer_encoder_new(&b));
    MISTAKE("the module is NULL", transformer_encoder(no_encoder, x, NULL));
    MISTAKE("does not fit x (2, 3, 4)", transformer_encoder(en, narrow, NULL));
    MISTAKE("o is NULL", transformer_decoder_layer_new(NULL));
    MISTAKE("7 is not an AgActivation", TransformerOptions b = o; b.activation = (AgActivation)7;
            transformer_decoder_layer_new(&b));
    MISTAKE("the module is NULL", transformer_decoder_layer(no_decoder_layer, x, x, NULL, NULL, NULL, 0));
    MISTAKE("x is NULL", transformer_decoder_layer(dl, x, none, NULL, NULL, NULL, 0));
    MISTAKE("layer 10 of a cache", NnCache *c = nn_cache_new(2, 4); transformer_decoder_layer(dl, x, x, NULL, NULL, c, 5));
    MISTAKE("o is NULL", transformer_decoder_new(NULL));
    MISTAKE("transformer.N is -1", TransformerOptions b = o; b.N = -1; transformer_decoder_new(&b));
    MISTAKE("the module is NULL", transformer_decoder(no_decoder, x, x, NULL, NULL, NULL));
    MISTAKE("x is NULL", transformer_decoder(de, x, none, NULL, NULL, NULL));
    MISTAKE("n is -1, expected 0 or more", nn_causal_mask(-1));
    ag_free(g);
    ag_free(e);
    ag_free(el);
    ag_free(dl);
    ag_free(en);
    ag_free(de);
    end();
}
END_TEST

START_TEST(transformers)
{
    begin();
    TransformerOptions o = small();
    double nan = (double)NAN;
    Transformer *m = transformer_new(5, 6, o), *no_model = NULL;
    TransformerEncoderOnly *only = transformer_encoder_only_new(5, o), *no_only = NULL;
    NnSettings *s = nn_settings_new(), *no_settings = NULL;
    Tensor *src = ids(2, 3), *tgt = ids(2, 4), *x = ones(2, 3), *mask = tensor_bools(SHAPE(2, 1, 3), NULL);
    Tensor *outside = tensor_full(SHAPE(2, 3), 1), *memory = tensor_ones(SHAPE(2, 3, 8));
    Tensor *large = tensor_ints(SHAPE(1, 1), (int32_t[]){ 5 }), *too_long = ids(2, 9);
    MISTAKE("transformer_new: vocabulary 0", transformer_new(0, 6, o));
    MISTAKE("transformer_new: vocabulary 0", transformer_new(5, 0, o));
    MISTAKE("transformer.N is 0", TransformerOptions b = o; b.N = 0; transformer_new(5, 6, b));
    MISTAKE("transformer.d_model is -8", TransformerOptions b = o; b.d_model = -8; transformer_new(5, 6, b));
    MISTAKE("transformer.max_len is 0", TransformerOptions b = o; b.max_len = 0; transformer_new(5, 6, b));
    MISTAKE("a d_model of 8 does not divide into 3 heads", TransformerOptions b = o; b.h = 3; transformer_new(5, 6, b));
    MISTAKE("dropout is nan", TransformerOptions b = o; b.dropout = nan; transformer_new(5, 6, b));
    MISTAKE("dropout is 1", TransformerOptions b = o; b.dropout = 1; transformer_new(5, 6, b));
    MISTAKE("transformer.post_norm is 3, expected a whole number from 0 to 1",
            TransformerOptions b = o; b.norm_place = (NnNormPlace)3; transformer_new(5, 6, b));
    MISTAKE("eps is -1", TransformerOptions b = o; b.norm.eps = -1; transformer_new(5, 6, b));
    MISTAKE("transformer.activation is -1, expected a whole number from 0 to 6",
            TransformerOptions b = o; b.activation = (AgActivation)-1; transformer_new(5, 6, b));
    MISTAKE("needs equal vocabularies", TransformerOptions b = o; b.share_embeddings = true; transformer_new(5, 6, b));
    MISTAKE("the module is NULL", transformer_forward(no_model, src, tgt, mask, NULL));
    MISTAKE("ids is NULL", transformer_forward(m, none, tgt, mask, NULL));
    MISTAKE("ids is NULL", transformer_forward(m, src, none, mask, NULL));
    MISTAKE("ids is AG_REAL", transformer_forward(m, outside, tgt, mask, NULL));
    MISTAKE("mask is AG_INT", transformer_forward(m, src, tgt, ids(2, 3), NULL));
    MISTAKE("does not broadcast", transformer_forward(m, src, tgt, tensor_bools(SHAPE(2, 1, 4), NULL), NULL));
    MISTAKE("does not broadcast", transformer_forward(m, src, tgt, mask, nn_causal_mask(3)));
    MISTAKE("the table has 8 positions", transformer_forward(m, too_long, tgt, NULL, NULL));
    MISTAKE("id 5 at item 0 is out of range: expected 0..4", transformer_encode(m, large, NULL));
    MISTAKE("is a module of another type, expected Transformer", transformer_encode((Transformer *)(void *)only, src, mask));
    MISTAKE("expected (B,T,8)", transformer_encode(m, tensor_ints(SHAPE(3), NULL), NULL));
    MISTAKE("the module is NULL", transformer_decode(no_model, memory, mask, tgt, NULL));
    MISTAKE("x is NULL", transformer_decode(m, none, mask, tgt, NULL));
    MISTAKE("do not fit", transformer_decode(m, tensor_ones(SHAPE(3, 3, 8)), NULL, tgt, NULL));
    MISTAKE("the cache is NULL", transformer_decode_next(m, memory, mask, tgt, NULL));
    MISTAKE("the cache was freed", NnCache *c = transformer_cache_new(m, 4); ag_free(c);
            transformer_decode_next(m, memory, mask, tgt, c));
    MISTAKE("transformer_decode_next: tgt is NULL", NnCache *c = transformer_cache_new(m, 4);
            transformer_decode_next(m, memory, mask, none, c));
    AgScope no_grad = ag_begin(AG_NO_GRAD);
    NnCache *shifted = transformer_cache_new(m, 4);
    transformer_decode_next(m, memory, mask, ids(2, 2), shifted);
    nn_cache_keep_last(shifted, 1);
    ag_end(no_grad);
    MISTAKE("transformer_decode_next: nn_cache_keep_last has removed what was before the 1 positions in the cache",
            transformer_decode_next(m, memory, mask, ids(2, 1), shifted));
    ag_free(shifted);
    MISTAKE("the cache has room for 2", NnCache *c = transformer_cache_new(m, 2);
            transformer_decode_next(m, memory, mask, tgt, c));
    MISTAKE("a cache for 1 attention layers, expected one for the model's 2",
            transformer_decode_next(m, memory, mask, tgt, nn_cache_new(1, 8)));
    MISTAKE("expected a scope with AG_NO_GRAD", transformer_decode_next(m, memory, mask, tgt, transformer_cache_new(m, 8)));
    MISTAKE("the module is NULL", transformer_cache_new(no_model, 4));
    MISTAKE("0 positions", transformer_cache_new(m, 0));
    MISTAKE("the module is NULL", transformer_keep_weights(no_model, true));
    MISTAKE("o is NULL", transformer_to_settings(5, 6, NULL, s));
    MISTAKE("s is NULL", transformer_to_settings(5, 6, &o, no_settings));
    MISTAKE("path is NULL", transformer_load(no_text));
    REFUSED("cannot be opened", transformer_load(missing));
    MISTAKE("vocabulary 0", transformer_encoder_only_new(0, o));
    MISTAKE("transformer.d_ff is 0", TransformerOptions b = o; b.d_ff = 0; transformer_encoder_only_new(5, b));
    MISTAKE("the module is NULL", transformer_encoder_only(no_only, src, mask));
    MISTAKE("ids is AG_REAL", transformer_encoder_only(only, x, mask));
    ag_free(m);
    ag_free(only);
    ag_free(s);
    end();
}
END_TEST

/* ---- training.h -------------------------------------------------------------------------------------------------- */

static bool no_batch(void *source, TransformerBatch *batch)
{
    (void)source;
    (void)batch;
    return false;
}

/* Batches that lack one of their tensors, or have a wrong one: source is the member. */
static bool wrong_batch(void *source, TransformerBatch *batch)
{
    *batch = transformer_batch_new(ids(2, 3), ids(2, 4), 2);
    *(Tensor **)((char *)batch + *(const size_t *)source) = NULL;
    return true;
}

static bool batch_of_reals(void *member, TransformerBatch *batch)
{
    wrong_batch(member, batch);
    *(Tensor **)((char *)batch + *(const size_t *)member) = ones(2, 3);
    return true;
}

static bool empty_handed(void *source, TransformerBatch *batch)
{
    (void)source;
    (void)batch;
    return true;
}

/* Functions of the program that leave a scope open, or end one that they have not begun. */
static AgScope callers;

static void scope_left_open(void)
{
    ag_begin(AG_RECORD);
}

static void scope_ended(void)
{
    ag_end(callers);
}

/* As many scopes are open afterwards as before. */
static void scope_exchanged(void)
{
    ag_end(callers);
    ag_begin(AG_NO_GRAD);
}

static void (*const wrong_with_scopes[])(void) = { scope_left_open, scope_ended, scope_exchanged };
static void (*with_scopes)(void);

static bool next_with_scopes(void *source, TransformerBatch *batch)
{
    (void)source;
    *batch = transformer_batch_new(ids(2, 3), ids(2, 4), 2);
    with_scopes();
    return true;
}

static bool a_batch(void *source, TransformerBatch *batch)
{
    (void)source;
    *batch = transformer_batch_new(ids(2, 3), ids(2, 4), 2);
    return true;
}

static void done_with_scopes(void *arg, const KaeruTrainState *state, double loss, double lr)
{
    (void)arg;
    (void)state;
    (void)loss;
    (void)lr;
    with_scopes();
}

static bool token_with_scopes(void *arg, int32_t id)
{
    (void)arg;
    (void)id;
    with_scopes();
    return true;
}

static void training_with_scopes(LmTraining *t, void *arg)
{
    (void)t;
    (void)arg;
    with_scopes();
}

/* Each mistake in what the program's functions leave behind, in training and in evaluation. */
START_TEST(functions_of_an_epoch)
{
    begin();
    Transformer *m = transformer_new(5, 5, small());
    Optimizer *adam = nn_adam_new(m, 1), *other = nn_adam_new(m, 1), *part = nn_adam_new(m->generator, 1);
    NnParallel *of_other = nn_parallel_new(other, 1, NULL), *of_part = nn_parallel_new(part, 1, NULL);
    const KaeruEpochOptions trains = { .criterion = { 0, 0.1 }, .optimizer = adam, .factor = 1, .model_size = 8, .warmup = 10 };
    KaeruTrainState state = { 0 };
    MISTAKE("parallel was made of another optimizer than `optimizer`", KaeruEpochOptions b = trains; b.parallel = of_other;
            transformer_run_epoch(m, no_batch, NULL, &b, &state));
    MISTAKE("parallel was made of another optimizer than `optimizer`", KaeruEpochOptions b = trains; b.parallel = of_part;
            transformer_run_epoch(m, no_batch, NULL, &b, &state));
    MISTAKE("this optimizer is shared already", KaeruEpochOptions b = trains; b.optimizer = other;
            transformer_run_epoch(m, no_batch, NULL, &b, &state));
    for (int mode = 0; mode < 2; mode++) {
        KaeruEpochOptions o = trains;
        if (mode == 1) o.optimizer = NULL;
        static const struct { size_t member; const char *message; bool ids; } wrong[] = {
            { offsetof(TransformerBatch, src), "transformer_run_epoch: the src of a batch is ", true },
            { offsetof(TransformerBatch, src_mask), "transformer_run_epoch: the src_mask of a batch is ", false },
            { offsetof(TransformerBatch, tgt), "transformer_run_epoch: the tgt of a batch is ", true },
            { offsetof(TransformerBatch, tgt_y), "transformer_run_epoch: the tgt_y of a batch is ", true },
            { offsetof(TransformerBatch, tgt_mask), "transformer_run_epoch: the tgt_mask of a batch is ", false } };
        MISTAKE("transformer_run_epoch: the src of a batch is NULL", transformer_run_epoch(m, empty_handed, NULL, &o, &state));
        for (int i = 0; i < 5; i++) {
            size_t member = wrong[i].member;
            MISTAKE(wrong[i].message, transformer_run_epoch(m, wrong_batch, &member, &o, &state));
            if (wrong[i].ids) MISTAKE(wrong[i].message, transformer_run_epoch(m, batch_of_reals, &member, &o, &state));
        }
        for (int i = 0; i < 3; i++) {
            with_scopes = wrong_with_scopes[i];
            MISTAKE("transformer_run_epoch: next ended a scope, or left one open", callers = ag_begin(AG_RECORD);
                    transformer_run_epoch(m, next_with_scopes, NULL, &o, &state));
            MISTAKE("transformer_run_epoch: done ended a scope, or left one open", callers = ag_begin(AG_RECORD);
                    KaeruEpochOptions b = o; b.done = done_with_scopes; transformer_run_epoch(m, a_batch, NULL, &b, &state));
        }
    }
    ag_free(of_other);
    ag_free(of_part);
    ag_free(other);
    ag_free(part);
    ag_free(adam);
    ag_free(m);
    end();
}
END_TEST

START_TEST(training)
{
    begin();
    Transformer *m = transformer_new(5, 5, small()), *no_model = NULL, *broken = transformer_new(5, 5, small());
    tensor_mutable_data(broken->generator->proj->bias)[2] = (ag_real)NAN;
    Optimizer *adam = nn_adam_new(m, 1), *freed = nn_adam_new(m, 1);
    ag_free(freed);
    KaeruEpochOptions o = { .criterion = { 0, 0.1 }, .optimizer = adam, .factor = 1, .model_size = 8, .warmup = 10 };
    KaeruTrainState state = { 0 };
    Tensor *src = ids(2, 3), *tgt = ids(2, 4), *x = ones(2, 5), *t = tensor_ints(SHAPE(2), NULL);
    Tensor *one = ids(1, 3), *mask = tensor_bools(SHAPE(2, 1, 3), NULL);
    KaeruLabelSmoothing l = { 0, 0.1 };
    KaeruBeamOptions beam = { 2, 5, 0, 1, 0 };
    double nan = (double)NAN;
    MISTAKE("transformer_batch_new: src is NULL", transformer_batch_new(none, tgt, 0));
    MISTAKE("t is NULL", transformer_batch_new(src, none, 0));
    MISTAKE("transformer_batch_new: src is AG_REAL, expected AG_INT", transformer_batch_new(x, tgt, 0));
    MISTAKE("transformer_batch_new: tgt is AG_REAL, expected AG_INT", transformer_batch_new(src, x, 0));
    MISTAKE("expected (B,S) and (B,T+1)", transformer_batch_new(src, ids(3, 4), 0));
    MISTAKE("expected (B,S) and (B,T+1)", transformer_batch_new(t, tgt, 0));
    MISTAKE("expected (B,S) and (B,T+1)", transformer_batch_new(src, ids(2, 0), 0));
    MISTAKE("log_p is NULL", ag_label_smoothing(none, t, l.padding_idx, l.smoothing));
    MISTAKE("target is NULL", ag_label_smoothing(x, none, l.padding_idx, l.smoothing));
    MISTAKE("smoothing nan", ag_label_smoothing(x, t, 0, nan));
    MISTAKE("padding id 9", ag_label_smoothing(x, t, 9, 0));
    MISTAKE("do not fit", ag_label_smoothing(x, src, l.padding_idx, l.smoothing));
    MISTAKE("step -1", nn_schedule_noam(-1, 8, 1, 10));
    MISTAKE("factor is inf", nn_schedule_noam(1, 8, (double)INFINITY, 10));
    MISTAKE("the module is NULL", transformer_run_epoch(no_model, no_batch, NULL, &o, &state));
    MISTAKE("next is NULL", transformer_run_epoch(m, NULL, NULL, &o, &state));
    MISTAKE("options is NULL", transformer_run_epoch(m, no_batch, NULL, NULL, &state));
    MISTAKE("state is NULL", transformer_run_epoch(m, no_batch, NULL, &o, NULL));
    MISTAKE("width 0", KaeruEpochOptions b = o; b.model_size = 0; transformer_run_epoch(m, no_batch, NULL, &b, &state));
    MISTAKE("warmup -1", KaeruEpochOptions b = o; b.warmup = -1; transformer_run_epoch(m, no_batch, NULL, &b, &state));
    MISTAKE("factor is nan", KaeruEpochOptions b = o; b.factor = nan; transformer_run_epoch(m, no_batch, NULL, &b, &state));
    MISTAKE("factor is 0, expected above 0", KaeruEpochOptions b = o; b.factor = 0;
            transformer_run_epoch(m, no_batch, NULL, &b, &state));
    MISTAKE("was made for another module (Transformer), expected one for this",
            transformer_run_epoch(broken, no_batch, NULL, &o, &state));
    MISTAKE("accum_iter is -2", KaeruEpochOptions b = o; b.accum_iter = -2; transformer_run_epoch(m, no_batch, NULL, &b,
                                                                                                  &state));
    MISTAKE("the optimizer was freed", KaeruEpochOptions b = o; b.optimizer = freed;
            transformer_run_epoch(m, no_batch, NULL, &b, &state));
    MISTAKE("the module is NULL", transformer_greedy_decode(no_model, src, mask, 5, 0, -1));
    MISTAKE("transformer_greedy_decode: src is NULL", transformer_greedy_decode(m, none, mask, 5, 0, -1));
    MISTAKE("max_len 0", transformer_greedy_decode(m, src, mask, 0, 0, -1));
    MISTAKE("start symbol 5", transformer_greedy_decode(m, src, mask, 5, 5, -1));
    MISTAKE("start symbol -1", transformer_greedy_decode(m, src, mask, 5, -1, -1));
    MISTAKE("ids is AG_REAL", transformer_greedy_decode(m, ones(2, 3), mask, 5, 0, -1));
    MISTAKE("mask is AG_INT", transformer_greedy_decode(m, src, src, 5, 0, -1));
    MISTAKE("positions", transformer_greedy_decode(m, src, mask, 20, 0, -1));
    MISTAKE("end symbol 77", transformer_greedy_decode(m, src, mask, 5, 0, 77));
    MISTAKE("end symbol 5", transformer_greedy_decode(m, src, mask, 5, 0, 5));
    MISTAKE("the module is NULL", transformer_greedy_decode(no_model, src, mask, 5, 0, 1));
    REFUSED("the probabilities of the next token are NaN: the model's weights",
            transformer_greedy_decode(broken, src, mask, 5, 0, -1));
    REFUSED("the probabilities of the next token are NaN", transformer_beam_search(broken, one, NULL, beam, NULL));
    ck_assert(broken->module.training);
    tensor_mutable_data(broken->generator->proj->bias)[2] = 0;
    tensor_mutable_data(nn_find(broken, "src_embed.0.lut.weight"))[4 * 8] = (ag_real)NAN;         /* of a word in sentence 1 */
    REFUSED("the probabilities of the next token are NaN",
            transformer_greedy_decode(broken, tensor_ints(SHAPE(2, 1), (int32_t[]){ 3, 4 }), NULL, 5, 0, -1));
    MISTAKE("the module is NULL", transformer_beam_search(no_model, one, NULL, beam, NULL));
    MISTAKE("transformer_beam_search: src is NULL", transformer_beam_search(m, none, NULL, beam, NULL));
    MISTAKE("2 sentences", transformer_beam_search(m, src, NULL, beam, NULL));
    MISTAKE("beam 0", KaeruBeamOptions b = beam; b.beam = 0; transformer_beam_search(m, one, NULL, b, NULL));
    MISTAKE("max_len -5", KaeruBeamOptions b = beam; b.max_len = -5; transformer_beam_search(m, one, NULL, b, NULL));
    MISTAKE("start symbol 9", KaeruBeamOptions b = beam; b.start_symbol = 9; transformer_beam_search(m, one, NULL, b, NULL));
    MISTAKE("end symbol -7", KaeruBeamOptions b = beam; b.end_symbol = -7; transformer_beam_search(m, one, NULL, b, NULL));
    MISTAKE("length_penalty is nan", KaeruBeamOptions b = beam; b.length_penalty = nan;
            transformer_beam_search(m, one, NULL, b, NULL));
    ag_free(adam);
    ag_free(m);
    ag_free(broken);
    end();
}
END_TEST

/* ---- seq2seq.h --------------------------------------------------------------------------------------------------- */

START_TEST(seq2seq_models)
{
    begin();
    Seq2SeqOptions o = seq2seq_defaults();
    o.width = o.hidden = 4;
    Seq2Seq *m = seq2seq_new(5, 6, o), *no_model = NULL;
    Tensor *src = ids(2, 3), *tgt = ids(2, 4), *mask = tensor_bools(SHAPE(2, 1, 3), NULL), *x = ones(2, 3);
    MISTAKE("vocabularies of 0 and 6", seq2seq_new(0, 6, o));
    MISTAKE("hidden -4", Seq2SeqOptions b = o; b.hidden = -4; seq2seq_new(5, 6, b));
    MISTAKE("width 0", Seq2SeqOptions b = o; b.width = 0; seq2seq_new(5, 6, b));
    MISTAKE("dropout is nan", Seq2SeqOptions b = o; b.dropout = (double)NAN; seq2seq_new(5, 6, b));
    MISTAKE("8 is not a RecurrentKind", Seq2SeqOptions b = o; b.cell = (RecurrentKind)8; seq2seq_new(5, 6, b));
    MISTAKE("8 is not a NnScoreKind", Seq2SeqOptions b = o; b.score = (NnScoreKind)8; seq2seq_new(5, 6, b));
    MISTAKE("the module is NULL", seq2seq_forward(no_model, src, tgt, mask));
    MISTAKE("seq2seq_forward: src is NULL", seq2seq_forward(m, none, tgt, mask));
    MISTAKE("tgt is NULL", seq2seq_forward(m, src, none, mask));
    MISTAKE("expected (B,S) and (B,T)", seq2seq_forward(m, src, ids(3, 4), mask));
    MISTAKE("expected (B,S) and (B,T)", seq2seq_forward(m, ids(2, 0), tgt, mask));
    MISTAKE("ids is AG_REAL", seq2seq_forward(m, x, tgt, mask));
    MISTAKE("the mask is (2, 3), expected (2, 1, 3)", seq2seq_forward(m, src, tgt, bools(2, 3)));
    MISTAKE("id 9 at item 0", seq2seq_forward(m, tensor_ints(SHAPE(1, 1), (int32_t[]){ 9 }), ids(1, 2), NULL));
    MISTAKE("the module is NULL", seq2seq_greedy_decode(no_model, src, mask, 5, 0, 1));
    MISTAKE("seq2seq_greedy_decode: src is NULL", seq2seq_greedy_decode(m, none, mask, 5, 0, 1));
    MISTAKE("max_len 0", seq2seq_greedy_decode(m, src, mask, 0, 0, 1));
    MISTAKE("start symbol 99", seq2seq_greedy_decode(m, src, mask, 5, 99, 1));
    MISTAKE("end symbol -3", seq2seq_greedy_decode(m, src, mask, 5, 0, -3));
    tensor_mutable_data(m->generator->proj->bias)[0] = (ag_real)NAN;
    REFUSED("the probabilities of the next token are NaN", seq2seq_greedy_decode(m, src, mask, 5, 0, 1));
    ag_free(m);
    end();
}
END_TEST

/* ---- gpt.h ------------------------------------------------------------------------------------------------------- */

static GPTOptions small_gpt(void)
{
    GPTOptions o = gpt_defaults();
    o.layers = 1;
    o.heads = 2;
    o.width = 8;
    o.vocab = 5;
    o.context = 6;
    return o;
}

static bool take_token(void *arg, int32_t id)
{
    (void)arg;
    return id >= 0;
}

START_TEST(gpts)
{
    begin();
    GPTOptions o = small_gpt();
    GPT *m = gpt_new(o), *no_model = NULL;
    NnSettings *s = nn_settings_new(), *no_settings = NULL;
    NnCache *c = lm_cache_new(m), *no_cache = NULL;
    Tensor *word = ids(2, 3);
    int32_t prompt[] = { 0, 1 }, outside[] = { 7 };
    LmSampling how = { .temperature = 1 };
    MISTAKE("gpt.layers is 0", GPTOptions b = o; b.layers = 0; gpt_new(b));
    MISTAKE("gpt.dropout is 1", GPTOptions b = o; b.dropout = 1; gpt_new(b));
    MISTAKE("gpt.dropout is nan", GPTOptions b = o; b.dropout = (double)NAN; gpt_new(b));
    MISTAKE("gpt.eps is -1", GPTOptions b = o; b.eps = -1; gpt_new(b));
    MISTAKE("gpt.vocab is -5", GPTOptions b = o; b.vocab = -5; gpt_new(b));
    MISTAKE("gpt.context is 0", GPTOptions b = o; b.context = 0; gpt_new(b));
    MISTAKE("a width of 8 does not divide into 3 heads", GPTOptions b = o; b.heads = 3; gpt_new(b));
    MISTAKE("o is NULL", nn_fields_check(&gpt_fields, NULL));
    REFUSED("gpt.layers is 0", nn_fields_check(&gpt_fields, &(GPTOptions){ 0 }));
    MISTAKE("o is NULL", gpt_size(NULL));
    MISTAKE("o is NULL", nn_fields_to_settings(&gpt_fields, NULL, s));
    MISTAKE("s is NULL", nn_fields_to_settings(&gpt_fields, &o, no_settings));
    MISTAKE("o is NULL", nn_fields_from_settings(&gpt_fields, NULL, s));
    MISTAKE("s is NULL", nn_fields_from_settings(&gpt_fields, &o, no_settings));
    REFUSED("the setting \"gpt.layers\" is missing", nn_fields_from_settings(&gpt_fields, &o, s));
    MISTAKE("the module is NULL", gpt_forward(no_model, word));
    MISTAKE("gpt_forward: ids is NULL", gpt_forward(m, none));
    MISTAKE("expected (B,T)", gpt_forward(m, tensor_ints(SHAPE(3), NULL)));
    MISTAKE("expected (B,T)", gpt_forward(m, ids(2, 0)));
    MISTAKE("exceed the context of 6", gpt_forward(m, ids(2, 7)));
    MISTAKE("ids is AG_REAL", gpt_forward(m, ones(2, 3)));
    MISTAKE("id 7 at item 0 is out of range", gpt_forward(m, tensor_ints(SHAPE(1, 1), outside)));
    MISTAKE("the module is NULL", lm_loss(no_model, word, word));
    MISTAKE("target is NULL", lm_loss(m, word, none));
    MISTAKE("do not fit", lm_loss(m, word, ids(2, 4)));
    MISTAKE("target is AG_REAL", lm_loss(m, word, ones(2, 3)));
    MISTAKE("9 is not an AgReduce", lm_loss_with(m, word, word, (AgReduce)9));
    MISTAKE("the module is NULL", lm_cache_new(no_model));
    MISTAKE("the module is NULL", lm_logits(no_model, word, c));
    MISTAKE("gpt_forward: ids is NULL", lm_logits(m, none, NULL));
    MISTAKE("exceed the context of 6", lm_logits(m, ids(2, 7), NULL));
    MISTAKE("a cache for 5 layers, expected one for the model's 1", lm_logits(m, word, nn_cache_new(5, 6)));
    MISTAKE("nn_cache_keep_last has removed what was before the 1 positions in the cache", ag_begin(AG_NO_GRAD);
            lm_logits(m, word, c); nn_cache_keep_last(c, 1); lm_logits(m, ids(2, 1), c));
    MISTAKE("nn_cache_keep_last has removed what was before the 1 positions in the cache", lm_next(m, ids(2, 1), c));
    ROW(AgScope no_grad = ag_begin(AG_NO_GRAD); nn_cache_keep_last(c, 0); lm_logits(m, word, c); nn_cache_keep_last(c, 3);
        nn_cache_keep_last(c, 9); lm_logits(m, ids(2, 1), c); nn_cache_keep_last(c, 0); ag_end(no_grad));
    ck_assert_str_eq(usage_message, "");
    MISTAKE("the module is NULL", lm_next(no_model, word, c));
    MISTAKE("the cache is NULL", lm_next(m, word, no_cache));
    MISTAKE("gpt_forward: ids is NULL", lm_next(m, none, c));
    MISTAKE("exceed the context of 6", lm_next(m, word, c); lm_next(m, ids(2, 4), c));
    MISTAKE("batch or width differs", lm_next(m, ids(1, 1), c));
    MISTAKE("a cache for 5 layers, expected one for the model's 1", lm_next(m, word, nn_cache_new(5, 6)));
    MISTAKE("path is NULL", gpt_load(no_text));
    REFUSED("cannot be opened", gpt_load(missing));
    MISTAKE("weights_path is NULL", gpt_open(no_text, missing));
    MISTAKE("config_path is NULL", gpt_open(missing, no_text));
    REFUSED("cannot be opened", gpt_open(missing, missing));
    MISTAKE("the module is NULL", gpt_write(no_model, missing, missing));
    MISTAKE("weights_path is NULL", gpt_write(m, no_text, missing));
    MISTAKE("config_path is NULL", gpt_write(m, missing, no_text));
    REFUSED("/nowhere/at/all", gpt_write(m, missing, missing));
    MISTAKE("the model is in training mode", lm_generate(m, prompt, 2, 3, &how, take_token, NULL));
    nn_eval(m);
    MISTAKE("the module is NULL", lm_generate(no_model, prompt, 2, 3, &how, take_token, NULL));
    MISTAKE("prompt is NULL", lm_generate(m, NULL, 2, 3, &how, take_token, NULL));
    MISTAKE("an empty prompt", lm_generate(m, prompt, 0, 3, &how, take_token, NULL));
    MISTAKE("how is NULL", lm_generate(m, prompt, 2, 3, NULL, take_token, NULL));
    MISTAKE("next is NULL", lm_generate(m, prompt, 2, 3, &how, NULL, NULL));
    MISTAKE("-3 tokens to generate", lm_generate(m, prompt, 2, -3, &how, take_token, NULL));
    MISTAKE("id 7 at item 0 is out of range", lm_generate(m, outside, 1, 3, &how, take_token, NULL));
    MISTAKE("temperature -1", lm_generate(m, prompt, 2, 3, &(LmSampling){ -1, 0, 0 }, take_token, NULL));
    ag_free(c);
    ag_free(s);
    ag_free(m);
    end();
}
END_TEST

/* ---- text.h ------------------------------------------------------------------------------------------------------ */

START_TEST(texts)
{
    begin();
    KaeruText text, *no_text_object = NULL;
    KaeruTextStream no_file = { 0 }, *no_stream = NULL;
    MISTAKE("text is NULL", kaeru_text_open(no_text_object, missing));
    MISTAKE("path is NULL", kaeru_text_open(&text, no_text));
    REFUSED("cannot be opened", kaeru_text_open(&text, missing));
    REFUSED("expected a regular file", kaeru_text_open(&text, "/"));
    MISTAKE("text is NULL", kaeru_text_close(no_text_object));
    MISTAKE("name is NULL", kaeru_text_check(no_text, 1, "a", 1));
    MISTAKE("text is NULL", kaeru_text_check("name", 1, no_text, 1));
    REFUSED("expected UTF-8, found byte 0xFF", kaeru_text_check("name", 1, "\xff", 1));
    MISTAKE("s is NULL", kaeru_text_stream_put(no_stream, "a", 1));
    MISTAKE("the file of s is NULL", kaeru_text_stream_put(&no_file, "a", 1));
    MISTAKE("s holds 900 bytes, expected less than a character",
            kaeru_text_stream_put(&(KaeruTextStream){ stderr, 900, "" }, "a", 1));
    MISTAKE("s holds 4 bytes, expected less than a character", kaeru_text_stream_end(&(KaeruTextStream){ stderr, 4, "" }));
    MISTAKE("bytes is NULL", kaeru_text_stream_put(&(KaeruTextStream){ .out = stderr }, no_text, 1));
    MISTAKE("s is NULL", kaeru_text_stream_end(no_stream));
    MISTAKE("the file of s is NULL", kaeru_text_stream_end(&no_file));
    MISTAKE("a is NULL", kaeru_text_is_same_file(no_text, "/"));
    MISTAKE("b is NULL", kaeru_text_is_same_file("/", no_text));
    MISTAKE("path is NULL", kaeru_writer_open(no_text, NULL, NULL));
    REFUSED("expected a regular file to replace", kaeru_writer_open("/", NULL, NULL) != NULL);
    REFUSED("no/such/file: cannot be read: ", kaeru_writer_open("no/such", "no/such/file", NULL) != NULL);
    MISTAKE("w is NULL", kaeru_writer_stream((KaeruWriter *)no_text_object));
    MISTAKE("w is NULL", kaeru_writer_commit((KaeruWriter *)no_text_object));
    end();
}
END_TEST

START_TEST(vocabularies)
{
    begin();
    KaeruVocab *v = kaeru_vocab_chars("abc", 3), *w = kaeru_vocab_words("a b c", 5, 1), *no_vocab = NULL;
    KaeruVocab *b = kaeru_vocab_bpe(KAERU_BPE, "a b a b", 7, 260), *freed = kaeru_vocab_words("a", 1, 1);
    ag_free(freed);
    int32_t outside[] = { 9999 }, *no_ids = NULL;
    size_t n;
    MISTAKE("text is NULL", kaeru_vocab_chars(no_text, 3));
    MISTAKE("the size of text is -1, expected 0 or more", kaeru_vocab_chars("abc", (size_t)-1));
    REFUSED("expected UTF-8", kaeru_vocab_chars("\xc3", 1));
    MISTAKE("text is NULL", kaeru_vocab_words(no_text, 3, 1));
    MISTAKE("min_count is -1", kaeru_vocab_words("a", 1, -1));
    MISTAKE("text is NULL", kaeru_vocab_bpe(KAERU_BPE, no_text, 5, 300));
    MISTAKE("the size of text is -1, expected 0 or more", kaeru_vocab_bpe(KAERU_BPE, "text", (size_t)-1, 300));
    MISTAKE("kind is 1, expected KAERU_BPE or KAERU_SENTENCE_BPE", kaeru_vocab_bpe(KAERU_WORDS, "text", 4, 300));
    REFUSED("at least 257 tokens", kaeru_vocab_bpe(KAERU_BPE, "text", 4, 256));
    REFUSED("at least 261 tokens", kaeru_vocab_bpe(KAERU_SENTENCE_BPE, "text", 4, 260));
    MISTAKE("5 is not a KaeruVocabKind", kaeru_vocab_open((KaeruVocabKind)5, missing, missing));
    MISTAKE("vocab_path is NULL", kaeru_vocab_open(KAERU_CHARS, no_text, NULL));
    MISTAKE("vocab_path is NULL", kaeru_vocab_open(KAERU_BPE, no_text, missing));
    REFUSED("cannot be opened", kaeru_vocab_open(KAERU_CHARS, missing, NULL));
    REFUSED("cannot be opened", kaeru_vocab_open(KAERU_WORDS, missing, NULL));
    REFUSED("cannot be opened", kaeru_vocab_open(KAERU_BPE, missing, missing));
    REFUSED("cannot be opened", kaeru_vocab_open(KAERU_BPE, missing, no_text));
    MISTAKE("v is NULL", kaeru_vocab_save(no_vocab, missing, missing));
    MISTAKE("vocab_path is NULL", kaeru_vocab_save(v, no_text, NULL));
    MISTAKE("vocab_path is NULL", kaeru_vocab_save(b, no_text, missing));
    MISTAKE("merges_path is NULL", kaeru_vocab_save(b, missing, no_text));
    REFUSED("/nowhere/at/all", kaeru_vocab_save(v, missing, NULL));
    REFUSED("/nowhere/at/all", kaeru_vocab_save(b, missing, "/nowhere/at/all/merges"));
    REFUSED("is the path of both files", kaeru_vocab_save(b, missing, missing));
    char *merges, **no_merges = NULL, *pairs = kaeru_vocab_to_text(b, &merges);
    MISTAKE("v is NULL", kaeru_vocab_to_text(no_vocab, &merges));
    MISTAKE("merges is NULL", kaeru_vocab_to_text(v, no_merges));
    MISTAKE("5 is not a KaeruVocabKind", kaeru_vocab_of_text((KaeruVocabKind)5, "name", "{}", NULL));
    MISTAKE("name is NULL", kaeru_vocab_of_text(KAERU_CHARS, no_text, "{}", NULL));
    MISTAKE("vocab is NULL", kaeru_vocab_of_text(KAERU_CHARS, "name", no_text, NULL));
    REFUSED("name: ", kaeru_vocab_of_text(KAERU_CHARS, "name", "{", NULL));
    REFUSED("name: line 2: ", kaeru_vocab_of_text(KAERU_BPE, "name", pairs, "#version: 0.2\na\n"));
    ag_free(pairs);
    ag_free(merges);
    MISTAKE("v is NULL", kaeru_vocab_export(no_vocab, missing, missing));
    MISTAKE("tokenizer_path is NULL", kaeru_vocab_export(v, no_text, missing));
    MISTAKE("config_path is NULL", kaeru_vocab_export(v, missing, no_text));
    REFUSED("/nowhere/at/all", kaeru_vocab_export(v, missing, "/nowhere/at/all/config"));
    REFUSED("is the path of both files", kaeru_vocab_export(v, missing, missing));
    MISTAKE("this object was freed already", ag_free(freed));
    MISTAKE("v is NULL", kaeru_vocab_kind(no_vocab));
    MISTAKE("v was freed", kaeru_vocab_kind(freed));
    MISTAKE("v is NULL", kaeru_vocab_size(no_vocab));
    MISTAKE("v was freed", kaeru_vocab_size(freed));
    MISTAKE("v is NULL", kaeru_vocab_fingerprint(no_vocab));
    MISTAKE("v is NULL", kaeru_vocab_special(no_vocab, KAERU_END));
    MISTAKE("4 is not a KaeruSpecial", kaeru_vocab_special(w, (KaeruSpecial)4));
    MISTAKE("v is NULL", kaeru_vocab_find(no_vocab, "a", 1));
    MISTAKE("token is NULL", kaeru_vocab_find(w, no_text, 1));
    MISTAKE("v is NULL", kaeru_vocab_token(no_vocab, 0, &n));
    MISTAKE("v was freed", kaeru_vocab_token(freed, 0, &n));
    MISTAKE("v is NULL", kaeru_vocab_check(no_vocab, "name", "a", 1));
    MISTAKE("text is NULL", kaeru_vocab_check(v, "name", no_text, 1));
    MISTAKE("name is NULL", kaeru_vocab_check(v, no_text, "z", 1));
    REFUSED("is not in the vocabulary", kaeru_vocab_check(v, "name", "z", 1));
    MISTAKE("v is NULL", kaeru_vocab_unknown(no_vocab, "a", 1));
    MISTAKE("text is NULL", kaeru_vocab_unknown(w, no_text, 1));
    MISTAKE("v is NULL", kaeru_vocab_encode(no_vocab, "a", 1, KAERU_AS_TEXT, &n));
    MISTAKE("v was freed", kaeru_vocab_encode(freed, "a", 1, KAERU_AS_TEXT, &n));
    MISTAKE("text is NULL", kaeru_vocab_encode(v, no_text, 1, KAERU_AS_TEXT, &n));
    MISTAKE("text is NULL", kaeru_vocab_encode(b, no_text, 1, KAERU_AS_TEXT, &n));
    MISTAKE("count is NULL", kaeru_vocab_encode(v, "a", 1, KAERU_AS_TEXT, NULL));
    MISTAKE("count is NULL", kaeru_vocab_encode(w, "a", 1, KAERU_AS_TEXT, NULL));
    MISTAKE("count is NULL", kaeru_vocab_encode(b, "a", 1, KAERU_AS_TEXT, NULL));
    MISTAKE("5 is not a KaeruEncoding", kaeru_vocab_encode(b, "a", 1, (KaeruEncoding)5, &n));
    REFUSED("is not in the vocabulary", kaeru_vocab_encode(v, "z", 1, KAERU_AS_TEXT, &n));
    MISTAKE("v is NULL", kaeru_vocab_decode(no_vocab, outside, 1, &n));
    MISTAKE("v was freed", kaeru_vocab_decode(freed, outside, 1, &n));
    MISTAKE("ids is NULL", kaeru_vocab_decode(v, no_ids, 1, &n));
    MISTAKE("ids is NULL", kaeru_vocab_decode(w, no_ids, 2, &n));
    MISTAKE("ids is NULL", kaeru_vocab_decode(b, no_ids, 1, &n));
    MISTAKE("n is NULL", kaeru_vocab_decode(v, outside, 1, NULL));
    REFUSED("id 9999 at place 0 is not in the vocabulary", kaeru_vocab_decode(v, outside, 1, &n));
    REFUSED("id 9999 at place 0", kaeru_vocab_decode(w, outside, 1, &n));
    REFUSED("id 9999 at place 0", kaeru_vocab_decode(b, outside, 1, &n));
    MISTAKE("v is NULL", kaeru_sentence_encode(no_vocab, "a", 1, &n));
    MISTAKE("v was freed", kaeru_sentence_encode(freed, "a", 1, &n));
    MISTAKE("v is not of KAERU_WORDS or KAERU_SENTENCE_BPE", kaeru_sentence_encode(v, "a", 1, &n));
    MISTAKE("text is NULL", kaeru_sentence_encode(w, no_text, 1, &n));
    MISTAKE("count is NULL", kaeru_sentence_encode(w, "a", 1, NULL));
    MISTAKE("v is NULL", kaeru_sentence_decode(no_vocab, outside, 1, &n));
    MISTAKE("v is not of KAERU_WORDS or KAERU_SENTENCE_BPE", kaeru_sentence_decode(b, outside, 1, &n));
    MISTAKE("id 9999 of a vocabulary of 7", kaeru_sentence_decode(w, outside, 1, &n));
    MISTAKE("id -1 of a vocabulary of 7", kaeru_sentence_decode(w, &(int32_t){ -1 }, 1, &n));
    MISTAKE("ids is NULL", kaeru_sentence_decode(w, no_ids, 1, &n));
    MISTAKE("n is NULL", kaeru_sentence_decode(w, outside, 1, NULL));
    ag_free(b);
    ag_free(w);
    ag_free(v);
    end();
}
END_TEST

/* ---- lm.h -------------------------------------------------------------------------------------------------------- */

START_TEST(language_models)
{
    begin();
    GPT *m = gpt_new(small_gpt()), *no_model = NULL;
    KaeruVocab *v = kaeru_vocab_chars("abc", 3), *freed = kaeru_vocab_chars("abc", 3), *no_vocab = NULL;
    ag_free(freed);
    static const char text[] = "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc";
    LmData *d = lm_data_of_text("text", text, sizeof text - 1, v), *few = lm_data_of_text("few", "abc", 3, v);
    LmData *no_data = NULL, *shut = lm_data_of_text("shut", text, sizeof text - 1, v);
    ag_free(shut);
    NnSettings *s = nn_settings_new(), *no_settings = NULL;
    LmOptions o = lm_defaults();
    LmTraining job = { .model = m, .data = d, .options = o, .settings = s }, *no_training = NULL;
    Tensor *x, *y;
    int64_t count;
    ag_real logits[] = { 1, 2, 3 }, bad[] = { 1, (ag_real)NAN };
    double p[3], nan = (double)NAN;
    LmSampling how = { .temperature = 1 }, *no_how = NULL;
    MISTAKE("path is NULL", lm_data_open(no_text, v));
    MISTAKE("v is NULL", lm_data_open(missing, no_vocab));
    MISTAKE("v was freed", lm_data_open(missing, freed));
    REFUSED("/nowhere/at/all", lm_data_open(missing, v));
    MISTAKE("name is NULL", lm_data_of_text(no_text, "a", 1, v));
    MISTAKE("text is NULL", lm_data_of_text("name", no_text, 1, v));
    MISTAKE("v is NULL", lm_data_of_text("name", "a", 1, no_vocab));
    REFUSED("is not in the vocabulary", lm_data_of_text("name", "z", 1, v));
    MISTAKE("this object was freed already", ag_free(shut));
    MISTAKE("d is NULL", lm_data_tokens(no_data, LM_TRAIN));
    MISTAKE("d was freed", lm_data_tokens(shut, LM_TRAIN));
    MISTAKE("2 is not an LmPart", lm_data_tokens(d, (LmPart)2));
    MISTAKE("d is NULL", lm_data_fits(no_data, m, 0));
    MISTAKE("the module is NULL", lm_data_fits(d, no_model, 0));
    MISTAKE("windows of -1 ids", lm_data_fits(d, m, -1));
    REFUSED("longer than the model's context of 6", lm_data_fits(d, m, 7));
    REFUSED("are too few", lm_data_fits(few, m, 0));
    MISTAKE("d is NULL", lm_data_draw(no_data, 1, 1, &x, &y));
    MISTAKE("0 windows of 3 ids", lm_data_draw(d, 0, 3, &x, &y));
    MISTAKE("1 windows of -3 ids", lm_data_draw(d, 1, -3, &x, &y));
    MISTAKE("1 windows of 1000 ids", lm_data_draw(d, 1, 1000, &x, &y));
    MISTAKE("ids is NULL", lm_data_draw(d, 1, 3, NULL, &y));
    MISTAKE("targets is NULL", lm_data_draw(d, 1, 3, &x, NULL));
    MISTAKE("v was freed", KaeruVocab *u = kaeru_vocab_chars("abc", 3);
            LmData *e = lm_data_of_text("text", text, sizeof text - 1, u); ag_free(u);
            lm_data_fits(e, m, 3));
    MISTAKE("the module is NULL", lm_evaluate(no_model, d, 1, 0, 0, NULL));
    MISTAKE("d is NULL", lm_evaluate(m, no_data, 1, 0, 0, NULL));
    MISTAKE("batches of 0 windows", lm_evaluate(m, d, 0, 0, 0, NULL));
    MISTAKE("windows of -2 ids", lm_evaluate(m, d, 1, -2, 0, NULL));
    MISTAKE("exceed the context of 6", lm_evaluate(m, d, 1, 7, 0, NULL));
    MISTAKE("few has 1 held-out ids", lm_evaluate(m, few, 1, 0, 0, NULL));
    MISTAKE("text_path is NULL", lm_tokenize(no_text, v, missing, &count));
    MISTAKE("v is NULL", lm_tokenize(missing, no_vocab, missing, &count));
    MISTAKE("tokens_path is NULL", lm_tokenize(missing, v, no_text, &count));
    MISTAKE("count is NULL", lm_tokenize(missing, v, missing, NULL));
    MISTAKE("v was freed", lm_tokenize(missing, freed, missing, &count));
    REFUSED("cannot be opened", lm_tokenize(missing, v, missing, &count));
    MISTAKE("path is NULL", lm_is_token_file(no_text));
    MISTAKE("o is NULL", nn_fields_check(&lm_fields, NULL));
    REFUSED("train.lr is -1", nn_fields_check(&lm_fields, &(LmOptions){ .steps = 1, .batch = 1, .accumulate = 1, .lr = -1 }));
    REFUSED("train.batch is 0", nn_fields_check(&lm_fields, &(LmOptions){ .steps = 1, .batch = 0 }));
    REFUSED("train.clip is nan",
            nn_fields_check(&lm_fields, &(LmOptions){ .steps = 1, .batch = 1, .accumulate = 1, .clip = nan }));
    MISTAKE("o is NULL", nn_fields_to_settings(&lm_fields, NULL, s));
    MISTAKE("s is NULL", nn_fields_to_settings(&lm_fields, &o, no_settings));
    MISTAKE("o is NULL", nn_fields_from_settings(&lm_fields, NULL, s));
    MISTAKE("s is NULL", nn_fields_from_settings(&lm_fields, &o, no_settings));
    REFUSED("the setting \"train.steps\" is missing", nn_fields_from_settings(&lm_fields, &o, s));
    MISTAKE("t is NULL", lm_train(no_training, false));
    MISTAKE("the module is NULL", LmTraining b = job; b.model = NULL; lm_train(&b, false));
    MISTAKE("the data of t is NULL", LmTraining b = job; b.data = NULL; lm_train(&b, false));
    MISTAKE("the settings of t is NULL", LmTraining b = job; b.settings = NULL; lm_train(&b, false));
    MISTAKE("no path of a checkpoint to resume from", LmTraining b = job; lm_train(&b, true));
    MISTAKE("last and best are both \"/nowhere/at/all\"", LmTraining b = job; b.last = b.best = missing; lm_train(&b, false));
    MISTAKE("logits is NULL", lm_sample_next(NULL, 3, &how));
    MISTAKE("0 logits", lm_sample_next(logits, 0, &how));
    MISTAKE("how is NULL", lm_sample_next(logits, 3, no_how));
    MISTAKE("temperature -1", lm_sample_next(logits, 3, &(LmSampling){ -1, 0, 0 }));
    MISTAKE("temperature nan", lm_sample_next(logits, 3, &(LmSampling){ nan, 0, 0 }));
    MISTAKE("temperature inf", lm_sample_next(logits, 3, &(LmSampling){ (double)INFINITY, 0, 0 }));
    MISTAKE("top_k is -1", lm_sample_next(logits, 3, &(LmSampling){ 1, -1, 0 }));
    MISTAKE("top_p is -0.5", lm_sample_next(logits, 3, &(LmSampling){ 1, 0, -0.5 }));
    MISTAKE("top_p is 2", lm_sample_next(logits, 3, &(LmSampling){ 1, 0, 2 }));
    MISTAKE("top_p is nan", lm_sample_next(logits, 3, &(LmSampling){ 1, 0, nan }));
    REFUSED("the logit of token 1 is nan", lm_sample_next(bad, 2, &how) >= 0);
    REFUSED("the logit of token 0 is -inf, expected a finite number", lm_sample_next(&(ag_real){ -(ag_real)INFINITY }, 1,
                                                                                     &how) >= 0);
    MISTAKE("logits is NULL", lm_sample_probabilities(NULL, 3, &how, p));
    MISTAKE("p is NULL", lm_sample_probabilities(logits, 3, &how, NULL));
    MISTAKE("top_p is nan", lm_sample_probabilities(logits, 3, &(LmSampling){ 1, 0, nan }, p));
    REFUSED("the logit of token 1 is nan", lm_sample_probabilities(bad, 2, &how, p));
    job.options.steps = job.options.evaluate_every = 1;
    for (int i = 0; i < 3; i++) {
        static const int32_t prompt[] = { 1 };
        with_scopes = wrong_with_scopes[i];
        MISTAKE("lm_train: started ended a scope, or left one open", LmTraining b = job; b.started = training_with_scopes;
                callers = ag_begin(AG_RECORD); lm_train(&b, false));
        MISTAKE("lm_train: stepped ended a scope, or left one open", LmTraining b = job; b.stepped = training_with_scopes;
                callers = ag_begin(AG_RECORD); lm_train(&b, false));
        MISTAKE("lm_train: evaluated ended a scope, or left one open", LmTraining b = job; b.evaluated = training_with_scopes;
                callers = ag_begin(AG_RECORD); lm_train(&b, false));
        MISTAKE("lm_generate: next ended a scope, or left one open", callers = ag_begin(AG_RECORD); nn_eval(m);
                lm_generate(m, prompt, 1, 3, &how, token_with_scopes, NULL));
    }
    ag_free(d);
    ag_free(few);
    ag_free(v);
    ag_free(s);
    ag_free(m);
    end();
}
END_TEST

/* ---- lines of text.h ---------------------------------------------------------------------------------------------- */

START_TEST(lines)
{
    begin();
    KaeruLines l, out, *no_lines = NULL;
    ck_assert(kaeru_lines_of_text(&l, "l", 1, "a b\nb a\n", 8));
    size_t n;
    MISTAKE("l is NULL", kaeru_lines_open(no_lines, missing));
    MISTAKE("path is NULL", kaeru_lines_open(&out, no_text));
    REFUSED("cannot be opened", kaeru_lines_open(&out, missing));
    MISTAKE("l is NULL", kaeru_lines_of_text(no_lines, "name", 1, "a", 1));
    MISTAKE("name is NULL", kaeru_lines_of_text(&out, no_text, 1, "a", 1));
    MISTAKE("text is NULL", kaeru_lines_of_text(&out, "name", 1, no_text, 1));
    REFUSED("expected UTF-8", kaeru_lines_of_text(&out, "name", 1, "\xff", 1));
    MISTAKE("l is NULL", kaeru_lines_lower(no_lines));
    MISTAKE("l is NULL", kaeru_lines_close(no_lines));
    MISTAKE("texts is NULL", kaeru_lines_join(no_lines, 1, &n));
    MISTAKE("0 texts", kaeru_lines_join(&l, 0, &n));
    MISTAKE("size is NULL", kaeru_lines_join(&l, 1, NULL));
    kaeru_lines_close(&l);
    end();
}
END_TEST

START_TEST(later_operations)
{
    begin();
    Tensor *x = ones(2, 3), *i = ids(2, 3), *row = tensor_ones(SHAPE(3)), *cube = tensor_ones(SHAPE(1, 4, 6));
    Tensor *image = tensor_ones(SHAPE(1, 2, 5, 5)), *window = tensor_ones(SHAPE(3, 2, 3, 3)), *out;
    Tensor *table = tensor_ones(SHAPE(4, 2)), *learned = tensor_set_requires_grad(tensor_ones(SHAPE(4, 2)), true);
    double nan = (double)NAN;
    MISTAKE("silu: x is NULL", ag_silu(none));
    MISTAKE("sin: x is AG_INT, expected AG_REAL", ag_sin(i));
    MISTAKE("rms_norm: x is NULL", ag_rms_norm(none, NULL, 1e-5));
    MISTAKE("x is a scalar, expected (..,D)", ag_rms_norm(tensor_ones(AG_SCALAR), NULL, 1e-5));
    MISTAKE("eps is -1", ag_rms_norm(x, NULL, -1));
    MISTAKE("eps is nan", ag_rms_norm(x, NULL, nan));
    MISTAKE("eps is inf", ag_rms_norm(x, NULL, (double)INFINITY));
    MISTAKE("gamma (2, 3) does not fit x (2, 3)", ag_rms_norm(x, x, 1e-5));
    MISTAKE("gamma (2,) does not fit x (2, 3)", ag_rms_norm(x, tensor_ones(SHAPE(2)), 1e-5));
    MISTAKE("gamma (3, 1) does not fit x (2, 3)", ag_rms_norm(x, tensor_ones(SHAPE(3, 1)), 1e-5));
    MISTAKE("gamma is AG_INT", ag_rms_norm(x, i, 1e-5));
    MISTAKE("width 3 and base 100", ag_rope_frequencies(3, 100));
    MISTAKE("width 0", ag_rope_frequencies(0, 100));
    MISTAKE("base 0", ag_rope_frequencies(4, 0));
    MISTAKE("base inf", ag_rope_frequencies(4, (double)INFINITY));
    MISTAKE("frequencies is NULL", ag_rope_table(none, 0, 3));
    MISTAKE("frequencies (2, 3), 3 positions from 0 on", ag_rope_table(x, 0, 3));
    MISTAKE("3 positions from -1 on", ag_rope_table(row, -1, 3));
    MISTAKE("-1 positions from 0 on", ag_rope_table(row, 0, -1));
    MISTAKE("rope: x is NULL", ag_rope(none, table, 3, false));
    MISTAKE("table is NULL", ag_rope(cube, none, 3, false));
    MISTAKE("x (1, 4, 6), table (4, 2) and 2 heads do not fit", ag_rope(cube, table, 2, false));
    MISTAKE("and 0 heads do not fit", ag_rope(cube, table, 0, false));
    MISTAKE("x (2, 3), table (4, 2)", ag_rope(x, table, 3, false));
    MISTAKE("table (3, 2)", ag_rope(cube, tensor_ones(SHAPE(3, 2)), 3, false));
    MISTAKE("table (4, 3)", ag_rope(cube, tensor_ones(SHAPE(4, 3)), 2, false));
    MISTAKE("the table requires a gradient", ag_rope(cube, learned, 3, false));
    MISTAKE("6 heads of queries do not divide into groups for 4 heads of keys",
            ag_attention(cube, cube, cube, NULL, ((AgAttention){ .heads = 6, .kv_heads = 4 })));
    MISTAKE("for -1 heads of keys", ag_attention(cube, cube, cube, NULL, ((AgAttention){ .heads = 6, .kv_heads = -1 })));
    MISTAKE("k (1, 4, 6) for 1 heads of width 2, the width of q's heads: expected (B,S,2)",
            ag_attention(cube, cube, cube, NULL, ((AgAttention){ .heads = 3, .kv_heads = 1 })));
    MISTAKE("a window of 2, expected 0 or more, and causal attention",
            ag_attention(cube, cube, cube, NULL, ((AgAttention){ .heads = 3, .window = 2 })));
    MISTAKE("a window of -1", ag_attention(cube, cube, cube, NULL, ((AgAttention){ 3, 0, true, -1, 0 })));
    MISTAKE("0 heads, expected 1 or more", ag_self_attention(cube, NULL, (AgAttention){ .kv_heads = 2 }));
    MISTAKE("-4 heads, expected 1 or more", ag_self_attention(cube, NULL, (AgAttention){ .heads = -4, .kv_heads = 2 }));
    MISTAKE("dropout p is 1", ag_self_attention(cube, NULL, ((AgAttention){ 2, 0, true, 0, 1 })));
    MISTAKE("(1, 4, 6) does not divide into 8 heads", ag_self_attention(cube, NULL, ((AgAttention){ 4, 2, true, 0, 0 })));
    MISTAKE("self_attention: 0 heads, expected 1 or more", ag_self_attention(cube, NULL, ((AgAttention){ 0 })));
    MISTAKE("qkv is NULL", ag_self_attention(none, NULL, ((AgAttention){ 2, 0, true, 0, 0 })));
    MISTAKE("conv2d: x is NULL", ag_conv2d(none, window, NULL, 1, 0));
    MISTAKE("weight is AG_INT", ag_conv2d(image, i, NULL, 1, 0));
    MISTAKE("x (2, 3) and weight (3, 2, 3, 3) do not fit", ag_conv2d(x, window, NULL, 1, 0));
    MISTAKE("expected (B,C,H,W) and (O,C,h,w)", ag_conv2d(image, tensor_ones(SHAPE(3, 1, 3, 3)), row, 1, 0));
    MISTAKE("bias (2, 3) does not fit weight (3, 2, 3, 3): expected (O)", ag_conv2d(image, window, x, 1, 0));
    MISTAKE("stride 0 and padding 1", ag_conv2d(image, window, row, 0, 1));
    MISTAKE("stride 1 and padding -1", ag_conv2d(image, window, row, 1, -1));
    MISTAKE("is empty, or larger than x (1, 2, 2, 5) with padding 0",
            ag_conv2d(tensor_ones(SHAPE(1, 2, 2, 5)), window, row, 1, 0));
    MISTAKE("weight (3, 2, 0, 3) is empty", ag_conv2d(image, tensor_ones(SHAPE(3, 2, 0, 3)), row, 1, 0));
    MISTAKE("x (2, 3) and weight (3, 2, 3, 3) do not fit: expected (B,C,T) and (O,C,k)", ag_conv1d(x, window, NULL, 1, 0));
    MISTAKE("stride 1 and padding -1", ag_conv1d(cube, cube, NULL, 1, -1));
    MISTAKE("and weight (3, 1, 3, 3) do not fit: expected (B,C,H,W) and (O,C/groups,h,w)",
            ag_conv2d_with(image, tensor_ones(SHAPE(3, 1, 3, 3)), NULL, (AgConv){ .groups = 2 }));
    MISTAKE("stride 0, padding -1", ag_conv2d_with(image, window, NULL, (AgConv){ .padding = { -1, 0 } }));
    MISTAKE("stride 2, padding 0, output_padding 2", ag_conv_transpose2d(image, tensor_ones(SHAPE(2, 1, 3, 3)), NULL, 2, 0, 2));
    MISTAKE("to height 2 and width 0", ag_interpolate2d(image, 2, 0, AG_NEAREST));
    MISTAKE("7 is not an AgInterpolation", ag_interpolate2d(image, 2, 2, (AgInterpolation)7));
    MISTAKE("there is no dimension 2", ag_pad(x, 2, 1, 1));
    MISTAKE("ag_pad: the size of dimension 1 overflows", ag_pad(x, 1, INT64_MAX, INT64_MAX));
    MISTAKE("ag_pad: the size of dimension 1 overflows", ag_pad(x, 1, INT64_MAX, 0));
    MISTAKE("ag_stack: dimension 5 cannot be inserted into (2, 3)", ag_stack((Tensor *[]){ ones(2, 3) }, 1, 5));
    MISTAKE("ag_stack: an item of x is AG_INT, expected AG_REAL",
            ag_stack((Tensor *[]){ row, tensor_ints(tensor_shape(row), NULL) }, 2, 0));
    MISTAKE("ag_stack: shape (2, 4611686018427387904, 0) has more items than can be counted",
            Tensor *y = tensor_zeros(SHAPE((int64_t)1 << 62, 0)); ag_stack((Tensor *[]){ y, y }, 2, 0));
    MISTAKE("ag_pad: a tensor of 2305843009213693952 items is too large", ag_pad(row, 0, 0, (int64_t)1 << 61));
    MISTAKE("ag_freeze_bf16: weight (2, 2) belongs to a scope", ag_freeze_bf16(ones(2, 2)));
    MISTAKE("ag_freeze_bf16: weight is AG_INT, expected AG_REAL", ag_freeze_bf16(i));
    MISTAKE("pad: x is NULL", ag_pad(none, 0, 1, 1));
    MISTAKE("pad_with: -1 and 1 items, expected 0 or more", ag_pad_with(x, 0, -1, 1, 2));
    MISTAKE("pad_with: value is 0.5, expected an int32, since x is AG_INT", ag_pad_with(i, 0, 1, 1, 0.5));
    MISTAKE("value is 2147483648, expected an int32", ag_pad_with(i, 0, 1, 1, 2147483648.0));
    MISTAKE("value is nan, expected an int32", ag_pad_with(i, 0, 1, 1, nan));
    MISTAKE("value is 2, expected 0 or 1, since x is AG_BOOL", ag_pad_with(ag_compare(AG_EQ, x, x), 0, 1, 1, 2));
    MISTAKE("select: there is no item 3 along dimension 1 of (2, 3)", ag_select(x, 1, 3));
    MISTAKE("select: there is no item -4 along dimension -1 of (2, 3)", ag_select(x, -1, -4));
    MISTAKE("select: there is no dimension 2", ag_select(x, 2, 0));
    MISTAKE("unbind: out is NULL", ag_unbind(x, 3, 1, NULL));
    MISTAKE("unbind: dimension 1 of (2, 3) does not have 2 items", ag_unbind(x, 2, 1, &out));
    MISTAKE("unbind: 0 items, expected 1 or more", ag_unbind(ones(0, 3), 0, 0, &out));
    MISTAKE("unbind: -1 items, expected 1 or more", ag_unbind(x, -1, 0, &out));
    MISTAKE("unbind: there is no dimension 0 in shape ()", ag_unbind(ag_sum(x), 1, 0, &out));
    MISTAKE("mul_scalar: x is AG_INT", ag_mul_scalar(i, 2));
    MISTAKE("logaddexp: b is AG_INT", ag_logaddexp(x, i));
    MISTAKE("logaddexp: shapes (2, 3) and (4, 2) do not fit", ag_logaddexp(x, table));
    MISTAKE("norm_dims: dimension -1 is named twice", ag_norm_dims(x, DIMS(1, -1), true));
    MISTAKE("normalize: eps is 0, expected a finite number above 0", ag_normalize(x, 1, 0));
    if (sizeof(ag_real) == sizeof(float)) {
        MISTAKE("normalize: eps is 1e-300, expected a number that is not 0 in x's type", ag_normalize(x, 1, 1e-300));
        MISTAKE("pad_with: value is -1e+300, which is infinite in x's type", ag_pad_with(x, 0, 1, 1, -1e300));
    }
    MISTAKE("normalize: there is no dimension 2", ag_normalize(x, 2, 1));
    MISTAKE("int_arange: from 1 to 3 by 0 has no end", tensor_int_arange(1, 3, 0));
    MISTAKE("int_full: negative size in shape (-1,)", tensor_int_full(SHAPE(-1), 3));
    MISTAKE("int_add: a is AG_REAL, expected AG_INT", ag_int_add(x, i));
    MISTAKE("int_mul: shapes (2, 3) and (2, 2) do not fit", ag_int_mul(i, ids(2, 2)));
    MISTAKE("nonzero: mask is AG_INT", ag_nonzero(i));
    MISTAKE("index_add: ids (2, 3), expected (n)", ag_index_add(x, 0, i, x));
    MISTAKE("index_add: src is (2, 3), expected (2, 2): the sizes of x (2, 3), and 2 ids along dimension -1",
            ag_index_add(x, -1, tensor_ints(SHAPE(2), NULL), x));
    MISTAKE("index_add: id 3 at item 1 is out of range", ag_index_add(x, 1, tensor_int_arange(2, 5, 1), x));
    MISTAKE("index_add: src is AG_INT", ag_index_add(x, 0, i, i));
    MISTAKE("index_add: there is no dimension 0 in shape ()", ag_index_add(ag_sum(x), 0, tensor_ints(SHAPE(1), NULL), row));
    MISTAKE("scatter_max: src (3,) and ids (2, 3) differ in shape", ag_scatter_max(x, 1, i, row));
    MISTAKE("scatter_max: id 3 at item 1", ag_scatter_max(x, 1, tensor_ints(SHAPE(2, 1), (int32_t[]){ 0, 3 }), ones(2, 1)));
    MISTAKE("max_pool2d: x (2, 3), expected (B,C,H,W)", ag_max_pool2d(x, 2, 2, 0));
    MISTAKE("size 0, stride 1 and padding 0", ag_max_pool2d(image, 0, 1, 0));
    MISTAKE("size 2, stride 0", ag_mean_pool2d(image, 2, 0, 0));
    MISTAKE("size 3, stride 1 and padding 2", ag_mean_pool2d(image, 3, 1, 2));
    MISTAKE("windows of size 6, padding 0: x (1, 2, 5, 5) is too small", ag_max_pool2d(image, 6, 1, 0));
    MISTAKE("x (1, 1, 9, 5) is too small", ag_max_pool2d(tensor_ones(SHAPE(1, 1, 9, 5)), 6, 1, 0));
    MISTAKE("x (1, 1, 5, 9) is too small", ag_max_pool2d(tensor_ones(SHAPE(1, 1, 5, 9)), 6, 1, 0));
    MISTAKE("x (1, 2, 0, 5) is too small", ag_max_pool2d(tensor_ones(SHAPE(1, 2, 0, 5)), 2, 1, 1));
    MISTAKE("scatter_add: ids is AG_REAL", ag_scatter_add(x, 1, x, x));
    MISTAKE("src is NULL", ag_scatter_add(x, 1, i, none));
    MISTAKE("src (3,) and ids (2, 3) differ in shape", ag_scatter_add(x, 1, i, row));
    MISTAKE("scatter_add: ids (2, 3) do not fit x (3,)", ag_scatter_add(row, 0, i, x));
    MISTAKE("scatter_add: id 3 at item 1", ag_scatter_add(x, 1, tensor_ints(SHAPE(2, 1), (int32_t[]){ 0, 3 }), ones(2, 1)));
    MISTAKE("cumsum: there is no dimension 2", ag_cumsum(x, 2));
    MISTAKE("cumsum: x is AG_INT", ag_cumsum(i, 0));
    MISTAKE("sort: there is no dimension -3", ag_sort(x, -3, false, &out));
    MISTAKE("sort: x is NULL", ag_sort(none, 0, false, &out));
    MISTAKE("topk: 4 items along dimension 1 of (2, 3)", ag_topk(x, 4, 1, NULL));
    MISTAKE("topk: -1 items", ag_topk(x, -1, 1, NULL));
    MISTAKE("topk: 0 items along dimension 0 of ()", ag_topk(ag_sum(x), 0, 0, NULL));
    MISTAKE("cumsum: there is no dimension 1 in shape ()", ag_cumsum(ag_sum(x), 1));
    MISTAKE("sum_dims: 2 dimensions named for shape ()", ag_sum_dims(ag_sum(x), DIMS(0, -1), false));
    MISTAKE("logsumexp: x is NULL", ag_logsumexp(none, 0, false));
    MISTAKE("there is no dimension 5", ag_logsumexp(x, 5, false));
    MISTAKE("huber_loss: x (2, 3) and target (3,) differ in shape", ag_huber_loss(x, row, 1));
    MISTAKE("delta is 0, expected a finite number above 0", ag_huber_loss(x, x, 0));
    MISTAKE("delta is inf, expected a finite number above 0", ag_huber_loss(x, x, (double)INFINITY));
    MISTAKE("logits (2, 3) and target (3,) differ in shape", ag_binary_cross_entropy(x, row, AG_MEAN));
    MISTAKE("target 2 at item 0 is not in 0..1", ag_binary_cross_entropy(x, ag_scale(x, 2), AG_MEAN));
    MISTAKE("target -1 at item 0", ag_binary_cross_entropy(x, ag_neg(x), AG_MEAN));
    MISTAKE("7 is not an AgReduce", ag_binary_cross_entropy(x, x, (AgReduce)7));
    MISTAKE("cast: x is NULL", ag_cast(none, AG_REAL));
    MISTAKE("dtype is 3, expected AG_REAL, AG_INT or AG_BOOL", ag_cast(x, AG_PACKED));
    MISTAKE("cast: nan at item 0 does not fit AG_INT", ag_cast(ag_scale(x, nan), AG_INT));
    MISTAKE("cast: 2147483648 at item 1 does not fit AG_INT",
            ag_cast(tensor_from(SHAPE(2), (ag_real[]){ 1, (ag_real)2147483648.0 }), AG_INT));
    MISTAKE("width 0, must be 1 or more", nn_rms_norm_new(0));
    MISTAKE("eps is -1", nn_rms_norm_new_with(3, -1));
    MISTAKE("0 and 3 channels, size 3, stride 1: expected 1 or more; padding 1", nn_conv2d_new(0, 3, 3));
    MISTAKE("3 and 0 channels, size 3", nn_conv2d_new(3, 0, 3));
    MISTAKE("3 and 3 channels, size 0", nn_conv2d_new(3, 3, 0));
    MISTAKE("3 channels, size 3, stride 0", nn_conv2d_new_with(3, 3, 3, 0, 1, true));
    MISTAKE("padding -1: 0 or more", nn_conv2d_new_with(2, 3, 3, 1, -1, true));
    MISTAKE("0 and 3 channels, size 3", nn_conv2d_new_how(0, 3, 3, ((AgConv){ 0 }), true));
    MISTAKE("stride 0: expected 1 or more", nn_conv_transpose2d_new(2, 3, 3, 0));
    MISTAKE("output_padding 2, expected 0 to stride - 1, which is 1",
            nn_conv_transpose2d_new_with(2, 3, 3, 2, 0, 2, true));
    MISTAKE("output_padding -1, expected 0 to stride - 1, which is 0",
            nn_conv_transpose2d_new_with(2, 3, 3, 1, 0, -1, true));
    MISTAKE("dilation -1, expected 0 or more", nn_conv2d_new_how(2, 3, 3, (AgConv){ .dilation = { -1, 1 } }, true));
    MISTAKE("dilation -2, expected 0 or more", nn_conv2d_new_how(2, 3, 3, (AgConv){ .dilation = { 1, -2 } }, true));
    MISTAKE("width 1: the unbiased variance of one item is 0/0", nn_layer_norm_new_kind(1, AG_NORM_ANNOTATED));
    MISTAKE("width 1: the unbiased variance of one item is 0/0",
            nn_sublayer_connection_new(1, 0, NN_PRE_NORM, AG_NORM_ANNOTATED));
    MISTAKE("0 channels, momentum 0.1", nn_batch_norm_new(0));
    MISTAKE("2 channels, momentum 0.1, eps nan", nn_batch_norm_new_with(2, 0.1, nan));
    MISTAKE("4 channels in 2 groups, eps -1", nn_group_norm_new_with(2, 4, -1));
    MISTAKE("the module is NULL", nn_rms_norm(NULL, x));
    MISTAKE("the module is NULL", nn_conv2d(NULL, x));
    end();
}
END_TEST

/* ---- files of tensors, loading with options, optimizers of one's own ---------------------------------------------- */

START_TEST(tensor_files)
{
    begin();
    Tensor *x = tensor_ones(SHAPE(2, 2)), *y = ag_scale(tensor_set_requires_grad(tensor_ones(SHAPE(2, 2)), true), 2);
    NnTensorFile *f = tensor_file_open(TEST_FIXTURES "/types.safetensors"), *no_file = NULL;
    MISTAKE("the path is NULL", tensor_file_open(no_text));
    MISTAKE("the file is NULL", tensor_file_count(no_file));
    MISTAKE("item -1 of a file of", tensor_file_item(f, -1));
    MISTAKE("the name is NULL", tensor_file_find(f, no_text));
    MISTAKE("the key is NULL", tensor_file_metadata(f, no_text));
    MISTAKE("tensor_file_read: t is NULL", tensor_file_read(f, "f32", none));
    MISTAKE("the name is NULL", tensor_file_read(f, no_text, x));
    MISTAKE("made by scale", tensor_file_read(f, "f32", y));
    MISTAKE("the file is NULL", tensor_file_get(no_file, "f32"));
    MISTAKE("the path is NULL", tensor_load(no_text, "x"));
    MISTAKE("the path is NULL", tensor_save(no_text, { "x", x }));
    MISTAKE("a name is NULL", tensor_save("a.npz", { no_text, x }));
    MISTAKE("tensor_save: a tensor is NULL", tensor_save("a.npz", { "x", none }));
    MISTAKE("the list is NULL", tensor_save_list("a.npz", NULL, 1));
    MISTAKE("a list of -1 tensors", tensor_save_list("a.npz", NULL, -1));
    MISTAKE("an .npy file has one tensor, not 0", tensor_save_list(".npy", NULL, 0));
    MISTAKE("the path is NULL", nn_load_with(no_text, NULL, (NnLoadOptions){ .in_place = true }));
    MISTAKE("the module is NULL", nn_load_with("a.npz", NULL, (NnLoadOptions){ .in_place = true }));
    REFUSED("is (7,), expected (2, 2)", tensor_file_read(f, "f32", x));
    ag_free(f);
    MISTAKE("the file was freed", tensor_file_count(f));
    end();
}
END_TEST

/* ---- what crashed, or gave a wrong result without an error -------------------------------------------------------- */

static Tensor *square_of(Tensor *x) { return ag_mul(x, x); }

static void *make_tensor(void *made)
{
    ag_begin(AG_NO_GRAD);
    *(Tensor **)made = ones(2, 3);
    return NULL;
}

static void *write_weight(void *weight)
{
    ag_fill(weight, 2);
    return NULL;
}

static void *free_object(void *p)
{
    MISTAKE("this object was made in another thread, whose scope has not ended", ag_free(p));
    return NULL;
}

/* Objects of a thread that ends without an end of its scopes; the last of each kind is the newest of the thread. */
typedef struct { int scopes, kinds, kind; void *object[4]; } Left;

static void *leave_objects(void *arg)
{
    Left *left = arg;
    for (int i = 0; i < left->scopes; i++) ag_begin(AG_RECORD);
    for (int i = 0; i < left->kinds; i++) {
        switch ((left->kind + i) % 4) {
        case 0: left->object[i] = ag_alloc(4, 4); break;
        case 1: left->object[i] = nn_linear_new(2, 2); break;
        case 2: left->object[i] = ag_keep(ones(2, 2)); break;
        default: left->object[i] = nn_settings_new();
        }
    }
    return NULL;
}

/* Runs f in a thread that ends. */
static void in_thread(void *f(void *), void *arg)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, f, arg), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void backward_again(void *arg, Tensor *leaf)
{
    (void)leaf;
    ag_backward(arg);
}

START_TEST(lifetimes_and_threads)
{
    begin();
    Tensor *w = leaf(2, 3), *dead = ended(), *of_thread = NULL;
    in_thread(make_tensor, &of_thread);
    MISTAKE("a is not a live tensor", ag_add(of_thread, w));
    ag_memory_trim();
    MISTAKE("a is not a live tensor", ag_add(of_thread, w));
    MISTAKE("a is not a live tensor", ag_add(dead, w));
    Linear *l = nn_linear_new(2, 2);
    in_thread(free_object, l);
    ag_free(l);
    for (int scopes = 0; scopes < 3; scopes++)
        for (int kind = 0; kind < 4; kind++)
            for (int kinds = 1; kinds <= 4; kinds++)
                for (int first = 0; first < 2; first++) {
                    static Left left;
                    left = (Left){ .scopes = scopes + (kind + kinds > 2), .kinds = kinds, .kind = kind };
                    if (left.scopes == 0) continue;         /* no scope owns ag_keep's argument */
                    in_thread(leave_objects, &left);
                    for (int i = 0; i < kinds; i++) {
                        const int k = first ? i : kinds - 1 - i;
                        ROW(if ((kind + k) % 4 == 2) tensor_free(left.object[k]); else ag_free(left.object[k]));
                        ck_assert_str_eq(usage_message, "");
                    }
                }
    MISTAKE("in another thread", Tensor *y = ag_sum(square_of(w)); in_thread(write_weight, w); ag_backward(y));
    Tensor *loss = ag_sum(square_of(w));
    ag_watch_backward((AgWatch){ .complete = backward_again, .arg = loss });
    ROW(ag_backward(loss));
    ck_assert_ptr_ne(strstr(usage_message, "a backward pass of this thread is running"), NULL);
    ag_watch_backward((AgWatch){ 0 });
    ROW(ag_backward(ag_sum(square_of(w))));                 /* that error has ended the pass */
    ck_assert_str_eq(usage_message, "");
    MISTAKE("the scope in which ag_mark was called has ended",
            AgScope s = ag_begin(AG_RECORD); AgMark inside = ag_mark(); ag_end(s); ag_recompute(inside, ag_tanh(w), AG_CHEAP));
    end();
}
END_TEST

static void careless_handler(const char *message)
{
    (void)message;
    tensor_item(none);
}

START_TEST(a_handler_that_makes_an_error)
{
    ag_on_usage_error(careless_handler);
    tensor_item(none);
}
END_TEST

/* Errors deeper and deeper in the stack: a handler that leaves by longjmp may be called as often as there are errors. */
static int errors_below(int depth)
{
    volatile char frame[64] = { 0 };
    ROW(tensor_item(none));
    return depth == 0 ? frame[0] : errors_below(depth - 1) + frame[1];
}

START_TEST(a_handler_that_leaves)
{
    errors_below(20);
    ck_assert_ptr_ne(strstr(usage_message, "t is NULL"), NULL);
}
END_TEST

START_TEST(modules_and_files)
{
    typedef struct { Module module; Linear *l[2]; } Net;
    begin();
    Linear *l = nn_linear_new(3, 2);
    Dropout *dropout = nn_dropout_new(0.5);
    Recurrent *gru = nn_gru_new(3, 2);
    RMSNorm *norm = nn_rms_norm_new(3);
    Net *net = nn_new(Net);
    Tensor *x = ones(2, 3), *mask = bools(1, 2);
    MISTAKE("no parameter of this Linear has a gradient", nn_clip_grad_norm(l, 1));
    ag_backward(ag_sum(nn_linear(l, x)));
    double norm_of_gradients = nn_grad_norm(l);
    ck_assert_double_eq(nn_clip_grad_norm(l, 0), norm_of_gradients);
    ck_assert_double_eq(nn_grad_norm(l), norm_of_gradients);
    MISTAKE("this Dropout is a module of another type, expected Embedding", nn_embedding((Embedding *)dropout, ids(1, 1)));
    MISTAKE("expected Sequential", nn_sequential((Sequential *)dropout, x));
    MISTAKE("expected ModuleList", nn_list_item((ModuleList *)dropout, 0));
    MISTAKE("this GRU is a module of another type, expected Linear", nn_linear((Linear *)gru, x));
    MISTAKE("this Linear is a module of another type, expected a GRU or an LSTM",
            nn_recurrent((Recurrent *)l, tensor_ones(SHAPE(1, 2, 3)), NULL, NULL));
    MISTAKE("expected PositionalEncoding", nn_positional_encoding((PositionalEncoding *)norm, x));
    MISTAKE("nn_recurrent_new_with: sizes 1 -> 4611686018427387903", nn_gru_new(1, INT64_MAX / 2));
    MISTAKE("nn_linear_new_with: a tensor of", nn_linear_new(INT64_C(1) << 31, INT64_C(1) << 31));
    Linear *spare = nn_linear_new(1, 1);
    MISTAKE("\"l[1]\" in Net is of an array", nn_child(net, l[1], spare));
    nn_child_named(net, l[1], nn_linear_new(1, 1), "l%d", 1);
    ck_assert_ptr_eq(nn_find(net, "l1.weight"), net->l[1]->weight);
    REFUSED("model.npz: nn_save writes a safetensors file", nn_save("model.npz", l));
    REFUSED("model.pt: nn_checkpoint_save writes a safetensors file", nn_checkpoint_save("model.pt", l, NULL, NULL));
    tensor_mutable_bool_data(mask)[0] = 200;
    ck_assert_double_eq(tensor_item(ag_slice(mask, 1, 0, 1)), 1);
    ck_assert_double_eq((double)tensor_data(ag_cast(mask, AG_REAL))[0], 1);
    void *const made[] = { l, dropout, gru, norm, net, spare };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) ag_free(made[i]);
    end();
}
END_TEST

/* Functions that take a pointer to any module, or to any language model, get other objects. */
START_TEST(other_objects)
{
    begin();
    Linear *l = nn_linear_new(3, 2);
    Sequential *s = nn_sequential_new();
    ModuleList *list = nn_list_new();
    Optimizer *adam = nn_adam_new(l, 0.1);
    Tensor *x = ones(2, 3), *word = ids(1, 2);
    KaeruVocab *letters = kaeru_vocab_chars("ab", 2);
    LmData *d = lm_data_of_text("text", "abababababababab", 16, letters);
    const char *const paths[] = { missing };
    NnCache *cache = nn_cache_new(1, 2);
    int32_t id = 1;
    int64_t n;
    void *const others[] = { nn_settings_new(), ag_object_new(1), adam };
    for (int i = 0; i < 3; i++) {
        void *o = others[i];
        static const char what[] = "this is not a module";
        MISTAKE(what, nn_check("f", o, 0));
        MISTAKE(what, nn_check_type("f", o, 0, "Linear"));
        MISTAKE(what, nn_list_add(list, o));
        MISTAKE(what, nn_sequential_add(s, o));
        MISTAKE(what, nn_recompute(o, x));
        MISTAKE(what, nn_clone(o));
        MISTAKE(what, nn_set_training(o, true));
        MISTAKE(what, nn_zero_grad(o));
        MISTAKE(what, nn_parameters(o));
        MISTAKE(what, nn_find(o, "weight"));
        MISTAKE(what, nn_pack_weights(o, true));
        MISTAKE(what, nn_freeze_bf16(o));
        MISTAKE(what, nn_count(o));
        MISTAKE(what, nn_summary(o, stderr));
        MISTAKE(what, nn_adam_new(o, 0.1));
        MISTAKE(what, nn_sgd_new(o, 0.1));
        MISTAKE(what, nn_rmsprop_new(o, 0.1));
        MISTAKE(what, nn_optimizer_check("f", adam, o));
        MISTAKE(what, nn_clip_grad_norm(o, 1));
        MISTAKE(what, nn_ema_update(o, l, 0.5));
        MISTAKE(what, nn_ema_update(l, o, 0.5));
        MISTAKE(what, nn_save(missing, o));
        MISTAKE(what, nn_save_bf16(missing, o));
        MISTAKE(what, nn_load(missing, o));
        MISTAKE(what, nn_load_with(missing, o, (NnLoadOptions){ .in_place = true }));
        MISTAKE(what, nn_checkpoint_save(missing, o, NULL, NULL));
        MISTAKE(what, nn_checkpoint_save_trained(missing, o, NULL, NULL));
        MISTAKE(what, nn_checkpoint_load(missing, o, NULL, NULL));
        MISTAKE(what, nn_average_checkpoints(o, paths, 1));
        MISTAKE(what, nn_lora_add(o, (NnLoraOptions){ .rank = 1, .alpha = 1 }));
        MISTAKE(what, nn_lora_merge(o));
        MISTAKE(what, nn_lora_save(o, missing));
        MISTAKE(what, nn_lora_load(o, missing));
        MISTAKE(what, lm_cache_new(o));
        MISTAKE(what, lm_loss(o, word, word));
        MISTAKE(what, lm_logits(o, word, NULL));
        MISTAKE(what, lm_next(o, word, cache));
        MISTAKE(what, lm_data_fits(d, o, 0));
        MISTAKE(what, lm_evaluate(o, d, 1, 0, 0, &n));
        MISTAKE(what, lm_generate(o, &id, 1, 1, &(LmSampling){ .temperature = 1 }, take_token, NULL));
        MISTAKE(what, lm_train(&(LmTraining){ .model = o }, false));
    }
    ag_free(cache);
    ag_free(others[0]);
    ag_free(others[1]);
    ag_free(adam);
    ag_free(d);
    ag_free(letters);
    ag_free(s);
    ag_free(list);
    ag_free(l);
    end();
}
END_TEST

/* The system has no memory for a result. */
START_TEST(no_memory_for_a_result)
{
    if (!faults_work()) return;
    begin();
    enum { LARGE = 1 << 13 };
    Tensor *one = ones(1, 1), *column = ones(LARGE, 1), *row = ones(1, LARGE);
    /* What a thread allocates at its first error is there. */
    MISTAKE("ag_matmul: a is NULL", ag_matmul(none, ag_add(one, ag_expand(one, SHAPE(1, 1)))));
    faults_at(0, true);
    MISTAKE("ag_expand: no memory for ", ag_expand(one, SHAPE(LARGE, LARGE)));
    MISTAKE("ag_matmul: no memory for ", ag_matmul(column, row));
    MISTAKE("ag_add: no memory for ", ag_add(column, row));
    faults_at(-1, false);
    end();
}
END_TEST

START_TEST(messages)
{
    begin();
    Tensor *x = tensor_ones(SHAPE(1, 2, 5)), *w = tensor_ones(SHAPE(3, 2, 9)), *q = tensor_ones(SHAPE(2, 3, 4));
    MISTAKE("ag_reshape: -1 twice in (-1, -1): only one size can be inferred", ag_reshape(x, SHAPE(-1, -1)));
    Tensor *image = tensor_ones(SHAPE(1, 1, 2, 2)), *kernel = tensor_ones(SHAPE(1, 1, 1, 1));
    AgConv far = { .padding = { INT_MAX, INT_MAX } };
    MISTAKE("ag_conv2d: shape (1, 1, 4294967296, 4294967296) has more items", ag_conv2d(image, kernel, NULL, 1, INT_MAX));
    MISTAKE("ag_conv2d_with: shape (1, 1, 4294967296, 4294967296) has more items", ag_conv2d_with(image, kernel, NULL, far));
    MISTAKE("ag_conv_transpose2d: shape ", ag_conv_transpose2d(tensor_ones(SHAPE(1, 1, 3, 3)), kernel, NULL, INT_MAX, 0, 0));
    MISTAKE("ag_conv1d: weight (3, 2, 9) is empty, or longer than x (1, 2, 5)", ag_conv1d(x, w, NULL, 1, 0));
    MISTAKE("ag_conv1d: x (1, 2, 5) and weight (2, 3, 4) do not fit", ag_conv1d(x, q, NULL, 1, 0));
    MISTAKE("ag_conv1d: stride 0 and padding 0", ag_conv1d(x, w, NULL, 0, 0));
    MISTAKE("ag_conv1d: bias (5, 1) does not fit", ag_conv1d(x, w, ones(5, 1), 1, 0));
    MISTAKE("ag_logsumexp: there is no dimension 3", ag_logsumexp(x, 3, false));
    MISTAKE("(ag_end_return, ag_keep, ag_detach, tensor_grad, ag_grad)",
            ag_backward(ag_sum(square_of(tensor_set_requires_grad(x, true)))); ag_backward(ag_sum(tensor_grad(x))));
    end();
}
END_TEST

/* ---- mistakes in functions that the library calls ------------------------------------------------------------------ */

static bool frees_again;
static void free_again(void *p) { if (frees_again) ag_free(p); }

static AgScope to_end;
static void end_scope(void *unused, Tensor *leaf)
{
    (void)unused;
    (void)leaf;
    ag_end(to_end);
}

static void forward_that_ends(const AgCustomCall *c) { (void)c; ag_end(to_end); }
static void forward_that_begins(const AgCustomCall *c) { (void)c; ag_begin(AG_RECORD); }

/* A function of nn_optimizer_group that makes groups itself. */
static bool belongs_and_groups(const NnNamedTensor *p, void *optimizer)
{
    static int depth;
    bool matrix = tensor_ndim(p->tensor) == 2;
    if (depth++ < 5) nn_optimizer_group(optimizer, belongs_and_groups, optimizer, 0, 2);
    return matrix;
}

static Optimizer *to_free;
static void update_that_frees(const OptimizerUpdate *u) { (void)u; ag_free(to_free); }

START_TEST(called_functions)
{
    static const AgCustom ends = { "ends", forward_that_ends, add_backward, AG_NEEDS_NONE, NULL, NULL },
                          begins = { "begins", forward_that_begins, add_backward, AG_NEEDS_NONE, NULL, NULL };
    static const OptimizerKind frees = { .name = "frees", .update = update_that_frees };
    typedef struct { Module module; Tensor *w; } Net;
    begin();
    void *block = ag_object_new(8);
    Net *net = nn_new(Net);
    ag_on_free(block, free_again);
    net->module.destroy = free_again;
    frees_again = true;
    MISTAKE("its own destructor calls ag_free", ag_free(block));
    MISTAKE("its own destructor calls ag_free", ag_free(net));
    frees_again = false;
    ag_free(block);
    ag_free(net);
    Tensor *w = leaf(2, 3);
    ag_watch_backward((AgWatch){ .complete = end_scope });
    MISTAKE("has ended the scope of this pass, at tests/test_mistakes.c",
            to_end = ag_begin(AG_RECORD); ag_backward(ag_sum(square_of(w))));
    ag_watch_backward((AgWatch){ 0 });
    MISTAKE("ends: forward ended a scope", to_end = ag_begin(AG_RECORD); ag_custom(&ends, SHAPE(1), &w, 1, NULL, 0));
    MISTAKE("begins: forward ended a scope, or left one open", ag_custom(&begins, SHAPE(1), &w, 1, NULL, 0));
    Net *trained = nn_new(Net);
    nn_param(trained, w, SHAPE(1));
    to_free = nn_optimizer_new(trained, &frees, NULL, 0, 0.1, 0);
    ag_backward(ag_sum(trained->w));
    MISTAKE("the optimizer was freed", nn_optimizer_step(to_free));
    Optimizer *grouped = nn_sgd_new(trained, 0.1);
    ck_assert_int_eq(nn_optimizer_group(grouped, belongs_and_groups, grouped, 0, 0), 0);
    ag_backward(ag_sum(trained->w));
    nn_optimizer_step(grouped);
    ag_free(grouped);
    ag_free(trained);
    end();
}
END_TEST

/* ---- mistakes with gradients and numbers --------------------------------------------------------------------------- */

START_TEST(gradients_that_change)
{
    begin();
    Linear *l = nn_linear_new(4, 2);
    Tensor *w = leaf(2, 3), *loss = ag_sum(square_of(w)), *out, *x = leaf(1, 4), *kept = ag_keep(ones(3, 2));
    MISTAKE("in is NULL", ag_grad(loss, NULL, 1, &out));
    MISTAKE("out is NULL", ag_grad(loss, &w, 1, NULL));
    MISTAKE("n is -1, expected 1 or more", ag_grad(loss, &w, -1, &out));
    MISTAKE("the leaf is NULL", ag_take_gradient(none));
    MISTAKE("the leaf is NULL", ag_put_gradient(none, kept));
    MISTAKE("expected the result of ag_take_gradient of this leaf", ag_put_gradient(w, kept));
    MISTAKE("expected the result of ag_take_gradient of this leaf", ag_put_gradient(leaf(2, 4), l->weight));
    MISTAKE("expected the result of ag_take_gradient of this leaf", ag_put_gradient(kept, kept));
    ag_backward(loss);
    MISTAKE("ag_grad_scale wrote it", Tensor *y = ag_sum(ag_mul(tensor_grad(w), w)); ag_grad_scale(w, 2); ag_backward(y));
    MISTAKE("ag_freeze_bf16 wrote it", Tensor *y = ag_sum(nn_linear(l, x)); ag_freeze_bf16(l->weight); ag_backward(y));
    MISTAKE("2 rows from 9223372036854775807 on, of (2, 4)", ag_packed_read(l->weight, INT64_MAX, 2, (uint32_t[2]){ 0 }));
    ag_free(l);
    tensor_free(kept);
    end();
}
END_TEST

START_TEST(numbers)
{
    begin();
    const double largest = sizeof(ag_real) == sizeof(float) ? 3e38 : 1.7e308;
    Tensor *p = ones(2, 2), *x = tensor_ones(SHAPE(1, 1, 4, 4)), *w = tensor_ones(SHAPE(1, 1, 3, 3)), *deep = x;
    MISTAKE("expected finite numbers, and a finite difference", tensor_uniform(SHAPE(2), -largest, largest));
    MISTAKE("expected finite numbers, and a finite difference", ag_fill_uniform(leaf(2, 2), -largest, largest));
    tensor_mutable_data(p)[3] = INFINITY;
    MISTAKE("p is inf at item 3", ag_multinomial(p, 1));
    MISTAKE("ag_multinomial: shape (1, 4611686018427387904, 2) has more items", ag_multinomial(ones(1, 2), (int64_t)1 << 62));
    MISTAKE("ag_multinomial: a tensor of 2305843009213693952 items", ag_multinomial(tensor_ones(SHAPE(1)), (int64_t)1 << 61));
    MISTAKE("ag_multinomial: 3 samples of p (2, 0), expected 0 or more of (..,V) with a V above 0",
            ag_multinomial(tensor_ones(SHAPE(2, 0)), 3));
    tensor_mutable_data(p)[1] = NAN;
    MISTAKE("p is nan at item 1", ag_multinomial(p, 1));
    tensor_mutable_data(p)[1] = 1;
    tensor_mutable_data(p)[2] = tensor_mutable_data(p)[3] = 0;
    MISTAKE("row 1 of p is 0", ag_multinomial(p, 1));
    MISTAKE("padding 0 and 3, and dilation 4 and 1",
            ag_conv2d_with(x, w, NULL, (AgConv){ .padding = { 0, 3 }, .dilation = { 4, 1 } }));
    MISTAKE("ag_stack: shapes (2, 2) and (2, 3) differ", ag_stack((Tensor *[]){ p, ones(2, 3) }, 2, 0));
    MISTAKE("ag_stack: an item of x is NULL", ag_stack((Tensor *[]){ p, none }, 2, 0));
    MISTAKE("expected -3 to 2", ag_stack((Tensor *[]){ p }, 1, 4));
    for (int i = 0; i < 4; i++) deep = ag_unsqueeze(deep, 0);
    MISTAKE("at most 8 dimensions", ag_unsqueeze(deep, 0));
    end();
}
END_TEST

START_TEST(parts_of_a_program)
{
    static const char *const no_targets[] = { NULL };
    begin();
    Linear *l = nn_linear_new(3, 2);
    Optimizer *o = nn_sgd_new(l, 0.1);
    RecurrentState kept = { 0 };
    GPTOptions size = gpt_defaults();
    const NnOptions options[] = { { &gpt_fields, &size }, { NULL, NULL } };
    char *arguments[] = { "program", NULL };
    int i = 1;
    MISTAKE("kept and state are the same", nn_recurrent_keep(&kept, &kept));
    MISTAKE("targets has no names",
            refused = !nn_lora_add(l, (NnLoraOptions){ .rank = 1, .alpha = 1, .targets = no_targets }));
    MISTAKE("argument 1 of 1", nn_options_read(options, 1, arguments, &i));
    MISTAKE("process 0 of 0", nn_parallel_new(o, 1, &(NnProcesses){ 0 }));
    MISTAKE("and all six functions", nn_parallel_new(o, 1, &(NnProcesses){ .size = 1 }));
    NnParallel *all = nn_parallel_new(o, 2, NULL);
    nn_parallel_shard(all);
    ag_backward(ag_mean(nn_linear(l, ones(2, 3))));
    MISTAKE("called twice in shard", ag_backward(ag_mean(nn_linear(l, ones(2, 3)))));
    nn_parallel_shard(all);
    nn_parallel_count(all, 2);
    ag_backward(ag_mean(nn_linear(l, ones(2, 3))));
    MISTAKE("nn_parallel_count was called in some shards and not in others", nn_parallel_shard(all));
    ag_free(all);
    ag_free(o);
    ag_free(l);
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
    tcase_add_test(rows, recomputation);
    tcase_add_test(rows, elementwise);
    tcase_add_test(rows, products);
    tcase_add_test(rows, reductions);
    tcase_add_test(rows, ids_and_losses);
    tcase_add_test(rows, changes_of_shape);
    tcase_add_test(rows, modules);
    tcase_add_test(rows, levels_of_modules);
    tcase_add_test(rows, settings_by_hand);
    tcase_add_test(rows, initialization);
    tcase_add_test(rows, optimizers);
    tcase_add_test(rows, settings_and_files);
    tcase_add_test(rows, layers);
    tcase_add_test(rows, recurrent_layers);
    tcase_add_test(rows, attention_layers);
    tcase_add_test(rows, caches);
    tcase_add_test(rows, transformer_parts);
    tcase_add_test(rows, transformers);
    tcase_add_test(rows, functions_of_an_epoch);
    tcase_add_test(rows, training);
    tcase_add_test(rows, seq2seq_models);
    tcase_add_test(rows, gpts);
    tcase_add_test(rows, texts);
    tcase_add_test(rows, vocabularies);
    tcase_add_test(rows, language_models);
    tcase_add_test(rows, lines);
    tcase_add_test(rows, later_operations);
    tcase_add_test(rows, tensor_files);
    tcase_add_test(rows, lifetimes_and_threads);
    tcase_add_test_raise_signal(rows, a_handler_that_makes_an_error, SIGABRT);
    tcase_add_test(rows, a_handler_that_leaves);
    tcase_add_test(rows, modules_and_files);
    tcase_add_test(rows, other_objects);
    tcase_add_test(rows, messages);
    tcase_add_test(rows, no_memory_for_a_result);
    tcase_add_test(rows, called_functions);
    tcase_add_test(rows, gradients_that_change);
    tcase_add_test(rows, numbers);
    tcase_add_test(rows, parts_of_a_program);
    suite_add_tcase(suite, rows);
    return suite;
}
