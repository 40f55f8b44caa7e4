/* test_guard.c: ag_guard finds writes around a tensor's values, writes to released values, and tensors that are used too late.
 * None of the bad writes here would be found without it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffers.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/graph.h"
#include "kaeru/nn.h"
#include "kernels.h"
#include "suites.h"
#include "system.h"
#include "tape.h"
#include "tensor_struct.h"
#include "usage_error.h"

static void on(void)
{
    ag_guard(true);
}

static void off(void)
{
    ag_guard(false);
}

static Tensor *leaf(int64_t n)
{
    return tensor_set_requires_grad(tensor_full(SHAPE(n), 0.5), true);
}

/* ---- writes around the values ------------------------------------------------------------------------------------ */

/* A store that the library does not see. */
static void write_at(const Tensor *t, int64_t i)
{
    ((ag_real *)tensor_data(t))[i] = 1;
}

START_TEST(an_overrun_is_found_by_the_next_operation)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(5), *y = ag_tanh(x);
    write_at(x, 4);
    ag_neg(x);
    write_at(y, 5);
    EXPECT_USAGE_ERROR("neg: the memory of ag_tanh (made at tests/test_guard.c:", ag_neg(x));
    char expected[80];
    snprintf(expected, sizeof expected, "): byte 0 after its %zu bytes was written since the last check (at ",
             5 * sizeof(ag_real));
    ck_assert_msg(strstr(usage_message, expected) != NULL, "%s", usage_message);
    ag_neg(x);                                                  /* it is reported once */
    ag_end(s);
}
END_TEST

START_TEST(an_underrun_is_found)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(5);
    write_at(x, -1);
    EXPECT_USAGE_ERROR("tanh: the memory of tensor_full (made at tests/test_guard.c:", ag_tanh(x));
    ck_assert_msg(strstr(usage_message, "): byte 1 before its first byte was written") != NULL, "%s", usage_message);
    ag_end(s);
}
END_TEST

START_TEST(each_byte_before_the_first_is_watched)
{
    for (size_t distance = 1; distance <= BUFFER_HEADER - sizeof(Buffer); distance++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = leaf(5);
        ((uint8_t *)tensor_data(x) - distance)[0] ^= 1;
        char expected[80];
        snprintf(expected, sizeof expected, "): byte %zu before its first byte was written", distance);
        EXPECT_USAGE_ERROR(expected, ag_tanh(x));
        ag_end(s);
    }
}
END_TEST

static void overrun_at_the_end(void)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_bools(SHAPE(3), NULL);
    tensor_mutable_bool_data(x)[3] = 1;
    ag_end(s);
}

START_TEST(an_overrun_is_found_when_the_scope_ends)
{
    EXPECT_USAGE_ERROR("ag_end: the memory of tensor_bools (made at tests/test_guard.c:", overrun_at_the_end());
    ck_assert_msg(strstr(usage_message, "byte 0 after its 3 bytes was written") != NULL, "%s", usage_message);
}
END_TEST

START_TEST(an_overrun_is_found_when_the_tensor_is_freed)
{
    static Tensor *x;               /* static, so that leak checkers do not report it */
    x = tensor_new_owned(SHAPE(3), AG_INT);
    tensor_mutable_int_data(x)[3] = 7;
    EXPECT_USAGE_ERROR("tensor_new_owned: the memory of tensor_new_owned (made at tests/test_guard.c:", tensor_free(x));
    ck_assert_msg(strstr(usage_message, "byte 0 after its 12 bytes was written") != NULL, "%s", usage_message);
}
END_TEST

/* A rule that writes one item too many to its input's gradient. */
static void rule_that_overruns(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i <= y->numel; i++) g.data[i] = 1;
}

START_TEST(a_rule_that_overruns_is_named)
{
    static const Op op = { "tanh", .backward = rule_that_overruns, .needs = NEEDS_Y };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(16), *h = ag_sigmoid(x), *y = ag_tanh(h), *loss = ag_sum(y);
    y->op = &op;
    EXPECT_USAGE_ERROR("tanh: the memory of ", ag_backward(loss));
    ck_assert_msg(strstr(usage_message, "after its") != NULL, "%s", usage_message);
    ag_end(s);
}
END_TEST

/* ---- released values --------------------------------------------------------------------------------------------- */

START_TEST(released_values_are_poisoned)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(40), *h = ag_tanh(x), *wide = ag_concat(((Tensor *[]){ h, h }), 2, 0);
    const ag_real *old = tensor_data(wide);
    ag_backward(ag_sum(ag_tanh(ag_sum_dims(wide, DIMS(0), true))));
    ck_assert(old[0] != old[0] && old[79] != old[79]);
    ag_end(s);
}
END_TEST

static void write_late(int64_t n, int64_t item)
{
    Tensor *x = leaf(n), *h = ag_tanh(x), *wide = ag_concat(((Tensor *[]){ h, h }), 2, 0);
    ag_real *old = (ag_real *)tensor_data(wide);
    ag_backward(ag_sum(ag_tanh(ag_sum_dims(wide, DIMS(0), true))));
    old[item] = 1;
}

static void write_and_end(int64_t n, int64_t item)
{
    AgScope s = ag_begin(AG_RECORD);
    write_late(n, item);
    ag_end(s);
}

START_TEST(a_write_to_a_released_value_is_found)
{
    EXPECT_USAGE_ERROR("ag_end: the memory of ag_concat (made at tests/test_guard.c:", write_and_end(40, 2));
    ck_assert_msg(strstr(usage_message, "of the released memory was written since") != NULL, "%s", usage_message);
    EXPECT_USAGE_ERROR("ag_end: the memory of ag_concat (made at tests/test_guard.c:", write_and_end(400000, 799999));
}
END_TEST

static jmp_buf again;

_Noreturn static void go_on(const char *message)
{
    (void)message;
    longjmp(again, 1);
}

START_TEST(a_late_write_is_reported_once)
{
    volatile int reported = 0;
    AgScope s = ag_begin(AG_RECORD);
    write_late(40, 2);
    ag_on_usage_error(go_on);
    if (setjmp(again)) reported++;
    if (reported < 3) ag_end(s);
    ck_assert_int_eq(reported, 1);
}
END_TEST

static int layer_line;

static Tensor *layer(void *self, Tensor *x)
{
    NN_LAYER((Module *)self);
    layer_line = __LINE__ + 1;
    return ag_tanh(x);
}

/* A tensor of a layer of the program is named with its line there, and with the line that called the library, which called the
 * layer. */
/* What a scope had is written over only after many others, and then no more memory is needed. */
START_TEST(ended_scopes_wait_before_they_are_written_over)
{
    enum { ROUNDS = 800, DEEP = 300 };
    Arena a = { 0 };
    ArenaMark mark[DEEP];
    const void *place = NULL;
    int64_t calls = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS / 2) calls = ag_memory().system_calls;
        mark[0] = arena_begin(&a);
        place = arena_alloc(&a, 16);
        arena_end(&a, mark[0]);
    }
    ck_assert_int_eq(ag_memory().system_calls, calls);
    for (int i = 0; i < DEEP; i++) {
        mark[i] = arena_begin(&a);
        ck_assert_ptr_ne(arena_alloc(&a, 16), place);
    }
    arena_end(&a, mark[0]);
    arena_leave(&a);
}
END_TEST

START_TEST(a_tensor_made_in_a_layer_is_named_with_the_caller)
{
    AgScope s = ag_begin(AG_RECORD);
    Sequential *list = nn_sequential_new();
    Module *own = nn_new_sized(sizeof *own, "Own");
    own->forward = layer;
    nn_sequential_add(list, own);
    Tensor *y = nn_sequential(list, leaf(3)); const int line = __LINE__;
    ag_end(s);
    s = ag_begin(AG_RECORD);
    char text[256];
    snprintf(text, sizeof text, "neg: x is not a live tensor: it was made by tanh at tests/test_guard.c:%d, called from "
             "tests/test_guard.c:%d, and its scope has ended", layer_line, line);
    EXPECT_USAGE_ERROR(text, ag_neg(y));
    ag_end(s);
    ag_free(list);
}
END_TEST

START_TEST(a_tensor_of_an_ended_scope_is_named)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(3);
    ag_end(s);
    s = ag_begin(AG_RECORD);
    for (int i = 0; i < 100; i++) {                             /* without ag_guard these reuse the memory of x */
        AgScope inner = ag_begin(AG_RECORD);
        ag_tanh(leaf(3));
        ag_end(inner);
    }
    EXPECT_USAGE_ERROR("tanh: x is not a live tensor: it was made by tensor_full at tests/test_guard.c:", ag_tanh(x));
    ck_assert_msg(strstr(usage_message, ", and its scope has ended (at ") != NULL, "%s", usage_message);
    Tensor *kept = ag_keep(leaf(2));
    tensor_free(kept);
    EXPECT_USAGE_ERROR(", and freed (at ", ag_neg(kept));
    EXPECT_USAGE_ERROR("tensor_free: ", tensor_free(kept));
    ag_end(s);
}
END_TEST

/* ---- values that a rule will read -------------------------------------------------------------------------------- */

/* Computes a loss and its gradients. Before backward it writes an item of w, x, y or exp(y), by number; -1: of none. */
static void write_before_backward(int which, int64_t item)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_full(SHAPE(37), 2), *w = leaf(37), *y = ag_mul(w, x), *loss = ag_sum(ag_exp(y));
    if (which >= 0) write_at(((Tensor *[]){ w, x, y, loss->in[0] })[which], item);
    ag_backward(loss);
    ag_end(s);
}

START_TEST(a_value_written_before_backward_is_found)
{
    static const char *const message[] = { "mul (made at tests/test_guard.c:", "mul (made at tests/test_guard.c:", NULL,
                                           "exp (made at tests/test_guard.c:" };
    static const char *const part[] = { "input 0, but a pointer", "input 1, but a pointer", NULL,
                                        "its result, but a pointer" };
    write_before_backward(-1, 0);
    write_before_backward(2, 5);                                /* no rule reads y: exp reads its own result */
    for (int which = 0; which < 4; which++) {
        for (int64_t item = 0; message[which] && item < 37; item += 4) {
            EXPECT_USAGE_ERROR(message[which], write_before_backward(which, item));
            ck_assert_msg(strstr(usage_message, part[which]) != NULL, "%s", usage_message);
        }
    }
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void *ends_with_an_open_scope(void *out)
{
    ag_guard(true);
    ag_begin(AG_RECORD);
    *(Tensor **)out = ag_tanh(leaf(3));
    return NULL;
}

START_TEST(a_tensor_of_a_thread_that_has_ended_is_named)
{
    Tensor *y[2];
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, ends_with_an_open_scope, &y[i]), 0);
        pthread_join(thread, NULL);
    }
    AgScope s = ag_begin(AG_RECORD);
    for (int i = 0; i < 2; i++)
        EXPECT_USAGE_ERROR("neg: x is not a live tensor: it was made by tanh at tests/test_guard.c:", ag_neg(y[i]));
    ag_end(s);
}
END_TEST

/* ---- ag_guard changes no result ---------------------------------------------------------------------------------- */

static double loss_of_a_net(ag_real gradient[12])
{
    ag_seed(3);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = tensor_set_requires_grad(tensor_normal(SHAPE(4, 3), 0, 1), true);
    Tensor *h = ag_dropout(ag_gelu(ag_linear(tensor_normal(SHAPE(9, 3), 0, 1), w, NULL)), 0.3);
    h = ag_layer_norm(ag_add(h, ag_softmax(h, -1)), NULL, NULL, AG_NORM_STD_EPS);
    Tensor *loss = ag_mean(ag_mul(h, ag_slice(h, 0, 0, 9)));
    ag_backward(loss);
    memcpy(gradient, tensor_grad_data(w), 12 * sizeof(ag_real));
    double result = tensor_item(loss);
    ag_end(s);
    return result;
}

START_TEST(results_stay_the_same)
{
    ag_real guarded[12], plain[12];
    double with = loss_of_a_net(guarded);
    ag_guard(false);
    ck_assert(loss_of_a_net(plain) == with);
    ck_assert_mem_eq(plain, guarded, sizeof plain);
    ag_guard(true);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

START_TEST(it_may_be_switched_inside_scopes)
{
    ag_guard(false);
    AgScope outer = ag_begin(AG_RECORD);
    Tensor *x = leaf(2);
    for (int i = 0; i < 6; i++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *y = ag_tanh(x);
        ag_guard(i % 2 == 0);
        ag_backward(ag_sum(ag_exp(y)));
        ag_guard(i % 3 == 0);
        ag_end(s);
    }
    tensor_free(ag_keep(x));
    ag_end(outer);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

static void *made_elsewhere(void *out)
{
    ag_guard(true);
    for (int i = 0; i < 4; i++) ((Tensor **)out)[i] = tensor_new_owned(SHAPE(10), AG_REAL);
    tensor_free(((Tensor **)out)[1]);
    return NULL;
}

START_TEST(a_tensor_may_be_freed_on_another_thread)
{
    static Tensor *made[4];         /* static, as x above */
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, made_elsewhere, made), 0);
    pthread_join(thread, NULL);
    tensor_free(made[2]);
    write_at(made[0], 10);
    EXPECT_USAGE_ERROR("after its", tensor_free(made[0]));
    tensor_free(made[3]);
}
END_TEST

static void *overruns(void *message)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    write_at(tensor_zeros(SHAPE(6)), 6);
    CATCH_USAGE_ERROR(tensor_zeros(AG_SCALAR); ag_neg(tensor_zeros(AG_SCALAR)));
    strcpy(message, usage_message);
    ag_guard(false);
    ag_end(s);
    return NULL;
}

START_TEST(the_environment_can_switch_it_on)
{
    char message[1024];
    pthread_t thread;
    setenv("KAERU_GUARD", "1", 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, overruns, message), 0);
    pthread_join(thread, NULL);
    unsetenv("KAERU_GUARD");
    ck_assert_msg(strstr(message, "neg: the memory of tensor_zeros (made at") != NULL, "%s", message);
}
END_TEST

START_TEST(an_old_pointer_is_blamed_not_the_last_writer)
{
    Tensor *w = tensor_set_requires_grad(tensor_new_owned(SHAPE(2), AG_REAL), true);
    ag_fill(w, 1);
    ag_real *p = tensor_mutable_data(w);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *loss = ag_sum(ag_mul(w, w));
    p[0] = 3;
    EXPECT_USAGE_ERROR("a pointer to its values was used to change them", ag_backward(loss));
    ag_end(s);
    tensor_free(w);
}
END_TEST

Suite *guard_suite(void)
{
    Suite *suite = suite_create("guard");
    TCase *tests = tcase_create("guard");
    tcase_add_checked_fixture(tests, on, off);
    tcase_add_test(tests, an_overrun_is_found_by_the_next_operation);
    tcase_add_test(tests, an_underrun_is_found);
    tcase_add_test(tests, each_byte_before_the_first_is_watched);
    tcase_add_test(tests, an_overrun_is_found_when_the_scope_ends);
    tcase_add_test(tests, an_overrun_is_found_when_the_tensor_is_freed);
    tcase_add_test(tests, a_rule_that_overruns_is_named);
    tcase_add_test(tests, released_values_are_poisoned);
    tcase_add_test(tests, a_write_to_a_released_value_is_found);
    tcase_add_test(tests, a_tensor_of_an_ended_scope_is_named);
    tcase_add_test(tests, ended_scopes_wait_before_they_are_written_over);
    tcase_add_test(tests, a_tensor_made_in_a_layer_is_named_with_the_caller);
    tcase_add_test(tests, a_value_written_before_backward_is_found);
    tcase_add_test(tests, a_tensor_of_a_thread_that_has_ended_is_named);
    tcase_add_test(tests, a_late_write_is_reported_once);
    tcase_add_test(tests, results_stay_the_same);
    tcase_add_test(tests, it_may_be_switched_inside_scopes);
    tcase_add_test(tests, a_tensor_may_be_freed_on_another_thread);
    tcase_add_test(tests, the_environment_can_switch_it_on);
    tcase_add_test(tests, an_old_pointer_is_blamed_not_the_last_writer);
    suite_add_tcase(suite, tests);
    return suite;
}
