/* buffers.c: buffers for values and gradients, and scratch memory. Their memory comes from
 * memory_take: plain/memory.c has the short form of it (buffer_memory.h). */
#include "buffer_memory.h"
#include "buffers.h"
#include "observe.h"
#include "system.h"
#include "thread.h"

#include <string.h>

typedef struct {
    Buffer *scratch;            /* the list of op_scratch */
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

/* Fills a new or released buffer in a debug build, so that it shows when a program reads values
 * that nobody has written: reals are NaN then, ids are -1, and bools 255. */
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
    if (!b) {
        ag_memory_trim();                   /* the system may have memory after that */
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

/* Gives the memory of b back. */
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
    Buffer *b = buffer_watch ? buffer_watch->take_released() : NULL;
    while (b) {
        recycle(b);
        b = buffer_watch->take_released();
    }
}

/* ---- scratch memory -------------------------------------------------------------------------- */

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
        b->next = NULL;         /* a tensor may still have b, and messages read user_file there */
        buffer_release(b);
    }
}

/* ---- for programs ---------------------------------------------------------------------------- */

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

void ag_memory_trim(void)
{
    buffers_end_scope();        /* first: what it releases can then be returned, too */
    thread_trim();
    memory_trim();
}
