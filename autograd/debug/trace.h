/* trace.h: a backward pass taken step by step, on the side: what ag_explain tells and ag_graph_frame draws.
 *
 * Every tensor behind the loss gets a twin, which shares its value and what its rule needs and has a gradient of its
 * own. The rules run on the twins, in backward's order, so that the numbers are those of backward, and the graph itself
 * stays as it is. */
#ifndef KAERU_TRACE_H
#define KAERU_TRACE_H

#include "internal.h"

/* The tensors behind y, y the last, each after its inputs: operations in the order in which they ran, every leaf where
 * it is used first. Each has its place in `number`. In the arena. */
Tensor **nodes_behind(Site at, const char *what, Tensor *y, uint32_t *n);

typedef struct {
    Site at;
    Scope scope, step_scope;    /* the second while `part` holds something */
    const char *what;
    Tensor **node, **twin;
    int *uses;                  /* how often each node is an input of others here */
    uint32_t n, ops, at_node;   /* at_node: the last step's, n before the first */
    Tensor **before;            /* gradient of each input before the step; NULL: none had arrived */
    Tensor **part;              /* what this step's rule gave each input, the same tensor twice apart; NULL: nothing */
} Story;

/* Begins at the loss (one item), whose gradient is 1; opens a scope, which story_end ends. */
Story story_begin(Site at, const char *what, Tensor *loss);
/* Runs the next rule; false if there are no more. Then node[at_node] and twin[at_node] are the operation's result, and
 * twin[i]->grad are the gradients as they stand now. */
bool  story_step(Story *s);
void  story_end(Story *s);

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* A short name for node i in formulas: its own if it is one word that no other node has, else t<i>. */
typedef char Symbol[24];
const char *story_symbol(const Story *s, uint32_t i, Symbol text);
/* A formula of the operation that made node i, with its tensors' symbols and its numbers put in; nothing if NULL.
 * `end`: the character at which it stops, e.g. ':' (shapes follow), or 0. */
void story_formula(FILE *out, const Story *s, uint32_t i, const char *formula, char end);
/* "tanh(z)" */
void story_call(FILE *out, const Story *s, uint32_t i);
/* All values if they are few ("[[1, 2], [3, 4]]"), else their shape, range and norm; `none` if there are none. */
void story_values(FILE *out, const Tensor *t, const void *values, int64_t few, const char *none);

#endif
