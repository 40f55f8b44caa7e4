/* bench.h: the type of a workload. workloads.c and processes.c have the lists, timing.c measures, kernels.c, models.c and gpt.c
 * have the workloads. */
#ifndef KAERU_BENCH_H
#define KAERU_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "kaeru/parallel.h"

typedef enum {
    BENCH_TIME,                 /* the figure is the seconds of a step times `amount` */
    BENCH_RATE                  /* the figure is `amount` over the seconds of a step */
} BenchFigure;

typedef struct Workload Workload;
struct Workload {
    const char *name, *what;
    void *(*begin)(const Workload *w, int64_t *parameters);     /* *parameters: of the model; stays 0 without one */
    void (*step)(void *state);                                  /* the measured part */
    void (*end)(void *state);
    BenchFigure figure;
    double amount;
    const char *unit;
    int64_t size[4];            /* for begin */
    const char *kind;           /* for begin */
};

enum { BENCH_WORKLOADS = 21 };
extern const Workload bench_workloads[BENCH_WORKLOADS];
const Workload *find_workload(const char *name);        /* NULL: there is none */
/* Those of a comparison: a product, small steps and whole models, the longest last. Returns their number. */
int usual_workloads(const Workload *chosen[BENCH_WORKLOADS]);

/* The median (returned) and the least time of a step in seconds, measured for `seconds` in all and at least `samples` times. */
double measure(const Workload *w, void *state, double seconds, int samples, double *least);
enum { BENCH_SAMPLES = 5 };     /* at least, for a median */
/* The same for n steps after two others: the same number in all processes. */
double measure_steps(const Workload *w, void *state, int n, double *least);
extern bool processor_time;     /* measure processor time, not elapsed time */
double seconds_now(void);
double peak_mib(void);          /* resident memory of this process */
extern const char program[];    /* for messages; the file with main has it */
/* The number after an option; ends the program if it is not a number from 0 to `most`. */
double number(const char *option, const char *text, double most);
/* Prints "dimension,factor,operations,seconds" for a GPT's training step with one size doubled repeatedly. */
void print_scaling(double seconds);
/* Prints the processor, its instruction sets, hashes of weights that they train, and the times of n workloads on 1, 2, 4 ...
 * ag_threads() threads in both precisions, each measured for `seconds`; writes the times to the CSV file. What does not fit
 * into `minutes` is left out. Returns whether all of it worked and the hashes are equal. */
bool print_machine(const Workload *const *chosen, int n, double seconds, double minutes, const char *csv);

void *gemm_begin(const Workload *w, int64_t *parameters);       /* size: m, n, k; kind: "AB", "ABt" or "AtB" */
void  gemm_step(void *state);
void  gemm_end(void *state);

void *dispatch_begin(const Workload *w, int64_t *parameters);
void  dispatch_step(void *state);
void  dispatch_end(void *state);

void *memory_begin(const Workload *w, int64_t *parameters);     /* size: bytes */
void  memory_step(void *state);
void  memory_end(void *state);

void *overhead_begin(const Workload *w, int64_t *parameters);
void  overhead_step(void *state);
void  overhead_end(void *state);

void *skip_begin(const Workload *w, int64_t *parameters);       /* size: rows */
void  skip_step(void *state);
void  skip_end(void *state);

void *copy_begin(const Workload *w, int64_t *parameters);
void *translate_begin(const Workload *w, int64_t *parameters);
void  transformer_step(void *state);
void  transformer_end(void *state);

void *shakespeare_begin(const Workload *w, int64_t *parameters);        /* size: batch, length */
void *gpt2_begin(const Workload *w, int64_t *parameters);       /* size: batch, length */
void *scaled_gpt_begin(const Workload *w, int64_t *parameters);         /* size: batch, length, width, layers */
void *lora_begin(const Workload *w, int64_t *parameters);       /* size: batch, length */
void  gpt_step(void *state);
void  gpt_end(void *state);
/* Steps by several processes: each shard has the batch of gpt2_begin or shakespeare_begin. */
NnParallel *gpt_share(void *state, int64_t shards, NnProcesses *processes);
void  gpt_shared_step(void *state);

void *decode_begin(const Workload *w, int64_t *parameters);     /* size: prompt, tokens to write; kind: "gpt2", "llama" */
void  decode_step(void *state);
void  decode_end(void *state);

void *conv_begin(const Workload *w, int64_t *parameters);       /* size: batch, channels, height and width */
void  conv_step(void *state);
void  conv_end(void *state);

#endif
