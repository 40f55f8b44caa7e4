/* runs.h: a Transformer and a GPT, trained from nothing to a checkpoint and then asked to write: what tests break off,
 * deny memory and files, and repeat on other threads and processor paths. */
#ifndef KAERU_TESTS_RUNS_H
#define KAERU_TESTS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { int64_t layers, width, batch, steps, every; } RunSize;     /* a checkpoint each `every` steps */

typedef struct {
    const char *name;
    /* Trains until the last step and saves the checkpoint at `path`; with `resume` it goes on from that which lies
     * there. Calls `stepped` after each step, unless NULL. False with ag_error(). Nothing of Check is called. */
    bool (*train)(const RunSize *size, const char *path, bool resume, void (*stepped)(void));
    /* Loads the checkpoint into a new model and lets it write. */
    bool (*write)(const char *path);
} Run;

enum { N_RUNS = 2 };
extern const Run runs[N_RUNS];

#endif
