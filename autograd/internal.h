/* internal.h: what a tensor is inside, for the files of this floor.
 *
 * A tensor is an array, a node of the graph and an entry of the tape. The tape is the list of this thread's tensors in the
 * reverse order of their creation (`older`). An operation's inputs exist before its result, so a walk down the tape from a
 * loss meets every node after all of its users: backward needs no sorting, no recursion and no set of visited nodes. */
#ifndef KAERU_INTERNAL_H
#define KAERU_INTERNAL_H

#include "kaeru/graph.h"
#include "kernels.h"

/* ---- memory (memory.c) ------------------------------------------------------------------------------------------- */

/* Memory of the system, aligned to 64 bytes; NULL if it cannot be allocated. Counted in AgMemory.system_calls. */
void *system_alloc(size_t bytes);
void  system_free(void *p);
/* Marks memory that must not be touched, for AddressSanitizer to report a use; does nothing in other builds. */
void memory_poison(void *p, size_t bytes);
void memory_unpoison(void *p, size_t bytes);

/* A reference-counted array for values or gradients, from a cache of released ones. */
typedef struct Buffer {
    int refs, bin;              /* bin: the free list that it returns to, or one of these */
    uint32_t version;           /* how often values were written in place; see values_to_write */
    size_t size;                /* usable bytes, after the header */
    struct Buffer *next;        /* in a free list, or in the list of scratch buffers */
    AgSite written;             /* the user's line of the last write in place, */
    const char *writer;         /* and the function called there */
} Buffer;
enum { GUARDED = -1, POOLED = -2, ALONE = -3 };       /* of guard.c, of pool.c, a system_alloc of its own */
#define BUFFER_HEADER 64        /* keeps the data on a cache line of its own */

Buffer *buffer_new(AgSite at, const char *what, size_t bytes);      /* content undefined; usage error if out of memory */
Buffer *buffer_new_lasting(AgSite at, const char *what, size_t bytes);      /* the same for a value that outlives scopes */
Buffer *buffer_items(AgSite at, const char *what, int64_t n, size_t size);     /* n items; checks the product */
void    buffer_release(Buffer *b);                                  /* b may be NULL */
static inline void *buffer_data(Buffer *b) { return (char *)b + BUFFER_HEADER; }
static inline Buffer *buffer_share(Buffer *b) { b->refs++; return b; }

/* Memory of at least so many bytes, aligned to 64; *size: how many it has. NULL if the system has none. */
void  *pool_alloc(size_t bytes, size_t *size);
void   pool_free(void *p);
size_t pool_free_bytes(void);                                       /* released, and kept for later */
void   pool_trim(void);                                             /* returns to the system what it can */

/* Memory that one call of an operation or of a backward rule needs. op_done and the backward pass release it at the end of
 * the call, and an error releases it, too. Functions without op_done call scratch_end. A nested operation also ends it. */
void *scratch_new(AgSite at, const char *what, int64_t n, size_t size);        /* n items, content undefined */
void  scratch_adopt(Buffer *b);                                     /* takes over this reference to b */
void  scratch_end(void);

/* ---- objects (objects.c): the blocks of ag_alloc ------------------------------------------------------------------ */

struct Block;
/* Frees the blocks that were allocated after serial number `begun` and not after `failed`, and that no block owns. */
void blocks_unwind(uint64_t begun, uint64_t failed);
/* Forgets which blocks an error would free. */
void blocks_forget(void);
/* Whether another block owns this one. */
bool block_has_owner(void *p);
/* Frees the memory of destroyed objects. */
void blocks_trim(void);

/* ---- guard mode (debug/guard.c): what ag_guard changes ------------------------------------------------------------ */

Buffer *guard_alloc(size_t size);                                   /* NULL if out of memory */
void guard_begin(AgSite at, const char *what, Buffer *b, size_t bytes);
void guard_end(Buffer *b);
/* A usage error if memory around any buffer of this thread was written, or a part of the released memory, another part in
 * each call. The second form checks all released memory. */
void guard_check(AgSite at, const char *what);
void guard_check_all(AgSite at, const char *what);
void guard_trim(void);                                              /* frees released buffers */
void guard_thread_ends(void);
uint64_t guard_hash(const Tensor *t);                               /* of its values */
void guard_backward_begins(AgSite at);
void guard_backward_ends(void);
/* A usage error if another thread's backward pass, which still runs, has written the gradient of this leaf. */
void guard_gradient(Tensor *leaf);

/* ---- the arena of scopes (arena.c): tensors and their arguments ---------------------------------------------------- */

typedef struct { struct Chunk *chunk; size_t used; } ArenaMark;
/* next: where it writes next. The chunks behind that one are released, up to `last`: their number, and the bytes of them that
 * were in use. */
typedef struct { struct Chunk *first, *last; ArenaMark next; int waiting; size_t waiting_bytes; } Arena;
/* Zeroed memory until arena_end with the last mark that arena_begin returned. NULL if out of memory. */
void *arena_alloc(Arena *a, size_t bytes);
ArenaMark arena_begin(Arena *a);
void  arena_end(Arena *a, ArenaMark mark);
void  arena_trim(Arena *a);                                         /* frees the chunks that wait */
/* All scopes have ended: keeps the chunks until the program ends, so that their tensors can be named. */
void  arena_keep(Arena *a);

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

enum { TENSOR_ALIVE = 0x6b616572, TENSOR_DEAD = 0x64656164 };

struct Tensor {
    uint32_t magic;
    uint8_t dtype, precision;   /* of its values; of the products that made it and of their rule */
    bool requires_grad;
    bool owned;                 /* allocated by ag_keep or tensor_new_owned; else in the arena of a scope */
    bool retained;              /* ag_retain: value and gradient outlive backward */
    bool graph_released;        /* backward has run its rule and released what the rule reads */
    bool dropped;               /* ag_recompute released its value; it is computed again if something reads it */
    bool needs_inputs;          /* for that, it is counted among the readers of its inputs */
    bool stays;                 /* ag_recompute keeps its value */
    bool wanted;                /* value_again has met it */
    bool has_read;              /* its rule reads input 0 no more (rule_has_read) */
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
    uint64_t pass;              /* guard mode, a leaf: the last backward pass that wrote its gradient */
    int n_in;
    void *args;                 /* the operation's own numbers, in the arena */
    Buffer *saved;              /* what forward stored for backward, besides inputs and output */
    Buffer *saved_gradient[2];  /* the gradients of the first inputs, if forward computed them (linear_cross_entropy) */

    int readers;                /* rules that will still read this value */
    int users;                  /* recorded operations on it whose rules are still to run; of a leaf: while a pass is watched */

    AgSite site;                /* the caller's line that made it */
    AgSite user_site;           /* if that is in a layer: the user's outermost call; else no file */
    const char *made_by;        /* the function called there, for messages */
    const void *thread;         /* the Context of the thread on whose tape it is; NULL: on none */
    char *name;
    uint32_t number;            /* its index while the graph is listed; otherwise undefined */
    struct Tensor *older;       /* the next entry of the tape */
    struct Tensor *newer_wanted;        /* of value_again */
};

/* Writes "FILE:LINE", followed by the user's own line if layers were in between: where something was made. */
enum { PLACE_TEXT = 400 };
const char *place_text(AgSite made, AgSite user_site, char text[PLACE_TEXT]);

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
static inline int32_t *ints(const Tensor *t) { return values(t); }
static inline uint8_t *bools(const Tensor *t) { return values(t); }
size_t dtype_size(AgDType dtype);
const char *dtype_name(AgDType dtype);

/* A tensor of the innermost scope, values undefined. */
Tensor *tensor_new(AgSite at, const char *what, const AgShape *shape, AgDType dtype);
/* The same on a shared buffer; NULL: without a value. */
Tensor *tensor_alias(AgSite at, const char *what, const AgShape *shape, AgDType dtype, Buffer *buffer);

/* A number with 5 digits, with a point in every locale. */
void print_number(FILE *out, double x);

/* ---- this thread's state (scope.c) -------------------------------------------------------------------------------- */

typedef struct {
    AgMode mode;
    uint64_t serial;            /* one counter for scopes, blocks and errors: gives their order in time */
    uint64_t failed;            /* the last error reported while it was the innermost; 0: none */
    Tensor *tape;               /* the newest tensor when the scope began */
    ArenaMark mark;             /* the arena's position then */
    int calls;                  /* the number of layer calls then */
    AgPrecision precision;      /* of products then */
} ScopeState;
enum { MAX_SCOPES = 256, MAX_CALLS = 64, BINS = 128, QUARANTINE = 4096 };

typedef struct {
    ScopeState scope[MAX_SCOPES];
    int depth;
    bool recording;             /* the innermost scope's mode is AG_RECORD */
    AgPrecision precision;
    bool find_nan;
    bool keep_graph;            /* during ag_backward_keep */
    bool mark_unwritten;        /* during ag_gradcheck: a new gradient holds UNWRITTEN */
    AgWatch watch;              /* of ag_watch_backward */
    Tensor *rule;               /* the node whose backward rule is running */
    real previous_dy;           /* the gradient of the previous linear_cross_entropy with many logits */
    Tensor *forward;            /* the result that the forward function of ag_custom is writing */
    uint64_t serial;
    Tensor *tape;               /* the newest tensor */
    Arena arena;
    struct Block *blocks;       /* the newest block that an error would free */
    Buffer *bin[BINS];
    Buffer *scratch;
    bool guard;                 /* ag_guard is on */
    struct Guarded *guarded;                /* buffers of guard mode in use, */
    struct Guarded *released, *released_seen;       /* and released: to be checked in this round, and checked */
    size_t released_bytes;
    uint64_t pass;              /* guard mode: the number of the backward pass that runs; 0: none */
    AgSite pass_site;
    void *quarantine[QUARANTINE];           /* the last blocks that were freed and had a destructor */
    unsigned n_quarantined;
    AgMemory memory;
    AgRandom random;
    AgErrorHandler *handler;
    struct { AgSite site; const char *function; } call[MAX_CALLS];  /* the stack of layer calls */
    int calls;
    char message[1024], error[1024];        /* of ag_usage_error, and of ag_set_error */
} Context;

extern _Thread_local Context *this_context;
Context *context_make(void);
void context_trim(Context *c);                  /* returns to the system what it keeps for later */
static inline Context *context(void) { return this_context ? this_context : context_make(); }
/* Releases the gradients that an unfinished backward pass has left in the graph. */
void release_pending_gradients(void);
/* The user's outermost layer call; no file if no layer is being called. */
AgSite user_site_now(const Context *c);

/* The length of a function's name without "_at". */
int name_length(const char *function);

/* f(in, arg), which must end the scopes that it begins, and return a tensor of reals. */
Tensor *call_function(AgSite at, const char *what, AgFunction *f, Tensor **in, void *arg);

/* Zeroed memory that lives as long as the innermost scope. */
void *scope_alloc(AgSite at, const char *what, size_t bytes);

/* ---- operations -------------------------------------------------------------------------------------------------- */

enum {
    NEEDS_NONE = AG_NEEDS_NONE, NEEDS_X0 = AG_NEEDS_X(0), NEEDS_X1 = AG_NEEDS_X(1), NEEDS_X2 = AG_NEEDS_X(2),
    NEEDS_X3 = AG_NEEDS_X(3), NEEDS_Y = AG_NEEDS_Y, NEEDS_ALL_X = AG_NEEDS_Y << 1
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
extern const Op op_table[];     /* indexed by OP_add, ... (ops/table.h) */
/* Whether the rule of y declares that it reads t's value. True if t is neither an input nor y. */
bool declares(const Tensor *y, const Tensor *t);
/* Whether the rule reads the value of input i. */
bool reads_input(const Op *op, int i);

/* Creates the result of operation `op` (OP_add, ...) on up to three inputs (NULL: absent): a tensor of that shape, values
 * undefined, recorded if this scope records and an input requires a gradient. Fill it, then return op_done(y). */
Tensor *op_new(AgSite at, int op, const AgShape *shape, Tensor *a, Tensor *b, Tensor *c);
Tensor *op_new_n(AgSite at, const Op *op, const AgShape *shape, Tensor *const *in, int n);
/* The same for a result that is its input's values in another shape. */
Tensor *op_new_alias(AgSite at, int op, const AgShape *shape, Tensor *x);
/* The same for a result that shares this memory, with n inputs. */
Tensor *op_new_sharing(AgSite at, const Op *op, const AgShape *shape, Buffer *value, Tensor *const *in, int n);
/* y takes over the memory of x, which then has no value: for two operations computed in one pass. */
Tensor *op_new_over(AgSite at, int op, Tensor *x);
Tensor *op_done(Tensor *y);
Tensor *op_done_unchecked(Tensor *y);           /* ag_find_nan does not search it */
/* Sets y->args to memory for the numbers that backward needs. Only worth filling if y is recorded. */
void *op_args(Tensor *y, size_t size);
/* Sets y->saved to n reals. Without recording they are released at the end of the scope. */
real *op_save(Tensor *y, int64_t n);
/* Memory for the gradient of input i (0 or 1); NULL if it requires none. */
real *op_save_gradient(Tensor *y, int i);
void  release_saved_gradients(Tensor *y);

/* Runs y's backward rule, which adds to the gradients of its inputs. */
void rule_run(Tensor *y);
/* Computes a value that ag_recompute has released (recompute.c). `of_rule`: for a backward rule, so values that only this one
 * needed are released. A caller may have a pointer to them otherwise. */
void value_again(Tensor *t, bool of_rule);
/* Whether backward may release this value: no rule will read it, and it is neither a leaf nor retained. */
bool can_release(const Tensor *t);
void release_value(Tensor *t);
extern size_t recompute_least_bytes;
/* A usage error unless the loss has one item (or `any_shape`) and requires a gradient. */
void check_loss(AgSite at, const char *what, const Tensor *loss, bool any_shape);
_Noreturn void error_graph_released(AgSite at, const char *what, const Tensor *y);
/* A usage error if an input of y was freed, or if values that y's rule reads (otherwise: any input) were written in place after
 * its operation had read them. */
void check_inputs(AgSite at, const Tensor *y, bool of_rule);

/* Input checks; `argument` is the parameter's name in messages. Alive: its scope is still open, and it is not freed. */
void check_alive(AgSite at, const char *what, const char *argument, const Tensor *t);
/* Not part of a graph, so that it may be written; or the result that ag_custom's forward function is writing. */
void check_leaf(AgSite at, const char *what, const char *argument, const Tensor *t);
/* The values of t, to be written in place: t must be a leaf of that type. Counts the write, so that backward finds values that
 * changed after an operation had read them. */
void *values_to_write(AgSite at, const char *what, const char *argument, Tensor *t, AgDType dtype);
/* Alive, of that type, value not released. */
void check_tensor(AgSite at, const char *what, const char *argument, const Tensor *t, AgDType dtype);
/* The same for any type. */
static inline void check_any(AgSite at, const char *what, const char *argument, const Tensor *t)
{
    check_tensor(at, what, argument, t, t ? (AgDType)t->dtype : AG_REAL);
}
/* A dimension number made non-negative and checked. */
int  check_dim(AgSite at, const char *what, const Tensor *x, int dim);
/* The same for operations along a dimension, which take a scalar as a vector of one item: dimension 0. */
int  check_along(AgSite at, const char *what, const Tensor *x, int dim);
/* Ids (AG_INT) in 0..below-1. */
void check_ids(AgSite at, const char *what, const Tensor *ids, int64_t below);
/* Checks a caller's shape: 0 to 8 dimensions, none negative, no overflow. Returns the number of items. */
int64_t check_shape(AgSite at, const char *what, const AgShape *shape);
/* Sets *y to the shape that both broadcast to; false if they do not. The second form reports a usage error. */
bool  broadcast(const AgShape *a, const AgShape *b, AgShape *y);
bool  broadcasts_to(const AgShape *from, const AgShape *to);
AgShape broadcast_shape(AgSite at, const char *what, const Tensor *a, const Tensor *b);
/* A usage error unless the mask is AG_BOOL and broadcasts to `shape`, which `target` names in the message. */
void  check_mask(AgSite at, const char *what, const Tensor *mask, const char *target, const AgShape *shape);
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
/* A strided iteration over `shape`, with the strides of a and b broadcast to it. */
KWalk walk_over(const AgShape *shape, const AgShape *a, const AgShape *b);

/* ---- gradients, for backward rules ------------------------------------------------------------------------------- */

/* Where a rule puts x's gradient: data is NULL if x requires none; overwrite it or, if `add`, add to it. */
typedef struct { real *data; bool add; } Grad;
Grad grad_into(Tensor *x);
/* The same for a rule that only adds: filled with zeros if nothing has been added yet. NULL if x requires none. */
real *grad_to_add(Tensor *x);
/* The same for an elementwise rule of one input, which may write dx over dy: uses y's gradient memory for x if nothing else
 * needs it. */
Grad grad_in_place(Tensor *x, Tensor *y);
/* For the rule of y, which runs: it will read the first input's values no more, so their memory may be that of a gradient. */
void rule_has_read(Tensor *y);
/* Makes these values the first gradient of x, which requires one. */
void grad_take(Tensor *x, Buffer *gradient);
#define UNWRITTEN 4096          /* large, and its sum with a usual gradient is exact enough in a float */
/* Passes y's gradient to x unchanged: shares it if it is the first, otherwise adds. Sizes are equal. */
void grad_pass(Tensor *x, Tensor *y);
static inline real *grad_of(const Tensor *y) { return buffer_data(y->grad); }
/* The rule of an operation that takes items of its first input x along a dimension: item i of y (outer, m, inner) is item
 * ids[i] along the dimension of x (outer, n, inner). dx = dy at the items taken, else 0. */
void grad_scatter(Tensor *y, Along x, int64_t m, const int32_t *ids);
/* Sums a dense gradient of shape `from` down to x's shape, into x's gradient. */
void grad_sum_to(Tensor *x, const real *dy, const AgShape *from);
/* For a rule that computes the gradient of x in the shape of y, to which x was broadcast: x's gradient if the sizes are equal,
 * else scratch memory, which grad_broadcast_done sums into x's gradient. */
Grad grad_broadcast(Tensor *x, const Tensor *y);
void grad_broadcast_done(Tensor *x, const Tensor *y, Grad g);
/* grad_pass to an x that was broadcast to y's shape. */
void grad_pass_broadcast(Tensor *x, Tensor *y);

/* ---- samples for the gradient check (gradcheck.c) ---------------------------------------------------------------- */

/* A sample function makes one call of its operation: case s->number, with inputs from the functions below (i counts the real
 * inputs from 0). It returns NULL if there is no such case. The same number must always make the same call. */
typedef struct { bool apart; double low, high; } SampleRange;
struct Sample {
    int number;
    Tensor **in;
    bool alias;
    Tensor *(*make_input)(Sample *s, int i, AgShape shape, SampleRange range);  /* NULL: gradcheck.c makes them */
};
/* Checks all its cases, as ag_check_op does. */
int op_check(const Op *op, FILE *report);
Tensor *sample_in(Sample *s, int i, AgShape shape);                             /* standard normal */
Tensor *sample_range(Sample *s, int i, AgShape shape, double low, double high);  /* uniform */
Tensor *sample_positive(Sample *s, int i, AgShape shape);                       /* the same, away from 0: 0.3..2 */
/* Values that are 0.05 apart or more: from each other, from 0 and from other inputs. */
Tensor *sample_apart(Sample *s, int i, AgShape shape);
double sample_apart_value(int i, int64_t j, int64_t n);                          /* entry j of n of such an input */
Tensor *sample_ids(AgShape shape, int32_t below);                               /* AG_INT, the same each time */
Tensor *sample_mask(AgShape shape);                                             /* AG_BOOL, the same each time */

#endif
