/* bins.c: the memory of buffers. Released memory is kept for the next buffers.
 *
 * A training step creates the same shapes again and again. A released small buffer goes to a free
 * list of its size (a bin), and the next buffer of that size is taken from there, so after the
 * first steps the system is asked for no memory. Sizes are rounded up to one of eight steps between
 * powers of two, so at most an eighth is lost. If a bin is empty, a buffer of up to about twice the
 * size is used instead. Shapes that change from step to step (sentences of different lengths) then
 * share buffers. Large buffers have their memory from large_buffers.c.
 *
 * What outlives scopes, such as a parameter or an optimizer's state, takes no larger buffer. If it
 * is large, it would divide the free memory there, so it has its own memory of the system. */
#include "buffer_memory.h"
#include "buffers.h"
#include "large_buffers.h"
#include "system.h"
#include "thread.h"

enum { STEPS = 8 };                             /* between one power of two and the next */
enum { LEAST_LARGE = 1 << 20, REDZONE = 64 };   /* bytes; the second for AddressSanitizer */
enum { BINS = 128 };                            /* more than there are sizes */
enum { LARGE = -1, ALONE = -2 };    /* no bin: of large_buffers.c, a system_alloc of its own */

typedef struct {
    Buffer *bin[BINS];
    size_t kept;                                        /* bytes in them */
} Bins;
static _Thread_local void *state;

static void trim_bins(void)
{
    Bins *bins = state;
    for (int i = 0; i < BINS; i++) {
        while (bins->bin[i]) {
            Buffer *b = bins->bin[i];
            bins->bin[i] = b->next;
            memory_unpoison(buffer_data(b), b->size);
            system_free(b);
        }
    }
    bins->kept = 0;
}

static Bins *thread_bins(void)
{
    static const StateKind kind = { .size = sizeof(Bins), .trim = trim_bins };
    return state ? state : thread_state(&state, &kind);
}

/* Returns the bin for a size. Sets *rounded to the size of that bin's buffers. */
static int bin_of(size_t bytes, size_t *rounded)
{
    if (bytes <= 512) {
        int bin = bytes ? (int)((bytes - 1) / 64) : 0;
        *rounded = (size_t)(bin + 1) * 64;
        return bin;
    }
    int power = 9;                                      /* 2^power < bytes <= 2^(power+1) */
    while (((bytes - 1) >> (power + 1)) != 0) {
        power++;
    }
    size_t step = ((size_t)1 << power) / STEPS;
    size_t steps = (bytes - ((size_t)1 << power) + step - 1) / step;
    *rounded = ((size_t)1 << power) + steps * step;
    return STEPS + (power - 9) * STEPS + (int)steps - 1;
}

/* Returns a released buffer of that bin or of a slightly larger one; NULL if there is none. */
static Buffer *from_bins(Bins *bins, int bin, bool lasting)
{
    int found = bin;
    while (!bins->bin[found] && !lasting && found < bin + STEPS) {
        found++;
    }
    Buffer *b = bins->bin[found];
    if (b) {
        bins->bin[found] = b->next;
        bins->kept -= b->size;
    }
    return b;
}

Buffer *memory_take(size_t bytes, bool lasting)
{
    size_t size = bytes;
    int bin = bin_of(bytes, &size);
    Buffer *b = bytes < LEAST_LARGE ? from_bins(thread_bins(), bin, lasting) : NULL;
    if (b) return b;
    if (bytes < LEAST_LARGE) {
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
    if (b) {
        *b = (Buffer){ .bin = (int16_t)bin, .size = size };
    }
    return b;
}

void memory_give(Buffer *b)
{
    if (b->bin == ALONE) {
        system_free(b);
    } else if (b->bin == LARGE) {
        large_free(b);
    } else {
        Bins *bins = thread_bins();
        memory_poison(buffer_data(b), b->size);
        b->next = bins->bin[b->bin];
        bins->bin[b->bin] = b;
        bins->kept += b->size;
    }
}

void memory_trim(void)
{
    large_trim();
}

size_t memory_kept_bytes(void)
{
    return thread_bins()->kept + large_free_bytes();
}
