/* autograd.h: tensors, the graph that operations record, and the way back through it.
 *
 *     Scope step = ag_begin(AG_RECORD);                 everything made from here on lives until ag_end(step)
 *     Tensor *y = ag_tanh(ag_matmul(x, w));             each operation computes and records itself
 *     Tensor *loss = ag_mean(ag_mul(y, y));
 *     ag_backward(loss);                                w's gradient is now in tensor_grad(w)
 *     ag_end(step);
 *
 * Read this file from top to bottom; the operations themselves are listed in ops.h, which the build writes from the one
 * list autograd/ops/ops.def. */
#ifndef KAERU_AUTOGRAD_H
#define KAERU_AUTOGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kaeru/real.h"

#pragma GCC visibility push(default)    /* what the public headers declare is what the library exports */

/* ---- errors ------------------------------------------------------------------------------------------------------
 * Two kinds. Misuse (shapes that do not fit, an index out of range, a tensor whose scope has ended) and memory that
 * cannot be had: the message names the operation, the shapes and the caller's line; the handler gets it and must not
 * return. The outside world (files, text): the function returns false or NULL and ag_error() tells why. */

/* A place in the caller's source. Functions that can fail take one first; macros of the plain name pass it along. */
typedef struct { const char *file; int line; } Site;
#define AG_HERE ((Site){ __FILE__, __LINE__ })

typedef void AgErrorHandler(const char *message);
/* Installs a handler for misuse, for this thread; NULL: print to stderr and abort, the default. A handler may leave by
 * longjmp: ag_end on a scope that was open at the setjmp then frees everything made inside it, modules included. A
 * handler that returns is followed by abort(). Returns the former one. */
AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler);

#if defined(__GNUC__)
#define AG_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define AG_PRINTF(text, first)
#endif
/* Misuse: reports "what: message" with the place to the handler; does not return. */
_Noreturn void ag_usage_error(Site at, const char *what, const char *format, ...) AG_PRINTF(3, 4);

/* The outside world: ag_set_error notes a message (one line) and returns false, so that a loader can end with
 * `return ag_set_error(...)`; ag_error gives this thread's last one ("" if none). */
bool ag_set_error(const char *format, ...) AG_PRINTF(1, 2);
const char *ag_error(void);

/* A layer says whom it works for, so that a message from inside shows the line of the model, too:
 * #define nn_linear(...) AG_CALL("nn_linear", (nn_linear)(__VA_ARGS__)). The value is the call's own. An argument that
 * fails is not inside the layer: a message leaves out layers that are called at its own place, as all that the
 * arguments of a macro hold has the line of the macro. */
#define AG_CALL(name, call) (ag_enter(AG_HERE, name), ag_leave(call))
void ag_enter(Site at, const char *name);
struct Tensor *ag_leave(struct Tensor *result);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Memory that is not a tensor's, zeroed; n items of the given size, the product checked. Never NULL: failure is misuse
 * (see above). ag_resize keeps the old items, zeroes new ones and frees `p`. */
void *ag_alloc_at(Site at, size_t n, size_t size);
void *ag_resize_at(Site at, void *p, size_t old_n, size_t n, size_t size);
void  ag_free(void *p);
char *ag_strdup_at(Site at, const char *s);
#define ag_alloc(...)  ag_alloc_at(AG_HERE, __VA_ARGS__)
#define ag_resize(...) ag_resize_at(AG_HERE, __VA_ARGS__)
#define ag_strdup(...) ag_strdup_at(AG_HERE, __VA_ARGS__)
/* The same, but owned by the innermost scope, which frees it. */
void *ag_scratch_at(Site at, size_t n, size_t size);
#define ag_scratch(...) ag_scratch_at(AG_HERE, __VA_ARGS__)

/* What this thread's tensors use. Buffers that tensors give back are kept for the next ones of that size, so
 * `system_calls`, the times that the system was asked for memory, stands still once shapes repeat. */
typedef struct { size_t in_use, peak, cached; int64_t system_calls; } AgMemory;   /* bytes, bytes, bytes, count */
AgMemory ag_memory(void);
void ag_memory_reset_peak(void);
/* Returns cached buffers to the system. */
void ag_memory_trim(void);

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

#define AG_MAX_DIMS 8
/* A shape of 0 (a scalar) to 8 dimensions, each of size 0 or more. */
typedef struct { int ndim; int64_t dim[AG_MAX_DIMS]; } Shape;
#define SHAPE(...) \
    ((Shape){ (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } })
#define SCALAR ((Shape){ 0, { 0 } })

/* A list of dimensions, negative ones counted from the last: DIMS(-1), DIMS(0, 2). */
typedef struct { int n; int dim[AG_MAX_DIMS]; } Dims;
#define DIMS(...) ((Dims){ (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), { __VA_ARGS__ } })

typedef enum {
    AG_REAL,        /* real: float32 (float64 in libkaeru_double) */
    AG_INT,         /* int32_t: token ids, indices, targets */
    AG_BOOL         /* uint8_t 0 or 1: masks; true = may be seen */
} DType;

/* A dense row-major array with a shape. Opaque; the functions below read it. */
typedef struct Tensor Tensor;

/* Each of these returns a tensor that belongs to the innermost open scope of this thread. */
Tensor *tensor_zeros_at(Site at, Shape shape);
Tensor *tensor_ones_at(Site at, Shape shape);
Tensor *tensor_full_at(Site at, Shape shape, double value);
Tensor *tensor_arange_at(Site at, double start, double stop, double step);              /* (ceil((stop-start)/step)) */
Tensor *tensor_from_at(Site at, Shape shape, const real *values);                       /* copies */
Tensor *tensor_ints_at(Site at, Shape shape, const int32_t *values);                    /* copies; NULL: zeros */
Tensor *tensor_bools_at(Site at, Shape shape, const uint8_t *values);                   /* copies; NULL: false */
Tensor *tensor_uniform_at(Site at, Shape shape, double low, double high);               /* in [low, high) */
Tensor *tensor_normal_at(Site at, Shape shape, double mean, double deviation);
Tensor *tensor_randint_at(Site at, Shape shape, int32_t low, int32_t high);             /* AG_INT in low..high-1 */
#define tensor_zeros(...)   tensor_zeros_at(AG_HERE, __VA_ARGS__)
#define tensor_ones(...)    tensor_ones_at(AG_HERE, __VA_ARGS__)
#define tensor_full(...)    tensor_full_at(AG_HERE, __VA_ARGS__)
#define tensor_arange(...)  tensor_arange_at(AG_HERE, __VA_ARGS__)
#define tensor_from(...)    tensor_from_at(AG_HERE, __VA_ARGS__)
#define tensor_ints(...)    tensor_ints_at(AG_HERE, __VA_ARGS__)
#define tensor_bools(...)   tensor_bools_at(AG_HERE, __VA_ARGS__)
#define tensor_uniform(...) tensor_uniform_at(AG_HERE, __VA_ARGS__)
#define tensor_normal(...)  tensor_normal_at(AG_HERE, __VA_ARGS__)
#define tensor_randint(...) tensor_randint_at(AG_HERE, __VA_ARGS__)

Shape   tensor_shape_at(Site at, const Tensor *t);
int     tensor_ndim_at(Site at, const Tensor *t);
int64_t tensor_numel_at(Site at, const Tensor *t);                                      /* product of the sizes */
DType   tensor_dtype_at(Site at, const Tensor *t);
int64_t tensor_dim_at(Site at, const Tensor *t, int dim);                               /* size; dim -1: the last */
/* The values, row-major. Misuse if the type is another or if backward gave the values back (see ag_retain). Writing is
 * allowed on leaves (data, parameters) alone. */
real    *tensor_data_at(Site at, const Tensor *t);
int32_t *tensor_int_data_at(Site at, const Tensor *t);
uint8_t *tensor_bool_data_at(Site at, const Tensor *t);
/* The value of a tensor of one element, of any type. */
double   tensor_item_at(Site at, const Tensor *t);
#define tensor_shape(...)     tensor_shape_at(AG_HERE, __VA_ARGS__)
#define tensor_ndim(...)      tensor_ndim_at(AG_HERE, __VA_ARGS__)
#define tensor_numel(...)     tensor_numel_at(AG_HERE, __VA_ARGS__)
#define tensor_dtype(...)     tensor_dtype_at(AG_HERE, __VA_ARGS__)
#define tensor_dim(...)       tensor_dim_at(AG_HERE, __VA_ARGS__)
#define tensor_data(...)      tensor_data_at(AG_HERE, __VA_ARGS__)
#define tensor_int_data(...)  tensor_int_data_at(AG_HERE, __VA_ARGS__)
#define tensor_bool_data(...) tensor_bool_data_at(AG_HERE, __VA_ARGS__)
#define tensor_item(...)      tensor_item_at(AG_HERE, __VA_ARGS__)

/* Copies values from src of the same shape and type into leaf dst. */
void tensor_copy_at(Site at, Tensor *dst, const Tensor *src);
#define tensor_copy(...) tensor_copy_at(AG_HERE, __VA_ARGS__)
/* A name for messages, graphs and printing; kept as a copy. Returns t. */
Tensor *tensor_name_at(Site at, Tensor *t, const char *name);
#define tensor_name(...) tensor_name_at(AG_HERE, __VA_ARGS__)
const char *tensor_get_name_at(Site at, const Tensor *t);                               /* "" if none */
#define tensor_get_name(...) tensor_get_name_at(AG_HERE, __VA_ARGS__)

/* As PyTorch prints: 4 digits, scientific where sizes differ much, long dimensions shortened to 3 and 3 items. */
void tensor_fprint_at(Site at, FILE *out, const Tensor *t);
#define tensor_print(...)  tensor_fprint_at(AG_HERE, stdout, __VA_ARGS__)
#define tensor_fprint(...) tensor_fprint_at(AG_HERE, __VA_ARGS__)
/* "(3, 4)" into text; returns text. */
#define AG_SHAPE_TEXT 192
const char *shape_text(Shape shape, char text[AG_SHAPE_TEXT]);
bool    shape_equal(Shape a, Shape b);
/* The number of items; -1 if it, or the product of the sizes that are not 0, overflows. */
int64_t shape_numel(Shape shape);

/* ---- lifetimes --------------------------------------------------------------------------------------------------- */

typedef enum {
    AG_RECORD,      /* operations on tensors that want a gradient record themselves */
    AG_NO_GRAD      /* nothing is recorded */
} AgMode;
typedef struct { int depth; uint64_t serial; } Scope;

/* Opens a scope on this thread. Scopes nest; the innermost owns what is made. */
Scope ag_begin_at(Site at, AgMode mode);
/* Ends it and frees what it owns. After an error that left by longjmp, scopes that were open inside it are ended
 * too. */
void  ag_end_at(Site at, Scope scope);
/* Ends it, but for t's value, which passes, cut from its graph, to the scope outside. Returns the tensor to use
 * there. */
Tensor *ag_end_return_at(Site at, Scope scope, Tensor *t);
#define ag_begin(...)      ag_begin_at(AG_HERE, __VA_ARGS__)
#define ag_end(...)        ag_end_at(AG_HERE, __VA_ARGS__)
#define ag_end_return(...) ag_end_return_at(AG_HERE, __VA_ARGS__)
bool ag_recording(void);

/* A copy of t's value that no scope owns; end it with tensor_free. It is a leaf that wants no gradient until told. */
Tensor *ag_keep_at(Site at, const Tensor *t);
#define ag_keep(...) ag_keep_at(AG_HERE, __VA_ARGS__)
void tensor_free_at(Site at, Tensor *t);                                                /* NULL is fine */
#define tensor_free(...) tensor_free_at(AG_HERE, __VA_ARGS__)
/* A zeroed leaf that no scope owns, for objects that hold tensors of their own; end it with tensor_free. Unlike what
 * ag_keep returns, it is not freed when an error unwinds the scope: its holder must see to that (see ag_own). */
Tensor *tensor_new_owned_at(Site at, Shape shape, DType dtype);
#define tensor_new_owned(...) tensor_new_owned_at(AG_HERE, __VA_ARGS__)

/* For objects that are built of several allocations: until ag_disown, an error that unwinds a scope open at this call
 * calls destroy(object). The list entry lies in the object. Modules and optimizers do this by themselves. */
typedef struct AgOwned {
    struct AgOwned *newer, *older;
    void (*destroy)(struct AgOwned *self);
    uint64_t serial;
} AgOwned;
void ag_own(AgOwned *entry, void (*destroy)(AgOwned *self));
void ag_disown(AgOwned *entry);

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* Makes a leaf (a tensor that no operation made) want a gradient, or not. Returns t. */
Tensor *tensor_set_requires_grad_at(Site at, Tensor *t, bool wants);
#define tensor_set_requires_grad(...) tensor_set_requires_grad_at(AG_HERE, __VA_ARGS__)
bool tensor_requires_grad_at(Site at, const Tensor *t);
#define tensor_requires_grad(...) tensor_requires_grad_at(AG_HERE, __VA_ARGS__)
/* t's gradient as a tensor of this scope that shares its memory, or NULL if none has arrived. */
Tensor *tensor_grad_at(Site at, Tensor *t);
#define tensor_grad(...) tensor_grad_at(AG_HERE, __VA_ARGS__)
/* The same as an array; NULL if none. */
real *tensor_grad_data_at(Site at, Tensor *t);
#define tensor_grad_data(...) tensor_grad_data_at(AG_HERE, __VA_ARGS__)
/* Forgets the gradient: the next one is written, not added. Costs nothing. */
void tensor_zero_grad_at(Site at, Tensor *t);
#define tensor_zero_grad(...) tensor_zero_grad_at(AG_HERE, __VA_ARGS__)

/* Sends 1 back from a loss of one element, in the reverse order of creation, and adds up the gradients of leaves.
 * Intermediate values and gradients are given back on the way: after it, leaves, the loss and what ag_retain marked can
 * be read. Where another loss of the same scope still needs a part of the graph, that part stays. */
void ag_backward_at(Site at, Tensor *loss);
/* The same from any tensor, with its gradient given (same shape). */
void ag_backward_from_at(Site at, Tensor *y, const Tensor *dy);
/* As ag_backward, but gives nothing back: the graph can be extended and walked again, e.g. to compare. */
void ag_backward_keep_at(Site at, Tensor *loss);
#define ag_backward(...)      ag_backward_at(AG_HERE, __VA_ARGS__)
#define ag_backward_from(...) ag_backward_from_at(AG_HERE, __VA_ARGS__)
#define ag_backward_keep(...) ag_backward_keep_at(AG_HERE, __VA_ARGS__)
/* Keeps t's value and gradient readable after backward. Returns t. */
Tensor *ag_retain_at(Site at, Tensor *t);
#define ag_retain(...) ag_retain_at(AG_HERE, __VA_ARGS__)
/* The same value without its history, as a constant. */
Tensor *ag_detach_at(Site at, Tensor *t);
#define ag_detach(...) ag_detach_at(AG_HERE, __VA_ARGS__)

/* ---- randomness --------------------------------------------------------------------------------------------------
 * Philox4x32-10: a pure function of (seed, counter), the same on any machine and any number of threads. Each thread has
 * one generator; every random operation moves its counter on. Saving the two integers saves the state. */
typedef struct { uint64_t seed, counter; } AgRandom;
void     ag_seed(uint64_t seed);                                                       /* counter 0; at start: seed 0 */
AgRandom ag_random_state(void);
void     ag_set_random_state(AgRandom state);
uint32_t ag_random_u32(void);                                                           /* takes one block */
double   ag_random_uniform(void);                                                       /* [0, 1), takes one block */
int64_t  ag_random_below_at(Site at, int64_t n);                                       /* 0..n-1 without bias, n >= 1 */
/* A random order of 0..n-1. */
void     ag_random_permutation_at(Site at, int64_t n, int32_t *out);
#define ag_random_below(...)       ag_random_below_at(AG_HERE, __VA_ARGS__)
#define ag_random_permutation(...) ag_random_permutation_at(AG_HERE, __VA_ARGS__)

void ag_set_threads(int n);                                                             /* 0: one per processor */
int  ag_threads(void);

/* Scalar functions, the same bits on every machine (libm's differ): for schedules, tables and lessons. Sine and cosine take
 * |x| <= 1e8 and return NaN beyond. */
double ag_math_exp(double x), ag_math_log(double x), ag_math_sin(double x), ag_math_cos(double x),
       ag_math_pow(double x, double y);

/* ---- looking inside ---------------------------------------------------------------------------------------------- */

/* Compares f's gradients with numerical ones. f must be a function of in[0..n) alone: leaves that want gradients, of
 * moderate values. Its output is weighted by random numbers, and f is used twice, so that a gradient that is zero by
 * symmetry or is overwritten where it should be added does not pass. f gets the leaves' values as the middle of a
 * graph, so that an operation which reads a value that it did not declare is told (misuse). To `report` unless NULL it
 * says of each input how many entries are wrong, in which way (none arrives, one factor for all, one of two uses alone,
 * ...), and of the first few: place, gradient, numerical gradient, their ratio. In libkaeru_double the tolerances are
 * PyTorch's (step 1e-6, atol 1e-5, rtol 1e-3); in float step 1e-2 and 2e-2 of the gradient's scale. */
typedef Tensor *AgFunction(Tensor **in, void *arg);
bool ag_gradcheck_at(Site at, AgFunction *f, void *arg, Tensor **in, int n, FILE *report);
#define ag_gradcheck(...) ag_gradcheck_at(AG_HERE, __VA_ARGS__)

/* Checks a registered operation ("matmul") on its own samples; see autograd/ops/ops.def. Returns the number of cases that
 * passed, or -1 - (the first that failed); 0 if there is no such operation. */
int ag_check_op(const char *name, FILE *report);
int ag_op_count(void);
const char *ag_op_name(int i);                                                          /* i in 0..ag_op_count()-1 */
const char *ag_op_forward_text(int i);                                                  /* "tanh x" */
const char *ag_op_backward_text(int i);                                                 /* "dx = dy (1 - y^2)" */

/* Tells the backward pass from a loss of one item as a story, in the order in which it happens: of each operation the
 * rule in symbols, the numbers put in, the gradient that arrived and what every input gets, and how that adds up where
 * a value is used more than once. Tensors go by their names (tensor_name) or as t0, t1, ..., the large ones by shape,
 * range and norm. The numbers are ag_backward's; the graph and its gradients stay as they are. Call it before
 * ag_backward. */
void ag_explain_at(Site at, FILE *out, Tensor *loss);
#define ag_explain(...) ag_explain_at(AG_HERE, __VA_ARGS__)

/* Writes the graph behind y as Graphviz: operations with shapes, leaves by name, scalars with values. */
void ag_graph_dot_at(Site at, FILE *out, Tensor *y);
#define ag_graph_dot(...) ag_graph_dot_at(AG_HERE, __VA_ARGS__)
/* The same as a film of ag_explain: frames 0 to ag_graph_frames(loss) - 1, each a drawing of its own. In the first half
 * values appear, operation by operation; in the second gradients, each step with what it passes on. */
int  ag_graph_frames_at(Site at, Tensor *loss);
void ag_graph_frame_at(Site at, FILE *out, Tensor *loss, int frame);
#define ag_graph_frames(...) ag_graph_frames_at(AG_HERE, __VA_ARGS__)
#define ag_graph_frame(...)  ag_graph_frame_at(AG_HERE, __VA_ARGS__)

/* While on (per thread), every operation's result and every gradient is searched for NaN and infinity; the first is
 * misuse that names the operation, its shapes and the line that made it. */
void ag_find_nan(bool on);

/* While on (per thread; from the start where the environment has KAERU_GUARD=1), memory is watched: the bytes around
 * every tensor's values, what was given back, tensors whose scope has ended. The first operation after a write out of
 * place is misuse that names the tensor and the line that made it. Nothing is used again, so all is slower. */
void ag_guard(bool on);

/* ---- in place, on leaves, outside any graph: what optimizers do -------------------------------------------------- */

typedef struct { double lr, beta1, beta2, eps, weight_decay, grad_scale; bool decoupled; int64_t step; } AgAdam;
/* One Adam (decoupled: AdamW) step number `step` (from 1) on w with its gradient and moments m, v (w's shape). A leaf
 * without a gradient is left as it is. */
void   ag_adam_update_at(Site at, Tensor *w, Tensor *m, Tensor *v, const AgAdam *how);
typedef struct { double lr, momentum, weight_decay, grad_scale; bool nesterov, first; } AgSgd;
void   ag_sgd_update_at(Site at, Tensor *w, Tensor *velocity, const AgSgd *how);        /* velocity NULL: no momentum */
double ag_grad_sum_squares_at(Site at, Tensor *w);      /* of a leaf or a retained tensor; 0 without a gradient */
void   ag_grad_scale_at(Site at, Tensor *w, double factor);
/* w = values of a distribution, drawn from this thread's generator. */
void   ag_fill_uniform_at(Site at, Tensor *w, double low, double high);
void   ag_fill_normal_at(Site at, Tensor *w, double mean, double deviation);
void   ag_fill_at(Site at, Tensor *w, double value);
#define ag_adam_update(...)      ag_adam_update_at(AG_HERE, __VA_ARGS__)
#define ag_sgd_update(...)       ag_sgd_update_at(AG_HERE, __VA_ARGS__)
#define ag_grad_sum_squares(...) ag_grad_sum_squares_at(AG_HERE, __VA_ARGS__)
#define ag_grad_scale(...)       ag_grad_scale_at(AG_HERE, __VA_ARGS__)
#define ag_fill_uniform(...)     ag_fill_uniform_at(AG_HERE, __VA_ARGS__)
#define ag_fill_normal(...)      ag_fill_normal_at(AG_HERE, __VA_ARGS__)
#define ag_fill(...)             ag_fill_at(AG_HERE, __VA_ARGS__)

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* How a loss over many items becomes one number. */
typedef enum { AG_MEAN, AG_SUM } AgReduce;

/* Layer normalization's conventions: where eps stands, and whether the variance divides by n-1. */
typedef struct { double eps; bool eps_inside, unbiased; } AgNorm;
#define AG_NORM_PYTORCH   ((AgNorm){ 1e-5, true, false })       /* sqrt(var + eps): PyTorch, GPT */
#define AG_NORM_ANNOTATED ((AgNorm){ 1e-6, false, true })       /* sqrt(var, n-1) + eps: the Annotated Transformer */
#define AG_NORM_STD_EPS      ((AgNorm){ 1e-6, false, false })      /* sqrt(var) + eps: textbooks */
#define AG_NORM_STD   ((AgNorm){ 0.0,  false, false })      /* sqrt(var): on a blackboard */

#include "kaeru/ops.h"

/* Compositions of the operations above. */
Tensor *ag_sum_at(Site at, Tensor *x);                                                  /* of everything -> scalar */
Tensor *ag_mean_at(Site at, Tensor *x);
Tensor *ag_max_at(Site at, Tensor *x);
Tensor *ag_transpose_at(Site at, Tensor *x, int dim0, int dim1);                        /* swaps two dimensions */
Tensor *ag_split_at(Site at, Tensor *x, int parts, int dim, Tensor **out);             /* equal parts; returns out[0] */
Tensor *ag_squeeze_at(Site at, Tensor *x, int dim);
Tensor *ag_unsqueeze_at(Site at, Tensor *x, int dim);
/* ag_relu(ag_linear(x, weight, bias)), and so on: the same nodes and numbers, computed in one pass. The sums before relu
 * are nowhere: neither ag_explain nor a drawing can show them. */
Tensor *ag_linear_relu_at(Site at, Tensor *x, Tensor *weight, Tensor *bias);
Tensor *ag_linear_gelu_at(Site at, Tensor *x, Tensor *weight, Tensor *bias);
Tensor *ag_linear_gelu_erf_at(Site at, Tensor *x, Tensor *weight, Tensor *bias);
#define ag_sum(...)       ag_sum_at(AG_HERE, __VA_ARGS__)
#define ag_mean(...)      ag_mean_at(AG_HERE, __VA_ARGS__)
#define ag_max(...)       ag_max_at(AG_HERE, __VA_ARGS__)
#define ag_transpose(...) ag_transpose_at(AG_HERE, __VA_ARGS__)
#define ag_split(...)     ag_split_at(AG_HERE, __VA_ARGS__)
#define ag_squeeze(...)   ag_squeeze_at(AG_HERE, __VA_ARGS__)
#define ag_unsqueeze(...) ag_unsqueeze_at(AG_HERE, __VA_ARGS__)
#define ag_linear_relu(...)     ag_linear_relu_at(AG_HERE, __VA_ARGS__)
#define ag_linear_gelu(...)     ag_linear_gelu_at(AG_HERE, __VA_ARGS__)
#define ag_linear_gelu_erf(...) ag_linear_gelu_erf_at(AG_HERE, __VA_ARGS__)

/* An operation of your own, for what cannot be composed of these: plain loops forward and back. Say, y = x^3:
 *
 *     static void forward(const AgCustomCall *c)
 *     {
 *         const real *x = tensor_data(c->in[0]);
 *         real *y = tensor_data(c->y);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) y[i] = x[i] * x[i] * x[i];
 *     }
 *
 *     static void backward(const AgCustomCall *c)
 *     {
 *         const real *x = tensor_data(c->in[0]);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) c->dx[0][i] += c->dy[i] * 3 * x[i] * x[i];
 *     }
 *
 *     static const AgCustom cube = { "cube", forward, backward, AG_NEEDS_X(0), "x^3", "dx = dy 3 x^2" };
 *     Tensor *y = ag_custom(&cube, tensor_shape(x), (Tensor *[]){ x }, 1, NULL, 0);
 *
 * From there on it is an operation like the others: recorded, explained, drawn, searched for NaN. Try ag_gradcheck. */
enum { AG_CUSTOM_INPUTS = 16 };
#define AG_NEEDS_NONE 0
#define AG_NEEDS_X(i) (1 << (i))                        /* the value of input i */
#define AG_NEEDS_Y    (1 << AG_CUSTOM_INPUTS)           /* the value of the output */
typedef struct {
    Tensor *const *in;          /* the inputs; NULL where one was left out */
    int n;
    Tensor *y;                  /* forward writes its values, zeros at first */
    const void *args;           /* the call's own numbers, as they were given to ag_custom */
    /* For backward alone (forward: NULL): */
    const real *dy;             /* the gradient of y, its last word */
    real *const *dx;            /* add the gradient of input i to dx[i], which other uses share; NULL: wants none */
} AgCustomCall;
typedef struct {
    const char *name;
    void (*forward)(const AgCustomCall *c), (*backward)(const AgCustomCall *c);
    int needs;                  /* whose values backward reads; the others may be gone by then: misuse */
    const char *forward_text, *backward_text;   /* formulas for ag_explain; inputs: x, or x0, x1, ... NULL: none */
} AgCustom;
/* Computes and records it: y of that shape from n inputs (up to AG_CUSTOM_INPUTS, of any type). `args`, `size` bytes,
 * is copied; `op` must outlive the graph. What else backward should know is best computed before, as an input. */
Tensor *ag_custom_at(Site at, const AgCustom *op, Shape shape, Tensor *const *in, int n, const void *args, size_t size);
#define ag_custom(...) ag_custom_at(AG_HERE, __VA_ARGS__)

/* Without gradients. */
Tensor *ag_argmax_at(Site at, Tensor *x, int dim, bool keep);                         /* -> AG_INT, the first largest */
typedef enum { AG_EQ, AG_NE, AG_LT, AG_LE, AG_GT, AG_GE } AgCompare;
Tensor *ag_compare_at(Site at, AgCompare how, Tensor *a, Tensor *b);            /* -> AG_BOOL, broadcast; real or int */
Tensor *ag_compare_scalar_at(Site at, AgCompare how, Tensor *a, double b);
Tensor *ag_one_hot_at(Site at, Tensor *ids, int64_t classes);                           /* (..) -> (..,classes) reals */
Tensor *ag_and_at(Site at, Tensor *a, Tensor *b);                                       /* masks, broadcast */
Tensor *ag_not_at(Site at, Tensor *a);
#define ag_argmax(...)         ag_argmax_at(AG_HERE, __VA_ARGS__)
#define ag_compare(...)        ag_compare_at(AG_HERE, __VA_ARGS__)
#define ag_compare_scalar(...) ag_compare_scalar_at(AG_HERE, __VA_ARGS__)
#define ag_one_hot(...)        ag_one_hot_at(AG_HERE, __VA_ARGS__)
#define ag_and(...)            ag_and_at(AG_HERE, __VA_ARGS__)
#define ag_not(...)            ag_not_at(AG_HERE, __VA_ARGS__)

#pragma GCC visibility pop
#endif
