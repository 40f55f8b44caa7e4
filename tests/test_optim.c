/* test_optim.c: optimizers, clipping and schedules, with values computed by hand. */
#include <math.h>
#include <stdlib.h>

#include "expected.h"
#include "faults.h"
#ifndef _WIN32
#include "folder.h"
#endif
#include "kaeru/nn.h"
#include "kaeru/values.h"
#include "suites.h"
#include "usage_error.h"

/* A module of a vector and a matrix. */
typedef struct { Module module; Tensor *vector, *matrix; } Point;

static Point *point_new(double a, double b)
{
    Point *p = nn_new(Point);
    nn_param(p, vector, SHAPE(2));
    nn_param(p, matrix, SHAPE(1, 2));
    tensor_mutable_data(p->vector)[0] = (ag_real)a;
    tensor_mutable_data(p->vector)[1] = (ag_real)b;
    return p;
}

/* Puts the gradient (g, 2g) on t. */
static void give_gradient(Tensor *t, double g)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *weights = tensor_from(SHAPE(2), (ag_real[]){ (ag_real)g, (ag_real)(2 * g) });
    ag_backward(ag_sum(ag_mul(t, weights)));
    ag_end(s);
}

static double value(const Tensor *t, int i)
{
    return (double)tensor_data(t)[i];
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

START_TEST(sgd_by_hand)
{
    Point *p = point_new(1, -1);
    Optimizer *o = nn_sgd_new(p, 0.5);
    ck_assert_double_eq(nn_optimizer_lr(o), 0.5);
    give_gradient(p->vector, 3);
    nn_optimizer_set_lr(o, 0.25);
    nn_optimizer_step(o);                     /* with the new rate */
    ck_assert_double_eq(value(p->vector, 0), 1 - 0.25 * 3);
    ck_assert_double_eq(value(p->vector, 1), -1 - 0.25 * 6);
    ck_assert_double_eq(value(p->matrix, 0), 0);
    ck_assert_int_eq(nn_optimizer_steps(o), 1);
    ag_free(o);
    ag_free(p);
    ag_free(NULL);
}
END_TEST

START_TEST(momentum_starts_with_the_gradient)
{
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        Point *p = point_new(0, 0);
        Optimizer *o = nn_sgd_new_with(p, (AgSgd){ .lr = 1, .momentum = 0.5, .nesterov = nesterov });
        give_gradient(p->vector, 1);
        nn_optimizer_set_lr(o, 1);
        nn_optimizer_step(o);                    /* velocity 1 */
        ck_assert_double_eq(value(p->vector, 0), nesterov ? -1.5 : -1);
        give_gradient(p->vector, 1);
        nn_optimizer_set_lr(o, 1);
        nn_optimizer_step(o);                    /* velocity 1.5 */
        ck_assert_double_eq(value(p->vector, 0), nesterov ? -1.5 - 1.75 : -2.5);
        ag_free(o);
        ag_free(p);
    }
}
END_TEST

START_TEST(adam_moves_by_its_rate_at_first)
{
    Point *p = point_new(5, 5);
    Optimizer *o = nn_adam_new(p, 0.1);
    give_gradient(p->vector, 1000);
    nn_optimizer_set_lr(o, 0.1);
    nn_optimizer_step(o);
    ck_assert_double_eq_tol(value(p->vector, 0), 4.9, 1e-6);
    ck_assert_double_eq_tol(value(p->vector, 1), 4.9, 1e-6);
    ag_free(o);
    ag_free(p);
}
END_TEST

START_TEST(decay_is_added_or_decoupled)
{
    double after[2];
    for (int decoupled = 0; decoupled < 2; decoupled++) {
        Point *p = point_new(2, 2);
        AgAdam how = nn_adam_options(0.1);
        how.weight_decay = 0.5;
        how.decoupled = decoupled;
        Optimizer *o = nn_adam_new_with(p, how);
        give_gradient(p->vector, 0);                /* only decay */
        nn_optimizer_set_lr(o, 0.1);
        nn_optimizer_step(o);
        after[decoupled] = value(p->vector, 0);
        ag_free(o);
        ag_free(p);
    }
    ck_assert_double_eq_tol(after[0], 2 - 0.1, 1e-6);           /* as a gradient of 1 */
    ck_assert_double_eq_tol(after[1], 2 * (1 - 0.1 * 0.5), 1e-6);
}
END_TEST

static bool is_called(const NnNamedTensor *p, void *name)
{
    return strcmp(p->name, name) == 0;
}

static unsigned char *reused[10];

/* Frees the optimizer, and takes memory of the size of what nn_optimizer_group has allocated. */
static bool frees_optimizer(const NnNamedTensor *p, void *optimizer)
{
    (void)p;
    ag_free(optimizer);
    for (int i = 0; i < 10; i++) {
        reused[i] = malloc(72);
        memset(reused[i], 0, 72);
    }
    return true;
}

START_TEST(a_group_writes_nothing_after_its_function_has_freed_the_optimizer)
{
    Point *p = point_new(2, 2);
    Optimizer *o = nn_adam_new(p, 0.1);
    EXPECT_USAGE_ERROR("nn_optimizer_group: the optimizer was freed", nn_optimizer_group(o, frees_optimizer, o, 0, 1));
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 72; k++) ck_assert_int_eq(reused[i][k], 0);
        free(reused[i]);
    }
    ag_free(p);
}
END_TEST

START_TEST(groups_have_their_own_decay_and_rate)
{
    Point *p = point_new(2, 2);
    ag_fill(p->matrix, 2);
    AgAdam how = nn_adamw_options(0.1);
    how.weight_decay = 0.5;
    Optimizer *o = nn_adam_new_with(p, how);
    ck_assert_int_eq(nn_optimizer_group(o, nn_is_not_matrix, NULL, 0, 1), 1);
    ck_assert_int_eq(nn_optimizer_group(o, is_called, "matrix", 1, 3), 1);
    ck_assert_int_eq(nn_optimizer_group(o, is_called, "nothing", 1, 3), 0);
    give_gradient(p->vector, 0);
    give_gradient(p->matrix, 0);
    nn_optimizer_set_lr(o, 0.1);
    nn_optimizer_step(o);
    ck_assert_double_eq(value(p->vector, 0), 2);
    ck_assert_double_eq_tol(value(p->matrix, 0), 2 * (1 - 3 * 0.1 * 1), 1e-6);
    ag_free(o);
    ag_free(p);
}
END_TEST

START_TEST(groups_of_sgd_have_their_own_decay_and_rate)
{
    Point *p = point_new(2, 2);
    ag_fill(p->matrix, 2);
    Optimizer *o = nn_sgd_new_with(p, (AgSgd){ .lr = 0.1, .weight_decay = 0.5 });
    ck_assert_int_eq(nn_optimizer_group(o, is_called, "matrix", 1, 3), 1);
    give_gradient(p->vector, 0);
    give_gradient(p->matrix, 0);
    nn_optimizer_step(o);
    ck_assert_double_eq_tol(value(p->vector, 0), 2 - 0.1 * 0.5 * 2, 1e-6);
    ck_assert_double_eq_tol(value(p->matrix, 0), 2 - 3 * 0.1 * 1 * 2, 1e-6);
    ag_free(o);
    ag_free(p);
}
END_TEST

#ifndef _WIN32
/* A checkpoint has the steps of an optimizer, and not its rate, its decay and its groups. */
START_TEST(a_checkpoint_has_no_options)
{
    Point *p = point_new(2, 2);
    Optimizer *saved = nn_adamw_new(p, 0.1);
    give_gradient(p->vector, 0);
    nn_optimizer_step(saved);
    ag_fill(p->vector, 2);
    expect_done(nn_checkpoint_save(in_folder("c.safetensors"), p, saved, NULL));
    AgAdam how = nn_adamw_options(0.5);
    how.weight_decay = 0.25;
    Optimizer *o = nn_adam_new_with(p, how);
    nn_optimizer_group(o, is_called, "vector", 0.5, 1);
    expect_done(nn_checkpoint_load(in_folder("c.safetensors"), p, o, NULL));
    ck_assert_int_eq(nn_optimizer_steps(o), 1);
    ck_assert_double_eq(nn_optimizer_lr(o), 0.5);
    give_gradient(p->vector, 0);
    nn_optimizer_step(o);
    ck_assert_double_eq_tol(value(p->vector, 0), 2 * (1 - 0.5 * 0.5), 1e-6);
    ag_free(saved);
    ag_free(o);
    ag_free(p);
}
END_TEST
#endif

START_TEST(parameters_without_gradient_stay)
{
    Point *p = point_new(1, 1);
    Optimizer *o = nn_adamw_new(p, 0.1);
    give_gradient(p->matrix, 1);
    nn_optimizer_step(o);                      /* without a gradient there is no decay either */
    ck_assert_double_eq(value(p->vector, 0), 1);
    give_gradient(p->vector, 1);
    tensor_zero_grad(p->vector);
    give_gradient(p->matrix, 1);
    nn_optimizer_step(o);
    ck_assert_double_eq(value(p->vector, 0), 1);

    give_gradient(p->vector, 1);
    nn_optimizer_step(o);
    double once = value(p->vector, 0);
    ck_assert_double_lt(once, 0.95);
    ck_assert_ptr_null(tensor_grad_data(p->vector));
    give_gradient(p->matrix, 1);
    nn_optimizer_step(o);                      /* the step before has cleared the gradient */
    ck_assert_double_eq(value(p->vector, 0), once);
    ck_assert_int_eq(nn_optimizer_steps(o), 4);
    ag_free(o);
    ag_free(p);
}
END_TEST

START_TEST(a_frozen_parameter_stays)
{
    Point *p = point_new(1, 1);
    give_gradient(p->vector, 1);                    /* from before it was frozen */
    tensor_set_requires_grad(p->vector, false);
    Optimizer *o = nn_adamw_new(p, 0.1);
    ck_assert_int_eq(nn_optimizer_group(o, nn_is_not_matrix, NULL, 0, 1), 0);
    give_gradient(p->matrix, 1);
    nn_optimizer_set_lr(o, 0.1);
    nn_optimizer_step(o);
    ck_assert_double_eq(value(p->vector, 0), 1);
    ck_assert_double_lt(value(p->matrix, 0), 0);
    ag_free(o);
    tensor_set_requires_grad(p->matrix, false);
    EXPECT_USAGE_ERROR("nn_optimizer_new: this Point has no trained parameters", nn_sgd_new(p, 0.1));
    ag_free(p);
}
END_TEST

START_TEST(a_tied_weight_is_stepped_once)
{
    typedef struct { Module module; Linear *a, *b; } Pair;
    Pair *pair = nn_new(Pair);
    nn_child(pair, a, nn_linear_new_no_bias(1, 2));
    nn_child(pair, b, nn_linear_new_no_bias(1, 2));
    nn_tie(pair->b, weight, pair->a->weight);
    Optimizer *o = nn_sgd_new(pair, 1);
    AgScope s = ag_begin(AG_RECORD);
    double before = value(pair->a->weight, 0);
    Tensor *x = tensor_ones(SHAPE(1, 1));
    ag_backward(ag_sum(ag_add(nn_linear(pair->a, x), nn_linear(pair->b, x))));
    nn_optimizer_set_lr(o, 0.125);
    nn_optimizer_step(o);
    ck_assert_double_eq_tol(value(pair->a->weight, 0), before - 0.25, 1e-6);
    ag_end(s);
    ag_free(o);
    ag_free(pair);
}
END_TEST

/* As PyTorch's clip_grad_norm_, but infinity is no limit: nn_grad_norm changes nothing. */
START_TEST(clipping_by_a_norm_that_is_not_finite)
{
    Point *p = point_new(0, 0);
    const double bad[] = { (double)INFINITY, -(double)INFINITY, (double)NAN };
    const double limits[] = { 1, 0, (double)INFINITY };
    for (int i = 0; i < 9; i++) {
        const bool is_nan = isnan(bad[i / 3]), clips = i % 3 == 0;
        give_gradient(p->vector, bad[i / 3]);
        give_gradient(p->matrix, 1e6);
        const double norm = nn_clip_grad_norm(p, limits[i % 3]);
        ck_assert(is_nan ? isnan(norm) : norm == (double)INFINITY);
        const double first = (double)tensor_grad_data(p->vector)[0], finite = (double)tensor_grad_data(p->matrix)[0];
        ck_assert(clips || is_nan ? isnan(first) : first == bad[i / 3]);
        if (clips && is_nan) ck_assert(isnan(finite));
        else ck_assert_double_eq(finite, clips ? 0 : 1e6);
        nn_zero_grad(p);
    }
    ag_free(p);
}
END_TEST

START_TEST(clipping_bounds_the_joint_norm)
{
    Point *p = point_new(0, 0);
    give_gradient(p->vector, 3);                    /* (3, 6) and (-2, -4): norm sqrt(9 + 36 + 4 + 16) */
    give_gradient(p->matrix, -2);
    double norm = sqrt(65);
    ck_assert_double_eq_tol(nn_grad_norm(p), norm, 1e-6);
    ck_assert_double_eq_tol(nn_clip_grad_norm(p, 100), norm, 1e-6);
    ck_assert_double_eq((double)tensor_grad_data(p->vector)[1], 6);
    ck_assert_double_eq_tol(nn_clip_grad_norm(p, 2), norm, 1e-6);
    ck_assert_double_le(nn_grad_norm(p), 2);
    ck_assert_double_ge(nn_grad_norm(p), 2 - 1e-5);
    ck_assert_double_eq_tol((double)tensor_grad_data(p->vector)[1], 6 * 2 / norm, 1e-5);
    nn_zero_grad(p);
    EXPECT_USAGE_ERROR("no parameter of this Point has a gradient", nn_clip_grad_norm(p, 1));

    ag_free(p);
}
END_TEST

START_TEST(options_are_checked)
{
    Point *p = point_new(0, 0);
    AgAdam how = nn_adam_options(1);
    EXPECT_USAGE_ERROR("nn_optimizer_new: lr is -1, expected a finite number of 0 or more", nn_adam_new(p, -1));
    how.beta1 = 1;
    EXPECT_USAGE_ERROR("nn_adam_new_with: beta1 is 1, expected a number in [0, 1)", nn_adam_new_with(p, how));
    how = nn_adam_options(1);
    how.beta2 = -0.5;
    EXPECT_USAGE_ERROR("nn_adam_new_with: beta2 is -0.5, expected a number in [0, 1)", nn_adam_new_with(p, how));
    how = nn_adam_options(1);
    how.eps = -1;
    EXPECT_USAGE_ERROR("nn_adam_new_with: eps is -1, expected a finite number above 0", nn_adam_new_with(p, how));
    how = nn_adam_options(1);
    how.weight_decay = (double)NAN;
    EXPECT_USAGE_ERROR("nn_optimizer_new: weight_decay is", nn_adam_new_with(p, how));
    EXPECT_USAGE_ERROR("nn_sgd_new_with: momentum is 0, expected a number above 0 with nesterov",
                       nn_sgd_new_with(p, (AgSgd){ .lr = 1, .nesterov = true }));
    EXPECT_USAGE_ERROR("nn_sgd_new_with: momentum is -1, expected a number in [0, 1)",
                       nn_sgd_new_with(p, (AgSgd){ .momentum = -1 }));
    EXPECT_USAGE_ERROR("test_optim.c", nn_sgd_new(p, -1));
    ag_free(p);
}
END_TEST

/* ---- whole runs, and failing allocations ------------------------------------------------------------------------- */

static Sequential *xor_net(void)
{
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_linear_new(2, 8));
    nn_sequential_activation(net, AG_TANH);
    nn_sequential_add(net, nn_linear_new(8, 1));
    return net;
}

static double xor_step(Sequential *net, Optimizer *o, double lr)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_from(SHAPE(4, 2), (ag_real[]){ 0, 0, 0, 1, 1, 0, 1, 1 });
    Tensor *loss = nn_mse_loss(nn_sequential(net, x), tensor_from(SHAPE(4, 1), (ag_real[]){ 0, 1, 1, 0 }));
    ag_backward(loss);
    nn_clip_grad_norm(net, 1);
    nn_optimizer_set_lr(o, lr);
    nn_optimizer_step(o);
    double value = tensor_item(loss);
    ag_end(s);
    return value;
}

START_TEST(exclusive_or_is_learned)
{
    for (int i = 0; i < 2; i++) {
        ag_seed(5);
        Sequential *net = xor_net();
        AgSgd momentum = { .lr = 0.1, .momentum = 0.9 };
        Optimizer *o = i == 0 ? nn_adam_new(net, 0.05) : nn_sgd_new_with(net, momentum);
        double loss = 1;
        for (int step = 0; step < 500; step++) loss = xor_step(net, o, nn_optimizer_lr(o));
        ck_assert_double_lt(loss, 0.01);
        ag_free(o);
        ag_free(net);
    }
}
END_TEST

START_TEST(training_allocates_nothing)
{
    ag_guard(false);
    Sequential *net = xor_net();
    Optimizer *o = nn_adamw_new(net, 0.01);
    for (int step = 0; step < 100; step++) xor_step(net, o, 0.01);
    AgMemory before = ag_memory();
    int64_t live = faults_live();
    for (int step = 0; step < 10000; step++) xor_step(net, o, 0.01);
    AgMemory after = ag_memory();
    ck_assert_int_eq(after.system_calls, before.system_calls);
    ck_assert_uint_eq(after.in_use, before.in_use);
    ck_assert_uint_eq(after.cached, before.cached);
    ck_assert_int_eq(faults_live(), live);
    ag_free(o);
    ag_free(net);
}
END_TEST

static void build_and_step(void)
{
    Sequential *net = xor_net();
    Optimizer *o = nn_adam_new(net, 0.1);
    nn_optimizer_group(o, nn_is_not_matrix, NULL, 0.1, 1);
    xor_step(net, o, 0.1);
    ag_free(o);
    ag_free(net);
}

START_TEST(failing_allocations_leak_nothing)
{
    ck_assert_int_eq(faults_everywhere(build_and_step, true), faults_everywhere(build_and_step, false));
}
END_TEST

START_TEST(a_step_without_memory_can_be_taken_again)
{
    bool failed = true;
    for (int64_t n = 0; failed && faults_work(); n++) {
        Sequential *net = xor_net();
        Optimizer *o = nn_adam_new(net, 0.1);
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(ag_sum(nn_sequential(net, tensor_ones(SHAPE(1, 2)))));
        ag_memory_trim();
        faults_at(n, false);
        CATCH_USAGE_ERROR(nn_optimizer_step(o));
        failed = faults_hit();
        faults_at(-1, false);
        if (usage_message[0]) {
            ck_assert_int_eq(nn_optimizer_steps(o), 0);
            nn_optimizer_step(o);
        }
        ag_end(s);
        ag_free(o);
        ag_free(net);
    }
}
END_TEST

/* ---- schedules --------------------------------------------------------------------------------------------------- */

START_TEST(cosine_has_its_known_values)
{
    ck_assert_double_eq(nn_schedule_cosine(0, 1, 0.1, 10, 110), 0);
    ck_assert_double_eq_tol(nn_schedule_cosine(5, 1, 0.1, 10, 110), 0.5, 1e-15);
    ck_assert_double_eq_tol(nn_schedule_cosine(10, 1, 0.1, 10, 110), 1, 1e-15);
    ck_assert_double_eq_tol(nn_schedule_cosine(60, 1, 0.1, 10, 110), 0.55, 1e-15);
    ck_assert_double_eq_tol(nn_schedule_cosine(35, 1, 0.1, 10, 110), 0.1 + 0.9 * 0.5 * (1 + sqrt(0.5)), 1e-15);
    ck_assert_double_eq(nn_schedule_cosine(110, 1, 0.1, 10, 110), 0.1);
    ck_assert_double_eq(nn_schedule_cosine(1000000, 1, 0.1, 10, 110), 0.1);
    ck_assert_double_eq(nn_schedule_cosine(0, 1, 0.1, 0, 100), 1);              /* no warmup */
    ck_assert_double_eq(nn_schedule_cosine(0, 1, 0.1, 0, 0), 0.1);
    for (int step = 11; step <= 110; step++)
        ck_assert(nn_schedule_cosine(step, 1, 0.1, 10, 110) < nn_schedule_cosine(step - 1, 1, 0.1, 10, 110));
}
END_TEST

START_TEST(linear_and_step_have_their_known_values)
{
    ck_assert_double_eq(nn_schedule_linear(5, 1, 0.1, 10, 110), 0.5);
    ck_assert_double_eq(nn_schedule_linear(10, 1, 0.1, 10, 110), 1);
    ck_assert_double_eq_tol(nn_schedule_linear(60, 1, 0.1, 10, 110), 0.55, 1e-15);
    ck_assert_double_eq(nn_schedule_linear(110, 1, 0.1, 10, 110), 0.1);
    static const double expected[] = { 8, 8, 8, 8, 4, 4, 4, 2 };                /* steps count from 1 */
    for (int step = 0; step < 8; step++) ck_assert_double_eq_tol(nn_schedule_step(step, 8, 0.5, 3), expected[step], 1e-14);
    ck_assert_double_eq(nn_schedule_step(0, 8, 0.5, 1), 8);
    EXPECT_USAGE_ERROR("schedule_linear: a warmup of 9 steps", nn_schedule_linear(0, 1, 0, 9, 8));
    EXPECT_USAGE_ERROR("every 0 steps", nn_schedule_step(0, 1, 0.5, 0));
    EXPECT_USAGE_ERROR("factor -1", nn_schedule_step(0, 1, -1, 5));
}
END_TEST

/* Trained parameters move towards the model's, all else is copied. A decay of 1 changes no parameter, 0 copies. */
START_TEST(averages_of_weights)
{
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_linear_new(1, 1));
    nn_sequential_add(net, nn_batch_norm_new(1));
    Linear *l = nn_item(Linear, net, 0);
    Sequential *average = nn_clone(net);
    const Linear *a = nn_item(Linear, average, 0);
    const BatchNorm *norm = nn_item(BatchNorm, average, 1);
    ag_fill(a->weight, 2);
    ag_fill(l->weight, 6);
    ag_fill(nn_item(BatchNorm, net, 1)->running_mean, 3);
    tensor_mutable_int_data(nn_item(BatchNorm, net, 1)->num_batches_tracked)[0] = 9;
    nn_ema_update(average, net, 0.75);
    ck_assert_double_eq(tensor_item(a->weight), 3);
    ck_assert_double_eq(tensor_item(norm->running_mean), 3);
    ck_assert_int_eq(tensor_int_data(norm->num_batches_tracked)[0], 9);
    nn_ema_update(average, net, 1);
    ck_assert_double_eq(tensor_item(a->weight), 3);
    nn_ema_update(average, net, 0);
    ck_assert_double_eq(tensor_item(a->weight), 6);
    tensor_set_requires_grad(l->weight, false);                     /* frozen in the model, not in the average */
    ag_fill(l->weight, 8);
    nn_ema_update(average, net, 0.75);
    ck_assert_double_eq(tensor_item(a->weight), 8);
    EXPECT_USAGE_ERROR("the average has 2 tensors and the module 7", nn_ema_update(l, net, 0.5));
    EXPECT_USAGE_ERROR("decay is 1.5", nn_ema_update(average, net, 1.5));
    Linear *wide = nn_linear_new(2, 1);
    EXPECT_USAGE_ERROR("of which the first 0 have equal shapes", nn_ema_update(l, wide, 0.5));
    Sequential *one = nn_sequential_new(), *two = nn_sequential_new();
    for (int i = 0; i < 2; i++) {
        nn_sequential_add(one, nn_linear_new(2, 3));
        nn_sequential_add(two, nn_linear_new(2, 3 - i));
    }
    ag_fill(nn_item(Linear, one, 0)->weight, 7);
    EXPECT_USAGE_ERROR("4 tensors and the module 4, of which the first 2 have equal shapes", nn_ema_update(one, two, 0.5));
    ck_assert_double_eq(tensor_data(nn_item(Linear, one, 0)->weight)[0], 7);            /* nothing has changed */
    ag_free(one);
    ag_free(two);
    ag_free(wide);
    ag_free(average);
    ag_free(net);
}
END_TEST

START_TEST(noam_is_the_schedule_of_the_paper)
{
    struct { int64_t width, warmup; } curves[] = { { 512, 4000 }, { 512, 8000 }, { 256, 4000 } };
    for (int i = 0; i < 3; i++) {
        int64_t width = curves[i].width, warmup = curves[i].warmup;
        double peak = nn_schedule_noam(warmup, width, 1, warmup);
        ck_assert_double_eq_tol(peak, pow((double)width, -0.5) * pow((double)warmup, -0.5), 1e-15);
        for (int64_t step = 1; step <= 20000; step += 37) {
            double expected = 2 * pow((double)width, -0.5)
                * fmin(pow((double)step, -0.5), (double)step * pow((double)warmup, -1.5));
            ck_assert_double_eq_tol(nn_schedule_noam(step, width, 2, warmup), expected, 1e-15);
            ck_assert(nn_schedule_noam(step, width, 1, warmup) <= peak);
        }
        ck_assert_double_eq(nn_schedule_noam(0, width, 1, warmup), nn_schedule_noam(1, width, 1, warmup));
    }
    ck_assert_double_eq_tol(nn_schedule_noam(4, 1, 1, 0), 0.5, 1e-15);          /* no warmup: decreasing from the start */
}
END_TEST

/* The mistake of adversarial training: the step of one optimizer between the forward and the backward pass of the other. */
START_TEST(a_step_between_forward_and_backward_is_reported)
{
    Point *p = point_new(1, -1);
    Optimizer *o = nn_sgd_new(p, 0.5);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *first = ag_sum(ag_mul(p->vector, p->vector)), *second = ag_sum(ag_mul(p->vector, p->vector));
    ag_backward(first);
    nn_optimizer_step(o); const int line = __LINE__;
    char text[200];
    snprintf(text, sizeof text, "reads input 0, vector, but nn_optimizer_step wrote it at tests/test_optim.c:%d after mul had "
             "read it", line);
    EXPECT_USAGE_ERROR(text, ag_backward(second));
    Tensor *third = ag_sum(ag_mul(p->matrix, p->matrix));
    ag_fill(p->matrix, 0);
    EXPECT_USAGE_ERROR("reads input 0, matrix, but ag_fill wrote it at tests/test_optim.c:", ag_backward(third));
    ag_backward(ag_sum(ag_mul(p->vector, p->vector)));
    ag_end(s);
    ag_free(o);
    ag_free(p);
}
END_TEST

START_TEST(objects_that_are_gone_are_reported)
{
    Point *p = point_new(1, -1);
    Optimizer *o = nn_sgd_new(p, 0.5);
    REPORTS("nn_optimizer_step: the optimizer is NULL", nn_optimizer_step(NULL));
    REPORTS("nn_optimizer_set_lr: lr is nan, expected a finite number of 0 or more", nn_optimizer_set_lr(o, (double)NAN));
    REPORTS("nn_clip_grad_norm: max_norm is nan, expected 0 or more", nn_clip_grad_norm(p, (double)NAN));
    Tensor *vector = p->vector, *other = tensor_new_owned(SHAPE(2), AG_REAL);
    p->vector = other;
    REPORTS("nn_optimizer_step: the field of vector in its Point no longer points to the registered tensor; to set values, use "
            "tensor_copy", nn_optimizer_step(o));
    p->vector = vector;
    ag_free(p);
    REPORTS("nn_optimizer_step: this Point was freed", nn_optimizer_step(o));
    ag_free(o);
    REPORTS("nn_optimizer_step: the optimizer was freed, or is not an object of kaeru", nn_optimizer_step(o));
    REPORTS("ag_free: this object was freed already", ag_free(o));
    tensor_free(other);
}
END_TEST

/* ---- Muon, and all parameters as one vector ---------------------------------------------------------------------- */

typedef struct { Module module; Embedding *embed; Linear *inner, *head; } Small;

static Small *small_new(void)
{
    Small *m = nn_new(Small);
    nn_child(m, embed, nn_embedding_new(5, 4));
    nn_child(m, inner, nn_linear_new(4, 6));
    nn_child(m, head, nn_linear_new(6, 5));
    return m;
}

static void small_backward(Small *m)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = nn_embedding(m->embed, tensor_ints(SHAPE(3), (int32_t[]){ 0, 3, 4 }));
    x = nn_linear(m->head, ag_tanh(nn_linear(m->inner, x)));
    ag_backward(nn_cross_entropy(x, tensor_ints(SHAPE(3), (int32_t[]){ 1, 2, 0 })));
    ag_end(s);
}

/* What Muon does not update gets the bits of AdamW; the products are those of float32 also in a scope of bfloat16. */
START_TEST(muon_is_for_inner_matrices)
{
    Small *m = small_new(), *adamw = nn_clone(m), *same = nn_clone(m);
    Optimizer *o = nn_muon_new(m, 0.5, 0.25, "head"), *p = nn_adamw_new(adamw, 0.25), *q = nn_muon_new(same, 0.5, 0.25, "head");
    for (int i = 0; i < 2; i++) {
        small_backward(m);
        small_backward(adamw);
        small_backward(same);
        AgScope s = ag_begin(AG_NO_GRAD);
        ag_precision(AG_BF16);
        nn_optimizer_step(o);
        nn_optimizer_step(p);
        ck_assert(ag_precision_now() == AG_BF16);
        ag_end(s);
        nn_optimizer_step(q);
        NnParameters *a = nn_parameters(m), *b = nn_parameters(adamw), *c = nn_parameters(same);
        for (int k = 0; k < a->n; k++) {
            bool equal = tensor_hash(a->item[k].tensor, 0) == tensor_hash(b->item[k].tensor, 0);
            ck_assert_msg(i > 0 || equal == (strcmp(a->item[k].name, "inner.weight") != 0), "%s", a->item[k].name);
            ck_assert_msg(tensor_hash(a->item[k].tensor, 0) == tensor_hash(c->item[k].tensor, 0), "%s", a->item[k].name);
        }
        ag_free(a);
        ag_free(b);
        ag_free(c);
    }
    REPORTS("nn_muon_new: this Small has no heads.weight, expected the name of its output layer, or NULL",
            nn_muon_new(m, 0.5, 0.25, "heads"));
    REPORTS("nn_muon_new_with: inner.bias is (6,), expected a matrix: Muon updates these alone",
            nn_muon_new_with(m, nn_muon_options(0.5, 0.25), nn_is_not_matrix, NULL));
    EXPECT_USAGE_ERROR("this Embedding has no matrix for Muon", nn_muon_new(m->embed, 0.5, 0.25, NULL));
    EXPECT_USAGE_ERROR("lr is 0, expected a finite number above 0", nn_muon_new(m, 0, 0.25, NULL));
    EXPECT_USAGE_ERROR("rest.lr is -1", nn_muon_new(m, 1, -1, NULL));
    NnMuon how = nn_muon_options(0.5, 0.25);
    how.momentum = 1;
    EXPECT_USAGE_ERROR("momentum is 1, expected a number in [0, 1)", nn_muon_new_with(m, how, nn_is_not_matrix, NULL));
    how = nn_muon_options(0.5, 0.25);
    how.rest = nn_adam_options(0.25);
    EXPECT_USAGE_ERROR("rest.decoupled is false", nn_muon_new_with(m, how, nn_is_not_matrix, NULL));
    REPORTS("nn_muon_new_with: belongs is NULL", nn_muon_new_with(m, nn_muon_options(0.5, 0.25), NULL, NULL));
    ag_free(o);
    ag_free(p);
    ag_free(q);
    ag_free(m);
    ag_free(adamw);
    ag_free(same);
}
END_TEST

/* Five steps make all singular values of a matrix about 1: u^T u is near the unit matrix. */
START_TEST(muon_moves_along_a_nearly_orthogonal_matrix)
{
    Small *m = small_new();
    Optimizer *o = nn_muon_new(m, 1, 0, "head");
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *before = tensor_clone(m->inner->weight);
    small_backward(m);
    nn_optimizer_step(o);
    /* (6,4): the factor sqrt(6 / 4); weight decay 0.1 */
    Tensor *moved = ag_scale(ag_sub(ag_scale(before, 0.9), m->inner->weight), 1 / sqrt(1.5));
    Tensor *square = ag_matmul(ag_transpose(moved, 0, 1), moved);
    double trace = 0;
    for (int i = 0; i < 4; i++) trace += value(square, 5 * i);
    ck_assert_double_ge(trace, 2.0);            /* of 4; three ids give a gradient of rank 3 or less */
    ck_assert_double_le(trace, 4.5);
    ag_end(s);
    ag_free(o);
    ag_free(m);
}
END_TEST

START_TEST(parameters_are_a_vector)
{
    Point *p = point_new(1, -1);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *w = nn_parameters_to_vector(p);
    ck_assert(tensor_numel(w) == 4 && !tensor_requires_grad(w));
    const double expected[] = { 1, -1, 0, 0 };
    for (int i = 0; i < 4; i++) ck_assert_double_eq(value(w, i), expected[i]);
    give_gradient(p->vector, 3);
    Tensor *g = nn_gradients_to_vector(p);      /* the matrix has none */
    const double gradient[] = { 3, 6, 0, 0 };
    for (int i = 0; i < 4; i++) ck_assert_double_eq(value(g, i), gradient[i]);
    nn_vector_to_parameters(p, ag_add(w, ag_scale(g, 2)));
    ck_assert(value(p->vector, 0) == 7 && value(p->vector, 1) == 11 && value(w, 0) == 1);
    ck_assert_double_eq(value(tensor_grad(p->vector), 0), 3);
    tensor_set_requires_grad(p->vector, false);
    ck_assert_int_eq(tensor_numel(nn_parameters_to_vector(p)), 2);
    REPORTS("nn_vector_to_parameters: the vector is (4,), expected (2,), the trained parameters of this Point",
            nn_vector_to_parameters(p, w));
    REPORTS("nn_parameters_to_vector: the module is NULL", nn_parameters_to_vector(NULL));
    EXPECT_USAGE_ERROR("nn_vector_to_parameters: vector is NULL", nn_vector_to_parameters(p, NULL));
    EXPECT_USAGE_ERROR("expected AG_REAL", nn_vector_to_parameters(p, tensor_ints(SHAPE(2), (int32_t[]){ 1, 2 })));
    ck_assert_double_eq(value(p->vector, 0), 7);
    ag_end(s);
    ag_free(p);
}
END_TEST

Suite *optim_suite(void)
{
    Suite *suite = suite_create("optim");
    TCase *steps = tcase_create("steps");
    tcase_add_test(steps, sgd_by_hand);
    tcase_add_test(steps, momentum_starts_with_the_gradient);
    tcase_add_test(steps, adam_moves_by_its_rate_at_first);
    tcase_add_test(steps, decay_is_added_or_decoupled);
    tcase_add_test(steps, a_group_writes_nothing_after_its_function_has_freed_the_optimizer);
    tcase_add_test(steps, groups_have_their_own_decay_and_rate);
    tcase_add_test(steps, groups_of_sgd_have_their_own_decay_and_rate);
#ifndef _WIN32
    tcase_add_checked_fixture(steps, folder_make, folder_remove);
    tcase_add_test(steps, a_checkpoint_has_no_options);
#endif
    tcase_add_test(steps, parameters_without_gradient_stay);
    tcase_add_test(steps, a_frozen_parameter_stays);
    tcase_add_test(steps, a_tied_weight_is_stepped_once);
    tcase_add_test(steps, clipping_by_a_norm_that_is_not_finite);
    tcase_add_test(steps, clipping_bounds_the_joint_norm);
    tcase_add_test(steps, a_step_between_forward_and_backward_is_reported);
    tcase_add_test(steps, objects_that_are_gone_are_reported);
    tcase_add_test(steps, options_are_checked);
    suite_add_tcase(suite, steps);
    tcase_add_test(steps, muon_is_for_inner_matrices);
    tcase_add_test(steps, muon_moves_along_a_nearly_orthogonal_matrix);
    tcase_add_test(steps, parameters_are_a_vector);
    TCase *runs = tcase_create("runs");
    tcase_add_test(runs, exclusive_or_is_learned);
    if (KEEPS_MEMORY) tcase_add_test(runs, training_allocates_nothing);
    tcase_add_test(runs, failing_allocations_leak_nothing);
    tcase_add_test(runs, a_step_without_memory_can_be_taken_again);
    suite_add_tcase(suite, runs);
    TCase *schedules = tcase_create("schedules");
    tcase_add_test(schedules, cosine_has_its_known_values);
    tcase_add_test(schedules, linear_and_step_have_their_known_values);
    tcase_add_test(schedules, averages_of_weights);
    tcase_add_test(schedules, noam_is_the_schedule_of_the_paper);
    suite_add_tcase(suite, schedules);
    return suite;
}
