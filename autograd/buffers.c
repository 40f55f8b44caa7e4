/* buffers.c: buffers for values and gradients, and scratch memory. Where their memory comes from:
 * buffer_memory.h. */
#include "buffer_memory.h"
#include "buffers.h"
#include "observe.h"
#include "system.h"
#include "thread.h"

#include <string.h>

/* ---- buffers --------------------------------------------------------------------------------- */

typedef struct {
    Buffer *scratch;
    size_t in_use, peak;        /* bytes of buffers, now and at most */
} Buffers;
static _Thread_local void *state;

static Buffers *buffers(void)
{
    static const StateKind kind = { .size = sizeof(Buffers), .failed = op_scratch_end,
                                    .trim = buffers_end_scope };
    if (state) return state;
    observe_from_environment();
    return thread_state(&state, &kind);
}

/* In a debug build, fills a released or new buffer with NaN, so that a result computed from it is
 * NaN. */
static void fill_with_nan(Buffer *b)
{
#ifndef NDEBUG
    memset(buffer_data(b), 0xff, b->size);
#else
    (void)b;
#endif
}

Buffer *buffer_new(const char *what, size_t bytes, bool lasting)
{
    Buffers *all = buffers();
    if (bytes > SIZE_MAX / 4) {
        ag_usage_error(what, "a tensor of %zu bytes is too large for this machine", bytes);
    }
    bool watch = observers_need & CHECK_MEMORY;
    size_t needed = watch ? bytes + SENTINELS : bytes;
    Buffer *b = memory_take(needed, lasting);
    if (!b) {                               /* return kept memory to the system, and try again */
        ag_memory_trim();
        b = memory_take(needed, lasting);
    }
    if (!b) {
        ag_usage_error(what, "no memory for %zu bytes", bytes);
    }
    b->refs = 1;
    b->next = NULL;
    b->slack = (uint32_t)(b->size - bytes);
    memory_unpoison(buffer_data(b), b->size);
    fill_with_nan(b);
    b->watched = watch && buffer_watch->begin(what, b);
    if (!b->watched) {
        memory_poison((char *)buffer_data(b) + bytes, b->slack);
    }
    all->in_use += b->size;
    if (all->in_use > all->peak) {
        all->peak = all->in_use;
    }
    return b;
}

Buffer *buffer_items(const char *what, int64_t n, size_t size)
{
    size_t bytes;
    if (n < 0 || (uint64_t)n > SIZE_MAX || __builtin_mul_overflow((size_t)n, size, &bytes)) {
        ag_usage_error(what, "%lld items of %zu bytes are too many for this machine", (long long)n,
                       size);
    }
    return buffer_new(what, bytes, false);
}

/* Makes the memory available for others. */
static void recycle(Buffer *b)
{
    memory_unpoison(buffer_data(b), b->size);
    fill_with_nan(b);
    memory_give(b);
}

void buffer_release(Buffer *b)
{
    if (!b || --b->refs > 0) return;
    Buffers *all = buffers();
    /* a buffer from another thread was counted there, so the difference can be negative */
    all->in_use -= b->size < all->in_use ? b->size : all->in_use;
    if (b->watched) {
        buffer_watch->end(b);
    } else {
        recycle(b);
    }
}

void buffers_end_scope(void)
{
    for (Buffer *b; buffer_watch && (b = buffer_watch->take_released()) != NULL;) {
        recycle(b);
    }
}

void *op_scratch(const char *what, int64_t n, size_t size)
{
    Buffer *b = buffer_items(what, n, size);
    op_scratch_adopt(b);
    return buffer_data(b);
}

void op_scratch_adopt(Buffer *b)
{
    Buffers *all = buffers();
    b->next = all->scratch;
    all->scratch = b;
}

void op_scratch_end(void)
{
    Buffers *all = buffers();
    while (all->scratch) {
        Buffer *b = all->scratch;
        all->scratch = b->next;
        b->next = NULL;                                 /* a tensor may still have b, in no list */
        buffer_release(b);
    }
}

AgMemory ag_memory(void)
{
    const Buffers *all = buffers();
    return (AgMemory){ all->in_use, all->peak, memory_kept_bytes(), system_calls() };
}

void ag_memory_reset_peak(void)
{
    Buffers *all = buffers();
    all->peak = all->in_use;
}

/* Watched buffers that were released go first: what keeps them for later then returns them, too. */
void ag_memory_trim(void)
{
    buffers_end_scope();
    thread_trim();
    memory_trim();
}
