/* pieces.c: the parameters in pieces, each with an owner process; the sums of gradients, and their way to the owners. */
#include <string.h>

#include "kaeru/graph.h"
#include "parallel_parts.h"

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

int64_t chunks_of(int64_t items)
{
    return items / CHUNK + (items % CHUNK != 0);
}

/* The items of share i of a part, which is divided into one for each process: whole chunks, or all items in one share. */
static void share_items(const NnParallel *p, int part, int i, int64_t *first, int64_t *count)
{
    int64_t numel = tensor_numel(p->part[part].w), size = p->optimizer->kind->by_item ? CHUNK : numel;
    int64_t chunks = p->optimizer->kind->by_item ? chunks_of(numel) : 1;
    *first = least(part_begin(chunks, p->size, i) * size, numel);
    *count = least(part_begin(chunks, p->size, i + 1) * size, numel) - *first;
}

/* The shares go round, so that not all small parts go to the last process. */
static int owner_of(const NnParallel *p, int part, int share)
{
    return (share + part) % p->size;
}

/* The number of pieces of all parts; with p->piece, they are written there. Those of a part are in the order of its items. */
static int cut_pieces(NnParallel *p, int64_t largest)
{
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        if (p->piece) p->part[i].first_piece = n;
        for (int share = 0; share < p->size; share++) {
            int64_t first, count;
            share_items(p, i, share, &first, &count);
            for (int64_t at = 0; at < count; at += largest, n++)
                if (p->piece)
                    p->piece[n] = (Piece){ .part = i, .owner = owner_of(p, i, share), .first = first + at,
                                           .count = least(largest, count - at) };
        }
        if (p->piece) p->part[i].end_piece = n;
    }
    return n;
}

void divide(NnParallel *p)
{
    enum { MESSAGE = 1 << 16, AT_ONCE = 4 };
    p->first_root = ag_alloc_in(p, (size_t)p->size + 1, sizeof *p->first_root);
    for (int rank = 0; rank < p->size; rank++)
        p->first_root[rank + 1] = p->first_root[rank] + sums_before(p, rank, first_shard(p, rank + 1));
    p->others = p->first_root[p->size] - n_roots(p, p->rank);
    int64_t largest = p->others ? least(MESSAGE, ROOM / AT_ONCE / p->others) / CHUNK * CHUNK : MESSAGE;
    if (largest < CHUNK) largest = CHUNK;
    int n = cut_pieces(p, largest);
    p->piece = ag_alloc_in(p, (size_t)n, sizeof *p->piece);
    p->n_pieces = cut_pieces(p, largest);
    p->queue = ag_alloc_in(p, (size_t)n, sizeof *p->queue);
    int64_t *chunks = p->first_chunk = ag_alloc_in(p, (size_t)p->size + 1, sizeof *p->first_chunk), own = 0, most = 0;
    for (int i = 0; i < n; i++) {
        const Piece *piece = &p->piece[i];
        chunks[piece->owner + 1] += chunks_of(piece->count);
        if (piece->owner != p->rank) continue;
        own += piece->count * p->others;
        if (piece->count * p->others > most) most = piece->count * p->others;
    }
    for (int rank = 0; rank < p->size; rank++) chunks[rank + 1] += chunks[rank];
    p->squares = ag_alloc_in(p, (size_t)chunks[p->size], sizeof *p->squares);
    p->room_size = most > least(own, ROOM) ? most : least(own, ROOM);
    p->room = ag_alloc_in(p, (size_t)p->room_size, sizeof *p->room);
    for (int i = 0; i < p->n; i++) {
        int share = 0;
        int64_t count;
        while (owner_of(p, i, share) != p->rank) share++;
        share_items(p, i, share, &p->part[i].own_first, &count);
        optimizer_keep_part(p->optimizer, p->part[i].index, p->part[i].own_first, count);
    }
    p->optimizer->parallel = p;
    ag_memory_trim();                                   /* the state of other processes' items, if it existed */
}

/* ---- the sums of this process ------------------------------------------------------------------------------------ */

void add_gradient(NnParallel *p, Part *part, Tensor *gradient)
{
    int at = p->sums;
    for (int i = merges_after(0, p->options.shards, p->shard, p->first, p->end); i > 0; i--) {
        Tensor *left = part->sum[--at];
        part->sum[at] = NULL;
        ag_add_to(tensor_mutable_data(left), tensor_data(gradient), tensor_numel(left));
        ag_free(gradient);
        gradient = left;
    }
    ag_set_owner(gradient, p);
    part->sum[at] = gradient;
    part->is_complete = true;
}

/* ---- the sums of all processes ----------------------------------------------------------------------------------- */

/* The values of the node over lo..hi-1 for a piece of this process. They are in its own sums, if these have a part in it. */
typedef struct { ag_real *values; bool is_own; } Node;

static Node root_of(const NnParallel *p, const Piece *piece, int rank, int64_t lo)
{
    int number = sums_before(p, rank, lo);
    if (rank == p->rank) return (Node){ tensor_mutable_data(p->part[piece->part].sum[number]) + piece->first, true };
    number += p->first_root[rank] - (rank > p->rank ? n_roots(p, p->rank) : 0);
    return (Node){ p->room + piece->room + number * piece->count, false };
}

static Node add_up(const NnParallel *p, const Piece *piece, int64_t lo, int64_t hi)
{
    int rank = rank_of_shard(p, lo);
    if (hi <= first_shard(p, rank + 1)) return root_of(p, piece, rank, lo);
    int64_t mid = middle(lo, hi);
    Node a = add_up(p, piece, lo, mid), b = add_up(p, piece, mid, hi);
    Node to = b.is_own && !a.is_own ? b : a, from = to.values == a.values ? b : a;
    ag_add_to(to.values, from.values, piece->count);
    return to;
}

void finish_piece(NnParallel *p)
{
    Piece *piece = &p->piece[p->queue[p->summed++]];
    wait_for(p, &piece->pending);
    add_up(p, piece, 0, p->options.shards);
    if (p->summed == p->queued) p->room_used = 0;
}

/* Begins to receive the values of the others for a piece of this process. */
static void receive_piece(NnParallel *p, int number)
{
    Piece *piece = &p->piece[number];
    int64_t size = piece->count * p->others;
    if (p->room_used + size > p->room_size)
        while (p->summed < p->queued) finish_piece(p);
    piece->room = p->room_used;
    p->room_used += size;
    p->queue[p->queued++] = number;
    ag_real *to = p->room + piece->room;
    for (int rank = 0; rank < p->size; rank++) {
        if (rank == p->rank) continue;
        for (int i = n_roots(p, rank); i > 0; i--, to += piece->count)
            p->processes->receive(p->processes, rank, TAG_PIECE + number, to, (size_t)piece->count * sizeof(ag_real),
                                  &piece->pending);
    }
}

static void send_piece(NnParallel *p, int number)
{
    const Piece *piece = &p->piece[number];
    int n = n_roots(p, p->rank);
    for (int i = 0; i < n; i++)
        p->processes->send(p->processes, piece->owner, TAG_PIECE + number,
                           tensor_data(p->part[piece->part].sum[i]) + piece->first, (size_t)piece->count * sizeof(ag_real),
                           &p->sending);
}

/* Adds up what has arrived. A piece is small, so that its values are still in the processor's cache. */
static void finish_received(NnParallel *p)
{
    p->processes->progress(p->processes, false);
    while (p->summed < p->queued && p->piece[p->queue[p->summed]].pending == 0) finish_piece(p);
}

void exchange_sums(NnParallel *p)
{
    for (; p->exchanged < p->n && p->part[p->order[p->exchanged]].is_complete; p->exchanged++) {
        const Part *part = &p->part[p->order[p->exchanged]];
        for (int i = part->first_piece; i < part->end_piece; i++) {
            if (p->piece[i].owner == p->rank) receive_piece(p, i);
            else send_piece(p, i);
            finish_received(p);
        }
    }
    finish_received(p);
}
