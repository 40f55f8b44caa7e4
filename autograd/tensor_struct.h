/* tensor_struct.h: what a tensor is inside.
 *
 * A tensor is an array, a node of the graph and, if it belongs to a scope, an entry of the tape.
 * The tape is the list of this thread's tensors, from the newest to the oldest (`older`). A
 * parameter belongs to a module, and is on no tape. An operation's inputs exist before its result.
 * So a walk down the tape from a loss meets every node after all of its users: backward needs no
 * sorting, no recursion and no set of visited nodes.
 *
 * To understand forward and backward, read TensorRelease, and struct Tensor without its last three
 * members, then tape.c and gradients.c. */
#ifndef KAERU_TENSOR_STRUCT_H
#define KAERU_TENSOR_STRUCT_H

#include "buffers.h"
#include "errors.h"
#include "kernels.h"

enum { TENSOR_ALIVE = 0x6b616572, TENSOR_DEAD = 0x64656164, SAVED_GRADIENTS = 3 };

/* Who still needs the values of a tensor, so that backward can release them (tape.c,
 * gradients.c). */
typedef struct {
    int readers;                /* the number of rules that will still read this value */
    int users;                  /* the number of recorded operations that have it as an input and
                                   are not released (release_node). For a leaf it counts only
                                   during a pass that ag_watch_backward watches */
    bool unread[2];             /* its rule does not read input 0 or 1, because the gradient that
                                   needs it is not wanted */
    bool input_was_read;        /* its rule has read input 0 for the last time (rule_has_read) */
    bool graph_released;        /* backward has run its rule and released what the rule reads */
} TensorRelease;

/* What ag_recompute knows of a tensor (recompute.c). */
typedef struct {
    /* Computes the value that ag_recompute has released, and the other released values that this
     * takes. NULL: ag_recompute has not released the value. If a backward rule needs it
     * (`for_rule`), the other values are released again when nobody reads them any more. If the
     * program reads it, they stay: the program may read them, too. Errors are those of `what`. */
    void (*restore)(Tensor *t, const char *what, bool for_rule);
    struct Tensor *next_listed; /* the next one in a list of values to compute */
    bool kept;                  /* ag_recompute does not release its value */
    bool reads_inputs;          /* it counts among the readers of its inputs, because `restore` will
                                   read them */
    bool listed;                /* it is in a list of values to compute */
} TensorRecompute;

/* A copy of a weight in bfloat16 (bf16_weights.c). */
typedef struct {
    Buffer *buffer;             /* the result of k_pack_b; NULL: there is no copy */
    uint32_t version;           /* the version of the weight's values that was copied */
} TensorPacked;

/* Where a tensor was made, for messages. */
typedef struct {
    Place site;                 /* the line of the call that made it */
    Place user_site;            /* the program's outermost call, if that line is in a layer; else no
                                   file */
    const char *made_by;        /* the function that made it */
    const void *thread;         /* thread_id() of the thread on whose tape it is; NULL: on none */
    char *name;                 /* the name from tensor_name, or NULL */
    uint32_t number;            /* its index, while the graph is listed */
} TensorOrigin;

struct Tensor {
    uint32_t magic;             /* TENSOR_ALIVE or TENSOR_DEAD */
    uint8_t dtype;              /* the type of its values: an AgDType */
    uint8_t precision;          /* an AgPrecision, for the products in its operation and its rule */
    bool requires_grad;
    bool owned;                 /* made by ag_keep or tensor_new_owned, so no scope frees it */
    bool retained;              /* value and gradient outlive backward (ag_retain) */
    bool infinite;              /* it holds an infinity on purpose, which ag_find_nan does not
                                   report */

    /* The array. */
    AgShape shape;
    int64_t numel;              /* the number of items */
    void *data;                 /* the values, in `buffer`; NULL when they are released */
    Buffer *buffer;

    /* The gradient. */
    Buffer *grad;               /* the gradient of a leaf; of other tensors, the sum so far in this
                                   backward pass; NULL: none */
    Buffer *kept_grad;          /* the gradient of a retained tensor that is not a leaf */

    /* The node of the graph. */
    const struct Op *op;        /* the recorded operation that made it; NULL: a leaf, or not
                                   recorded */
    struct Tensor **in;         /* the inputs; NULL for an optional one that is absent */
    int n_in;                   /* the number of inputs */
    uint32_t *version;          /* the versions of the inputs' values when the operation read them;
                                   item n_in: that of its own values */
    uint64_t *hash;             /* hashes of the values that the rule reads, if an observer needs
                                   CHECK_MEMORY; else NULL */
    void *args;                 /* the operation's own numbers, in the arena */
    Buffer *saved;              /* what forward stored for backward, besides inputs and output */
    Buffer *saved_gradient[SAVED_GRADIENTS];    /* gradients of the first inputs that forward has
                                                   computed (linear_cross_entropy) */
    struct Tensor *older;       /* the next entry of the tape */
    TensorRelease release;

    TensorRecompute recompute;
    TensorPacked packed;
    TensorOrigin origin;
};

/* Returns whether t is a tensor that lives. t may point to any memory, or to a tensor whose scope
 * has ended. */
static inline bool tensor_lives(const Tensor *t)
{
    return t && t->magic == TENSOR_ALIVE;
}

/* Notes that the rule of y runs from now on, NULL: none. A rule may read only the values that its
 * operation has declared (NEEDS, op.h), and the errors in it have the line of the operation. */
static inline void set_running_rule(const Tensor *y)
{
    running_rule = (RunningRule){ y, y ? y->origin.site : (Place){ 0 }, running.n };
}

/* Returns the values of t. Released values are a usage error: a rule reads what it has not
 * declared. */
_Noreturn void error_undeclared_read(const Tensor *t);
static inline void *values(const Tensor *t)
{
    if (!t->data) {
        error_undeclared_read(t);
    }
    return t->data;
}
static inline real *reals(const Tensor *t) { return values(t); }
/* Returns the values for an argument that a kernel reads only in some cases (kernels.h), and NULL
 * in the other cases, in which they may be released. */
static inline const real *reals_if(const Tensor *t, bool is_read)
{
    return is_read ? reals(t) : NULL;
}
/* Returns the values of a weight, or NULL if it is packed. */
static inline const real *weight_reals(const Tensor *t) { return reals_if(t, t->dtype == AG_REAL); }
static inline int32_t *ints(const Tensor *t) { return values(t); }
static inline uint8_t *bools(const Tensor *t) { return values(t); }

/* Returns item i of an array of that type, without rounding. Each byte of a mask but 0 is true,
 * which is 1. */
static inline double element_number(AgDType dtype, const void *values, int64_t i)
{
    if (dtype == AG_REAL) return (double)((const real *)values)[i];
    if (dtype == AG_INT) return ((const int32_t *)values)[i];
    return ((const uint8_t *)values)[i] != 0;
}

#endif
