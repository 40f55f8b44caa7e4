/* training.c: see training.h. */
#include "training.h"

#include <string.h>

#include "kaeru/kaeru.h"

/* The network, its data and its loss are those of the example. Only the loop is written again, because a page cannot wait for
 * 500 steps. */
int spiral_main(void);
#define main spiral_main
#include "../spiral.c"
#undef main

struct SpiralRun { Net *model; Optimizer *adam; Tensor *x, *arm; AgRandom random; };

SpiralRun *spiral_new(int width)
{
    SpiralRun *r = ag_alloc(1, sizeof *r);
    ag_seed(0);
    r->x = tensor_new_owned(SHAPE(SPIRAL_POINTS, 2), AG_REAL);
    r->arm = tensor_new_owned(SHAPE(SPIRAL_POINTS), AG_INT);
    r->model = net_new(width);
    ag_free(net_new(width));                            /* spiral.c makes a copy here, which draws random numbers */
    r->adam = nn_adam_new(r->model, 0.02);
    r->random = ag_random_state();
    return r;
}

void spiral_free(SpiralRun *r)
{
    if (!r) return;
    ag_free(r->adam);
    ag_free(r->model);
    tensor_free(r->x);
    tensor_free(r->arm);
    ag_free(r);
}

double spiral_step(SpiralRun *r)
{
    ag_set_random_state(r->random);
    AgScope scope = ag_begin(AG_RECORD);
    draw_points(r->x, r->arm);
    Tensor *loss = nn_cross_entropy(net(r->model, r->x), r->arm);
    ag_backward(loss);
    nn_optimizer_step(r->adam);
    double value = tensor_item(loss);
    ag_end(scope);
    r->random = ag_random_state();
    return value;
}

bool spiral_save(SpiralRun *r, const char *file)
{
    return nn_save(file, r->model);
}

void spiral_points(SpiralRun *r, float *xy)
{
    ag_seed(1);
    draw_points(r->x, r->arm);
    memcpy(xy, tensor_data(r->x), SPIRAL_POINTS * 2 * sizeof *xy);
}

void spiral_probabilities(SpiralRun *r, const float *xy, int64_t n, float *p)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *y = ag_softmax(net(r->model, tensor_from(SHAPE(n, 2), xy)), -1);
    for (int64_t i = 0; i < n; i++) p[i] = tensor_data(y)[2 * i + 1];
    ag_end(scope);
}

/* ---- the Transformer --------------------------------------------------------------------------------------------- */

enum { BATCH = 16, WIDTH = 16, WARMUP = 50 };

/* Rises to 0.01 and then falls to 0 at the last step, both linearly. */
static double learning_rate(int64_t step)
{
    return 0.01 * (step < WARMUP ? (double)step / WARMUP : (double)(SORTER_STEPS - step) / (SORTER_STEPS - WARMUP));
}

SorterRun *sorter_new(Task task)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1;
    o.d_model = WIDTH;
    o.d_ff = 2 * WIDTH;
    o.h = 1;
    o.dropout = 0;
    o.max_len = ROW;
    SorterRun *r = ag_alloc(1, sizeof *r);
    ag_seed(0);
    r->task = task;
    r->model = transformer_new(DIGITS + 1, DIGITS + 1, o);
    r->adam = nn_adam_new(r->model, 0);
    r->random = ag_random_state();
    return r;
}

void sorter_free(SorterRun *r)
{
    if (!r) return;
    ag_free(r->adam);
    ag_free(r->model);
    ag_free(r);
}

void sorter_answer(const SorterRun *r, const int32_t row[ROW], int32_t answer[ROW])
{
    for (int i = 0; i < ROW; i++) {
        int at = i;                                     /* sorting by insertion */
        for (; r->task == TASK_SORT && at > 0 && answer[at - 1] > row[i]; at--) answer[at] = answer[at - 1];
        answer[r->task == TASK_SORT ? at : ROW - 1 - i] = row[i];
    }
}

Tensor *sorter_loss(SorterRun *r, Tensor *source, Tensor *target, bool keep_weights, Tensor **log_p)
{
    int64_t rows = tensor_dim(source, 0);
    /* The decoder reads the answer shifted by one place, behind a start symbol. */
    Tensor *start = tensor_ints(SHAPE(rows, 1), NULL);
    for (int64_t i = 0; i < rows; i++) tensor_mutable_int_data(start)[i] = START;
    Tensor *before = ag_concat((Tensor *[]){ start, ag_slice(target, 1, 0, ROW - 1) }, 2, 1);
    transformer_keep_weights(r->model, keep_weights);
    Tensor *x = transformer_forward(r->model, source, before, nn_padding_mask(source, -1), nn_causal_mask(ROW));
    Tensor *p = transformer_generator(r->model->generator, x);
    if (log_p) *log_p = ag_retain(p);
    return ag_nll_loss(p, target, AG_MEAN, -100);
}

double sorter_step(SorterRun *r)
{
    ag_set_random_state(r->random);
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *source = tensor_randint(SHAPE(BATCH, ROW), 0, DIGITS), *target = tensor_ints(SHAPE(BATCH, ROW), NULL);
    for (int i = 0; i < BATCH; i++)
        sorter_answer(r, tensor_int_data(source) + i * ROW, tensor_mutable_int_data(target) + i * ROW);
    Tensor *loss = sorter_loss(r, source, target, false, NULL);
    ag_backward(loss);
    nn_optimizer_set_lr(r->adam, learning_rate(++r->step));
    nn_optimizer_step(r->adam);
    double value = tensor_item(loss);
    ag_end(scope);
    r->random = ag_random_state();
    return value;
}

bool sorter_save(SorterRun *r, const char *file)
{
    return nn_save(file, r->model);
}
