/* runs.c: the training runs of the page, for its scripts. */
#include <string.h>

#include "engine.h"
#include "memory_files.h"
#include "common/sha256.h"
#include "training.h"

static void print_hash(bool saved, const char *path)
{
    size_t n = 0;
    const void *bytes = saved ? memory_file(path, &n) : NULL;
    if (!bytes) ag_usage_error("hash", "%s", ag_error());
    char hash[65];
    sha256(bytes, n, hash);
    printf("\"%s\"", hash);
}

int copy_weights(void *model, bool back)
{
    NnParameters *all = nn_parameters(model);
    int64_t n = 0;
    for (int i = 0; i < all->n; i++) {
        Tensor *t = all->item[i].tensor;
        ag_real *numbers = the_numbers(n + tensor_numel(t)) + n;
        if (back)
            memcpy(tensor_mutable_data(t), numbers, (size_t)tensor_numel(t) * sizeof *numbers);
        else
            memcpy(numbers, tensor_data(t), (size_t)tensor_numel(t) * sizeof *numbers);
        n += tensor_numel(t);
    }
    ag_free(all);
    return (int)n;
}

/* ---- the spiral -------------------------------------------------------------------------------------------------- */

static SpiralRun *spiral;

void EXPORT(spiral_begin)(int width, int data, int optimizer, double lr, int seed)
{
    spiral_free(spiral);
    spiral = spiral_new((SpiralOptions){ width, (SpiralData)data, (SpiralOptimizer)optimizer, lr, (uint64_t)seed });
}

int EXPORT(spiral_weights)(int back) { return copy_weights(spiral_model(spiral), back); }

/* Takes n steps; the loss of the last one. */
double EXPORT(spiral_train)(int n)
{
    double loss = 0;
    for (int i = 0; i < n; i++)
        loss = spiral_step(spiral);
    return loss;
}

/* 400 points of the data, as (x, y) pairs, in engine_numbers. */
void EXPORT(spiral_data)(void)
{
    spiral_points(spiral, the_numbers(2 * SPIRAL_POINTS));
}

/* The probability of the second class on a grid of n x n points of the square from -1.2 to 1.2, from its upper left corner, row
 * by row, in engine_numbers. */
void EXPORT(spiral_grid)(int n)
{
    float *p = the_numbers(3 * (int64_t)n * n), *xy = p + n * n;
    for (int i = 0; i < n * n; i++) {
        xy[2 * i] = (float)(-1.2 + 2.4 * (i % n + 0.5) / n);
        xy[2 * i + 1] = (float)(1.2 - 2.4 * (i / n + 0.5) / n);
    }
    spiral_probabilities(spiral, xy, n * n, p);
}

void EXPORT(spiral_hash)(void) { print_hash(spiral_save(spiral, "spiral.safetensors"), "spiral.safetensors"); }

/* ---- the Transformer --------------------------------------------------------------------------------------------- */

static SorterRun *sorter;

void EXPORT(sorter_begin)(int task, int seed)
{
    sorter_free(sorter);
    sorter = sorter_new((Task)task, (uint64_t)seed);
}

int EXPORT(sorter_weights)(int back) { return copy_weights(sorter->model, back); }

double EXPORT(sorter_train)(int n)
{
    double loss = 0;
    for (int i = 0; i < n; i++)
        loss = sorter_step(sorter);
    return loss;
}

void EXPORT(sorter_hash)(void) { print_hash(sorter_save(sorter, "sorter.safetensors"), "sorter.safetensors"); }

/* A batch of one row, of the digits in the text, and its answer. */
static void read_row(Tensor **source, Tensor **target)
{
    int32_t row[ROW] = { 0 }, answer[ROW];
    for (int i = 0; i < ROW && the_text()[i]; i++)
        row[i] = the_text()[i] - '0';
    sorter_answer(sorter, row, answer);
    *source = tensor_ints(SHAPE(1, ROW), row);
    *target = tensor_ints(SHAPE(1, ROW), answer);
}

static void json_ids(const char *key, Tensor *ids)
{
    printf("\"%s\":[", key);
    for (int i = 0; i < ROW; i++)
        printf("%s%d", i ? "," : "", (int)tensor_int_data(ids)[i]);
    printf("],");
}

/* Prints the answer, what the model says at each place, and its three maps of attention, for the row of digits in the text. */
void EXPORT(sorter_look)(void)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *source, *target, *log_p;
    read_row(&source, &target);
    sorter_loss(sorter, source, target, true, &log_p);
    TransformerEncoderLayer *e = nn_item(TransformerEncoderLayer, sorter->model->encoder->layers, 0);
    TransformerDecoderLayer *d = nn_item(TransformerDecoderLayer, sorter->model->decoder->layers, 0);
    putchar('{');
    json_ids("answer", target);
    json_ids("output", ag_argmax(log_p, -1, false));
    json_reals("log_p", tensor_data(log_p), tensor_numel(log_p));
    putchar(',');
    json_reals("encoder", tensor_data(e->self_attn->weights), ROW * ROW);
    putchar(',');
    json_reals("decoder", tensor_data(d->self_attn->weights), ROW * ROW);
    putchar(',');
    json_reals("source", tensor_data(d->src_attn->weights), ROW * ROW);
    putchar('}');
    ag_end(scope);
}

/* Prints the graph and the backward pass for that row. The weights do not change. */
void EXPORT(sorter_trace)(void)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *source, *target;
    read_row(&source, &target);
    putchar('{');
    json_ids("answer", target);
    json_trace(tensor_name(sorter_loss(sorter, source, target, true, NULL), "loss"));
    putchar('}');
    ag_end(scope);
}
