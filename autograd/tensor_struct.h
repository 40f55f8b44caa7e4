/* tensor_struct.h: what a tensor is inside.
 *
 * A tensor is an array, a node of the graph and an entry of the tape. The tape is the list of this
 * thread's tensors in the reverse order of their creation (`older`). An operation's inputs exist
 * before its result, so a walk down the tape from a loss meets every node after all of its users:
 * backward needs no sorting, no recursion and no set of visited nodes. */
#ifndef KAERU_TENSOR_STRUCT_H
#define KAERU_TENSOR_STRUCT_H

#include "buffers.h"
#include "errors.h"
#include "kernels.h"

enum { TENSOR_ALIVE = 0x6b616572, TENSOR_DEAD = 0x64656164, SAVED_GRADIENTS = 3 };

/* Who still needs the values of a tensor, so that backward can release them (tape.c,
 * gradients.c). */
typedef struct {
    int readers;                /* rules that will still read this value */
    int users;                  /* recorded operations that have it as an input and are not released
                                   (release_node). Leaves are counted only for ag_watch_backward,
                                   during the pass that it watches */
    bool unread[2];             /* its rule does not read input 0 or 1, because the gradient that
                                   needs it is not wanted */
    bool input_was_read;        /* its rule reads input 0 no more (rule_has_read) */
    bool graph_released;        /* backward has run its rule and released what the rule reads */
} TensorRelease;

/* What ag_recompute knows of a tensor (recompute.c). */
typedef struct {
    /* Computes the value again that ag_recompute has released, and the released values that this
     * takes. If a backward rule needs the value (`for_rule`), the others are released again as soon
     * as nobody reads them. If the program reads it, they stay, because the program may read them,
     * too. Errors are those of `what`. NULL: ag_recompute has not released the value. */
    void (*restore)(Tensor *t, const char *what, bool for_rule);
    struct Tensor *next_listed;
    bool kept;                  /* its value is not released */
    bool reads_inputs;          /* counted among the readers of its inputs, because `restore` will
                                   read them */
    bool listed;                /* in a list of values to compute */
} TensorRecompute;

/* A copy of a weight in bfloat16 (bf16_weights.c). */
typedef struct {
    Buffer *buffer;             /* by k_pack_b; NULL: none */
    uint32_t version;           /* of the weight's values when it was made */
} TensorPacked;

/* Where a tensor was made, for messages. */
typedef struct {
    Place site;                 /* the caller's line */
    Place user_site;            /* if that is in a layer: the user's outermost call; else no file */
    const char *made_by;        /* the function called there */
    const void *thread;         /* thread_id() of the thread on whose tape it is; NULL: on none */
    char *name;
    uint32_t number;            /* its index while the graph is listed; otherwise undefined */
} TensorOrigin;

struct Tensor {
    uint32_t magic;
    uint8_t dtype, precision;   /* of its values; of the products that made it and of their rule */
    bool requires_grad;
    bool owned;                 /* allocated by ag_keep or tensor_new_owned; else in the arena of a
                                   scope */
    bool retained;              /* ag_retain: value and gradient outlive backward */
    bool infinite;              /* it holds an infinity on purpose, so a search for NaN leaves it
                                   out */

    AgShape shape;
    int64_t numel;
    void *data;                 /* in buffer; NULL once released */
    Buffer *buffer;
    Buffer *grad;               /* of a leaf: its gradient; of others: the sum so far in this
                                   backward pass; NULL: none */
    Buffer *kept_grad;          /* the gradient of a retained tensor that is not a leaf */

    const struct Op *op;        /* the recorded operation that made it; NULL: a leaf, or not
                                   recorded */
    struct Tensor **in;         /* its inputs; an absent optional one is NULL */
    uint32_t *version;          /* of each input's values when the operation read them, and of its
                                   own values */
    uint64_t *hash;             /* of the values that the rule reads, for an observer that needs
                                   CHECK_MEMORY; else NULL */
    int n_in;
    void *args;                 /* the operation's own numbers, in the arena */
    Buffer *saved;              /* what forward stored for backward, besides inputs and output */
    Buffer *saved_gradient[SAVED_GRADIENTS];    /* of the first inputs, if forward computed them
                                                   (linear_cross_entropy) */
    struct Tensor *older;       /* the next entry of the tape */

    TensorRelease release;
    TensorRecompute recompute;
    TensorPacked packed;
    TensorOrigin origin;
};

/* Returns whether t is a tensor that lives; of any memory, also of a tensor whose scope has
 * ended. */
static inline bool tensor_lives(const Tensor *t)
{
    return t && t->magic == TENSOR_ALIVE;
}

/* From now on reads of values are those of the rule of y, which must declare them. NULL: of the
 * program. */
static inline void check_reads_of(const Tensor *y)
{
    running_rule = (RunningRule){ y, y ? y->origin.site : (Place){ 0 }, running.n };
}

/* The values. Only a backward rule can find them released: it reads what its NEEDS does not name,
 * which is a usage error. */
_Noreturn void error_undeclared_read(const Tensor *t);
static inline void *values(const Tensor *t)
{
    if (!t->data) {
        error_undeclared_read(t);
    }
    return t->data;
}
static inline real *reals(const Tensor *t) { return values(t); }
/* For an argument that a kernel reads only in some cases (see the kernels' headers): the value may
 * be released otherwise. */
static inline const real *reals_if(const Tensor *t, bool is_read)
{
    return is_read ? reals(t) : NULL;
}
/* Those of a weight that may be packed: NULL then. */
static inline const real *weight_reals(const Tensor *t) { return reals_if(t, t->dtype == AG_REAL); }
static inline int32_t *ints(const Tensor *t) { return values(t); }
static inline uint8_t *bools(const Tensor *t) { return values(t); }

/* Item i of an array of that type; exact. Each byte of a mask but 0 is true, which is 1. */
static inline double element_number(AgDType dtype, const void *values, int64_t i)
{
    return dtype == AG_REAL  ? (double)((const real *)values)[i]
           : dtype == AG_INT ? ((const int32_t *)values)[i]
                             : ((const uint8_t *)values)[i] != 0;
}

#endif
