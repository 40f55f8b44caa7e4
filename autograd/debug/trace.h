/* trace.h: the nodes of a graph in order, and a backward pass that runs one rule at a time. ag_explain and ag_graph_frame write
 * this as text and as drawings.
 *
 * The rules run on copies of the nodes. A copy shares the node's value and what its rule reads, and has its own gradient. The
 * order is that of ag_backward, so the numbers are the same. The graph itself does not change. */
#ifndef KAERU_TRACE_H
#define KAERU_TRACE_H

#include <stdio.h>

#include "tensor_struct.h"

/* The tensors that y was computed from, and y as the last one. Operations are in the order in which they ran; a leaf comes
 * before the first operation that uses it. Sets each tensor's `number` to its index. The array is in the arena. */
Tensor **graph_nodes(const char *what, Tensor *y, uint32_t *n);

/* A short name for a node in formulas: the tensor's name if it is one short word and unique among the nodes. Else it tells what
 * the node is, with a number: linear2, the second result of `linear` without such a name; weight1 for "encoder.weight"; ids1,
 * mask1, const1 or param1 for leaves. The result without a name is `loss`. */
typedef char Symbol[32];

typedef struct {
    AgScope scope, step_scope;  /* step_scope is open while `part` is not NULL */
    const char *what;
    Tensor **node, **copy;
    Symbol *symbol;
    int *uses, *left;           /* how often each node is an input; how often of operations whose rules have not run */
    uint32_t n, ops, at_node;   /* at_node: the node whose rule ran last; n before the first step */
    Tensor **before;            /* the gradient of each input before the step; NULL: it had none */
    Tensor **part;              /* what the step's rule adds for each input, if a tensor is several inputs for each of them;
                                 * NULL: nothing */
} Trace;

/* Starts at the loss (one item), whose gradient is 1. Opens a scope, which trace_end ends. */
Trace trace_begin(const char *what, Tensor *loss);
/* Runs the next rule; false if there is none. Then node[at_node] and copy[at_node] are the operation's result, and
 * copy[i]->grad are the gradients after this step. */
bool  trace_step(Trace *trace);
void  trace_end(Trace *trace);

/* ---- text (trace_text.c) ----------------------------------------------------------------------------------------- */

void trace_set_symbols(Trace *trace);
static inline const char *symbol_of(const Trace *trace, const Tensor *t) { return trace->symbol[t->origin.number]; }
/* Writes a formula of the operation that made node i, with the symbols and numbers of this call and without inputs that this
 * call does not have; nothing if it is NULL. If a tensor is several inputs, its gradients are written as a sum. Stops at any
 * character of `ends`, e.g. ":" (shapes follow). `between` replaces ", " and "; " between two gradients unless it is NULL. */
void trace_formula(FILE *out, const Trace *trace, uint32_t i, const char *formula, const char *ends, const char *between);
/* The number of lines that trace_formula writes if `between` is the end of a line. */
int trace_clauses(const Trace *trace, uint32_t i, const char *formula);
/* Writes "tanh(z)". */
void trace_call(FILE *out, const Trace *trace, uint32_t i);
/* Writes all values if there are at most max_items ("[[1, 2], [3, 4]]"), else their shape, range and norm. NULL: released. */
void trace_values(FILE *out, const Tensor *t, const void *values, int64_t max_items);
/* Writes the gradient of x. If the last step added to it, writes what x had before and what the rule added, with `plus` between
 * two terms and `equals` before their sum: "0.46212 + 0.39322 = 0.85534". */
void trace_gradient(FILE *out, const Trace *trace, const Tensor *x, const char *plus, const char *equals, int64_t max_items);

#endif
