/* test_hessian.c: derivatives of derivatives through whole layers and models (kaeru/higher.h): the
 * Hessian of a loss times a vector, against the difference of two gradients; and training in which
 * the loss contains a gradient, by several processes. */
#include <math.h>

#include "kaeru/kaeru.h"
#include "processes.h"
#include "result.h"
#include "suites.h"

/* ---- a module's loss ------------------------------------------------------------------------- */

/* Returns the module's loss for an input (2,5,8). */
typedef Tensor *LossOf(void *module, Tensor *x);

static Tensor *loss_of_values(Tensor *y)
{
    return ag_mean(ag_mul(ag_tanh(y), ag_sin(y)));
}

static Tensor *recurrent_loss(void *module, Tensor *x)
{
    RecurrentState state = { NULL, NULL };
    return loss_of_values(nn_recurrent(module, x, NULL, &state));
}


static Tensor *sequential_loss(void *module, Tensor *x)
{
    return loss_of_values(nn_sequential(module, x));
}

static void *gru_new(void)
{
    return nn_recurrent_new_with(NN_GRU, 8, 6, 2, true, 0);
}

static void *lstm_new(void)
{
    return nn_lstm_new(8, 6);
}

static void *network_new(void)
{
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_linear_new(8, 8));
    nn_sequential_activation(net, AG_GELU_ERF);
    nn_sequential_add(net, nn_linear_new(8, 4));
    return net;
}

/* B begins at 0, where the gradient of A would be 0: all adapters get other numbers. */
static void *lora_new(void)
{
    static const char *const targets[] = { "0", "2", NULL };
    Sequential *net = network_new();
    ck_assert(nn_lora_add(net, (NnLoraOptions){ .rank = 3, .alpha = 6, .targets = targets }));
    NnParameters *all = nn_parameters(net);
    for (int i = 0; i < all->n; i++) {
        if (all->item[i].trained) {
            ag_fill_normal(all->item[i].tensor, 0, 0.5);
        }
    }
    ag_free(all);
    return net;
}

/* ---- the Hessian times a vector -------------------------------------------------------------- */

enum { MOST = 64 };
typedef struct { Tensor *p[MOST], *v[MOST]; int n; } Trained;

static Trained trained_of(void *module)
{
    Trained t = { .n = 0 };
    NnParameters *all = nn_parameters(module);
    for (int i = 0; i < all->n; i++) {
        if (!all->item[i].trained) continue;
        t.p[t.n] = all->item[i].tensor;
        t.v[t.n] = tensor_normal(tensor_shape(all->item[i].tensor), 0, 1);
        t.n++;
    }
    ag_free(all);
    return t;
}

static void move(Trained *t, double step)
{
    for (int i = 0; i < t->n; i++) {
        tensor_copy(t->p[i], ag_add(ag_detach(t->p[i]), ag_scale(t->v[i], step)));
    }
}

/* Computes H v by ag_jvp, or by ag_grad_recorded. */
static void product(LossOf *loss_of, void *module, Tensor *x, Trained *t, bool by_jvp, Tensor **hv)
{
    Tensor *loss = loss_of(module, x), *slope = NULL, *g[MOST];
    if (by_jvp) {
        slope = ag_jvp(loss, t->p, t->v, t->n);
    } else {
        ag_grad_recorded(loss, t->p, t->n, g);
        for (int i = 0; i < t->n; i++) {
            Tensor *part = ag_sum(ag_mul(g[i], t->v[i]));
            slope = slope ? ag_add(slope, part) : part;
        }
    }
    ag_grad(slope, t->p, t->n, hv);
}

START_TEST(hessian_products_are_differences_of_gradients)
{
    static const struct { void *(*create)(void); LossOf *loss; } rows[] = {
        { gru_new, recurrent_loss }, { lstm_new, recurrent_loss },
        { network_new, sequential_loss }, { lora_new, sequential_loss },
    };
    const double h = 1e-6;
    ag_seed(4);
    AgScope s = ag_begin(AG_RECORD);
    void *module = rows[_i / 2].create();
    Tensor *x = tensor_normal(SHAPE(2, 5, 8), 0, 1), *up[MOST], *down[MOST], *hv[MOST];
    Trained t = trained_of(module);
    ck_assert_int_ge(t.n, 2);
    product(rows[_i / 2].loss, module, x, &t, _i % 2 == 0, hv);
    move(&t, h);
    ag_grad(rows[_i / 2].loss(module, x), t.p, t.n, up);
    move(&t, -2 * h);
    ag_grad(rows[_i / 2].loss(module, x), t.p, t.n, down);
    double largest = 0;
    for (int i = 0; i < t.n; i++) {
        for (int64_t j = 0; j < tensor_numel(t.p[i]); j++) {
            double above = (double)tensor_data(up[i])[j], below = (double)tensor_data(down[i])[j];
            double expected = (above - below) / (2 * h), value = (double)tensor_data(hv[i])[j];
            largest = fmax(largest, fabs(value));
            ck_assert_msg(fabs(value - expected) < 1e-7 * fmax(1, fabs(expected)),
                          "parameter %d, item %d: %g, expected %g", i, (int)j, value, expected);
        }
    }
    ck_assert(largest > 1e-3);
    ag_end(s);
    ag_free(module);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

static Result products_on(int threads)
{
    Result r = { 0 };
    ag_set_threads(threads);
    ag_seed(6);
    AgScope s = ag_begin(AG_RECORD);
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_linear_new(64, 256));
    nn_sequential_activation(net, AG_GELU);
    nn_sequential_add(net, nn_linear_new(256, 64));
    Tensor *x = tensor_normal(SHAPE(8, 64, 64), 0, 1), *hv[MOST];
    Trained t = trained_of(net);
    for (int by_jvp = 0; by_jvp < 2; by_jvp++) {
        product(sequential_loss, net, x, &t, by_jvp, hv);
        for (int i = 0; i < t.n; i++) {
            mix_tensor(&r, hv[i]);
        }
    }
    ag_end(s);
    ag_free(net);
    return r;
}

START_TEST(threads_give_the_same_bits)
{
    ck_assert(products_on(1).hash == products_on(2).hash);
    ck_assert(products_on(1).hash == products_on(3).hash);
}
END_TEST

/* ---- several processes ----------------------------------------------------------------------- */

enum { SHARDS = 4, STEPS = 3 };

/* Returns a loss with a penalty on the gradient for the input. */
static Tensor *penalized_loss(void *net, int64_t shard)
{
    Tensor *x = tensor_full(SHAPE(3, 8), 0.1 * (double)(shard + 1)), *g;
    tensor_set_requires_grad(x, true);
    Tensor *loss = sequential_loss(net, x);
    ag_grad_recorded(loss, &x, 1, &g);
    return ag_add(loss, ag_scale(ag_sum(ag_mul(g, g)), 10));
}

typedef struct { Result weights; Tensor *first; } Trial;

static void finish(Trial *t, Sequential *net, Optimizer *sgd)
{
    mix_weights(&t->weights, net);
    t->first = ag_keep(nn_item(Linear, net, 0)->weight);
    ag_free(sgd);
    ag_free(net);
}

static void train_together(NnProcesses *processes, void *arg)
{
    ag_set_threads(1);
    ag_seed(5);
    Sequential *net = network_new();
    Optimizer *sgd = nn_sgd_new(net, 0.1);
    NnParallel *p = nn_parallel_new(sgd, SHARDS, processes);
    for (int step = 0; step < STEPS; step++) {
        while (nn_parallel_shard(p)) {
            AgScope s = ag_begin(AG_RECORD);
            ag_backward(penalized_loss(net, nn_parallel_index(p)));
            ag_end(s);
        }
        nn_parallel_step(p);
    }
    if (nn_parallel_end(p)) {
        finish(arg, net, sgd);
    } else {
        ag_free(sgd);
        ag_free(net);
    }
}

static void train_alone(Trial *t)
{
    ag_seed(5);
    Sequential *net = network_new();
    Optimizer *sgd = nn_sgd_new(net, 0.1);
    for (int step = 0; step < STEPS; step++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *sum = NULL;
        for (int shard = 0; shard < SHARDS; shard++) {
            Tensor *loss = penalized_loss(net, shard);
            sum = sum ? ag_add(sum, loss) : loss;
        }
        ag_backward(ag_scale(sum, 1.0 / SHARDS));
        nn_optimizer_step(sgd);
        ag_end(s);
    }
    finish(t, net, sgd);
}

/* The weights have the same bits on any number of processes, and are those of training without
 * NnParallel up to rounding. */
START_TEST(processes_train_with_a_gradient_in_the_loss)
{
    Trial alone = { { 0 }, NULL }, one = alone, several = alone;
    train_alone(&alone);
    run_processes(1, train_together, &one);
    run_processes(_i, train_together, &several);
    ck_assert(several.weights.hash == one.weights.hash);
    for (int64_t i = 0; i < tensor_numel(one.first); i++) {
        double value = (double)tensor_data(one.first)[i];
        ck_assert(fabs(value - (double)tensor_data(alone.first)[i]) < 1e-12);
    }
    tensor_free(alone.first);
    tensor_free(one.first);
    tensor_free(several.first);
}
END_TEST

Suite *hessian_suite(void)
{
    Suite *suite = suite_create("hessian");
    TCase *layers = tcase_create("layers");
    tcase_add_loop_test(layers, hessian_products_are_differences_of_gradients, 0, 8);
    tcase_add_test(layers, threads_give_the_same_bits);
    suite_add_tcase(suite, layers);
    TCase *processes = tcase_create("processes");
    tcase_add_loop_test(processes, processes_train_with_a_gradient_in_the_loss, 2, 5);
    suite_add_tcase(suite, processes);
    return suite;
}
