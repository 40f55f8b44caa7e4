/* gradients.h: how backward rules write gradients, and the state of a backward pass.
 *
 * The rule of y = a + b passes dy on, and that of y = |x| writes dx item by item:
 *
 *     grad_pass(a, y);
 *     grad_pass(b, y);
 *
 *     Grad dx = grad_into(x);
 *     if (dx.data) { ... dx.data[i] = ..., or with dx.add: dx.data[i] += ... } */
#ifndef KAERU_GRADIENTS_H
#define KAERU_GRADIENTS_H

#include "shape.h"
#include "tensor_struct.h"

/* ---- for rules ------------------------------------------------------------------------------- */

/* Where a rule puts the gradient of an input: it writes to data or, if `add` is set, adds to it.
 * data is NULL if the input requires no gradient. */
typedef struct { real *data; bool add; } Grad;

/* Returns y's gradient, dy. */
static inline real *grad_of(const Tensor *y) { return buffer_data(y->grad); }

/* Returns where to write dx or, if another rule has written, to add it. */
Grad  grad_into(Tensor *x);
/* Returns where to add dx: zeros, if no other rule has written. NULL if x requires no gradient. */
real *grad_to_add(Tensor *x);
/* As grad_into, for a dx that is computed from dy item by item: the memory may be that of dy. */
Grad  grad_in_place(Tensor *x, Tensor *y);
/* Adds dx = dy; x and y have equal sizes. x's gradient may share the memory of y's. */
void  grad_pass(Tensor *x, Tensor *y);
/* Adds a dx that is computed. */
void  grad_add(Tensor *x, const real *dx);

/* If x was broadcast to y's shape, its gradient is a sum. grad_broadcast returns where to write dx
 * in the shape of y: x's gradient if the sizes are equal, else scratch memory.
 * grad_broadcast_done then sums the scratch memory into x's gradient. */
Grad grad_broadcast(Tensor *x, const Tensor *y);
void grad_broadcast_done(Tensor *x, const Tensor *y, Grad g);
/* As grad_pass, for an x that was broadcast to y's shape. */
void grad_pass_broadcast(Tensor *x, Tensor *y);
/* Adds dy, which has the shape `from`, summed to x's shape. */
void grad_sum_to(Tensor *x, const real *dy, const AgShape *from);

/* Tells that the rule of y has read the values of its first input, x, for the last time. Then
 * grad_into(x), which the rule calls after this, may use their memory for x's gradient. */
void rule_has_read(Tensor *y);

/* ---- the backward pass ----------------------------------------------------------------------- */

/* Begins a backward pass of this thread. If `keep` is set, it releases nothing (ag_backward_keep).
 * A pass within another one is a usage error. Besides pass_ends, an error ends a pass, and so does
 * the end of a scope that was open when the pass began: a function of the program that the pass
 * calls can cause both (ag_custom, ag_watch_backward). */
void pass_begins(const char *what, bool keep);
void pass_ends(void);
bool pass_runs(void);
/* Checks that the pass still runs: the program can have caught an error in it, or have called
 * ag_end. */
void check_pass(const char *what);
/* Returns whether the pass releases nothing. */
bool graph_kept(void);

/* Returns whether backward may release t's value: no rule will read it, and t is neither a leaf nor
 * retained. */
bool can_release(const Tensor *t);
void release_value(Tensor *t);

/* Copies a gradient of n numbers if others share its memory, so that it can be written. */
void grad_unshare(Buffer **gradient, int64_t n);
/* Returns the place of the gradient that the program may read: `grad` of a leaf, else `kept_grad`,
 * which only a retained tensor has. */
static inline Buffer **gradient_of(Tensor *t) { return t->op ? &t->kept_grad : &t->grad; }

/* Switches a check of ag_gradcheck on or off, and returns whether it was on. While it is on, a new
 * gradient is filled with UNWRITTEN. A rule that does not write its gradient then leaves this large
 * number there. UNWRITTEN is not larger, so that the sum with a usual gradient keeps enough digits.
 * An error switches the check off. */
#define UNWRITTEN 4096
bool mark_unwritten(bool on);

#endif
