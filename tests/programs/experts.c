/* experts.c: a mixture of experts: a router sends each row to two of eight networks (Shazeer et al. 2017). */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { EXPERTS = 8, CHOSEN = 2, BATCH = 256, IN = 8, WIDTH = 16, OUT = 4 };

typedef struct { Module module; Linear *router; ModuleList *experts; } Mixture;

static Mixture *mixture_new(void)
{
    Mixture *m = nn_new(Mixture);
    nn_child(m, router, nn_linear_new(IN, EXPERTS));
    nn_child(m, experts, nn_list_new());
    for (int i = 0; i < EXPERTS; i++) {
        Sequential *expert = nn_sequential_new();
        nn_sequential_add(expert, nn_linear_new(IN, WIDTH));
        nn_sequential_activation(expert, AG_TANH);
        nn_sequential_add(expert, nn_linear_new(WIDTH, OUT));
        nn_list_add(m->experts, expert);
    }
    return m;
}

/* Where chosen (BATCH,CHOSEN) is e: numbers of its items, (n); NULL: nowhere. */
static Tensor *places_of(int e, Tensor *chosen)
{
    int32_t place[BATCH * CHOSEN], n = 0;
    const int32_t *expert = tensor_int_data(chosen);
    for (int32_t i = 0; i < tensor_numel(chosen); i++)
        if (expert[i] == e) place[n++] = i;
    return n ? tensor_ints(SHAPE(n), place) : NULL;
}

/* x (BATCH,IN) -> (BATCH,OUT). Each expert computes its rows only. *balance: 1 if all experts are used equally, else more
 * (Fedus et al. 2022). *used receives the share of the choices that each expert got, (EXPERTS). */
static Tensor *mixture(Mixture *m, Tensor *x, Tensor **balance, Tensor **used)
{
    Tensor *chosen, *scores = nn_linear(m->router, x), *best = ag_topk(scores, CHOSEN, -1, &chosen);
    Tensor *weights = ag_reshape(ag_softmax(best, -1), SHAPE(BATCH * CHOSEN, 1)), *y = tensor_zeros(SHAPE(BATCH * CHOSEN, OUT));
    Tensor *inputs = ag_reshape(ag_expand(ag_unsqueeze(x, 1), SHAPE(BATCH, CHOSEN, IN)), SHAPE(BATCH * CHOSEN, IN));
    for (int e = 0; e < EXPERTS; e++) {
        Tensor *places = places_of(e, chosen);
        if (!places) continue;
        Tensor *h = nn_sequential(nn_item(Sequential, m->experts, e), ag_embedding(inputs, places));
        y = ag_scatter_add(y, 0, ag_expand(ag_unsqueeze(places, 1), tensor_shape(h)), h);
    }
    *used = ag_mean_dims(ag_one_hot(ag_reshape(chosen, SHAPE(-1)), EXPERTS), DIMS(0), false);
    *balance = ag_scale(ag_sum(ag_mul(*used, ag_mean_dims(ag_softmax(scores, -1), DIMS(0), false))), EXPERTS);
    return ag_sum_dims(ag_reshape(ag_mul(y, weights), SHAPE(BATCH, CHOSEN, OUT)), DIMS(1), false);
}

/* Eight kinds of rows, each around a center of its own, and each with a matrix of its own: y = (x - center) matrix. */
typedef struct { Tensor *centers, *matrices; } Kinds;                                   /* (8,IN) and (8,IN OUT) */

static Tensor *draw_rows(Kinds kinds, Tensor **y)                                       /* -> (BATCH,IN), *y (BATCH,OUT) */
{
    Tensor *kind = tensor_randint(SHAPE(BATCH), 0, 8), *offset = tensor_normal(SHAPE(BATCH, IN), 0, 1);
    Tensor *matrix = ag_reshape(ag_embedding(kinds.matrices, kind), SHAPE(BATCH, IN, OUT));
    *y = ag_squeeze(ag_matmul(ag_unsqueeze(offset, 1), matrix), 1);
    return ag_add(ag_embedding(kinds.centers, kind), offset);
}

int main(void)
{
    enum { STEPS = 2000 };
    Mixture *m = mixture_new();
    Optimizer *adam = nn_adam_new(m, 0);
    AgScope data = ag_begin(AG_NO_GRAD);
    Kinds kinds = { tensor_normal(SHAPE(8, IN), 0, 3), tensor_normal(SHAPE(8, IN * OUT), 0, 0.35) };
    Tensor *y, *balance, *used;
    for (int step = 1; step <= STEPS; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *x = draw_rows(kinds, &y);
        Tensor *loss = ag_retain(nn_mse_loss(mixture(m, x, &balance, &used), y));       /* it is read after backward */
        ag_backward(ag_add(loss, ag_scale(balance, 0.01)));
        nn_optimizer_set_lr(adam, nn_schedule_cosine(step, 1e-2, 0, 100, STEPS));
        nn_optimizer_step(adam);
        if (step % 500 == 0) printf("step %d: loss %.4f\n", step, tensor_item(loss));
        ag_end(scope);
    }
    Tensor *x = draw_rows(kinds, &y);
    printf("loss for new rows %.4f\n", tensor_item(nn_mse_loss(mixture(m, x, &balance, &used), y)));
    printf("share of the expert that is used least %.1f %%\n", 100 * tensor_item(ag_min_dim(used, 0, false)));
    ag_end(data);
    ag_free(adam);
    ag_free(m);
    return 0;
}
