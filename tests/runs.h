/* runs.h: whole runs of a Transformer and of a GPT: train a new model, save a checkpoint, load it, generate. Tests stop these
 * runs, make their allocations and file calls fail, and repeat them on other threads and with other instruction sets. */
#ifndef KAERU_TESTS_RUNS_H
#define KAERU_TESTS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "kaeru/parallel.h"

typedef struct {
    int64_t layers, width, batch, steps, every;                 /* a checkpoint each `every` steps */
    int64_t shards;                                             /* of a step; 0: without kaeru/parallel.h */
    NnProcesses *processes;                                     /* that train together; NULL: this one alone */
} RunSize;

typedef struct {
    const char *name;
    /* Trains until the last step and saves the checkpoint at `path`; with `resume` it continues from the checkpoint at
     * `path`. Calls `stepped` after each step, unless NULL. False with ag_error(). Calls no function of Check. */
    bool (*train)(const RunSize *size, const char *path, bool resume, void (*stepped)(void));
    /* Loads the checkpoint into a new model and generates from it. False with ag_error(). */
    bool (*generate)(const char *path);
} Run;

enum { N_RUNS = 2 };
extern const Run runs[N_RUNS];
extern const RunSize final_size;        /* of the models whose hashes are compared: large enough for several threads */

#endif
