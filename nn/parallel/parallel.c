/* parallel.c: data-parallel training over processes, with the same bits on any number of them.
 *
 * The gradients of the shards are the leaves of a binary tree: a node over n shards is the sum of a node over the first of
 * them, as many as the largest power of two below n, and of a node over the rest. A process has a run of shards. It adds up the
 * nodes of which it has all shards, and sends these sums. Each item of a parameter has one owner process, which receives the
 * sums of all others and adds them up the tree. No sum depends on how the shards were divided.
 *
 * Parameters are exchanged in the order in which the backward pass completed them in process 0's last step. All processes use
 * this order, so none waits for a message that cannot have been sent. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kaeru/gradient_arrays.h"
#include "kaeru/gradients.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "kaeru/values.h"
#include "kaeru/watch.h"
#include "kaeru/version.h"
#include "parallel_parts.h"

/* Those of this thread that exist. Their numbers fall along the list. */
static _Thread_local NnParallel *newest;

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static void parameter_complete(NnParallel *p, Parameter *parameter, Tensor *gradient)
{
    add_gradient(p, parameter, gradient);
    if (p->n_completed < p->n) p->completed[p->n_completed++] = (int)(parameter - p->parameter);
    if (p->shard == p->end - 1 && p->size > 1) exchange_sums(p);
}

/* ag_backward calls it. */
static void leaf_complete(void *arg, Tensor *leaf)
{
    NnParallel *p = arg;
    int i = 0;
    while (i < p->n && p->parameter[i].w != leaf) i++;
    if (i == p->n) return;
    p->has_gradient[i] = 1;
    parameter_complete(p, &p->parameter[i], ag_take_gradient(leaf));
}

static void pass_begun(void *arg, Tensor *loss)
{
    NnParallel *p = arg;
    if (p->has_loss) ag_usage_error("ag_backward", "called twice in shard %" PRId64 ": expected one loss a shard", p->shard);
    if (tensor_numel(loss) != 1) ag_usage_error("ag_backward", "the loss of a shard must have one item");
    p->has_loss = true;
    p->result[p->shard].loss = (double)tensor_data(loss)[0];
}

/* In one process with one shard, the numbers are those of a program without this file. */
static void set_random(const NnParallel *p)
{
    if (p->options.shards == 1) return;
    uint64_t step = (uint64_t)nn_optimizer_steps(p->optimizer);
    uint64_t number = step * (uint64_t)p->options.shards + (uint64_t)p->shard;
    ag_set_random_state((AgRandom){ p->common.seed, UINT64_C(1) << 63 | number << 1 });
    uint64_t high = ag_random_u32();
    ag_set_random_state((AgRandom){ (high << 32 | ag_random_u32()) + p->number, 0 });
}

static void check_mixed(const char *what, const NnParallel *p)
{
    if (p->report[0] & MEANS && p->report[0] & SUMS)
        ag_usage_error(what, "nn_parallel_count was called in some shards and not in others: expected in all that have a "
                       "loss, or in none");
}

/* A parameter without a gradient in this shard counts as if it were 0. */
static void end_shard(NnParallel *p)
{
    if (!p->has_loss && p->result[p->shard].count != 0)
        ag_usage_error("nn_parallel_shard", "no ag_backward in shard %" PRId64, p->shard);
    if (p->has_loss) p->report[0] |= p->has_count ? SUMS : MEANS;
    check_mixed("nn_parallel_shard", p);
    for (int i = 0; i < p->n; i++) {
        Parameter *parameter = &p->parameter[i];
        if (!parameter->is_complete) parameter_complete(p, parameter, tensor_new_owned(tensor_shape(parameter->w), AG_REAL));
    }
    end_buffers(p);
    p->sums += 1 - merges_after(0, p->options.shards, p->shard, p->first, p->end);
}

static void check_parallel(const char *what, const NnParallel *p)
{
    ag_check_object(what, "p", p);
    check_optimizer(what, p->optimizer);
}

bool nn_parallel_shard(NnParallel *p)
{
    AG_LAYER;
    check_parallel(__func__, p);
    if (p->shard == p->end) ag_usage_error(__func__, "all shards of this step are done: expected nn_parallel_step");
    if (p->shard < p->first) {
        p->common = ag_random_state();
        begin_buffers(p);
    } else {
        end_shard(p);
    }
    p->shard++;
    p->n_completed = 0;
    p->has_loss = p->has_count = false;
    bool more = p->shard < p->end;
    for (int i = 0; more && i < p->n; i++) p->parameter[i].is_complete = false;
    if (more) {
        set_random(p);
        p->result[p->shard] = (Result){ 0, 1 };
        ag_watch_backward((AgWatch){ pass_begun, leaf_complete, p });
    } else {
        ag_watch_backward((AgWatch){ NULL, NULL, NULL });
        if (p->options.shards > 1) ag_set_random_state(p->common);
    }
    return more;
}

static void check_in_shard(const char *what, const NnParallel *p)
{
    check_parallel(what, p);
    if (p->shard < p->first || p->shard == p->end) ag_usage_error(what, "not in a shard: expected after nn_parallel_shard");
}

int64_t nn_parallel_index(const NnParallel *p)
{
    check_in_shard(__func__, p);
    return p->shard;
}

void nn_parallel_count(NnParallel *p, double n)
{
    check_in_shard(__func__, p);
    if (!(n >= 0) || isinf(n)) ag_usage_error(__func__, "%g items, expected a finite number of 0 or more", n);
    p->has_count = true;
    p->result[p->shard].count = n;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void exchange_reports(NnParallel *p)
{
    int flags = 1 + p->n + p->n_shared, size = flags + p->n, *all = exchange(p, p->report, (size_t)size * sizeof *all, 0);
    memcpy(p->order, all + flags, (size_t)p->n * sizeof *p->order);
    for (int rank = 0; rank < p->size; rank++)
        for (int i = 0; i < flags; i++) p->report[i] |= all[rank * size + i];
    ag_free(all);
}

/* The sum over the shards of all processes. */
static Result total(const NnParallel *p)
{
    int64_t n = p->options.shards;
    Result sum = { 0, 0 }, *all = exchange(p, p->result, (size_t)n * sizeof *all, 0);
    for (int64_t i = 0; i < n; i++) {
        const Result *shard = &all[rank_of_shard(p, i) * n + i];
        sum.loss += shard->loss;
        sum.count += shard->count;
    }
    ag_free(all);
    return sum;
}

/* The norm of the gradients, from the sums of chunks in the order of the parameters. */
static double norm(const NnParallel *p)
{
    double *mine = ag_alloc((size_t)p->n_chunks, sizeof *mine), sum = 0;
    int64_t chunk = 0;
    for (int i = 0; i < p->n_pieces; i++) {
        const Piece *piece = &p->piece[i];
        const ag_real *x = tensor_data(p->parameter[piece->parameter].sum[0]) + piece->first;
        for (int64_t k = 0; k < piece->count; k += CHUNK, chunk++)
            if (piece->owner == p->rank) mine[chunk] = ag_sum_squares(x + k, least(CHUNK, piece->count - k));
    }
    double *all = exchange(p, mine, (size_t)p->n_chunks * sizeof *mine, 0);
    chunk = 0;
    for (int i = 0; i < p->n_pieces; i++)
        for (int64_t k = 0; k < p->piece[i].count; k += CHUNK) sum += all[p->piece[i].owner * p->n_chunks + chunk++];
    ag_free(all);
    ag_free(mine);
    return sqrt(sum);
}

static void update_own(NnParallel *p, Parameter *parameter, double scale)
{
    ParameterState *state = &p->optimizer->state[parameter->index];
    AgScope s = ag_begin(AG_NO_GRAD);
    if (isnan(scale)) {                                 /* so is the norm, and an update takes finite factors only */
        ag_fill(parameter->sum[0], scale);
        scale = 1;
    }
    if (state->count == 0 && tensor_numel(parameter->w) > 0) {
        state->steps++;
    } else if (p->optimizer->kind->by_item) {
        optimizer_update("nn_parallel_step", p->optimizer, parameter->index, parameter->sum[0], scale);
    } else {
        ag_set_owner(parameter->sum[0], NULL);
        ag_put_gradient(parameter->w, parameter->sum[0]);         /* the kind may read it there */
        parameter->sum[0] = NULL;
        optimizer_update("nn_parallel_step", p->optimizer, parameter->index, tensor_grad(parameter->w), scale);
        tensor_zero_grad(parameter->w);
    }
    ag_end(s);
}

/* Takes a step with this process's items, and exchanges the new weights. */
static void update(NnParallel *p, double scale)
{
    for (int i = 0; i < p->n; i++) {
        Parameter *parameter = &p->parameter[i];
        ag_real *w = tensor_mutable_data(parameter->w);
        if (!p->has_gradient[i]) continue;
        update_own(p, parameter, scale);
        for (int k = parameter->first_piece; k < parameter->end_piece; k++) {
            const Piece *piece = &p->piece[k];
            size_t size = (size_t)piece->count * sizeof(ag_real);
            if (piece->owner != p->rank)
                p->processes->receive(p->processes, piece->owner, TAG_PIECE + k, w + piece->first, size, &p->sending);
            for (int rank = 0; piece->owner == p->rank && rank < p->size; rank++)
                if (rank != p->rank)
                    p->processes->send(p->processes, rank, TAG_PIECE + k, w + piece->first, size, &p->sending);
        }
    }
    wait_for(p, &p->sending, 0);
}

static void end_step(NnParallel *p)
{
    for (int i = 0; i < p->n; i++) {
        for (int k = 0; k < p->sums; k++) {
            ag_free(p->parameter[i].sum[k]);
            p->parameter[i].sum[k] = NULL;
        }
        p->has_gradient[i] = 0;
    }
    p->sums = p->exchanged = p->queued = p->summed = 0;
    p->shard = p->first - 1;
    p->report[0] &= STOP;
    p->stopped = p->report[0];
}

double nn_parallel_step(NnParallel *p)
{
    AG_LAYER;
    check_parallel(__func__, p);
    if (p->shard != p->end)
        ag_usage_error(__func__, "%" PRId64 " of %" PRId64 " shards of this process are done: expected calls of "
                       "nn_parallel_shard until it is false", p->shard < p->first ? 0 : p->shard - p->first, p->end - p->first);
    while (p->summed < p->queued) finish_piece(p);
    wait_for(p, &p->sending, 0);
    exchange_reports(p);
    check_mixed(__func__, p);
    Result sum = total(p);
    double mean = sum.count > 0 ? sum.loss / sum.count : 0, scale = sum.count > 0 ? 1 / sum.count : 0;
    int trained = sum.count > 0 && isfinite(mean) ? 0 : 1;      /* otherwise there may be no gradient */
    for (int i = 0; i < p->n; i++) trained += p->has_gradient[i];
    optimizer_check(__func__, p->optimizer, trained);
    optimizer_make_state(p->optimizer);
    p->optimizer->steps++;                              /* also without an update: set_random needs another number */
    if (isfinite(mean)) {
        double factor = p->options.clip > 0 ? clip_factor(scale * norm(p), p->options.clip) : 1;
        update(p, scale * factor);
        share_buffers(p);
    }
    end_step(p);
    return mean;
}

static const ag_real *collect_state(Sharing *sharing, int index, int k)
{
    NnParallel *p = (NnParallel *)sharing;
    const Parameter *parameter = p->parameter;
    while (parameter->index != index) parameter++;
    Tensor *state = p->optimizer->state[index].tensor[k];
    if (p->size == 1) return tensor_data(state);
    bool is_first = p->rank == 0;
    int pending = 0;
    ag_free(p->whole);
    p->whole = is_first ? ag_alloc_in(p, (size_t)tensor_numel(parameter->w), sizeof *p->whole) : NULL;
    for (int i = parameter->first_piece; i < parameter->end_piece; i++) {
        const Piece *piece = &p->piece[i];
        size_t size = (size_t)piece->count * sizeof(ag_real);
        const ag_real *own = tensor_data(state) + piece->first - p->optimizer->state[index].first;
        bool is_mine = piece->owner == p->rank;
        if (is_mine && is_first) memcpy(p->whole + piece->first, own, size);
        else if (is_mine) p->processes->send(p->processes, 0, TAG_PIECE + i, own, size, &pending);
        else if (is_first)
            p->processes->receive(p->processes, piece->owner, TAG_PIECE + i, p->whole + piece->first, size, &pending);
    }
    wait_for(p, &pending, seconds_for_file(p));
    return p->whole;
}

void nn_parallel_stop(NnParallel *p)
{
    check_parallel(__func__, p);
    p->report[0] |= STOP;
    if (p->size == 1) p->stopped = true;
}

bool nn_parallel_stopped(const NnParallel *p)
{
    check_parallel(__func__, p);
    return p->stopped;
}

/* ---- work that is divided ---------------------------------------------------------------------------------------- */

bool nn_parallel_is_mine(const NnParallel *p, int64_t i)
{
    check_parallel(__func__, p);
    return i % p->size == p->rank;
}

void nn_parallel_collect(NnParallel *p, double *value, int64_t n)
{
    check_parallel(__func__, p);
    if (n < 0) ag_usage_error(__func__, "%lld items, expected 0 or more", (long long)n);
    if (n > 0) ag_check_pointer(__func__, "value", value);
    if ((uint64_t)n > SIZE_MAX / sizeof *value)
        ag_usage_error(__func__, "%lld items are too many for this machine", (long long)n);
    AG_LAYER;
    double *all = exchange(p, value, (size_t)n * sizeof *value, 0);
    for (int64_t i = 0; i < n; i++) value[i] = all[i % p->size * n + i];
    ag_free(all);
}

bool nn_parallel_check(NnParallel *p, bool good)
{
    AG_LAYER;
    enum { TEXT = 512 };
    check_parallel(__func__, p);
    char mine[TEXT] = "";
    if (!good) snprintf(mine, sizeof mine, "%s", *ag_error() ? ag_error() : "an error without a message");
    char *all = exchange(p, mine, TEXT, seconds_for_file(p));
    int rank = 0;
    while (rank < p->size && !all[rank * TEXT]) rank++;
    if (rank < p->size && rank != p->rank) ag_set_error("process %d: %s", rank, all + rank * TEXT);
    ag_free(all);
    return rank == p->size;
}

static bool all_good(Sharing *sharing, bool good)
{
    return nn_parallel_check((NnParallel *)sharing, good);
}

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (uint64_t word; n > 0; n -= n < 8 ? n : 8, at += 8) {
        word = 0;
        memcpy(&word, at, n < 8 ? n : 8);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

/* The first process whose n bytes are not those of process 0; p->size: none. */
static int first_other(const NnParallel *p, const void *all, size_t n)
{
    int rank = 1;
    while (rank < p->size && memcmp((const char *)all + (size_t)rank * n, all, n) == 0) rank++;
    return rank;
}

static bool agree(const NnParallel *p, const char *what, uint64_t mine)
{
    uint64_t *all = exchange(p, &mine, sizeof mine, 0);
    int rank = first_other(p, all, sizeof mine);
    ag_free(all);
    return rank == p->size || ag_set_error("process %d and process 0 differ in %s", rank, what);
}

bool nn_processes_agree(NnProcesses *processes, const char *what, const char *format, ...)
{
    AG_LAYER;
    enum { TEXT = 1024 };
    ag_check_pointer(__func__, "what", what);
    ag_check_pointer(__func__, "format", format);
    if (!processes) return true;
    NnParallel p = { .processes = processes, .rank = processes->rank, .size = processes->size };
    char mine[TEXT] = "";
    va_list list;
    va_start(list, format);
    vsnprintf(mine, sizeof mine, format, list);
    va_end(list);
    char *all = exchange(&p, mine, TEXT, 0);
    int rank = first_other(&p, all, TEXT);
    bool good = rank == p.size ||
                ag_set_error("process %d and process 0 differ in %s: %s and %s", rank, what, all + rank * TEXT, all);
    ag_free(all);
    return good;
}

bool nn_parallel_agree(NnParallel *p, const char *what, const void *bytes, size_t n)
{
    AG_LAYER;
    check_parallel(__func__, p);
    ag_check_pointer(__func__, "what", what);
    if (n > 0) ag_check_pointer(__func__, "bytes", bytes);
    return agree(p, what, hash(n, bytes, n));
}

int64_t nn_parallel_shards(const NnParallel *p)
{
    check_parallel(__func__, p);
    return p->options.shards;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static void list_parameters(NnParallel *p)
{
    const NnParameters *all = p->optimizer->parameters;
    p->parameter = ag_alloc_in(p, (size_t)all->n, sizeof *p->parameter);
    for (int i = 0; i < all->n; i++)
        if (all->item[i].trained) p->parameter[p->n++] = (Parameter){ .w = all->item[i].tensor, .index = i };
    p->order = ag_alloc_in(p, (size_t)p->n, sizeof *p->order);
    list_buffers(p);
    p->report = ag_alloc_in(p, 1 + 2 * (size_t)p->n + (size_t)p->n_shared, sizeof *p->report);
    p->has_gradient = p->report + 1;
    p->changed = p->has_gradient + p->n;
    p->completed = p->changed + p->n_shared;
    for (int i = 0; i < p->n; i++) p->order[i] = p->n - 1 - i;      /* backward begins with the last layer */
}

static uint64_t hash_of_weights(const NnParallel *p, bool of_values)
{
    const NnParameters *all = p->optimizer->parameters;
    uint64_t h = 0;
    for (int i = 0; i < all->n; i++) {
        Tensor *w = all->item[i].tensor;
        AgShape shape = tensor_shape(w);
        if (of_values) h = tensor_hash(w, h);
        else h = hash(hash(h, all->item[i].name, strlen(all->item[i].name)), shape.dim, (size_t)shape.ndim * sizeof *shape.dim);
    }
    return h;
}

/* Returns a hash of the kind, the options and the groups. */
static uint64_t hash_of_optimizer(const Optimizer *o)
{
    uint64_t h = hash(0, o->kind->name, strlen(o->kind->name));
    h = hash(hash(h, o->options, o->options_size), &o->lr, sizeof o->lr);
    h = hash(h, o->group, (size_t)o->n_groups * sizeof *o->group);
    for (int i = 0; i < o->parameters->n; i++) h = hash(h, &o->state[i].group, sizeof o->state[i].group);
    return h;
}

static bool same_everywhere(NnParallel *p)
{
    NnProcesses *all = p->processes;
    return p->size == 1 ||
          (nn_processes_agree(all, "kaeru's version", "%s", kaeru_version()) &&
           nn_processes_agree(all, "the number of shards", "%" PRId64, p->options.shards) &&
           nn_processes_agree(all, "the norm to clip", "%.17g", p->options.clip) &&
           nn_processes_agree(all, "the seed", "%" PRIu64, ag_random_state().seed) &&
           nn_processes_agree(all, "the precision", "%d", (int)ag_precision_now()) &&
           agree(p, "the names and shapes of the parameters", hash_of_weights(p, false)) &&
           agree(p, "the weights", hash_of_weights(p, true)) &&
           agree(p, "the options of the optimizer", hash_of_optimizer(p->optimizer)));
}

static void parallel_destroy(void *object)
{
    NnParallel *p = object;
    NnParallel **at = &newest;
    while (*at != p) at = &(*at)->older;
    *at = p->older;
    ag_watch_backward((AgWatch){ NULL, NULL, NULL });
    p->optimizer->sharing = NULL;
    p->optimizer->refusal = NULL;
    if (p->is_divided)
        p->optimizer->refusal = "the state of this optimizer was divided among processes, by nn_parallel_new";
}

NnParallel *nn_parallel_new_with(Optimizer *optimizer, NnParallelOptions options, NnProcesses *processes)
{
    AG_LAYER;
    check_optimizer(__func__, optimizer);
    check_whole(__func__, optimizer);
    if (optimizer->sharing) ag_usage_error(__func__, "this optimizer is shared already");
    const NnProcesses *q = processes;
    if (q && (q->rank < 0 || q->rank >= q->size || !q->send || !q->receive || !q->progress || !q->peer || !q->fail || !q->end))
        ag_usage_error(__func__, "process %d of %d: expected 0 to size - 1, and all six functions", q->rank, q->size);
    int size = q ? q->size : 1, rank = q ? q->rank : 0;
    if (options.shards < 1) ag_usage_error(__func__, "%" PRId64 " shards, expected 1 or more", options.shards);
    if (!(options.clip >= 0)) ag_usage_error(__func__, "clip is %g, expected 0 or more", options.clip);
    NnParallel *p = ag_object_new(sizeof *p);
    ag_on_free(p, parallel_destroy);
    *p = (NnParallel){
        .sharing = { collect_state, rank == 0, all_good },
        .options = options,
        .optimizer = optimizer,
        .processes = processes,
        .size = size,
        .rank = rank,
        .older = newest,
        .number = newest ? newest->number + 1 : 0,
    };
    newest = p;
    if (size > options.shards)
        parallel_fail(p, "%d processes for %" PRId64 " shards: expected at most one process a shard", size, options.shards);
    p->first = first_shard(p, p->rank);
    p->end = first_shard(p, p->rank + 1);
    p->shard = p->first - 1;
    p->result = ag_alloc_in(p, (size_t)options.shards, sizeof *p->result);
    list_parameters(p);
    divide(p);
    if (!same_everywhere(p)) parallel_fail(p, "%s", ag_error());
    return p;
}

bool nn_parallel_end(NnParallel *p)
{
    AG_LAYER;
    check_parallel(__func__, p);
    bool is_first = p->rank == 0;
    const NnParallel *other = newest;
    while (other && (other == p || other->processes != p->processes)) other = other->older;
    if (p->processes && !other) p->processes->end(p->processes);
    ag_free(p);
    return is_first;
}
