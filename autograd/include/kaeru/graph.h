/* graph.h: the graph that operations record, and gradients by a backward pass through it.
 *
 *     AgScope step = ag_begin(AG_RECORD);                 everything created from here on lives until ag_end(step)
 *     Tensor *y = ag_tanh(ag_matmul(x, w));             each operation computes and records itself
 *     Tensor *loss = ag_mean(ag_mul(y, y));
 *     ag_backward(loss);                                w's gradient is now in tensor_grad(w)
 *     ag_end(step);
 *
 * The operations are in autograd.h, which includes this file. */
#ifndef KAERU_GRAPH_H
#define KAERU_GRAPH_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* Computes gradients from a loss of one element, whose own gradient is 1. Rules run in the reverse order of recording, and
 * gradients of leaves add up. Intermediate values and gradients are released during the pass. After it, leaves, the loss and
 * tensors marked by ag_retain can be read. A part of the graph that another loss of the same scope still needs is kept.
 * Gradients have no gradients: backward itself is not recorded.
 * It is a usage error if values that a rule reads were written in place after its operation had read them: by an optimizer's
 * step, nn_init_*, ag_fill*, tensor_copy, tensor_mutable_data or ag_freeze_bf16, or, of a gradient, by ag_grad_scale. */
void ag_backward(Tensor *loss);
/* As ag_backward, from any tensor y, with its gradient dy given (same shape). */
void ag_backward_from(Tensor *y, const Tensor *dy);
/* As ag_backward, but releases nothing: the graph can be extended, and backward can run through it again. */
void ag_backward_keep(Tensor *loss);

/* The gradients of y, which has one element, with respect to in[0..n): out[i] is one of in[i]'s shape, a constant of this
 * scope, or NULL if y does not depend on in[i]. Nothing else changes: no gradient is added to those of leaves, nothing is
 * released, and ag_watch_backward is not told. in[i] is a leaf or a result. */
void ag_grad(Tensor *y, Tensor *const *in, int n, Tensor **out);

/* Watches the backward passes of this thread: `begun` is called with the loss before the first rule runs, `complete` with each
 * leaf that has got a gradient, as soon as no other rule will add to it. So a program can use or send a gradient while the
 * pass goes on. Both functions NULL: no more calls. NnParallel replaces the watch in each step, then removes it. */
typedef struct {
    void (*begun)(void *arg, Tensor *loss);
    void (*complete)(void *arg, Tensor *leaf);
    void *arg;
} AgWatch;
void ag_watch_backward(AgWatch watch);

/* Moves the gradient of a leaf into a tensor that the caller frees (tensor_free); NULL if there is none. */
Tensor *ag_take_gradient(Tensor *leaf);
/* Moves it back: `gradient`, from ag_take_gradient, becomes the gradient of the leaf and is freed. */
void ag_put_gradient(Tensor *leaf, Tensor *gradient);

/* Keeps t's value and gradient readable after backward. Returns t. */
Tensor *ag_retain(Tensor *t);

/* A constant with t's value, outside the graph. It shares t's memory. */
Tensor *ag_detach(Tensor *t);

/* Makes a copy of a weight (out,in) in bfloat16, which takes half as much memory as the weight. The weight, which no scope may
 * own, stays as it is. ag_linear reads the copy instead of the weight in products with AG_BF16 that are not recorded, with the
 * same results. It is for generation, where reading the weights takes most of the time. The copy is not used after a write that
 * the library counts. A write through a pointer that was taken before is not noticed: call it again. */
void ag_pack_weight(Tensor *weight);
void ag_unpack_weight(Tensor *weight);                            /* frees the copy */

/* Freezes a weight (out,in) and keeps it in bfloat16 alone, in two bytes a number: rounds it as AG_BF16 rounds operands, and
 * changes its type to AG_PACKED. No scope may own it, and `in` must be even. ag_linear and ag_linear_cross_entropy multiply
 * by it, with AG_BF16 and with the same results as by the rounded reals, and pass gradients to x. ag_embedding reads its rows.
 * ag_from_bf16 gives its values as reals; to other functions, it is a tensor of the wrong type. */
void ag_freeze_bf16(Tensor *weight);
/* Reads or writes n rows of a packed matrix (R,C) from `first` on: C / 2 items each, of two numbers in bfloat16, the first one
 * in the lower half. */
void ag_packed_read(const Tensor *t, int64_t first, int64_t n, uint32_t *rows);
void ag_packed_write(Tensor *t, int64_t first, int64_t n, const uint32_t *rows);
/* Continues the hash h (0 at first) by the values of t, of any type. A packed matrix has the hash of its values as floats. */
uint64_t tensor_hash(const Tensor *t, uint64_t h);
/* A number that changes with each write to the values of t that the library counts. */
uint32_t tensor_version(const Tensor *t);

/* ---- debugging --------------------------------------------------------------------------------------------------- */

/* Compares the gradients of f with numerical ones; returns whether they agree. f must depend on in[0..n) alone, must give the
 * same result in each call, and must not write to them. The inputs must be leaves with moderate values, and one at least must
 * require a gradient; else it is a usage error. Their gradients are removed. The loss is a sum of the outputs with random
 * weights, because a plain sum hides errors (every softmax sums to 1). The graph contains two calls of f, which reveals a rule
 * that overwrites a gradient instead of adding to it. f gets results of operations, not leaves, so that backward releases
 * them: a rule that reads a value it does not declare is then a usage error.
 * Unless `report` is NULL, it gets the number of wrong entries of each input, the likely reason (no gradient, a missing factor,
 * only one of two uses, ...), and the first wrong entries: index, gradient, numerical gradient, ratio.
 * Tolerances are PyTorch's in libkaeru_double (step 1e-6, atol 1e-5, rtol 1e-3); in float step 1e-2 and 1e-3 of the
 * gradient's scale. More is allowed, up to 20 times as much, where the numerical gradient changes if the step doubles.
 * After ag_precision(AG_BF16) the inputs must be multiples of 1/16 from -7 to 7, and the step is 1/16: products of two inputs
 * are then exact. This form is for functions that are linear in each input, such as matmul and linear. */
typedef Tensor *AgFunction(Tensor **in, void *arg);
bool ag_gradcheck(AgFunction *f, void *arg, Tensor **in, int n, FILE *report);

/* Prints the backward pass from a loss of one element, step by step. Each step shows the rule of one operation, the values and
 * the gradient that the rule reads, the gradient of each input, and the sum if a value is used more than once. Tensors have
 * their names (tensor_name), or the name of the operation and a number; large ones are shown by shape, range and norm. The
 * numbers are those of ag_backward. The graph and its gradients do not change. Call it before ag_backward. */
void ag_explain(FILE *out, Tensor *loss);

/* Writes the graph of y for Graphviz: operations with shapes, leaves by name, scalars with values. */
void ag_graph_dot(FILE *out, Tensor *y);
/* Writes one step of ag_explain as a drawing for Graphviz, and returns the number of frames, n: `frame` is 0 to n - 1. The
 * first half of the frames is the forward pass, where each frame adds the value of one operation. The second half is the
 * backward pass, where each frame adds the gradients that one rule computes. If a number is used several times, each of its
 * arrows has the gradient of this use. */
int  ag_graph_frame(FILE *out, Tensor *loss, int frame);

/* While on (per thread), every result and every gradient is searched for NaN and infinity. The first one found is a usage
 * error that names the operation, its shapes and the line that called it. */
void ag_find_nan(bool on);

/* While on (per thread; from the start if the environment has KAERU_GUARD=1), memory is checked: the bytes around every
 * tensor's values, released buffers, and tensors whose scope has ended. An out-of-bounds write is a usage error at the next
 * operation; the message names the tensor and the line that made it. A write to released memory is found at the end of the
 * scope. Also found: a value that a backward rule reads and that was changed through a pointer in between, and a tensor of a
 * thread that has ended with its scope open. A training step takes two to four times as long. */
void ag_guard(bool on);

/* While on (per thread; from the start if the environment has KAERU_WARN=1), likely mistakes that are no errors are told on
 * stderr, one line for each kind, once. docs/extending.md lists them. Results do not change. */
void ag_warn(bool on);
/* Tells "kaeru: warning: what: text (at FILE:LINE)" of the user's line while ag_warn is on, once for each format. */
void ag_warning(const char *what, const char *format, ...) AG_PRINTF(2, 3);
/* For optimizers: parameters are updated now. Returns whether ag_warn is on. */
bool ag_warn_of_step(void);

/* ---- updates of leaves in place, not recorded: for optimizers and initializers ----------------------------------- */

/* One step of Adam, number `step` (from 1), on n items of w from `first` on, with grad times grad_scale as g:
 *
 *     m = beta1 m + (1 - beta1) g      v = beta2 v + (1 - beta2) g^2
 *     n = m / (1 - beta1^step)         r = v / (1 - beta2^step)            w = w - lr n / (sqrt(r) + eps)
 *
 * grad, exp_avg (m) and exp_avg_sq (v) are arrays of n numbers; m and v are zeros at first. Weight decay is that of AgAdam. */
void   ag_adam_update_part(Tensor *w, int64_t first, int64_t n, const ag_real *grad, ag_real *exp_avg, ag_real *exp_avg_sq,
                           const AgAdam *o, int64_t step, double grad_scale);

/* One step of SGD on n items of w from `first` on, with grad times grad_scale, plus weight_decay w, as g:
 *
 *     m = momentum m + g               w = w - lr m                        with nesterov: w = w - lr (g + momentum m)
 *
 * grad and momentum (m) are arrays of n numbers; momentum NULL: w = w - lr g. At the first step (is_first), m is set to g. */
void   ag_sgd_update_part(Tensor *w, int64_t first, int64_t n, const ag_real *grad, ag_real *momentum, const AgSgd *o,
                          bool is_first, double grad_scale);

/* Of arrays of n numbers: the sum of squares, with the same bits on any number of threads, and y += x. */
double ag_sum_squares(const ag_real *x, int64_t n);
void   ag_add_to(ag_real *y, const ag_real *x, int64_t n);

/* The sum of squares of w's gradient, 0 without one: w is a leaf or a retained tensor. ag_grad_scale multiplies the gradient of
 * w, a leaf, by a factor. */
double ag_grad_sum_squares(Tensor *w);
void   ag_grad_scale(Tensor *w, double factor);

/* Fills w from a distribution, with this thread's generator. */
void   ag_fill_uniform(Tensor *w, double low, double high);
void   ag_fill_normal(Tensor *w, double mean, double deviation);
void   ag_fill(Tensor *w, double value);

/* ---- operations of the program's own ------------------------------------------------------------------------------- */

/* An operation of your own, if those of autograd.h are not enough: plain loops for forward and backward. For y = x^3:
 *
 *     static void forward(const AgCustomCall *c)
 *     {
 *         const ag_real *x = tensor_data(c->in[0]);
 *         ag_real *y = tensor_mutable_data(c->y);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) y[i] = x[i] * x[i] * x[i];
 *     }
 *
 *     static void backward(const AgCustomCall *c)
 *     {
 *         const ag_real *x = tensor_data(c->in[0]);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) c->dx[0][i] += c->dy[i] * 3 * x[i] * x[i];
 *     }
 *
 *     static const AgCustom cube = { "cube", forward, backward, AG_NEEDS_X(0), "x^3", "dx = dy 3 x^2" };
 *     Tensor *y = ag_custom(&cube, tensor_shape(x), (Tensor *[]){ x }, 1, NULL, 0);
 *
 * It is then an operation like the others: recorded, explained, drawn, searched for NaN. Check it with ag_gradcheck. */
enum { AG_CUSTOM_INPUTS = 16 };
#define AG_NEEDS_NONE 0
#define AG_NEEDS_X(i) (1 << (i))                        /* the value of input i */
#define AG_NEEDS_Y    (1 << AG_CUSTOM_INPUTS)           /* the value of the output */
typedef struct {
    Tensor *const *in;          /* the inputs; NULL for an absent one */
    int n;
    Tensor *y;                  /* forward writes its values, which start as zeros */
    const void *args;           /* the copy of ag_custom's `args` */
    /* For backward only (in forward: NULL): */
    const ag_real *dy;          /* the complete gradient of y */
    ag_real *const *dx;         /* add the gradient of input i to dx[i]; NULL if the input requires none */
} AgCustomCall;
typedef struct {
    const char *name;
    void (*forward)(const AgCustomCall *c), (*backward)(const AgCustomCall *c);
    int needs;                  /* the values that backward reads; to read another one is a usage error */
    const char *forward_text, *backward_text;   /* formulas for ag_explain; inputs are x, or x0, x1, ... NULL: none */
} AgCustom;
/* Computes and records y of that shape from n inputs, 0 to AG_CUSTOM_INPUTS, of any type. The `size` bytes at `args` are
 * copied. `op` must outlive the graph. If backward needs other values, compute them before the call and pass them as an
 * input. */
Tensor *ag_custom(const AgCustom *op, AgShape shape, Tensor *const *in, int n, const void *args, size_t size);

/* ---- less memory for more time ------------------------------------------------------------------------------------- */

/* A point of this thread's computation, until the innermost scope ends. */
typedef struct { const void *newest; AgScope scope; } AgMark;
AgMark ag_mark(void);
/* What ag_recompute releases. Both: results that no backward rule reads.
 * AG_CHEAP: also results of 2 MiB or more that take little time: of elementwise operations, norms, dropout, embedding, slice.
 * AG_PRODUCTS: also smaller ones of these operations, and results of linear and matmul.
 * The results of other operations, such as attention, are kept, and what their rules read. */
typedef enum { AG_CHEAP, AG_PRODUCTS } AgRecompute;
/* Releases values that were computed and recorded since the mark, but not y, and returns y. When a backward rule or the program
 * reads such a value, it is first recomputed from its inputs: less memory, more time, the same bits (Chen et al. 2016,
 * "Training Deep Nets with Sublinear Memory Cost"). Results with ag_retain are kept. Without recording it does nothing.
 * Typically y is the result of one of many layers:
 *
 *     AgMark begin = ag_mark();
 *     x = ag_recompute(begin, layer(x), AG_PRODUCTS); */
Tensor *ag_recompute(AgMark since, Tensor *y, AgRecompute what);

#include "kaeru/calls/graph.h"

AG_PUBLIC_END
#endif
