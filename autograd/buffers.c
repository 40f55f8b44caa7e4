/* buffers.c: buffers for values and gradients, and scratch memory.
 *
 * A training step creates the same shapes again and again. A released small buffer goes to a free list of its size (a bin), and
 * the next buffer of that size is taken from there, so after the first steps the system is asked for no memory. Sizes are
 * rounded up to one of eight steps between powers of two, so at most an eighth is lost. If a bin is empty, a buffer of up to
 * about twice the size is used instead. Shapes that change from step to step (sentences of different lengths) then share
 * buffers. Large buffers have their memory from large_buffers.c.
 *
 * What outlives scopes, such as a parameter or an optimizer's state, takes no larger buffer. If it is large, it would divide
 * the free memory there, so it has its own memory of the system. */
#include "buffers.h"
#include "memory/large_buffers.h"
#include "observe.h"
#include "system.h"
#include "thread.h"

#include <string.h>

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

enum { STEPS = 8 };                                     /* between one power of two and the next */
enum { LEAST_LARGE = 1 << 20, REDZONE = 64 };           /* bytes; behind a large buffer, for AddressSanitizer */
enum { BINS = 128 };                                    /* more than there are sizes */

typedef struct {
    Buffer *bin[BINS], *scratch;
    AgMemory count;
} Memory;
static _Thread_local void *state;

static void trim_bins(void)
{
    Memory *m = state;
    buffers_end_scope();
    for (int i = 0; i < BINS; i++) {
        while (m->bin[i]) {
            Buffer *b = m->bin[i];
            m->bin[i] = b->next;
            memory_unpoison(buffer_data(b), b->size);
            system_free(b);
        }
    }
    m->count.cached = 0;
}

static Memory *memory(void)
{
    static const StateKind kind = { .size = sizeof(Memory), .failed = scratch_end, .trim = trim_bins };
    if (state) return state;
    observe_from_environment();
    return thread_state(&state, &kind);
}

/* The bin for a size. Sets *rounded to the size of that bin's buffers. */
static int bin_of(size_t bytes, size_t *rounded)
{
    if (bytes <= 512) {
        int bin = bytes ? (int)((bytes - 1) / 64) : 0;
        *rounded = (size_t)(bin + 1) * 64;
        return bin;
    }
    int power = 9;                                      /* 2^power < bytes <= 2^(power+1) */
    while (((bytes - 1) >> (power + 1)) != 0) power++;
    size_t step = ((size_t)1 << power) / STEPS;
    size_t steps = (bytes - ((size_t)1 << power) + step - 1) / step;
    *rounded = ((size_t)1 << power) + steps * step;
    return STEPS + (power - 9) * STEPS + (int)steps - 1;
}

/* In a debug build, fills a released or new buffer with NaN, so that a result computed from it is NaN. */
static void fill_with_nan(Buffer *b)
{
#ifndef NDEBUG
    memset(buffer_data(b), 0xff, b->size);
#else
    (void)b;
#endif
}

/* A released buffer of that bin or of a slightly larger one; NULL if there is none. */
static Buffer *from_cache(Memory *m, int bin, bool lasting)
{
    int found = bin;
    while (!m->bin[found] && !lasting && found < bin + STEPS) found++;
    Buffer *b = m->bin[found];
    if (!b) return NULL;
    m->bin[found] = b->next;
    m->count.cached -= b->size;
    return b;
}

/* NULL if the system has no memory. */
static Buffer *find_memory(Memory *m, size_t bytes, bool lasting)
{
    size_t size = bytes;
    int bin = bin_of(bytes, &size);
    Buffer *b;
    if (bytes < LEAST_LARGE && (b = from_cache(m, bin, lasting))) {
        return b;
    } else if (bytes < LEAST_LARGE) {
        b = system_alloc(BUFFER_HEADER + size);
    } else if (lasting) {
        bin = ALONE;
        size = (bytes + REDZONE - 1) / REDZONE * REDZONE;
        b = system_alloc(BUFFER_HEADER + size);
    } else {
        bin = LARGE;
        b = large_alloc(BUFFER_HEADER + bytes + REDZONE, &size);
        size -= BUFFER_HEADER;
    }
    if (b) *b = (Buffer){ .bin = (int16_t)bin, .size = size };
    return b;
}

Buffer *buffer_new(const char *what, size_t bytes, bool lasting)
{
    Memory *m = memory();
    if (bytes > SIZE_MAX / 4) ag_usage_error(what, "a tensor of %zu bytes is too large for this machine", bytes);
    bool watch = observers_need & CHECK_MEMORY;
    size_t needed = watch ? bytes + SENTINELS : bytes;
    Buffer *b = find_memory(m, needed, lasting);
    if (!b) {                                           /* return cached buffers to the system, and try again */
        ag_memory_trim();
        b = find_memory(m, needed, lasting);
    }
    if (!b) ag_usage_error(what, "no memory for %zu bytes", bytes);
    b->refs = 1;
    b->next = NULL;
    b->slack = (uint32_t)(b->size - bytes);
    memory_unpoison(buffer_data(b), b->size);
    fill_with_nan(b);
    b->watched = watch && buffer_watch->begin(what, b);
    if (!b->watched) memory_poison((char *)buffer_data(b) + bytes, b->slack);
    m->count.in_use += b->size;
    if (m->count.in_use > m->count.peak) m->count.peak = m->count.in_use;
    return b;
}

Buffer *buffer_items(const char *what, int64_t n, size_t size)
{
    size_t bytes;
    if (n < 0 || (uint64_t)n > SIZE_MAX || __builtin_mul_overflow((size_t)n, size, &bytes))
        ag_usage_error(what, "%lld items of %zu bytes are too many for this machine", (long long)n, size);
    return buffer_new(what, bytes, false);
}

/* Makes the memory available for others. */
static void recycle(Memory *m, Buffer *b)
{
    memory_unpoison(buffer_data(b), b->size);
    if (b->bin == ALONE) {
        system_free(b);
        return;
    }
    fill_with_nan(b);
    if (b->bin == LARGE) {
        large_free(b);
        return;
    }
    memory_poison(buffer_data(b), b->size);
    b->next = m->bin[b->bin];
    m->bin[b->bin] = b;
    m->count.cached += b->size;
}

void buffer_release(Buffer *b)
{
    if (!b || --b->refs > 0) return;
    Memory *m = memory();
    /* a buffer from another thread was counted there, so the difference can be negative */
    m->count.in_use -= b->size < m->count.in_use ? b->size : m->count.in_use;
    if (b->watched) buffer_watch->end(b);
    else recycle(m, b);
}

void buffers_end_scope(void)
{
    for (Buffer *b; buffer_watch && (b = buffer_watch->take_released()) != NULL;) recycle(memory(), b);
}

void *scratch_new(const char *what, int64_t n, size_t size)
{
    Buffer *b = buffer_items(what, n, size);
    scratch_adopt(b);
    return buffer_data(b);
}

void scratch_adopt(Buffer *b)
{
    Memory *m = memory();
    b->next = m->scratch;
    m->scratch = b;
}

void scratch_end(void)
{
    Memory *m = memory();
    while (m->scratch) {
        Buffer *b = m->scratch;
        m->scratch = b->next;
        b->next = NULL;                                 /* a tensor may still have b, in no list */
        buffer_release(b);
    }
}

AgMemory ag_memory(void)
{
    AgMemory count = memory()->count;
    count.cached += large_free_bytes();
    count.system_calls = system_calls();
    return count;
}

void ag_memory_reset_peak(void)
{
    Memory *m = memory();
    m->count.peak = m->count.in_use;
}

void ag_memory_trim(void)
{
    thread_trim();
    large_trim();
}
