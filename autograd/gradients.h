/* gradients.h: gradients, for backward rules, and the pass that computes them. */
#ifndef KAERU_GRADIENTS_H
#define KAERU_GRADIENTS_H

#include "shape.h"
#include "tensor_struct.h"

/* A rule adds the gradient of each input x, by one of these:
 *
 *     grad_into            writes dx, or adds it to what other rules have written: see Grad
 *     grad_to_add          only adds: to zeros if no other rule has written
 *     grad_in_place        computes dx from dy item by item, and may write it over dy
 *     grad_pass            dx = dy, of equal sizes: may share dy's memory
 *     grad_add             adds a dx that is there
 *
 * If x was broadcast to y's shape, grad_broadcast and grad_broadcast_done take the place of
 * grad_into, grad_pass_broadcast that of grad_pass, and grad_sum_to sums a dy that is there. */

/* Where a rule puts x's gradient: data is NULL if x requires none; overwrite it or, if `add`, add
 * to it. */
typedef struct { real *data; bool add; } Grad;
Grad  grad_into(Tensor *x);
real *grad_to_add(Tensor *x);                                       /* NULL if x requires none */
Grad  grad_in_place(Tensor *x, Tensor *y);
void  grad_pass(Tensor *x, Tensor *y);
void  grad_add(Tensor *x, const real *dx);
static inline real *grad_of(const Tensor *y) { return buffer_data(y->grad); }
/* Where the gradient is that a program may read, of a leaf or a retained tensor. */
static inline Buffer **gradient_of(Tensor *t) { return t->op ? &t->kept_grad : &t->grad; }

/* Memory for x's gradient in the shape of y: x's gradient if the sizes are equal, else scratch
 * memory, which grad_broadcast_done sums into x's gradient. */
Grad grad_broadcast(Tensor *x, const Tensor *y);
void grad_broadcast_done(Tensor *x, const Tensor *y, Grad g);
void grad_pass_broadcast(Tensor *x, Tensor *y);
/* Sums a gradient of shape `from` to x's shape, into x's gradient. */
void grad_sum_to(Tensor *x, const real *dy, const AgShape *from);

/* A rule of y calls this when it has read the values of the first input for the last time. Their
 * memory may then become that of the input's gradient. */
void rule_has_read(Tensor *y);
/* Whether the backward pass that runs releases nothing (ag_backward_keep). */
bool graph_kept(void);
/* A backward pass of this thread, with ag_backward_keep if `keep`. One in another is a usage error.
 * An error ends it, and the end of one of the scopes that were open when it began. */
void pass_begins(const char *what, bool keep);
bool pass_runs(void);
/* A usage error if an error, which the program has caught within the pass, or ag_end has ended
 * it. */
void check_pass(const char *what);
void pass_ends(void);
/* While on, a new gradient holds UNWRITTEN, so that ag_gradcheck finds a rule which does not write
 * it. Returns whether it was on. An error ends it. */
/* large, and its sum with a usual gradient is exact enough in a float */
#define UNWRITTEN 4096
bool mark_unwritten(bool on);
/* Whether backward may release this value: no rule will read it, and it is neither a leaf nor
 * retained. */
bool can_release(const Tensor *t);
void release_value(Tensor *t);

#endif
