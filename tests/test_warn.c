/* test_warn.c: each warning of ag_warn: its mistake, which it tells once, in one line, with the line of the call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kaeru/attention.h"
#include "kaeru/kaeru.h"
#include "suites.h"

/* A model in which `used` is registered. The buffers are for one program. */
typedef struct {
    Module module;
    Linear *used, *other;
    Dropout *dropout;
    Tensor *real_buffer, *counts, *flags;
} Net;

static Net *net_new(bool registered)
{
    Net *n = nn_new(Net);
    nn_child(n, used, nn_linear_new(3, 2));
    nn_child(n, dropout, nn_dropout_new(0.5));
    if (registered) nn_child(n, other, nn_linear_new(2, 2));
    else n->other = nn_linear_new(2, 2);
    return n;
}

static Tensor *square_of(Tensor *x) { return ag_mul(x, x); }

/* What f writes to stderr while ag_warn is on. */
static char told[4096];
static void listen(void f(void))
{
    FILE *file = tmpfile();
    fflush(stderr);
    int out = dup(2);
    dup2(fileno(file), 2);
    ag_warn(true);
    f();
    ag_warn(false);
    fflush(stderr);
    dup2(out, 2);
    close(out);
    rewind(file);
    told[fread(told, 1, sizeof told - 1, file)] = 0;
    fclose(file);
}

/* f must be warned of this, in one line and no other; and not when it is run again. */
static void check_warning(void f(void), const char *part)
{
    listen(f);
    ck_assert_msg(strstr(told, part) && strncmp(told, "kaeru: warning: ", 16) == 0, "expected \"%s\", got \"%s\"", part, told);
    ck_assert_msg(strstr(told, " (at ") && strstr(told, "test_warn.c:"), "a line: %s", told);
    ck_assert_ptr_eq(strchr(told, '\n'), told + strlen(told) - 1);
    listen(f);
    ck_assert_str_eq(told, "");
}

/* Steps of training, each in a scope of its own. `with_other`: the layer `other` is used, too. */
static void train(Net *n, Optimizer *o, int steps, bool with_other)
{
    for (int i = 0; i < steps; i++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *y = nn_linear(n->used, nn_dropout(n->dropout, tensor_ones(SHAPE(2, 3))));
        if (with_other) y = nn_linear(n->other, ag_tanh(y));
        ag_backward(ag_sum(square_of(y)));
        if (o) nn_optimizer_step(o);
        ag_end(s);
    }
}

static void use_in_training_mode(void)
{
    Net *n = net_new(true);
    AgScope s = ag_begin(AG_NO_GRAD);
    nn_dropout(n->dropout, tensor_ones(SHAPE(2, 3)));
    ag_end(s);
    ag_free(n);
}

static void train_in_evaluation_mode(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    nn_eval(n);
    train(n, o, 2, true);
    ag_free(o);
    ag_free(n);
}

static void train_an_unregistered_child(void)
{
    Net *n = net_new(false);
    Optimizer *o = nn_sgd_new(n, 0.01);
    train(n, o, 10, true);
    ag_free(o);
    ag_free(n->other);
    ag_free(n);
}

static void train_without_a_part(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    train(n, o, 5, false);
    ag_free(o);
    ag_free(n);
}

static void train_without_an_optimizer(void)
{
    Net *n = net_new(true);
    train(n, NULL, 250, true);
    ag_free(n);
}

static void train_in_one_scope(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    AgScope s = ag_begin(AG_RECORD);
    for (int i = 0; i < 30; i++) {
        ag_backward(ag_sum(square_of(nn_linear(n->other, nn_linear(n->used, tensor_ones(SHAPE(2, 3)))))));
        nn_optimizer_step(o);
    }
    ag_end(s);
    ag_free(o);
    ag_free(n);
}

static void train_with_rate_0(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0);
    n->dropout->p = 0;
    train(n, o, 60, true);
    ag_free(o);
    ag_free(n);
}

/* A loss of what f makes of logits (2,3) with a gradient. */
static void with_logits(Tensor *loss(Tensor *logits, Tensor *target))
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *logits = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, -2, 3, 4, -5, 6 });
    loss(tensor_set_requires_grad(logits, true), tensor_ints(SHAPE(2), (int32_t[]){ 0, 2 }));
    ag_end(s);
}

static Tensor *softmax_twice(Tensor *x, Tensor *target) { return nn_cross_entropy(ag_softmax(x, -1), target); }
static Tensor *nll_of_logits(Tensor *x, Tensor *target) { return ag_nll_loss(x, target, AG_MEAN, -100); }
static Tensor *sigmoid_twice(Tensor *x, Tensor *target)
{
    (void)target;
    return ag_binary_cross_entropy(ag_sigmoid(x), tensor_zeros(SHAPE(2, 3)), AG_MEAN);
}
static Tensor *as_it_should_be(Tensor *x, Tensor *target)
{
    ag_binary_cross_entropy(x, tensor_zeros(SHAPE(2, 3)), AG_MEAN);
    ag_nll_loss(ag_log_softmax(x, -1), target, AG_MEAN, -100);
    return nn_cross_entropy(x, target);
}

static void cross_entropy_of_softmax(void) { with_logits(softmax_twice); }
static void nll_loss_of_logits(void) { with_logits(nll_of_logits); }
static void binary_cross_entropy_of_sigmoid(void) { with_logits(sigmoid_twice); }
static void losses_of_logits(void) { with_logits(as_it_should_be); }

static void *draw_and_train(void *unused)
{
    (void)unused;
    ag_warn(true);
    Net *n = net_new(true);
    train(n, NULL, 1, true);
    ag_free(n);
    return NULL;
}

static void train_in_two_threads(void)
{
    pthread_t thread;
    ag_seed(0);
    draw_and_train(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, draw_and_train, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void attend_in_training_mode(void)
{
    MultiHeadAttention *m = nn_multi_head_attention_new(2, 8, 0.5);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_ones(SHAPE(1, 3, 8));
    nn_multi_head_attention(m, x, x, x, NULL);
    ag_end(s);
    ag_free(m);
}

/* ---- programs without a mistake, each close to one that is told ---------------------------------------------------- */

static void train_as_it_should_be(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    train(n, o, 300, true);
    AgScope s = ag_begin(AG_NO_GRAD);
    nn_eval(n);
    nn_dropout(n->dropout, tensor_ones(SHAPE(2, 3)));
    ag_end(s);
    ag_free(o);
    ag_free(n);
}

/* Monte Carlo dropout: the mean of many results with dropout, without a graph. */
static void drop_by_hand_without_a_graph(void)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 30; i++) ag_dropout(tensor_ones(SHAPE(2, 3)), 0.5);
    ag_end(s);
}

static void drop_with_a_graph_and_not_train(void)
{
    Net *n = net_new(true);
    AgScope s = ag_begin(AG_RECORD);
    nn_dropout(n->dropout, tensor_ones(SHAPE(2, 3)));
    ag_end(s);
    ag_free(n);
}

/* A part in evaluation mode, as a frozen BatchNorm, of a model that is trained. */
static void train_with_a_part_in_evaluation_mode(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    nn_eval(n->dropout);
    train(n, o, 30, true);
    ag_free(o);
    ag_free(n);
}

/* The step, and a tensor that stays, are in the outer scope. */
static void train_in_two_scopes(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    AgScope outer = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(2, 3));
    for (int i = 0; i < 60; i++) {
        AgScope inner = ag_begin(AG_RECORD);
        ag_backward(ag_sum(square_of(nn_linear(n->other, nn_linear(n->used, x)))));
        ag_end(inner);
        nn_optimizer_step(o);
    }
    ag_end(outer);
    ag_free(o);
    ag_free(n);
}

static void train_in_scopes_inside_another(void)
{
    AgScope outer = ag_begin(AG_RECORD);
    train_as_it_should_be();
    ag_end(outer);
}

/* An optimizer for each layer: more than 20 steps in one scope, which does not grow. */
static void step_many_optimizers_in_a_scope(void)
{
    enum { N = 30 };
    Linear *layer[N];
    Optimizer *o[N];
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(2, 3));
    for (int i = 0; i < N; i++) {
        layer[i] = nn_linear_new(3, 3);
        o[i] = nn_sgd_new(layer[i], 0.01);
        x = nn_linear(layer[i], x);
    }
    ag_backward(ag_sum(square_of(x)));
    for (int i = 0; i < N; i++) nn_optimizer_step(o[i]);
    ag_end(s);
    for (int i = 0; i < N; i++) {
        ag_free(o[i]);
        ag_free(layer[i]);
    }
}

/* Steps with a loss that f computes of the layer's result. */
static void train_with_loss(Tensor *loss(Tensor *y), int steps)
{
    Linear *l = nn_linear_new(3, 2);
    Optimizer *o = nn_sgd_new(l, 0.01);
    for (int i = 0; i < steps; i++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(loss(nn_linear(l, tensor_ones(SHAPE(2, 3)))));
        nn_optimizer_step(o);
        ag_end(s);
    }
    ag_free(o);
    ag_free(l);
}

static Tensor *zero_loss(Tensor *y) { return ag_sum(ag_scale(y, 0)); }
/* Like a loss that has become so small that its changes are lost. */
static Tensor *tiny_loss(Tensor *y) { return ag_add_scalar(ag_sum(ag_scale(y, 0)), 1e-12); }
static void train_with_loss_0(void) { train_with_loss(zero_loss, 120); }
static void train_with_a_tiny_loss(void) { train_with_loss(tiny_loss, 120); }

/* The loss of evaluations between steps stays, since nothing is trained there. */
static void pass_without_steps(void)
{
    Linear *l = nn_linear_new(3, 2);
    for (int i = 0; i < 300; i++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(ag_sum(square_of(nn_linear(l, tensor_ones(SHAPE(2, 3))))));
        nn_zero_grad(l);
        ag_end(s);
    }
    ag_free(l);
}

static void train_with_frozen_parameters_and_buffers(void)
{
    Net *n = net_new(true);
    nn_buffer(n, real_buffer, SHAPE(2));
    nn_buffer_with(n, counts, SHAPE(2), AG_INT, true);
    nn_buffer_with(n, flags, SHAPE(2), AG_BOOL, false);
    tensor_set_requires_grad(n->used->weight, false);
    tensor_set_requires_grad(n->other->bias, false);
    Optimizer *o = nn_sgd_new(n, 0.01);
    train(n, o, 30, true);
    ag_free(o);
    ag_free(n);
}

/* A part that only some of the first steps use. */
static void train_a_part_now_and_then(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    for (int i = 0; i < 30; i++) train(n, o, 1, i % 3 == 2);
    ag_free(o);
    ag_free(n);
}

/* The gradient of an input, as for an adversarial example: the leaf belongs to a scope, over many passes and steps. */
static void read_gradients_of_an_input(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 0.01);
    AgScope outer = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(2, 3)), true);
    for (int i = 0; i < 250; i++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(ag_sum(square_of(nn_linear(n->other, nn_linear(n->used, x)))));
        if (i < 30) nn_optimizer_step(o);
        else nn_zero_grad(n);
        ag_end(s);
    }
    ag_end(outer);
    ag_free(o);
    ag_free(n);
}

static void add_gradients_of_many_batches(void)
{
    Net *n = net_new(true);
    Optimizer *o = nn_sgd_new(n, 1e-4);
    for (int step = 0; step < 6; step++) {
        train(n, NULL, 100, true);
        nn_optimizer_step(o);
    }
    ag_free(o);
    ag_free(n);
}

/* Each loss gives gradients to both models, which take a step in turn. Those of the other model are removed, as in a GAN, or
 * are added to those of the next loss. */
static void train_in_turn(bool removes)
{
    Linear *l[2] = { nn_linear_new(3, 3), nn_linear_new(3, 2) };
    Optimizer *o[2] = { nn_sgd_new(l[0], 0.01), nn_sgd_new(l[1], 0.01) };
    for (int i = 0; i < 60; i++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(ag_sum(square_of(nn_linear(l[1], nn_linear(l[0], tensor_ones(SHAPE(2, 3)))))));
        nn_optimizer_step(o[i % 2]);
        if (removes) nn_zero_grad(l[1 - i % 2]);
        ag_end(s);
    }
    for (int i = 0; i < 2; i++) {
        ag_free(o[i]);
        ag_free(l[i]);
    }
}

static void train_two_models_in_turn(void) { train_in_turn(true); }
static void train_two_models_by_two_losses(void) { train_in_turn(false); }

/* Without an optimizer: w = w - 0.01 g. */
static void update_by_hand(void)
{
    Linear *l = nn_linear_new(3, 2);
    for (int i = 0; i < 300; i++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(ag_sum(square_of(nn_linear(l, tensor_ones(SHAPE(2, 3))))));
        AgScope update = ag_begin(AG_NO_GRAD);
        tensor_copy(l->weight, ag_sub(l->weight, ag_scale(tensor_grad(l->weight), 0.01)));
        ag_end(update);
        nn_zero_grad(l);
        ag_end(s);
    }
    ag_free(l);
}

static Tensor *softmax_before_a_layer(Tensor *x, Tensor *target)
{
    return nn_cross_entropy(ag_scale(ag_softmax(x, -1), 3), target);
}
static Tensor *sigmoid_before_a_layer(Tensor *x, Tensor *target)
{
    (void)target;
    return ag_binary_cross_entropy(ag_scale(ag_sigmoid(x), 3), tensor_zeros(SHAPE(2, 3)), AG_MEAN);
}
/* Certain: a log-probability of exactly 0. */
static Tensor *log_of_certain(Tensor *x, Tensor *target)
{
    return ag_nll_loss(ag_log_softmax(ag_scale(x, 1e6), -1), target, AG_MEAN, -100);
}
static void cross_entropy_of_a_layer(void) { with_logits(softmax_before_a_layer); }
static void binary_cross_entropy_of_a_layer(void) { with_logits(sigmoid_before_a_layer); }
static void nll_loss_of_a_certain_result(void) { with_logits(log_of_certain); }

static void *draw_with_own_seed(void *unused)
{
    (void)unused;
    ag_warn(true);
    ag_seed(17);
    Net *n = net_new(true);
    train(n, NULL, 1, true);
    ag_free(n);
    return NULL;
}

static void train_in_threads_with_own_seeds(void)
{
    pthread_t thread;
    ag_seed(0);
    draw_and_train(NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, draw_with_own_seed, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static const struct { const char *name; void (*run)(void); } programs[] = {
#define PROGRAM(f) { #f, f }
    PROGRAM(train_as_it_should_be), PROGRAM(losses_of_logits), PROGRAM(drop_by_hand_without_a_graph),
    PROGRAM(drop_with_a_graph_and_not_train), PROGRAM(train_with_a_part_in_evaluation_mode), PROGRAM(train_in_two_scopes),
    PROGRAM(train_in_scopes_inside_another), PROGRAM(step_many_optimizers_in_a_scope), PROGRAM(train_with_loss_0),
    PROGRAM(train_with_a_tiny_loss), PROGRAM(pass_without_steps), PROGRAM(train_with_frozen_parameters_and_buffers),
    PROGRAM(train_a_part_now_and_then), PROGRAM(read_gradients_of_an_input), PROGRAM(add_gradients_of_many_batches),
    PROGRAM(train_two_models_in_turn), PROGRAM(train_two_models_by_two_losses), PROGRAM(update_by_hand),
    PROGRAM(cross_entropy_of_a_layer),
    PROGRAM(binary_cross_entropy_of_a_layer), PROGRAM(nll_loss_of_a_certain_result), PROGRAM(train_in_threads_with_own_seeds),
};

START_TEST(each_mistake_is_told_once)
{
    check_warning(use_in_training_mode, "dropout acts in a scope AG_NO_GRAD");
    check_warning(train_in_evaluation_mode, "nn_optimizer_step: this Net is in evaluation mode");
    check_warning(train_an_unregistered_child, "add up: 4 passes and 4 steps of optimizers have not used them");
    check_warning(train_without_a_part, "nn_optimizer_step: other.weight has got no gradient in 3 steps");
    check_warning(train_in_one_scope, "20 steps were in one scope, which grows");
    check_warning(train_with_rate_0, "in 50 steps");
    check_warning(cross_entropy_of_softmax, "cross_entropy: its input is the result of a softmax");
    check_warning(nll_loss_of_logits, "nll_loss: its input has numbers above 0");
    check_warning(binary_cross_entropy_of_sigmoid, "binary_cross_entropy: its input is the result of a sigmoid");
    check_warning(train_in_two_threads, "this thread has the random numbers of another");
}
END_TEST

START_TEST(dropout_in_attention_is_told)
{
    check_warning(attend_in_training_mode, "dropout acts in a scope AG_NO_GRAD");
}
END_TEST

START_TEST(gradients_add_up_without_an_optimizer)
{
    check_warning(train_without_an_optimizer, "add up: 200 passes and 0 steps of optimizers have not used them");
}
END_TEST

/* One program in each process: a warning is told once in a process. */
START_TEST(no_mistake_is_told_of)
{
    listen(programs[_i].run);
    ck_assert_msg(!told[0], "%s is told of: %s", programs[_i].name, told);
}
END_TEST

static void *run_in_thread(void *is_off)
{
    if (is_off) ag_warn(false);
    use_in_training_mode();
    return NULL;
}

static bool is_off;
static void run_thread(void)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, run_in_thread, is_off ? &is_off : NULL), 0);
    pthread_join(thread, NULL);
}

/* KAERU_WARN=1 counts in a thread that has not decided by itself. */
START_TEST(the_program_decides_before_the_environment)
{
    setenv("KAERU_WARN", "1", 1);
    is_off = true;
    listen(run_thread);
    ck_assert_str_eq(told, "");
    is_off = false;
    listen(run_thread);
    ck_assert_ptr_nonnull(strstr(told, "dropout acts"));
    unsetenv("KAERU_WARN");
}
END_TEST

Suite *warn_suite(void)
{
    Suite *suite = suite_create("warn");
    TCase *c = tcase_create("warnings");
    tcase_add_loop_test(c, no_mistake_is_told_of, 0, sizeof programs / sizeof programs[0]);
    tcase_add_test(c, dropout_in_attention_is_told);
    tcase_add_test(c, gradients_add_up_without_an_optimizer);
    tcase_add_test(c, each_mistake_is_told_once);
    tcase_add_test(c, the_program_decides_before_the_environment);
    suite_add_tcase(suite, c);
    return suite;
}
