/* store.c: the finished runs in skip_lab_runs.csv, so that a program that was killed goes on where
 * it stopped. A run has a line for each block; one that tunes the rate has a single line. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

#define RUNS   "skip_lab_runs.csv"
#define HEADER "run,network,row,seed,rate,block,loss,held_out,steps,parameters,eigenvalue_before," \
               "eigenvalue_after,gradient_before,gradient_after,signal_before,signal_after"
enum { LOSS = 6, EIGENVALUE = 10, GRADIENT = 12, SIGNAL = 14 };

static Csv *csv;

/* Which run this is, with all options: a hash of 52 bits, which a double holds. */
static double key_of(const Trial *t)
{
    char text[512];
    int k = t->network;
    const int64_t number[] = { t->seed, t->tunes, lab.steps[k], lab.depth[k], lab.examples,
                               lab.hidden, lab.width, lab.batch, lab.context, lab.warmup,
                               lab.products };
    snprintf(text, sizeof text, "%d %s %.9g %.9g %s %s %s", k, rows[t->row].key, t->rate,
             lab.goal[k], lab.setup.init, lab.setup.optimizer, lab.setup.target);
    uint64_t hash = data_hash(DATA_HASH_BEGIN, text, strlen(text));
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        snprintf(text, sizeof text, " %" PRId64, number[i]);
        hash = data_hash(hash, text, strlen(text));
    }
    return (double)(hash >> 12);
}

void store_begin(bool fresh)
{
    char *part = example_path(RUNS ".part");
    if (fresh || access(part, F_OK) != 0) {
        training_run_remove(RUNS);
        training_run_remove(RUNS ".part");
    }
    csv = csv_resume(RUNS, HEADER, INFINITY, NULL);
    ag_free(part);
}

int64_t store_size(void)
{
    return csv_rows(csv);
}

static bool is_line(int64_t line, double key, int block)
{
    return csv_get(csv, line, 0) == key && csv_get(csv, line, 5) == block;
}

/* Returns a value as a float: the digits in the file are those of one. */
static double value(int64_t line, int column) { return (float)csv_get(csv, line, column); }

/* Sets what a line says of a block and of the whole run. */
static void read_line(int64_t line, Outcome *o)
{
    int block = (int)csv_get(csv, line, 5);
    o->loss = value(line, LOSS);
    o->held_out = value(line, LOSS + 1);
    o->steps = value(line, LOSS + 2);
    o->parameters = value(line, LOSS + 3);
    for (int k = 0; k < 2; k++) {
        o->eigenvalue[k] = value(line, EIGENVALUE + k);
        o->blocks[k].n = block;
        o->blocks[k].gradient[block] = value(line, GRADIENT + k);
        o->blocks[k].signal[block] = value(line, SIGNAL + k);
    }
}

bool store_find(const Trial *t, Outcome *o)
{
    double key = key_of(t);
    int n = t->tunes ? 0 : network_branches(t->network), found = 0;
    for (int64_t line = 0; line < csv_rows(csv) && found <= n; line++) {
        if (is_line(line, key, found)) {
            read_line(line, o);
            found++;
        }
    }
    return found > n;
}

void store_add(const Trial *t, Outcome *o)
{
    int n = t->tunes ? 0 : network_branches(t->network);
    int64_t first = csv_rows(csv);
    for (int i = 0; i <= n; i++) {
        const Blocks *b = o->blocks;
        csv_row(csv, key_of(t), t->network, t->row, (double)t->seed, t->rate, i, (float)o->loss,
                (float)o->held_out, o->steps, o->parameters, (float)o->eigenvalue[0],
                (float)o->eigenvalue[1], (float)b[0].gradient[i], (float)b[1].gradient[i],
                (float)b[0].signal[i], (float)b[1].signal[i]);
    }
    for (int64_t line = first; line <= first + n; line++) {
        read_line(line, o);                     /* the same numbers as after a kill */
    }
}

void store_end(void)
{
    csv_close(csv);
}
