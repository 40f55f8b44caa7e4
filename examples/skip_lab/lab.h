/* lab.h: what the files of skip_lab share: rows, networks, what is measured, and finished runs. */
#ifndef KAERU_EXAMPLES_LAB_H
#define KAERU_EXAMPLES_LAB_H

#include "common/common.h"
#include "kaeru/nn.h"
#include "skip_connection/report.h"
#include "skip_connection/setup.h"

enum { FFN, GPT_ON_TEXT, NETWORKS };    /* the two networks */
enum { MAX_BRANCHES = MAX_DEPTH, MOST_PRODUCTS = 100 };

/* ---- rows: ways to connect the branches f ---------------------------------------------------- */

/* What a row is built from: n branches of a network. bare: without a norm of their own. */
typedef struct { int network, n; int64_t width; bool bare; const Setup *setup; } Parts;
/* Returns the n branches. Branch i takes `width` numbers, and `growth` more for each one before. */
ModuleList *branches_new(const Parts *p, int64_t growth);
/* Returns f_i(x). */
Tensor *branch(ModuleList *f, int i, Tensor *x);
/* Returns x, the output of the next block. While blocks are measured, it is kept for that. */
Tensor *note(Tensor *x);

/* A row of the table: key for --rows, name in tables, the networks that it is for, whether its
 * branches have no norm of their own. Its constructor sets module.forward. */
typedef struct {
    const char *key, *name;
    bool in[NETWORKS], bare;
    void *(*make)(const Parts *p);
} Row;
extern const Row rows[];
int rows_count(void);

/* ---- networks and their data ----------------------------------------------------------------- */

typedef struct {
    Setup setup;
    int64_t steps[NETWORKS], depth[NETWORKS];   /* depth: blocks */
    int64_t examples, hidden, width, batch, context, warmup, products;
    double goal[NETWORKS];                      /* a loss */
} LabOptions;
extern LabOptions lab;

/* x as vectors (N,D), or ids (B,T), with what the network should return. */
typedef struct { Tensor *x, *target; } Batch;
/* train: of the GPT, what the insides are measured on; a step has windows of its own. */
typedef struct { int network; Batch train, held_out; } Data;

/* Text for the GPT as ids. To be called once. */
void text_begin(void);
/* Draws the data of a seed. The generator's state is then that before the first weights. */
Data data_new(int network, uint64_t seed);
/* The batch of the next step: all rows, or windows of the text. */
Batch data_batch(const Data *d);

/* The row's stack of branches, for the GPT between an embedding and a linear layer. */
typedef struct {
    Module module;
    Embedding *tokens;
    Tensor *positions;
    LayerNorm *norm;
    Linear *out;
    Module *stack;
} Model;
Model *model_new(int network, const Row *row);
int network_branches(int network);
/* Returns the loss of a batch, of one item. */
Tensor *model_loss(Model *m, const Batch *b);

/* ---- what is measured ------------------------------------------------------------------------ */

/* The gradient and the signal at each block; block 0 is the input of the stack. */
void measure_blocks(Model *m, const Batch *b, Blocks *blocks);
/* Returns the largest eigenvalue of the Hessian of the loss, from products of the Hessian and
 * vectors; NaN if they are not finite. */
double largest_eigenvalue(Model *m, const Batch *b, int products);

/* ---- runs, and the file of the finished ones ------------------------------------------------- */

typedef struct {
    double loss, held_out, steps, parameters;   /* steps: to the goal; 0 if it is not reached */
    double eigenvalue[2];                       /* before and after training */
    Blocks blocks[2];
} Outcome;
typedef struct { int network, row; int64_t seed; double rate; bool tunes; } Trial;

/* Opens skip_lab_runs.csv. Unless `fresh`, takes the runs of a program that was killed. */
void store_begin(bool fresh);
int64_t store_size(void);
/* Whether a run is in the file; `o` gets what came out. */
bool store_find(const Trial *t, Outcome *o);
void store_add(const Trial *t, Outcome *o);
void store_end(void);

/* ---- the table ------------------------------------------------------------------------------- */

/* What came out of a row with each seed, at the rate that was best for it. at_edge: the best rate
 * is the first or the last that was tried. */
typedef struct { int row; double rate; bool at_edge; Outcome outcome[MAX_SEEDS]; } Result;

/* Opens skip_lab.csv and skip_lab_blocks.csv, and draws at the end. */
void table_begin(void);
/* Prints and writes the rows of a network, and says what they show. */
void table_network(int network, const Result *results, int n, int seeds);
void table_end(void);

#endif
