/* tensor.h: what a tensor is inside, for the files of this floor.
 *
 * A tensor is at once an array, a node of the graph and an entry of the tape. The tape is the list of this thread's
 * tensors in the order of their creation (`older`); since an operation's inputs exist before its result, walking the
 * list from a loss meets every node after all its users: backward needs no sorting, no recursion, no visited set. */
#ifndef KAERU_TENSOR_H
#define KAERU_TENSOR_H

#include "kaeru/autograd.h"
#include "kernels.h"

/* ---- buffers (memory.c): reference-counted arrays from a cache --------------------------------------------------- */

typedef struct Buffer {
    int refs, bin;              /* bin: which free list it returns to */
    size_t size;                /* usable bytes; the bytes follow the header */
    struct Buffer *next;        /* in a free list, or among the scratch */
} Buffer;
#define BUFFER_HEADER 64        /* keeps the data on a cache line of its own */

Buffer *buffer_new(Site at, const char *what, size_t bytes);        /* misuse if it cannot be had; content undefined */
Buffer *buffer_items(Site at, const char *what, int64_t n, size_t size);       /* n items, the product checked */
void    buffer_release(Buffer *b);                                  /* NULL is fine */
static inline void *buffer_data(Buffer *b) { return (char *)b + BUFFER_HEADER; }
static inline Buffer *buffer_share(Buffer *b) { b->refs++; return b; }

/* Memory that an operation or a backward rule needs for itself alone: it is given back when the operation or the rule
 * ends (op_done, the walk back; others call scratch_end), also when it ends in an error. Calling another operation ends
 * it, too. */
void *scratch_new(Site at, const char *what, int64_t n, size_t size);          /* n items, content undefined */
void  scratch_adopt(Buffer *b);                                     /* takes over this reference to b */
void  scratch_end(void);

/* Guarded buffers (guard.c): what ag_guard changes. */
enum { GUARDED = -1 };                                              /* the bin of such a buffer */
Buffer *guard_alloc(size_t size);                                   /* room for a buffer; NULL if it cannot be had */
void guard_begin(Site at, const char *what, Buffer *b, size_t bytes);
void guard_end(Buffer *b);
/* Misuse if memory around any buffer of this thread, or one given back, was written to. */
void guard_check(Site at, const char *what);
void guard_trim(void);                                              /* frees what was given back */
void guard_quarantine(void *block);                                       /* memory of the system, freed some time later */
void guard_empty_quarantine(void);                                            /* frees what was n_quarantined */
void guard_thread_ends(void);

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

enum { TENSOR_ALIVE = 0x6b616572, TENSOR_DEAD = 0x64656164 };

struct Tensor {
    uint32_t magic;
    uint8_t dtype;
    bool requires_grad;            /* a gradient is to reach it */
    bool owned;                 /* on the heap, by ag_keep or tensor_new_owned; else in the arena of a scope */
    bool retained;              /* ag_retain: value and gradient outlive backward */
    bool graph_released;            /* backward has passed and given back what its rule reads */
    Shape shape;
    int64_t numel;

    void *data;                 /* in buffer; NULL once given back */
    Buffer *buffer;
    Buffer *grad;               /* on its way, or arrived (leaf); NULL if none */
    Buffer *kept_grad;          /* arrived at a retained tensor that is not a leaf */

    const struct Op *op;        /* that made it and is recorded; NULL: a leaf, or nothing to go back to */
    struct Tensor **in;         /* its inputs; an absent optional one is NULL */
    int n_in;
    void *args;                 /* its own numbers, in the arena */
    Buffer *saved;              /* what forward computed for backward, beside inputs and output */

    int readers;                /* rules that will still read this value */
    int users;                  /* recorded operations on it that backward has not finished */

    Site site;                  /* the caller's line that made it */
    Site user_site;                 /* if that is in a layer, the line outside of all layers that called it; else no file */
    const char *made_by;        /* the function called there, for messages */
    char *name;
    uint32_t number;            /* in a drawing of the graph; anything between drawings */
    struct Tensor *older;       /* the tape */
};

/* "FILE:LINE", and, if layers were between, the program's own line: where something was made, for messages. */
enum { PLACE_TEXT = 400 };
const char *place_text(Site made, Site user_site, char text[PLACE_TEXT]);

/* The values. Only a backward rule can meet one that was given back: it reads what its NEEDS does not name, misuse. */
_Noreturn void error_undeclared_read(const Tensor *t);
static inline void *values(const Tensor *t)
{
    if (!t->data) error_undeclared_read(t);
    return t->data;
}
static inline real *reals(const Tensor *t) { return values(t); }
/* What a kernel reads, as kernels.h tells; the value of what it does not read may have been given back. */
static inline const real *reals_if(const Tensor *t, bool is_read) { return is_read ? reals(t) : NULL; }
static inline int32_t *ints(const Tensor *t) { return values(t); }
static inline uint8_t *bools(const Tensor *t) { return values(t); }
size_t dtype_size(DType dtype);
const char *dtype_name(DType dtype);

/* A tensor of the innermost scope, values undefined. */
Tensor *tensor_new(Site at, const char *what, const Shape *shape, DType dtype);
/* The same, on the buffer of another, which it shares. NULL: without a value. */
Tensor *tensor_alias(Site at, const char *what, const Shape *shape, DType dtype, Buffer *buffer);

/* A number with 5 digits, with a point in every locale. */
void print_number(FILE *out, double x);

/* ---- this thread's state (context.c) ----------------------------------------------------------------------------- */

struct ArenaMark { struct Chunk *chunk; size_t used; };
typedef struct {
    AgMode mode;
    uint64_t serial;            /* one count for scopes, owned objects and errors: what came first */
    uint64_t failed;            /* the last error reported while it was the innermost; 0: none */
    Tensor *tape;               /* the newest tensor when it began */
    struct ArenaMark mark;      /* where the arena writes next */
    int calls;
} ScopeState;
#define MAX_SCOPES 256
#define MAX_CALLS 64
#define BINS 512
#define QUARANTINE 256

typedef struct {
    ScopeState scope[MAX_SCOPES];
    int depth;
    bool recording;             /* the innermost scope's mode is AG_RECORD */
    bool find_nan;
    bool keep_graph;            /* during ag_backward_keep */
    bool mark_unwritten;        /* during ag_gradcheck: memory that grad_into hands out to be written holds UNWRITTEN */
    Tensor *rule;               /* the node whose backward rule is running */
    uint64_t serial;
    Tensor *tape;               /* the newest tensor */
    struct Chunk *first, *chunk;/* the arena: all chunks, and the one in use */
    AgOwned *owned;             /* the newest object that an error would free */
    Buffer *bin[BINS];
    Buffer *scratch;
    bool guard;                 /* ag_guard is on */
    struct Guarded *guarded, *given_back;
    void *quarantine[QUARANTINE];        /* where tensors of ended scopes lay */
    unsigned n_quarantined;
    AgMemory memory;
    AgRandom random;
    AgErrorHandler *handler;
    struct { Site site; const char *name; } call[MAX_CALLS];
    int calls;
    char message[1024], error[1024];
} Context;

extern _Thread_local Context *this_context;
Context *context_make(void);
/* The line outside of all layers that are being called; no file if none is. */
Site user_site_now(const Context *c);
static inline Context *context(void) { return this_context ? this_context : context_make(); }

/* Zeroed memory that lives as long as the innermost scope. */
void *arena_alloc(Site at, const char *what, size_t bytes);
void  arena_reset(Context *c, struct ArenaMark mark);

/* ---- operations -------------------------------------------------------------------------------------------------- */

enum {
    NEEDS_NONE = AG_NEEDS_NONE, NEEDS_X0 = AG_NEEDS_X(0), NEEDS_X1 = AG_NEEDS_X(1), NEEDS_X2 = AG_NEEDS_X(2),
    NEEDS_Y = AG_NEEDS_Y
};

typedef struct Sample Sample;
typedef struct Op {
    const char *name;
    void (*backward)(Tensor *y);
    Tensor *(*sample)(Sample *s);
    int needs;
    const char *forward_text, *backward_text;
    const char *const *inputs, *const *numbers;     /* names of the parameters that are tensors and of those that are
                                                       doubles; NULL for an operation of the program's own */
} Op;
extern const Op op_table[];
/* Does the rule of y declare that it reads t's value? True for what is neither its input nor y itself. */
bool declares(const Tensor *y, const Tensor *t);
/* Does the rule read the value of input i? */
bool reads_input(const Op *op, int i);

#define OP(name, params, needs, forward, backward) OP_##name,
enum {
#include "ops/ops.def"
    OP_COUNT
};
#undef OP
#define OP(name, params, needs, forward, backward) \
    void name##_backward(Tensor *y);               \
    Tensor *name##_sample(Sample *s);
#include "ops/ops.def"
#undef OP

/* Starts the result of operation `op` (OP_add, ...) on up to three inputs (NULL: absent): a new tensor of that shape,
 * values undefined, recorded if this scope records and an input wants a gradient. Fill it, then return op_done(y). */
Tensor *op_new(Site at, int op, const Shape *shape, Tensor *a, Tensor *b, Tensor *c);
Tensor *op_new_n(Site at, const Op *op, const Shape *shape, Tensor *const *in, int n);
/* The same for a result that is its input's values in another shape. */
Tensor *op_new_alias(Site at, int op, const Shape *shape, Tensor *x);
/* y takes over the memory of x, whose value is then never there: for two operations computed in one pass. */
Tensor *op_new_over(Site at, int op, Tensor *x);
Tensor *op_done(Tensor *y);
/* Numbers and memory that backward will want; only worth filling if y is recorded. y->args is set. */
void *op_args(Tensor *y, size_t size);
/* y->saved: n reals. Without recording it is given back at the end of the scope. */
real *op_save(Tensor *y, int64_t n);

/* Runs y's backward rule, which adds to the gradients of its inputs. */
void rule_run(Tensor *y);
/* Can a gradient be sent back from here? One item (unless `any_shape`), and a way back. */
void check_loss(Site at, const char *what, const Tensor *loss, bool any_shape);
_Noreturn void error_graph_released(Site at, const char *what, const Tensor *y);

/* Input checks; `argument` is the parameter's name in messages. Alive: made here, and its scope is open still. */
void check_alive(Site at, const char *what, const char *argument, const Tensor *t);
/* No part of a graph, so that it may be written to. */
void check_leaf(Site at, const char *what, const char *argument, const Tensor *t);
/* Alive, of the type, its value still there. */
void check_tensor(Site at, const char *what, const char *argument, const Tensor *t, DType dtype);
/* A dimension number made non-negative and checked. */
int  check_dim(Site at, const char *what, const Tensor *x, int dim);
/* Ids (AG_INT) in 0..below-1. */
void check_ids(Site at, const char *what, const Tensor *ids, int64_t below);
/* A shape that came from the caller: 0 to 8 dimensions, none negative, no overflow. Returns the number of items. */
int64_t check_shape(Site at, const char *what, const Shape *shape);
/* The shape that both broadcast to, in *y; false if they do not. The second reports that as misuse. */
bool  broadcast(const Shape *a, const Shape *b, Shape *y);
Shape broadcast_shape(Site at, const char *what, const Tensor *a, const Tensor *b);
/* Strides of t seen in a shape that it broadcasts to; 0 where it repeats. */
void broadcast_strides(const Shape *t, const Shape *to, int64_t stride[AG_MAX_DIMS]);
/* How many rows of the last dimension there are. */
static inline int64_t row_count(const Tensor *x)
{
    int64_t rows = 1;
    for (int i = 0; i < x->shape.ndim - 1; i++) rows *= x->shape.dim[i];
    return rows;
}
/* An array seen as (outer, n, inner): the dimensions before first..last, these, and those behind. */
typedef struct { int64_t outer, n, inner; } Along;
Along shape_along(const Shape *shape, int first, int last);
/* A walk over `shape`, with a's and b's strides in it. */
KWalk walk_over(const Shape *shape, const Shape *a, const Shape *b);

/* ---- gradients, for backward rules ------------------------------------------------------------------------------- */

/* Where x's gradient goes: data is NULL if x wants none; write over it or, if add, add to it. */
typedef struct { real *data; bool add; } Grad;
Grad grad_into(Tensor *x);
/* The same for a rule of one input that may write over dy what it makes of it, item by item: where nobody else has a use
 * for y's gradient, its memory becomes that of x's. */
Grad grad_in_place(Tensor *x, Tensor *y);
#define UNWRITTEN 4096          /* large, and exact in a float together with a gradient of common size */
/* x's gradient is y's as it is: shared if it is the first, else added. Sizes are equal. */
void grad_pass(Tensor *x, Tensor *y);
static inline real *grad_of(const Tensor *y) { return buffer_data(y->grad); }
/* The rule of an operation that takes items of its first input x along a dimension: item i of y (outer, m, inner) is item
 * ids[i] along the dimension of x (outer, n, inner). dx = dy at the items taken, else 0. */
void grad_scatter(Tensor *y, Along x, int64_t m, const int32_t *ids);
/* Sums a dense gradient of shape `from` down to x's shape, into x's gradient. */
void grad_sum_to(Tensor *x, const real *dy, const Shape *from);

/* ---- samples for the gradient check (gradcheck.c) ---------------------------------------------------------------- */

/* A sample function makes the operation's calls one by one: switch on s->number, take inputs with the functions below
 * (i counts the real inputs from 0), return NULL when there are no more. The same number must make the same call. */
typedef struct { bool apart; double low, high; } SampleRange;
struct Sample {
    int number;
    Tensor **in;
    bool alias;
    Tensor *(*give)(Sample *s, int i, Shape shape, SampleRange range);          /* inputs come from here, unless NULL */
};
/* Checks all its cases, as ag_check_op does. */
int op_check(const Op *op, FILE *report);
Tensor *sample_in(Sample *s, int i, Shape shape);                               /* standard normal */
Tensor *sample_range(Sample *s, int i, Shape shape, double low, double high);   /* uniform */
Tensor *sample_positive(Sample *s, int i, Shape shape);                         /* the same, away from 0: 0.3..2 */
/* Values that are 0.05 apart or more: from each other, from 0 and from other inputs. */
Tensor *sample_apart(Sample *s, int i, Shape shape);
double sample_apart_value(int i, int64_t j, int64_t n);                          /* entry j of n of such an input */
Tensor *sample_ids(Shape shape, int32_t below);                                 /* AG_INT, the same each time */
Tensor *sample_mask(Shape shape);                                               /* AG_BOOL, the same each time */

#endif
