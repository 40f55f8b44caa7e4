/* parallel.h: data-parallel training: several processes train one model, with the same bits on any number of them.
 *
 *     NnParallel *all = nn_parallel_new(adam, 8, nn_mpi_begin());        8 shards; nn_mpi_begin is in kaeru/mpi.h
 *     for (int step = 0; step < 500; step++) {
 *         while (nn_parallel_shard(all)) {                            the shards of this process
 *             AgScope scope = ag_begin(AG_RECORD);
 *             ag_backward(loss_of(model));
 *             ag_end(scope);
 *         }
 *         double loss = nn_parallel_step(all);                        instead of nn_optimizer_step: the mean of all shards
 *     }
 *     if (!nn_parallel_end(all)) return 0;                            from here on only the first process
 *
 * The batch of a step is cut into a fixed number of shards. Each process computes the gradients of a run of shards, and the
 * gradients of all shards are added in the order of one binary tree. So the weights depend on the number of shards and not on
 * the number of processes, which is at most the number of shards. In a shard, this thread's random generator depends on its
 * seed, the step and the shard alone; between steps it is the same in all processes. If a program has several NnParallel at a
 * time, each has random numbers of its own. Each shard begins with the saved buffers that the optimizer's module had before the
 * step; after it they are those of the first shard (BatchNorm's statistics).
 *
 * The state of the optimizer is divided among the processes (Rajbhandari et al. 2020, ZeRO stage 1): each updates its part of
 * every parameter and sends the new weights to the others. Gradients are sent while the backward pass goes on.
 *
 * All processes must build the same model from the same seed and call these functions in the same order. */
#ifndef KAERU_PARALLEL_H
#define KAERU_PARALLEL_H

#include "kaeru/optim.h"

AG_PUBLIC_BEGIN

typedef struct NnParallel NnParallel;

/* ---- the processes ----------------------------------------------------------------------------------------------- */

/* How processes exchange bytes. kaeru/mpi.h makes one of MPI; a program can make its own. Each function is called by the
 * thread that made it. */
typedef struct NnProcesses NnProcesses;
struct NnProcesses {
    int rank, size;                 /* this process is number `rank` of 0..size-1 */
    double deadline;                /* seconds of another process's silence after which all end with an error */
    int patience;                   /* seconds after which a process that ends all others has ended them */
    /* Each begins to send n bytes to a process, or to receive them from it. Messages between two processes with the same tag
     * (0 or more) arrive in their order. The bytes must stay as they are until the message is done. Adds 1 to *pending now, and
     * subtracts it when the message is done. */
    void (*send)(NnProcesses *p, int to, int tag, const void *bytes, size_t n, int *pending);
    void (*receive)(NnProcesses *p, int from, int tag, void *bytes, size_t n, int *pending);
    /* Continues messages that have begun. True if one was done. Otherwise, if this process waits for one, it may give the
     * processor to others for a moment, and tells them several times in a deadline that it waits. */
    bool (*progress)(NnProcesses *p, bool waits);
    /* The process that a message counted in *pending comes from or goes to; of several, the one that has not told for the
     * longest time that it waits. *silent: the seconds since it did. */
    int (*peer)(NnProcesses *p, const int *pending, double *silent);
    /* Prints a line and ends all processes with status 1. */
    void (*fail)(NnProcesses *p, const char *line);
    /* Ends the exchange of this process and frees p. */
    void (*end)(NnProcesses *p);
};

/* Whether all processes (NULL: this one alone) have the same text, made as by printf, for example the value of an option. If
 * not, ag_error() names the first one that differs, `what`, and both texts. Only the first 1023 bytes are compared. */
bool nn_processes_agree(NnProcesses *p, const char *what, const char *format, ...) AG_PRINTF(3, 4);

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t shards;                 /* 1 or more; the weights depend on it */
    double clip;                    /* the largest global norm of the gradients; 0: no limit */
} NnParallelOptions;

/* Prepares `optimizer`, and the module that it trains, for steps with these processes, or with this process alone (NULL). It
 * checks that all processes have the same version of kaeru, weights and options; otherwise all end with a line that names the
 * first that differs. The optimizer belongs to the caller and takes its steps here from now on. */
NnParallel *nn_parallel_new_with(Optimizer *optimizer, NnParallelOptions options, NnProcesses *processes);
#define nn_parallel_new(optimizer, shards_, processes) \
    nn_parallel_new_with(optimizer, (AG_VALUE(NnParallelOptions){ (shards_), 0.0 }), processes)

/* Begins the next shard of this process; false after its last one, and the next call begins the next step. In each shard,
 * ag_backward is called once, on the mean loss of the shard, or after nn_parallel_count on the sum. */
bool nn_parallel_shard(NnParallel *p);

/* The number of the current shard, 0..shards-1: to choose the data. */
int64_t nn_parallel_index(const NnParallel *p);

/* Says that the loss of this shard is a sum over n items (0 for a shard without ag_backward). The step then uses the gradient
 * of the mean over the items of all shards. Call it in each shard that has a loss, or in none. */
void nn_parallel_count(NnParallel *p, double n);

/* Adds the gradients of all shards, clips their norm, takes a step of the optimizer with their mean, and makes the new weights
 * known to all processes. Returns the mean loss. If it is not finite, weights and buffers stay as they are, but the step counts
 * (nn_optimizer_steps), so that the next one has other random numbers. A norm that is not finite is clipped as by
 * nn_clip_grad_norm. The usage errors of nn_optimizer_step are usage errors here. A step without items, or whose loss is not
 * finite, needs no gradient. */
double nn_parallel_step(NnParallel *p);

/* Asks for the end of the training, for example after a signal. From the end of the next step on (in a process alone: at once),
 * nn_parallel_stopped is true in all processes, and stays so. */
void nn_parallel_stop(NnParallel *p);
bool nn_parallel_stopped(const NnParallel *p);

/* ---- work that is divided ---------------------------------------------------------------------------------------- */

/* Divides the items of other work, such as the batches of an evaluation: whether this process computes item i. */
bool nn_parallel_is_mine(const NnParallel *p, int64_t i);

/* Sends the values of this process's items to the others, and receives theirs: value[0..n-1] is then complete. */
void nn_parallel_collect(NnParallel *p, double *value, int64_t n);

/* Whether all processes have the same n bytes. If not, ag_error() names the first one that differs, and `what`. */
bool nn_parallel_agree(NnParallel *p, const char *what, const void *bytes, size_t n);

/* Whether `good` is true in all processes. If not, ag_error() is that of the first one where it is false. Here, and in
 * nn_checkpoint_save, a process may be silent for a deadline and one second more for each million items of the parameters,
 * because it may be writing them to a file. */
bool nn_parallel_check(NnParallel *p, bool good);

int64_t nn_parallel_shards(const NnParallel *p);      /* the number of shards */
#define nn_parallel_is_first(p) nn_parallel_is_mine(p, 0)           /* process 0, which writes the files */

/* Frees p, and ends the exchange unless another NnParallel uses the same processes. The optimizer can then only be freed. True
 * in the first process; the others should end. */
bool nn_parallel_end(NnParallel *p);

#include "kaeru/calls/parallel.h"

AG_PUBLIC_END
#endif
