/* training.h: the two models that the page trains, the spiral's network and a small Transformer. The page and the native
 * program page.c call these same functions, so their weights have the same bits. */
#ifndef KAERU_PAGE_TRAINING_H
#define KAERU_PAGE_TRAINING_H

#include "kaeru/transformer.h"

/* A step takes its random numbers from the run's own generator, so other runs may take steps in between. */

/* ---- the spiral: examples/spiral.c ------------------------------------------------------------------------------- */

typedef struct SpiralRun SpiralRun;
enum { SPIRAL_POINTS = 400, SPIRAL_STEPS = 501 };       /* spiral.c counts its steps from 0 to 500 */
typedef enum { DATA_SPIRAL, DATA_RINGS, DATA_XOR, DATA_CLOUDS } SpiralData;
typedef enum { BY_ADAM, BY_SGD, BY_MOMENTUM } SpiralOptimizer;
typedef struct { int width; SpiralData data; SpiralOptimizer optimizer; double lr; uint64_t seed; } SpiralOptions;
SpiralOptions spiral_defaults(void);                    /* those of spiral.c */
SpiralRun *spiral_new(SpiralOptions options);
void spiral_free(SpiralRun *r);
Module *spiral_model(SpiralRun *r);
double spiral_step(SpiralRun *r);                       /* returns the loss before the step */
bool spiral_save(SpiralRun *r, const char *file);       /* as spiral.c saves its model; false with ag_error() */
/* 400 points of the data, as (x, y) pairs; points 0, 2, 4, ... are of one class (arm), the others of the other one. */
void spiral_points(SpiralRun *r, float *xy);
/* For n points: the probability of the second class. */
void spiral_probabilities(SpiralRun *r, const float *xy, int64_t n, float *p);

/* ---- a Transformer that sorts or reverses six digits --------------------------------------------------------------- */

typedef enum { TASK_SORT, TASK_REVERSE } Task;
enum { ROW = 6, DIGITS = 10, START = 10, SORTER_STEPS = 500 };
typedef struct { Transformer *model; Optimizer *adam; AgRandom random; Task task; int64_t step; } SorterRun;
SorterRun *sorter_new(Task task, uint64_t seed);
void sorter_free(SorterRun *r);
double sorter_step(SorterRun *r);                       /* returns the loss before the step */
bool sorter_save(SorterRun *r, const char *file);
/* The sorted or reversed row. */
void sorter_answer(const SorterRun *r, const int32_t row[ROW], int32_t answer[ROW]);
/* The loss of rows: source and target (B,ROW); see sorter_step. Each attention layer keeps its weights if `keep_weights`. In
 * *log_p, unless it is NULL: log-probabilities (B,ROW,DIGITS + 1). */
Tensor *sorter_loss(SorterRun *r, Tensor *source, Tensor *target, bool keep_weights, Tensor **log_p);

#endif
