/* pieces.c: the parameters in pieces, each with an owner process; the sums of gradients, and their way to the owners. */
#include <string.h>

#include "kaeru/gradient_arrays.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "parallel_parts.h"

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static int64_t chunks_of(int64_t items)
{
    return items / CHUNK + (items % CHUNK != 0);
}

/* The items of part k of parameter i, which has one part for each process: whole chunks, or all items in one part. Returns the
 * owner. The parts go round, so that not all small parameters go to the last process. */
static int part_items(const NnParallel *p, int i, int k, int64_t *first, int64_t *count)
{
    int64_t numel = tensor_numel(p->parameter[i].w), size = p->optimizer->kind->by_item ? CHUNK : numel;
    int64_t chunks = p->optimizer->kind->by_item ? chunks_of(numel) : 1;
    *first = least(portion_begin(chunks, p->size, k) * size, numel);
    *count = least(portion_begin(chunks, p->size, k + 1) * size, numel) - *first;
    return (k + i) % p->size;
}

/* From now on, o updates only items first..first+count-1 of parameter i, and has state for them alone, in tensors of one
 * dimension unless they are all. */
static void keep_part(Optimizer *o, int i, int64_t first, int64_t count)
{
    ParameterState *s = &o->state[i];
    s->first = first;
    s->count = count;
    s->is_part = count != tensor_numel(o->parameters->item[i].tensor);
    for (int k = 0; k < s->n && s->tensor[k] && s->is_part; k++) {
        Tensor *part = tensor_new_owned(SHAPE(count), AG_REAL);
        ag_set_owner(part, o);
        if (count) memcpy(tensor_mutable_data(part), tensor_data(s->tensor[k]) + first, (size_t)count * sizeof(ag_real));
        ag_free(s->tensor[k]);
        s->tensor[k] = part;
    }
}

/* Cuts the parameters, each in the order of its items, and the optimizer's state to the items of this process. */
static void cut_pieces(NnParallel *p, int64_t largest)
{
    int64_t most = 0;
    for (int i = 0; i < p->n; i++) most += tensor_numel(p->parameter[i].w) / largest + p->size;
    p->piece = ag_alloc_in(p, (size_t)most, sizeof *p->piece);
    for (int i = 0; i < p->n; i++) {
        p->parameter[i].first_piece = p->n_pieces;
        for (int k = 0; k < p->size; k++) {
            int64_t first, count;
            int owner = part_items(p, i, k, &first, &count);
            if (owner == p->rank) keep_part(p->optimizer, p->parameter[i].index, first, count);
            for (int64_t at = 0; at < count; at += largest)
                p->piece[p->n_pieces++] = (Piece){ i, owner, first + at, least(largest, count - at), 0, 0 };
        }
        p->parameter[i].end_piece = p->n_pieces;
    }
}

void divide(NnParallel *p)
{
    enum { MESSAGE = 1 << 16, AT_ONCE = 4 };
    p->first_sum = ag_alloc_in(p, (size_t)p->size + 1, sizeof *p->first_sum);
    for (int rank = 0; rank < p->size; rank++)
        p->first_sum[rank + 1] = p->first_sum[rank] + sums_before(p, rank, first_shard(p, rank + 1));
    p->foreign = p->first_sum[p->size] - sums_sent(p, p->rank);
    int64_t largest = p->foreign ? least(MESSAGE, MOST_RECEIVED / AT_ONCE / p->foreign) / CHUNK * CHUNK : MESSAGE;
    if (largest < CHUNK) largest = CHUNK;
    cut_pieces(p, largest);
    for (int i = 0; i < p->n; i++) p->is_divided = p->is_divided || p->optimizer->state[p->parameter[i].index].is_part;
    p->queue = ag_alloc_in(p, (size_t)p->n_pieces, sizeof *p->queue);
    int64_t received = 0;
    for (int i = 0; i < p->n_pieces; i++) {
        const Piece *piece = &p->piece[i];
        p->n_chunks += chunks_of(piece->count);
        if (piece->owner == p->rank) received += piece->count * p->foreign;
    }
    p->buffer_size = least(received, largest * p->foreign > MOST_RECEIVED ? largest * p->foreign : MOST_RECEIVED);
    p->buffer = ag_alloc_in(p, (size_t)p->buffer_size, sizeof *p->buffer);
    p->optimizer->sharing = &p->sharing;
    p->optimizer->refusal = "this optimizer is shared: expected nn_parallel_step";
    ag_memory_trim();                                   /* the state of other processes' items, if it existed */
}

/* ---- the sums of this process ------------------------------------------------------------------------------------ */

void add_gradient(NnParallel *p, Parameter *parameter, Tensor *gradient)
{
    int at = p->sums;
    for (int i = merges_after(0, p->options.shards, p->shard, p->first, p->end); i > 0; i--) {
        Tensor *left = parameter->sum[--at];
        parameter->sum[at] = NULL;
        ag_add_to(tensor_mutable_data(left), tensor_data(gradient), tensor_numel(left));
        ag_free(gradient);
        gradient = left;
    }
    ag_set_owner(gradient, p);
    parameter->sum[at] = gradient;
    parameter->is_complete = true;
}

/* ---- the sums of all processes ----------------------------------------------------------------------------------- */

/* One of the sums that a process has sent for a piece of this process, or its own: that of its node that begins at shard lo. */
static ag_real *sum_of(const NnParallel *p, const Piece *piece, int rank, int64_t lo)
{
    int number = sums_before(p, rank, lo);
    if (rank == p->rank) return tensor_mutable_data(p->parameter[piece->parameter].sum[number]) + piece->first;
    number += p->first_sum[rank] - (rank > p->rank ? sums_sent(p, p->rank) : 0);
    return p->buffer + piece->received + number * piece->count;
}

/* The sum of the node over shards lo..hi-1, in the place of its first part. */
static ag_real *add_up(const NnParallel *p, const Piece *piece, int64_t lo, int64_t hi)
{
    int rank = rank_of_shard(p, lo);
    if (hi <= first_shard(p, rank + 1)) return sum_of(p, piece, rank, lo);
    int64_t mid = middle(lo, hi);
    ag_real *left = add_up(p, piece, lo, mid);
    ag_add_to(left, add_up(p, piece, mid, hi), piece->count);
    return left;
}

void finish_piece(NnParallel *p)
{
    Piece *piece = &p->piece[p->queue[p->summed++]];
    wait_for(p, &piece->pending, 0);
    ag_real *sum = add_up(p, piece, 0, p->options.shards), *own = sum_of(p, piece, p->rank, p->first);
    if (sum != own) memcpy(own, sum, (size_t)piece->count * sizeof *own);
    if (p->summed == p->queued) p->buffer_used = 0;
}

/* Begins to receive the values of the others for a piece of this process. */
static void receive_piece(NnParallel *p, int number)
{
    Piece *piece = &p->piece[number];
    int64_t size = piece->count * p->foreign;
    if (p->buffer_used + size > p->buffer_size)
        while (p->summed < p->queued) finish_piece(p);
    piece->received = p->buffer_used;
    p->buffer_used += size;
    p->queue[p->queued++] = number;
    ag_real *to = p->buffer + piece->received;
    for (int rank = 0; rank < p->size; rank++) {
        if (rank == p->rank) continue;
        for (int i = sums_sent(p, rank); i > 0; i--, to += piece->count)
            p->processes->receive(p->processes, rank, TAG_PIECE + number, to, (size_t)piece->count * sizeof(ag_real),
                                  &piece->pending);
    }
}

static void send_piece(NnParallel *p, int number)
{
    const Piece *piece = &p->piece[number];
    int n = sums_sent(p, p->rank);
    for (int i = 0; i < n; i++)
        p->processes->send(p->processes, piece->owner, TAG_PIECE + number,
                           tensor_data(p->parameter[piece->parameter].sum[i]) + piece->first,
                           (size_t)piece->count * sizeof(ag_real), &p->sending);
}

/* Adds up what has arrived. A piece is small, so that its values are still in the processor's cache. */
static void finish_received(NnParallel *p)
{
    p->processes->progress(p->processes, false);
    while (p->summed < p->queued && p->piece[p->queue[p->summed]].pending == 0) finish_piece(p);
}

void exchange_sums(NnParallel *p)
{
    for (; p->exchanged < p->n && p->parameter[p->order[p->exchanged]].is_complete; p->exchanged++) {
        const Parameter *parameter = &p->parameter[p->order[p->exchanged]];
        for (int i = parameter->first_piece; i < parameter->end_piece; i++) {
            if (p->piece[i].owner == p->rank) receive_piece(p, i);
            else send_piece(p, i);
            finish_received(p);
        }
    }
    finish_received(p);
}
