/* training.c: see training.h. */
#include "training.h"

#include <math.h>
#include <string.h>

#include "kaeru/kaeru.h"

/* The network, its data and its loss are those of the example. Only the loop is written again, because a page cannot wait for
 * 500 steps. */
int spiral_main(void);
#define main spiral_main
#include "../spiral.c"
#undef main

struct SpiralRun { SpiralData data; Net *model; Optimizer *optimizer; Tensor *x, *arm; AgRandom random; };

SpiralOptions spiral_defaults(void)
{
    return (SpiralOptions){ .width = 64, .data = DATA_SPIRAL, .optimizer = BY_ADAM, .lr = 0.02, .seed = 0 };
}

SpiralRun *spiral_new(SpiralOptions o)
{
    SpiralRun *r = ag_alloc(1, sizeof *r);
    ag_seed(o.seed);
    r->data = o.data;
    r->x = tensor_new_owned(SHAPE(SPIRAL_POINTS, 2), AG_REAL);
    r->arm = tensor_new_owned(SHAPE(SPIRAL_POINTS), AG_INT);
    r->model = net_new(o.width);
    ag_free(net_new(o.width));                          /* spiral.c makes a copy here, which draws random numbers */
    r->optimizer = o.optimizer == BY_ADAM ? nn_adam_new(r->model, o.lr)
        : nn_sgd_new_with(r->model, ((AgSgd){ .lr = o.lr, .momentum = o.optimizer == BY_MOMENTUM ? 0.9 : 0 }));
    r->random = ag_random_state();
    return r;
}

/* A point of class `arm`, 0 or 1, in the square from -1 to 1. */
static void draw_point(SpiralData data, int arm, double *x, double *y)
{
    double u = ag_random_uniform(), v = ag_random_uniform();
    if (data == DATA_RINGS) {                           /* a disk in a ring */
        double radius = arm ? 0.65 + 0.3 * u : 0.4 * sqrt(u), angle = 2 * 3.14159265 * v;
        *x = radius * ag_math_cos(angle);
        *y = radius * ag_math_sin(angle);
    } else if (data == DATA_XOR) {                      /* squares of a chessboard: class 0 where x and y have the same sign */
        *x = (0.1 + 0.85 * fabs(2 * u - 1)) * (u < 0.5 ? -1 : 1);
        *y = (0.1 + 0.85 * v) * ((u < 0.5) == (arm == 0) ? -1 : 1);
    } else {                                            /* two clouds, around (-0.4, -0.4) and (0.4, 0.4) */
        double radius = 0.22 * sqrt(-2 * log(1 - u)), angle = 2 * 3.14159265 * v, center = arm ? 0.4 : -0.4;
        *x = center + radius * ag_math_cos(angle);
        *y = center + radius * ag_math_sin(angle);
    }
}

static void draw_data(SpiralRun *r)
{
    if (r->data == DATA_SPIRAL) {
        draw_points(r->x, r->arm);
        return;
    }
    for (int i = 0; i < SPIRAL_POINTS; i++) {
        double x, y;
        draw_point(r->data, i % 2, &x, &y);
        tensor_mutable_int_data(r->arm)[i] = i % 2;
        tensor_mutable_data(r->x)[2 * i] = (ag_real)x;
        tensor_mutable_data(r->x)[2 * i + 1] = (ag_real)y;
    }
}

void spiral_free(SpiralRun *r)
{
    if (!r) return;
    ag_free(r->optimizer);
    ag_free(r->model);
    tensor_free(r->x);
    tensor_free(r->arm);
    ag_free(r);
}

Module *spiral_model(SpiralRun *r) { return &r->model->module; }

double spiral_step(SpiralRun *r)
{
    ag_set_random_state(r->random);
    AgScope scope = ag_begin(AG_RECORD);
    draw_data(r);
    Tensor *loss = nn_cross_entropy(net(r->model, r->x), r->arm);
    ag_backward(loss);
    nn_optimizer_step(r->optimizer);
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
    draw_data(r);
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

SorterRun *sorter_new(Task task, uint64_t seed)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1;
    o.d_model = WIDTH;
    o.d_ff = 2 * WIDTH;
    o.h = 1;
    o.dropout = 0;
    o.max_len = ROW;
    SorterRun *r = ag_alloc(1, sizeof *r);
    ag_seed(seed);
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
