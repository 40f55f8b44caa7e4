/* internal.h: what a tensor is inside, and what an operation needs: creating its result, checking its inputs, writing the
 * gradients of its rule.
 *
 * A tensor is an array, a node of the graph and an entry of the tape. The tape is the list of this thread's tensors in the
 * reverse order of their creation (`older`). An operation's inputs exist before its result, so a walk down the tape from a
 * loss meets every node after all of its users: backward needs no sorting, no recursion and no set of visited nodes. */
#ifndef KAERU_INTERNAL_H
#define KAERU_INTERNAL_H

#include "kaeru/graph.h"
#include "bf16.h"
#include "kernels.h"
#include "left.h"
#include "memory.h"

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

enum { TENSOR_ALIVE = 0x6b616572, TENSOR_DEAD = 0x64656164, SAVED_GRADIENTS = 3 };

struct Tensor {
    uint32_t magic;
    uint8_t dtype, precision;   /* of its values; of the products that made it and of their rule */
    bool requires_grad;
    bool owned;                 /* allocated by ag_keep or tensor_new_owned; else in the arena of a scope */
    bool retained;              /* ag_retain: value and gradient outlive backward */
    bool graph_released;        /* backward has run its rule and released what the rule reads */
    bool input_read;            /* its rule reads input 0 no more (rule_has_read) */
    bool kept;                  /* ag_recompute keeps its value */
    bool holds_inputs;          /* counted among the readers of its inputs, because `restore` will read them */
    bool spared[2];             /* its rule does not read input 0 or 1, because the gradient that needs it is not wanted */
    bool listed;                /* recompute.c has it in a list of values to compute */
    bool infinite;              /* it holds an infinity on purpose, so ag_find_nan does not search it */
    AgShape shape;
    int64_t numel;

    void *data;                 /* in buffer; NULL once released */
    Buffer *buffer;
    Buffer *grad;               /* of a leaf: its gradient; of others: the sum so far in this backward pass; NULL: none */
    Buffer *kept_grad;          /* the gradient of a retained tensor that is not a leaf */
    Buffer *packed;             /* of a weight: its values in bfloat16 (k_pack_b), as they were at packed_version; NULL: none */
    uint32_t packed_version;

    const struct Op *op;        /* the recorded operation that made it; NULL: a leaf, or not recorded */
    struct Tensor **in;         /* its inputs; an absent optional one is NULL */
    uint32_t *version;          /* of each input's values when the operation read them, and of its own values */
    uint64_t *hash;             /* guard mode: of the values that the rule reads, in the same order; NULL otherwise */
    int n_in;
    void *args;                 /* the operation's own numbers, in the arena */
    Buffer *saved;              /* what forward stored for backward, besides inputs and output */
    Buffer *saved_gradient[SAVED_GRADIENTS];    /* of the first inputs, if forward computed them (linear_cross_entropy) */

    /* Computes the value again that ag_recompute has released, and the released values that this takes. If a backward rule
     * needs the value (`for_rule`), the others are released again as soon as nobody reads them. If the program reads it, they
     * stay, because the program may read them, too. Errors are those of `what`, called at `at`. NULL: ag_recompute has not
     * released the value. */
    void (*restore)(Tensor *t, const char *what, bool for_rule);
    struct Tensor *next_listed;
    int readers;                /* rules that will still read this value */
    int users;                  /* recorded operations that have it as an input and are not released (release_node). Leaves are
                                   counted only for ag_watch_backward, during the pass that it watches */

    Place site;                 /* the caller's line that made it */
    Place user_site;            /* if that is in a layer: the user's outermost call; else no file */
    const char *made_by;        /* the function called there, for messages */
    const void *thread;         /* thread_id() of the thread on whose tape it is; NULL: on none */
    char *name;
    uint32_t number;            /* its index while the graph is listed; otherwise undefined */
    struct Tensor *older;       /* the next entry of the tape */
};

/* From now on reads of values are those of the rule of y, which must declare them. NULL: of the program. */
static inline void check_reads_of(const Tensor *y)
{
    running_rule = (RunningRule){ y, y ? y->site : (Place){ 0 }, running.n };
}

/* The values. Only a backward rule can find them released: it reads what its NEEDS does not name, which is a usage error. */
_Noreturn void error_undeclared_read(const Tensor *t);
static inline void *values(const Tensor *t)
{
    if (!t->data) error_undeclared_read(t);
    return t->data;
}
static inline real *reals(const Tensor *t) { return values(t); }
/* For an argument that a kernel reads only in some cases (see the kernels' headers): the value may be released otherwise. */
static inline const real *reals_if(const Tensor *t, bool is_read) { return is_read ? reals(t) : NULL; }
/* Those of a weight that may be packed: NULL then. */
static inline const real *weight_reals(const Tensor *t) { return reals_if(t, t->dtype == AG_REAL); }
static inline int32_t *ints(const Tensor *t) { return values(t); }
static inline uint8_t *bools(const Tensor *t) { return values(t); }
size_t dtype_size(AgDType dtype);                   /* of an item; of AG_PACKED, at most that */
const char *dtype_name(AgDType dtype);

/* A tensor of the innermost scope, values undefined. */
Tensor *tensor_new(const char *what, const AgShape *shape, AgDType dtype);
/* The same on a shared buffer; NULL: without a value. */
Tensor *tensor_alias(const char *what, const AgShape *shape, AgDType dtype, Buffer *buffer);

/* Item i of an array of that type; exact. Each byte of a mask but 0 is true, which is 1. */
static inline double element_number(AgDType dtype, const void *values, int64_t i)
{
    return dtype == AG_REAL ? (double)((const real *)values)[i] : dtype == AG_INT ? ((const int32_t *)values)[i]
                                                                 : ((const uint8_t *)values)[i] != 0;
}
/* ---- tensors of type AG_PACKED (bf16_weights.c) ------------------------------------------------------------------ */

/* The size of a tensor's values. */
size_t value_bytes(const AgShape *shape, AgDType dtype);
void check_packed_shape(const char *what, const AgShape *shape);
void unpack_row_as_reals(const Tensor *packed, int64_t row, real *out);
/* The copy of the weight that y's product may use, or NULL. */
const uint32_t *packed_weight(const Tensor *y, const Tensor *weight);
/* Continues the hash h by these bytes. */
uint64_t hash_bytes(const void *p, size_t bytes, uint64_t h);

/* A number with 5 digits, with a point in every locale. */
void print_number(FILE *out, double x);

/* ---- scopes and the tape (scope.c) -------------------------------------------------------------------------------- */

enum { MAX_SCOPES = 256 };
/* A usage error unless the scope is the innermost and there is one around it. */
void check_inner(const char *what, AgScope scope);
/* A backward pass runs in the scopes up to this depth; 0: none runs. */
void scopes_have_pass(int depth);
int  scopes_of_pass(void);
/* This thread's newest tensor; NULL: none. */
Tensor *tape(void);
/* A new entry of the tape, which the innermost scope owns: a tensor without a shape and values. */
Tensor *scope_tensor(const char *what);
/* Zeroed memory that lives as long as the innermost scope. */
void *scope_alloc(const char *what, size_t bytes);
/* Releases what a tensor owns; it is dead then. */
void tensor_release(void *tensor);

/* The next blocks of this thread's random generator: where they start. */
AgRandom random_blocks(uint64_t n);

/* ---- operations -------------------------------------------------------------------------------------------------- */

enum {
    NEEDS_NONE = AG_NEEDS_NONE, NEEDS_X0 = AG_NEEDS_X(0), NEEDS_X1 = AG_NEEDS_X(1), NEEDS_X2 = AG_NEEDS_X(2),
    NEEDS_X3 = AG_NEEDS_X(3), NEEDS_Y = AG_NEEDS_Y
};

/* A call of an operation: its n inputs, and its own numbers. */
typedef struct { const struct Op *op; Tensor *const *in; int n; const void *args; } OpCall;

typedef struct Op {
    const char *name;
    const char *forward_text, *backward_text;
    const char *const *inputs, *const *numbers;     /* names of the parameters that are tensors and of those that are
                                                       doubles; NULL for an operation of the program's own */
    void (*backward)(Tensor *y);
    /* Sets y's value. NULL: the operation's function does it, and ag_recompute keeps the value. */
    void (*compute)(Tensor *y, const OpCall *c);
    bool is_product;            /* recomputing takes long: only AG_PRODUCTS does it */
    bool shares;                /* `compute` gives y the memory of its input */
    int needs;
    bool crosswise;             /* each of inputs 0 and 1 is read for the gradient of the other one alone */
    int kernel;                 /* of unary_backward: a KUnary; of binary_backward: a KBinary */
} Op;
/* Whether y's rule reads the value of input i. */
static inline bool reads_input(const Tensor *y, int i)
{
    return i < AG_CUSTOM_INPUTS && (y->op->needs & AG_NEEDS_X(i)) && !(i < 2 && y->spared[i]);
}
/* Input i of y, or y itself for i = n_in, if y's rule reads its values; else NULL. */
static inline Tensor *read_by_rule(Tensor *y, int i)
{
    return i < y->n_in ? (reads_input(y, i) ? y->in[i] : NULL) : y->op->needs & NEEDS_Y ? y : NULL;
}

/* Creates the result of operation `op` (&op_table[OP_add], ...) on up to three inputs (NULL: absent): a tensor of that shape,
 * values undefined, recorded if this scope records and an input requires a gradient. Fill it, then return op_done(y). */
Tensor *op_new(const Op *op, const AgShape *shape, Tensor *a, Tensor *b, Tensor *c);
Tensor *op_new_n(const Op *op, const AgShape *shape, Tensor *const *in, int n);
/* The same for a result that is its input's values in another shape. */
Tensor *op_new_alias(const Op *op, const AgShape *shape, Tensor *x);
/* A result in the memory of x, which then has no value: for operations computed in one pass. b: the second input, or NULL. */
Tensor *op_new_in_place(const Op *op, Tensor *x, Tensor *b);
Tensor *op_done(Tensor *y);
/* All of this for an operation with `compute`, and y->args. size: bytes of *args. */
Tensor *op_run(const Op *op, const AgShape *shape, Tensor *const *in, int n, const void *args, size_t size);
/* Sets y->args to memory for the numbers that backward needs. Only worth filling if y is recorded. */
void *op_args(Tensor *y, size_t size);
/* Sets y->saved to n reals. Without recording they are released at the end of the scope. */
real *op_save(Tensor *y, int64_t n);
/* Memory for the gradient of input i < SAVED_GRADIENTS; NULL if it requires none. */
real *op_save_gradient(Tensor *y, int i);

/* Runs y's backward rule, which adds to the gradients of its inputs. */
void rule_run(Tensor *y);
extern size_t recompute_least_bytes;
/* After pass_begins: runs the rules of all that the loss depends on, and ends the pass. dy: the gradient of the loss; NULL: 1.
 * told: whether NODE_PASSED is told. */
void run_rules(Tensor *loss, const Tensor *dy, bool told);
/* A usage error unless the loss has one item (or `any_shape`), requires a gradient and is of this thread. */
void check_loss(const char *what, const Tensor *loss, bool any_shape);

/* ---- checks (checks.c); `argument` is the parameter's name in messages ---------------------------------------------- */

/* A usage error of the call that made this tensor, in the name of function `what`. */
_Noreturn void usage_error_of(const Tensor *made, const char *what, const char *format, ...) AG_PRINTF(3, 4);
_Noreturn void error_graph_released(const char *what, const Tensor *y);
/* The values of input i of y, or its own for i = n_in, are not those that the operation read. */
_Noreturn void error_written(const char *what, const Tensor *y, int i);
/* A usage error if an input of y was freed, or if values that y's rule reads (otherwise: any input) were written in place after
 * its operation had read them. */
void check_inputs(const char *what, Tensor *y, bool of_rule);

/* Alive: its scope is still open, and it is not freed. */
void check_alive(const char *what, const char *argument, const Tensor *t);
/* Alive and not part of a graph, so that it may be written. */
void check_leaf(const char *what, const char *argument, const Tensor *t);
/* The values of t, to be written in place: t must be a leaf of that type. Counts the write, so that backward finds values that
 * changed after an operation had read them. */
void *values_to_write(const char *what, const char *argument, Tensor *t, AgDType dtype);
void count_write(const char *what, Buffer *b);
/* Alive, of that type, value not released. */
void check_tensor(const char *what, const char *argument, const Tensor *t, AgDType dtype);
/* The same for any type but AG_PACKED. */
static inline void check_any(const char *what, const char *argument, const Tensor *t)
{
    check_tensor(what, argument, t, t && t->dtype != AG_PACKED ? (AgDType)t->dtype : AG_REAL);
}
/* The same for reals or a packed matrix. */
static inline void check_weight(const char *what, const char *argument, const Tensor *t)
{
    check_tensor(what, argument, t, t && t->magic == TENSOR_ALIVE && t->dtype == AG_PACKED ? AG_PACKED : AG_REAL);
}
/* A dimension number made non-negative and checked. */
int  check_dim(const char *what, const Tensor *x, int dim);
/* The same for operations along a dimension, which take a scalar as a vector of one item: dimension 0. */
int  check_along(const char *what, const Tensor *x, int dim);
/* Ids (AG_INT) in 0..below-1. */
void check_ids(const char *what, const Tensor *ids, int64_t below);
#define shape_text ag_shape_string
/* Checks a caller's shape: 0 to 8 dimensions, none negative, no overflow. Returns the number of items. */
int64_t check_shape(const char *what, const AgShape *shape);
/* Sets *y to the shape that both broadcast to; false if they do not. The second form reports a usage error. */
bool  broadcast(const AgShape *a, const AgShape *b, AgShape *y);
bool  broadcasts_to(const AgShape *from, const AgShape *to);
AgShape broadcast_shape(const char *what, const Tensor *a, const Tensor *b);
/* A usage error unless the mask is of that type and broadcasts to `shape`, which `target` names in the message. */
void  check_mask(const char *what, const Tensor *mask, AgDType dtype, const char *target, const AgShape *shape);
/* Size of dimension i (of ndim) in a shape that may have fewer. */
int64_t size_in(const AgShape *s, int i, int ndim);
/* A usage error unless v is a vector of n reals. `expected` and `other` are for the message: what else must fit to n. */
void  check_vector(const char *what, const char *argument, const Tensor *v, int64_t n, const char *expected,
                   const char *other_argument, const Tensor *other);
/* Strides of t seen in a shape that it broadcasts to; 0 where it repeats. */
void broadcast_strides(const AgShape *t, const AgShape *to, int64_t stride[AG_MAX_DIMS]);
/* How many rows of the last dimension there are. */
static inline int64_t row_count(const Tensor *x)
{
    int64_t rows = 1;
    for (int i = 0; i < x->shape.ndim - 1; i++) rows *= x->shape.dim[i];
    return rows;
}
/* An array seen as (outer, n, inner): the dimensions before first..last, these, and those behind. */
typedef struct { int64_t outer, n, inner; } Along;
Along shape_along(const AgShape *shape, int first, int last);
/* *walk: a strided iteration over `shape`, with the strides of a and b broadcast to it. Sets only the first ndim entries. */
void walk_over(const AgShape *shape, const AgShape *a, const AgShape *b, KWalk *walk);

/* ---- gradients, for backward rules (gradients.c) ------------------------------------------------------------------ */

/* A rule adds the gradient of each input x, by one of these:
 *
 *     grad_into            writes dx, or adds it to what other rules have written: see Grad
 *     grad_to_add          only adds: to zeros if no other rule has written
 *     grad_in_place        computes dx from dy item by item, and may write it over dy
 *     grad_pass            dx = dy, of equal sizes: may share dy's memory
 *     grad_add             adds a dx that is there
 *     grad_scatter         y has items of x, chosen by ids
 *
 * If x was broadcast to y's shape, grad_broadcast and grad_broadcast_done take the place of grad_into, grad_pass_broadcast that
 * of grad_pass, and grad_sum_to sums a dy that is there. */

/* Where a rule puts x's gradient: data is NULL if x requires none; overwrite it or, if `add`, add to it. */
typedef struct { real *data; bool add; } Grad;
Grad  grad_into(Tensor *x);
real *grad_to_add(Tensor *x);                                       /* NULL if x requires none */
Grad  grad_in_place(Tensor *x, Tensor *y);
void  grad_pass(Tensor *x, Tensor *y);
void  grad_add(Tensor *x, const real *dx);
/* Item i of y (outer, m, inner) is item ids[i] along the dimension n of its first input x (outer, n, inner). */
void  grad_scatter(Tensor *y, Along x, int64_t m, const int32_t *ids);
/* to[o,ids[j],i] += from[o,j,i]: `to` (outer, n, inner), from (outer, m, inner). y names the operation. */
void  add_rows(const Tensor *y, Along a, int64_t m, real *to, const real *from, const int32_t *ids);
static inline real *grad_of(const Tensor *y) { return buffer_data(y->grad); }
/* Where the gradient is that a program may read, of a leaf or a retained tensor. */
static inline Buffer **gradient_of(Tensor *t) { return t->op ? &t->kept_grad : &t->grad; }

/* Memory for x's gradient in the shape of y: x's gradient if the sizes are equal, else scratch memory, which
 * grad_broadcast_done sums into x's gradient. */
Grad grad_broadcast(Tensor *x, const Tensor *y);
void grad_broadcast_done(Tensor *x, const Tensor *y, Grad g);
void grad_pass_broadcast(Tensor *x, Tensor *y);
/* Sums a gradient of shape `from` to x's shape, into x's gradient. */
void grad_sum_to(Tensor *x, const real *dy, const AgShape *from);

/* A rule of y calls this when it has read the values of the first input for the last time. Their memory may then become that
 * of the input's gradient. */
void rule_has_read(Tensor *y);
/* Whether the backward pass that runs releases nothing (ag_backward_keep). */
bool graph_kept(void);
/* A backward pass of this thread, with ag_backward_keep if `keep`. One in another is a usage error. An error ends it, and the
 * end of one of the scopes that were open when it began. */
void pass_begins(const char *what, bool keep);
bool pass_runs(void);
/* A usage error if an error, which the program has caught within the pass, or ag_end has ended it. */
void check_pass(const char *what);
void pass_ends(void);
/* While on, a new gradient holds UNWRITTEN, so that ag_gradcheck finds a rule which does not write it. Returns whether it was
 * on. An error ends it. */
#define UNWRITTEN 4096          /* large, and its sum with a usual gradient is exact enough in a float */
bool mark_unwritten(bool on);
/* Whether backward may release this value: no rule will read it, and it is neither a leaf nor retained. */
bool can_release(const Tensor *t);
void release_value(Tensor *t);

#endif
