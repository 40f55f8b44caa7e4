/* test_places.c: the line that an error names: that of the call, or none, and never another one. Calls are nested over
 * several lines, and made by pointers, in functions of the program that the library calls, after errors that were caught, and
 * in threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "kaeru/kaeru.h"
#include "suites.h"

#pragma GCC diagnostic ignored "-Wunused-result"

/* ---- cases: each makes a usage error at the lines first..last; 0: the line is not known ---------------------------- */

static _Thread_local int first, last;
static Tensor *wide, *w;                        /* (2,3), (3,2), of no scope */
static Linear *linear;                          /* 3 -> 2 */

static void lines(int line, int n)
{
    first = line;
    last = line ? line + n - 1 : 0;
}

static void alone(void)
{
    lines(__LINE__ + 1, 1);
    ag_matmul(wide, wide);
}

/* gcc names the first line of a call, clang the last line of the outermost one. */
static void inner(void)
{
    lines(__LINE__ + 5, 3);
    ag_add(
        wide,
        ag_tanh(
            ag_mul(wide,
                   ag_matmul(wide,
                             wide)
                   )));
}

static void middle(void)
{
    lines(__LINE__ + 2, 4);
    ag_tanh(
        ag_matmul(
            ag_exp(wide),
            ag_exp(
                wide)));
}

static void outer(void)
{
    lines(__LINE__ + 1, 4);
    ag_matmul(
        ag_exp(wide),
        ag_tanh(
            ag_exp(wide)));
}

static void second_of_two(void)
{
    lines(__LINE__ + 3, 1);
    ag_add(
        ag_matmul(wide, w),
        ag_matmul(wide, wide));
}

static Tensor *function_with_calls(Tensor *x)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *y = ag_exp(
        ag_tanh(x));
    return ag_end_return(s, y);
}

/* What an argument calls is over when the call begins. */
static void around_a_function(void)
{
    lines(__LINE__ + 1, 2);
    ag_matmul(wide,
              function_with_calls(wide));
}

static Tensor *failing_function(Tensor *x)
{
    lines(__LINE__ + 1, 1);
    return ag_matmul(x, x);
}

static void in_a_function_of_an_argument(void)
{
    ag_sum(
        ag_exp(failing_function(wide)));
}

static void of_a_layer(void)
{
    lines(__LINE__ + 2, 2);
    ag_sum(
        nn_linear(linear,
                  w));
}

static void of_nothing(void)
{
    lines(__LINE__ + 1, 1);
    ag_set_threads(-1);
}

static void of_a_number(void)
{
    lines(__LINE__ + 2, 1);
    if (tensor_ndim(wide) == 2 &&
        tensor_item(wide) > 0) ag_free(NULL);
}

static void of_a_struct(void)
{
    lines(__LINE__ + 2, 1);
    AgShape shapes[2] = { tensor_shape(wide),
                          tensor_shape(NULL) };
    (void)shapes;
}

static void of_a_list_of_arguments(void)
{
    lines(__LINE__ + 1, 2);
    nn_settings_set(NULL, "key",
                    "%g", 1.0);
}

static void of_a_child(void)
{
    Linear *parent = linear;
    lines(__LINE__ + 1, 1);
    nn_child(parent, adapter, &nn_linear_new(-1, 2)->module);
}

static void of_the_program(void)
{
    lines(__LINE__ + 1, 1);
    ag_usage_error("program", "its own error");
}

static void by_a_pointer(void)
{
    Tensor *(*f)(Tensor *a, Tensor *b) = ag_matmul;
    lines(0, 0);
    f(wide, wide);
}

static Tensor *function_with_a_pointer(Tensor *x)
{
    Tensor *(*f)(Tensor *a, Tensor *b) = ag_matmul;
    return f(x, x);
}

/* The line of ag_sum would be wrong: the call of f is in another. */
static void by_a_pointer_in_an_argument(void)
{
    lines(0, 0);
    ag_sum(
        function_with_a_pointer(wide));
}

static void by_a_pointer_of_a_layer(void)
{
    Tensor *(*f)(Linear *l, Tensor *x) = nn_linear;
    lines(0, 0);
    f(linear, w);
}

static void by_a_pointer_with_its_line(void)
{
    Tensor *(*f)(Tensor *a, Tensor *b) = ag_matmul;
    lines(__LINE__ + 1, 1);
    AG_CALL_POINTER(Tensor *, f(wide, wide));
}

static Tensor *own_layer(Linear *l, Tensor *x)
{
    NN_LAYER(l);
    return ag_matmul(x, x);
}
enum { OWN_LAYER = __LINE__ - 2 };

static void in_an_own_layer(void)
{
    lines(OWN_LAYER, 1);
    own_layer(linear, wide);
}

static void (*const cases[])(void) = {
    alone, inner, middle, outer, second_of_two, around_a_function, in_a_function_of_an_argument, of_a_layer, of_nothing,
    of_a_number, of_a_struct, of_a_list_of_arguments, of_a_child, of_the_program, by_a_pointer, by_a_pointer_in_an_argument,
    by_a_pointer_of_a_layer, by_a_pointer_with_its_line, in_an_own_layer,
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- catching an error -------------------------------------------------------------------------------------------- */

static _Thread_local jmp_buf escape;
static _Thread_local char message[1024];

static void leave(const char *text)
{
    snprintf(message, sizeof message, "%s", text);
    longjmp(escape, 1);
}

/* Runs the function, without a scope of its own; its error must name the lines that it has set. */
static void check(void (*function)(void))
{
    AgErrorHandler *former = ag_on_usage_error(leave);
    jmp_buf before;
    memcpy(before, escape, sizeof before);
    message[0] = '\0';
    if (setjmp(escape) == 0) function();
    memcpy(escape, before, sizeof before);
    ag_on_usage_error(former);
    /* The first place of "(at PLACE", "(in LAYER called at PLACE": the others are of calls around it. */
    const char *place = strstr(message, "tests/test_places.c:"), *unknown = strstr(message, "a line that is not known");
    int line = 0;
    if (place && !(unknown && unknown < place)) sscanf(place, "tests/test_places.c:%d", &line);
#ifndef __clang__
    if (last > first) last = first;
#endif
    ck_assert_msg(message[0] != '\0', "no error where one of line %d was expected", first);
    ck_assert_msg(line >= first && line <= last, "line %d to %d, got: %s", first, last, message);
    ck_assert_msg((line == 0) == (unknown != NULL && (!place || unknown < place)), "%s", message);
}

static void check_all(void)
{
    for (int i = 0; i < CASES; i++) check(cases[i]);
    check(by_a_pointer);
}

static AgScope around;

static void begin(void)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    wide = ag_keep(tensor_ones(SHAPE(2, 3)));
    w = ag_keep(tensor_ones(SHAPE(3, 2)));
    ag_end(s);
    linear = nn_linear_new(3, 2);
    around = ag_begin(AG_RECORD);
}

static void end(void)
{
    ag_end(around);
    tensor_free(wide);
    tensor_free(w);
    ag_free(linear);
}

/* ---- where the calls are ------------------------------------------------------------------------------------------ */

START_TEST(in_a_program)
{
    check_all();
    ag_sum(function_with_calls(wide));
    for (int i = 0; i < 100; i++) check(by_a_pointer);          /* more errors than the stack of calls has places */
    check_all();
}
END_TEST

START_TEST(in_an_argument)
{
    ag_add(wide, (check_all(), wide));
    check_all();
}
END_TEST

/* In functions of the program that the library calls. After them the call goes on, and its own error has its line. */

static int outer_line;

static void forward_with_errors(const AgCustomCall *c)
{
    (void)c;
    check_all();
    lines(outer_line, 1);
    ag_begin(AG_RECORD);                        /* which ag_custom reports */
}

static void forward(const AgCustomCall *c)
{
    check_all();
    tensor_mutable_data(c->y)[0] = 1;
}

static void backward(const AgCustomCall *c)
{
    (void)c;
    check_all();
    lines(outer_line, 1);                       /* the errors have ended the pass */
}

static void around_a_forward(void)
{
    static const AgCustom op = { "op", forward_with_errors, backward, AG_NEEDS_NONE, NULL, NULL };
    outer_line = __LINE__ + 1;
    ag_custom(&op, SHAPE(1), NULL, 0, NULL, 0);
}

START_TEST(in_a_forward)
{
    AgScope s = ag_begin(AG_RECORD);
    check(around_a_forward);
    ag_end(s);
    check_all();
}
END_TEST

static void around_a_backward(void)
{
    static const AgCustom op = { "op", forward, backward, AG_NEEDS_NONE, NULL, NULL };
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(1)), true);
    Tensor *loss = ag_sum(ag_custom(&op, SHAPE(1), &x, 1, NULL, 0));
    outer_line = __LINE__ + 1;
    ag_backward(loss);
}

START_TEST(in_a_backward)
{
    check(around_a_backward);
    check_all();
}
END_TEST

static Tensor *own_forward(void *self, Tensor *x)
{
    NN_LAYER((Module *)self);
    check_all();
    lines(outer_line, 1);
    return x;
}

static Sequential *list;                        /* an own layer and a Linear */

static void around_a_module(void)
{
    outer_line = __LINE__ + 1;
    nn_sequential(list, w);
}

START_TEST(in_a_module)
{
    list = nn_sequential_new();
    Module *own = nn_new_sized(sizeof *own, "Own");
    own->forward = own_forward;
    nn_sequential_add(list, own);
    nn_sequential_add(list, nn_linear_new(3, 2));
    check(around_a_module);
    check_all();
    ag_free(list);
}
END_TEST

static void destroy(void *p)
{
    (void)p;
    check_all();
}

START_TEST(in_a_destructor)
{
    void *p = ag_alloc(1, 1);
    ag_on_free(p, destroy);
    ag_free(p);
    check_all();
}
END_TEST

static Tensor *checked_function(Tensor **in, void *arg)
{
    (void)arg;
    check_all();
    return ag_sum(in[0]);
}

START_TEST(in_a_gradcheck)
{
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(1)), true);
    ck_assert(ag_gradcheck(checked_function, NULL, &x, 1, stderr));
    check_all();
}
END_TEST

/* A function of the program leaves calls of the library by a longjmp of its own. */
static _Thread_local jmp_buf own_escape;

static void leaves(const AgCustomCall *c)
{
    (void)c;
    longjmp(own_escape, 1);
}

static Tensor *leave_an_argument(void)
{
    longjmp(own_escape, 1);
}

static void leave_calls(void)
{
    static const AgCustom op = { "op", leaves, backward, AG_NEEDS_NONE, NULL, NULL };
    if (setjmp(own_escape) == 0) ag_tanh(ag_custom(&op, SHAPE(1), NULL, 0, NULL, 0));
    if (setjmp(own_escape) == 0) ag_tanh(leave_an_argument());
}

START_TEST(after_a_jump_of_the_program)
{
    for (int i = 0; i < 200; i++) {
        leave_calls();
        check(by_a_pointer);
    }
    check_all();
}
END_TEST

/* More calls, each in a function that the call before has called, than the stack of calls has places. */

enum { DEEP = 100 };
static _Thread_local int depth;

static void deeper(const AgCustomCall *c)
{
    static const AgCustom op = { "op", deeper, backward, AG_NEEDS_NONE, NULL, NULL };
    if (depth == DEEP) {
        check_all();
        return;
    }
    depth++;
    ag_custom(&op, SHAPE(1), NULL, 0, NULL, 0);
    depth--;
    (void)c;
    check(inner);
    check(by_a_pointer);
}

START_TEST(in_many_calls)
{
    deeper(NULL);
    check_all();
}
END_TEST

static void *thread(void *unused)
{
    for (int i = 0; i < 20; i++) {
        AgScope s = ag_begin(AG_RECORD);
        check_all();
        ag_end(s);
    }
    return unused;
}

START_TEST(in_threads)
{
    pthread_t other[4];
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&other[i], NULL, thread, NULL), 0);
    thread(NULL);
    for (int i = 0; i < 4; i++) pthread_join(other[i], NULL);
}
END_TEST

Suite *places_suite(void)
{
    Suite *suite = suite_create("places");
    TCase *c = tcase_create("lines");
    tcase_add_checked_fixture(c, begin, end);
    tcase_add_test(c, in_a_program);
    tcase_add_test(c, in_an_argument);
    tcase_add_test(c, in_a_forward);
    tcase_add_test(c, in_a_backward);
    tcase_add_test(c, in_a_module);
    tcase_add_test(c, in_a_destructor);
    tcase_add_test(c, in_a_gradcheck);
    tcase_add_test(c, after_a_jump_of_the_program);
    tcase_add_test(c, in_many_calls);
    tcase_add_test(c, in_threads);
    suite_add_tcase(suite, c);
    return suite;
}
