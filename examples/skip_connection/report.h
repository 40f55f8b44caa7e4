/* report.h: the runs of the experiment, and how they are printed, written and drawn. */
#ifndef KAERU_EXAMPLES_REPORT_H
#define KAERU_EXAMPLES_REPORT_H

#include "common/common.h"

enum { MAX_DEPTH = 100, MAX_SEEDS = 20 };

/* At each of n blocks, and at the input (0): the norm of the gradient of its output, and the root of the mean square of the
 * output. */
typedef struct { int n; double gradient[MAX_DEPTH + 1], signal[MAX_DEPTH + 1]; } Blocks;

/* One run, without [0] and with [1] skip connections. */
typedef struct {
    int64_t steps;
    double zero;                /* the loss of always answering 0 */
    double *loss[2];            /* before each step */
    Blocks before[2], after[2]; /* training */
    char hash[2][65];           /* of the weights after training: weights_hash */
} Run;

Run *run_alloc(int64_t steps);
void runs_free(Run **r, int64_t n);

/* The n runs differ in their seeds. */
void report_block(Run **r, int64_t n);                                  /* networks of one block */
void report_deep(Run **r, int64_t n);                                   /* the deepest networks */
Csv *report_depths_begin(void);
void report_depth(Csv *csv, Run **r, int64_t n);
Csv *report_controls_begin(int blocks);
void report_control(Csv *csv, const char *name, Run **r, int64_t n);
void report_hashes(const Run *r);
void report_next(void);                                                 /* what can be run after the networks of one block */

#endif
