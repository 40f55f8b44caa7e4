/* parallel_parts.h: the members of NnParallel, for the files of this folder. parallel.c describes the method. */
#ifndef KAERU_PARALLEL_PARTS_H
#define KAERU_PARALLEL_PARTS_H

#include "kaeru/parallel.h"
#include "optim.h"

enum {
    CHUNK = 1 << 14,            /* items whose squares are summed together: the same for any number of processes */
    ROOM = 1 << 23,             /* most items that are received at a time */
    DEPTH = 64,                 /* partial sums that a process can have */
    TAG_SMALL = 0, TAG_PIECE = 1        /* of messages; those of a piece: TAG_PIECE + its number */
};

/* Neighboring items of a parameter, which have one owner and are one message. */
typedef struct {
    int part, owner;
    int64_t first, count;
    int64_t room;               /* where the values of the others are received */
    int pending;                /* messages that are still on the way */
} Piece;

/* A trained parameter. */
typedef struct {
    Tensor *w;
    int index;                  /* in the optimizer */
    int first_piece, end_piece;
    int64_t own_first;          /* the first item that this process owns */
    Tensor *sum[DEPTH];         /* the partial sums of this process, from left to right */
    bool is_complete;           /* the gradient of the current shard is in a sum */
} Part;

/* Of a shard: the sum of losses and their number. */
typedef struct { double loss, count; } Result;

struct NnParallel {
    NnParallelOptions options;
    Optimizer *optimizer;       /* NULL in nn_processes_agree */
    NnProcesses *processes;     /* NULL: this one alone */
    int rank, size;
    int64_t first, end;         /* the shards of this process */
    int64_t shard;              /* the current one; first - 1: none yet in this step; end: all are done */
    int sums;                   /* partial sums of each part that were complete before the current shard */
    bool has_loss, stop, stopped;
    AgRandom common;            /* the state of the random generator outside of shards */
    NnParallel *older;          /* the next in the list of this thread; NULL: none */
    uint64_t number;            /* unlike that of all others in this list */
    Result *result;             /* of each shard */
    int n;                      /* parts */
    Part *part;
    int *order;                 /* their numbers, in the order of the exchange; */
    int exchanged;              /* so many of them have been sent */
    int *completed, n_completed;        /* numbers of parts in the order in which backward has completed them */
    bool knows_order;
    uint8_t *has_gradient;      /* for each part: in a shard of this step */
    Piece *piece;               /* those of a part are neighbors */
    int n_pieces;
    int64_t n_chunks, *first_chunk;     /* chunks that the processes before this rank own */
    double *squares;            /* of each chunk, in the order of their owners */
    int *queue, queued, summed; /* own pieces: begun to be received, and added up */
    int sending;                /* messages on the way */
    ag_real *whole;             /* of parallel_state */
    int64_t whole_size;
    int *first_root;            /* roots of the processes before this rank; [size]: of all */
    int others;                 /* roots of all other processes */
    ag_real *room;              /* for the values of others: */
    int64_t room_size, room_used;       /* items, of which the first are in use */
};

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- tree.c ------------------------------------------------------------------------------------------------------ */

/* Where part i begins if n items are divided into so many parts. */
int64_t part_begin(int64_t n, int64_t parts, int64_t i);
/* The first shard of a process; of rank + 1: the end of its shards. */
int64_t first_shard(const NnParallel *p, int rank);
int rank_of_shard(const NnParallel *p, int64_t shard);
/* Where the node over lo..hi-1 is divided. */
int64_t middle(int64_t lo, int64_t hi);
/* How many nodes below the one over lo..hi-1 are complete with shard `last`, in a process whose shards are first..end-1. */
int merges_after(int64_t lo, int64_t hi, int64_t last, int64_t first, int64_t end);
/* The number of partial sums that a process has before one of its shards; at the end of its shards: of roots. */
int sums_before(const NnParallel *p, int rank, int64_t shard);
int n_roots(const NnParallel *p, int rank);

/* ---- exchange.c -------------------------------------------------------------------------------------------------- */

/* Prints a line and ends all processes. */
_Noreturn void parallel_fail(const NnParallel *p, const char *format, ...) AG_PRINTF(2, 3);
/* Until *pending is 0. wait_for_file: also while the first process writes a checkpoint. */
void wait_for(const NnParallel *p, const int *pending);
void wait_for_file(const NnParallel *p, const int *pending);
/* Sends n bytes to all others, and receives as many from each: all[rank] of n bytes. exchange: by wait_for. */
void exchange_by(const NnParallel *p, const void *mine, void *all, size_t n,
                 void wait(const NnParallel *p, const int *pending));
void exchange(const NnParallel *p, const void *mine, void *all, size_t n);
/* Items begin(rank)..begin(rank+1)-1 of an array are known to process `rank`: makes all known to all. */
void exchange_parts(const NnParallel *p, void *array, size_t size, int64_t begin(const NnParallel *p, int rank));

/* ---- pieces.c ---------------------------------------------------------------------------------------------------- */

/* Cuts the parameters into pieces, and the optimizer's state to the items of this process. */
void divide(NnParallel *p);
int64_t chunks_of(int64_t items);
/* Puts the gradient of the current shard, which it owns from now on, behind the sums of the part, and adds the nodes that are
 * complete with it. */
void add_gradient(NnParallel *p, Part *part, Tensor *gradient);
/* Exchanges the parts whose sums in this process are complete, as far as all before them in the order are. */
void exchange_sums(NnParallel *p);
/* Waits for the oldest piece that is being received, and adds it up: the sum is in the first of the own sums. */
void finish_piece(NnParallel *p);

#endif
