/* parallel_parts.h: the members of NnParallel, for the files of this folder. parallel.c describes the method.
 *
 * Words: a shard is a fixed portion of the batch. Each process owns a part of each parameter: it adds up the gradients of
 * these items and updates them. A part is sent in pieces, one message each. The squares of a chunk of items are summed
 * together, so that the norm of the gradients does not depend on the number of processes. */
#ifndef KAERU_PARALLEL_PARTS_H
#define KAERU_PARALLEL_PARTS_H

#include "kaeru/parallel.h"
#include "optimizer.h"

enum {
    CHUNK = 1 << 14,            /* items */
    MOST_RECEIVED = 1 << 23,    /* items that are received at a time */
    DEPTH = 64,                 /* partial sums that a process can have */
    TAG_SMALL = 0, TAG_PIECE = 1        /* of messages; those of a piece: TAG_PIECE + its number */
};

/* Neighboring items of a parameter, which have one owner and are one message. */
typedef struct {
    int parameter, owner;
    int64_t first, count;
    int64_t received;           /* where the values of the others are in NnParallel.buffer */
    int pending;                /* messages that are still on the way */
} Piece;

/* A trained parameter. */
typedef struct {
    Tensor *w;
    int index;                  /* in the optimizer */
    int first_piece, end_piece;
    Tensor *sum[DEPTH];         /* the partial sums of this process, from left to right */
    bool is_complete;           /* the gradient of the current shard is in a sum */
} Parameter;

/* A buffer that a forward pass may change; copies of it before the step and, in process 0, after the first shard. */
typedef struct { Tensor *tensor, *before, *first; uint32_t version; } Shared;

/* Flags in report[0]. MEANS and SUMS: in this step there are losses without and with nn_parallel_count. */
enum { STOP = 1, MEANS = 2, SUMS = 4 };
/* Of a shard: the sum of losses and their number. */
typedef struct { double loss, count; } Result;

struct NnParallel {
    Sharing sharing;            /* what the optimizer gets; the first member */
    NnParallelOptions options;
    Optimizer *optimizer;       /* NULL in nn_processes_agree */
    NnProcesses *processes;     /* NULL: this one alone */
    int rank, size;
    int64_t first, end;         /* the shards of this process */
    int64_t shard;              /* the current one; first - 1: none yet in this step; end: all are done */
    int sums;                   /* partial sums of each parameter that were complete before the current shard */
    bool has_loss, has_count, stopped;
    bool is_divided;            /* the optimizer has a part of its state only */
    AgRandom common;            /* the state of the random generator outside of shards */
    NnParallel *older;          /* the next in the list of this thread; NULL: none */
    uint64_t number;            /* unlike that of all others in this list */
    Result *result;             /* of each shard */
    int n;
    Parameter *parameter;
    int *order;                 /* their numbers, in the order of the exchange; */
    int exchanged;              /* so many of them have been sent */
    int *report;                /* what the processes tell each other in each step: STOP, MEANS, SUMS, and these three: */
    int *has_gradient;          /* for each parameter: in a shard of this step */
    int *changed;               /* for each buffer: in the first shard of this step */
    int *completed, n_completed;        /* their numbers, in the order in which backward has completed them */
    Shared *shared;
    int n_shared;
    Piece *piece;               /* those of a parameter are neighbors */
    int n_pieces;
    int64_t n_chunks;           /* of all pieces */
    int *queue, queued, summed; /* own pieces: begun to be received, and added up */
    int sending;                /* messages on the way */
    ag_real *whole;             /* of collect_state */
    int *first_sum;             /* the number of sums that the processes before this rank send; [size]: all processes */
    int foreign;                /* the number of sums that all other processes send */
    ag_real *buffer;            /* for the values of others: */
    int64_t buffer_size, buffer_used;   /* items, of which the first are in use */
};

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- tree.c ------------------------------------------------------------------------------------------------------ */

/* Where portion i begins if n items are divided into so many. */
int64_t portion_begin(int64_t n, int64_t portions, int64_t i);
/* The first shard of a process; of rank + 1: the end of its shards. */
int64_t first_shard(const NnParallel *p, int rank);
int rank_of_shard(const NnParallel *p, int64_t shard);
/* Where the node over lo..hi-1 is divided. */
int64_t middle(int64_t lo, int64_t hi);
/* How many nodes below the one over lo..hi-1 are complete with shard `last`, in a process whose shards are first..end-1. */
int merges_after(int64_t lo, int64_t hi, int64_t last, int64_t first, int64_t end);
/* The number of partial sums that a process has before one of its shards, and at the end of its shards, when it sends them. */
int sums_before(const NnParallel *p, int rank, int64_t shard);
int sums_sent(const NnParallel *p, int rank);

/* ---- exchange.c -------------------------------------------------------------------------------------------------- */

/* Prints a line and ends all processes. */
_Noreturn void parallel_fail(const NnParallel *p, const char *format, ...) AG_PRINTF(2, 3);
/* Until *pending is 0. The others may be silent for so many seconds more than the deadline. */
void wait_for(const NnParallel *p, const int *pending, double more);
/* The time in which the first process writes a checkpoint. */
double seconds_for_file(const NnParallel *p);
/* Sends n bytes to all others. Returns those of all, in the order of the ranks, for ag_free. Waits as wait_for. */
void *exchange(const NnParallel *p, const void *mine, size_t n, double more);

/* ---- buffers.c --------------------------------------------------------------------------------------------------- */

void list_buffers(NnParallel *p);
void begin_buffers(NnParallel *p);              /* before the shards of a step */
void end_buffers(NnParallel *p);                /* after each shard */
void share_buffers(NnParallel *p);              /* at the end of the step */

/* ---- pieces.c ---------------------------------------------------------------------------------------------------- */

/* Cuts the parameters into pieces, and the optimizer's state to the items of this process. */
void divide(NnParallel *p);
/* Puts the gradient of the current shard, which p owns from now on, behind the sums of the parameter, and adds the nodes that
 * are complete with it. */
void add_gradient(NnParallel *p, Parameter *parameter, Tensor *gradient);
/* Exchanges the parameters whose sums in this process are complete, as far as all before them in the order are. */
void exchange_sums(NnParallel *p);
/* Waits for the oldest piece that is being received, and adds it up: the sum is in the first of the own sums. */
void finish_piece(NnParallel *p);

#endif
