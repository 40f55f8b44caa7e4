/* large_buffers.c: memory for large buffers, which all threads share.
 *
 * A chunk of the system's memory is divided into blocks. A block is in use, or free and touched (it
 * has pages of memory), or free and untouched (the system gives it pages when it is written). Free
 * neighbors of one kind are joined. A new buffer gets free neighbors of both kinds: those that need
 * the fewest new pages, and of these the smallest. For each new page, one page of another free
 * block is returned to the system. So the process has about as many pages as its buffers had at
 * most, although the sizes of activations and gradients are different. Few pages are returned: in a
 * step of GPT-2 with 1024 tokens, 12 MiB of 620 MiB. */
#include "large_buffers.h"
#include "system.h"

typedef struct LargeBlock {
    size_t size;                                /* bytes, with this header */
    struct LargeBlock *below, *above;           /* its neighbors in the chunk; NULL at the ends */
    struct LargeBlock *previous, *next;         /* in the list of free blocks */
    bool free, touched;
} LargeBlock;

enum { LARGE_HEADER = 64, PAGE = 4096, LEAST_CHUNK = sizeof(void *) > 4 ? 1 << 27 : 1 << 24 };
_Static_assert(sizeof(LargeBlock) <= LARGE_HEADER, "a block's header");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LargeBlock *free_blocks;
static size_t chunk_bytes;                      /* of all chunks */

static void unlist_free(LargeBlock *b)
{
    b->free = false;
    if (b->previous) b->previous->next = b->next;
    else free_blocks = b->next;
    if (b->next) b->next->previous = b->previous;
}

/* `upper`, which is in no list, becomes a part of its lower neighbor. */
static void absorb(LargeBlock *lower, LargeBlock *upper)
{
    lower->size += upper->size;
    lower->above = upper->above;
    if (lower->above) lower->above->below = lower;
    memory_poison(upper, LARGE_HEADER);
}

/* Two free neighbors of one kind become one. */
static void join_blocks(LargeBlock *lower, LargeBlock *upper)
{
    if (!lower || !upper || !lower->free || !upper->free || lower->touched != upper->touched) {
        return;
    }
    unlist_free(upper);
    absorb(lower, upper);
}

static void list_free(LargeBlock *b, bool touched)
{
    b->free = true;
    b->touched = touched;
    b->previous = NULL;
    b->next = free_blocks;
    if (b->next) b->next->previous = b;
    free_blocks = b;
    join_blocks(b, b->above);
    join_blocks(b->below, b);
}

/* Returns pages of free blocks to the system until they have `bytes` less, or none. */
static void return_pages(size_t bytes)
{
    for (LargeBlock *b = free_blocks, *next; b && bytes > 0; b = next) {
        next = b->next;
        if (!b->touched) continue;
        /* A block without pages may be joined with b. */
        while (next && !next->touched) next = next->next;
        system_return_pages((char *)b + LARGE_HEADER, b->size - LARGE_HEADER);
        bytes -= b->size < bytes ? b->size : bytes;
        unlist_free(b);
        list_free(b, false);
    }
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

/* A new chunk of as many bytes as all others have, so that there are few: blocks of two chunks
 * cannot be joined. If the system does not have so much, it is a quarter of that, and so on, down
 * to `size`. */
static LargeBlock *new_chunk(size_t size)
{
    static bool fork_handled;
    if (!fork_handled) system_at_fork(before_fork, after_fork, after_fork);
    fork_handled = true;
    size_t bytes = chunk_bytes < LEAST_CHUNK ? LEAST_CHUNK : chunk_bytes;
    if (bytes < size) bytes = size;
    LargeBlock *b = system_alloc(bytes);
    while (!b && bytes > size) {
        bytes = bytes / 4 > size ? bytes / 4 / PAGE * PAGE : size;
        b = system_alloc(bytes);
    }
    if (!b) return NULL;
    *b = (LargeBlock){ .size = bytes };
    memory_poison((char *)b + LARGE_HEADER, bytes - LARGE_HEADER);
    chunk_bytes += bytes;
    list_free(b, false);
    return b;
}

/* The bytes of a free block and its free neighbors; `limit` or more if they are so many. */
static size_t space_around(const LargeBlock *block, size_t limit)
{
    size_t space = block->size;
    for (const LargeBlock *b = block->below; b && b->free && space < limit; b = b->below) {
        space += b->size;
    }
    for (const LargeBlock *b = block->above; b && b->free && space < limit; b = b->above) {
        space += b->size;
    }
    return space;
}

/* The first of the free neighbors for a new block, and how many of its bytes are untouched. */
static LargeBlock *find_block(size_t size, size_t *untouched)
{
    LargeBlock *best = NULL;
    size_t least = SIZE_MAX;                    /* the space around the best one */
    for (LargeBlock *first = free_blocks; first && (*untouched > 0 || least > size);
         first = first->next) {
        size_t missing = size, fresh = 0;
        for (const LargeBlock *b = first; b && b->free && missing > 0; b = b->above) {
            size_t taken = b->size < missing ? b->size : missing;
            missing -= taken;
            if (!b->touched) fresh += taken;
        }
        if (missing > 0 || fresh > *untouched) continue;
        size_t limit = fresh < *untouched ? SIZE_MAX : least, space = space_around(first, limit);
        if (space >= limit) continue;
        best = first;
        least = space;
        *untouched = fresh;
    }
    return best;
}

/* Takes the first bytes of the free neighbors from b on. */
static void take_block(LargeBlock *b, size_t size)
{
    bool touched = b->touched;
    unlist_free(b);
    while (b->size < size) {
        LargeBlock *upper = b->above;
        touched = upper->touched;
        unlist_free(upper);
        absorb(b, upper);
    }
    if (b->size == size) return;
    LargeBlock *rest = (LargeBlock *)((char *)b + size);
    memory_unpoison(rest, LARGE_HEADER);
    *rest = (LargeBlock){ .size = b->size - size, .below = b, .above = b->above };
    b->size = size;
    b->above = rest;
    if (rest->above) rest->above->below = rest;
    list_free(rest, touched);
}

void *large_alloc(size_t bytes, size_t *size)
{
    size_t needed = (bytes + LARGE_HEADER + PAGE - 1) / PAGE * PAGE;
    pthread_mutex_lock(&lock);
    size_t untouched = needed;
    LargeBlock *b = find_block(needed, &untouched);
    if (!b) b = new_chunk(needed);
    if (b) take_block(b, needed);
    if (b) return_pages(untouched);
    pthread_mutex_unlock(&lock);
    if (!b) return NULL;
    *size = needed - LARGE_HEADER;
    memory_unpoison(b, needed);
    return (char *)b + LARGE_HEADER;
}

void large_free(void *p)
{
    LargeBlock *b = (LargeBlock *)((char *)p - LARGE_HEADER);
    memory_poison(p, b->size - LARGE_HEADER);
    pthread_mutex_lock(&lock);
    list_free(b, true);
    pthread_mutex_unlock(&lock);
}

size_t large_free_bytes(void)
{
    pthread_mutex_lock(&lock);
    size_t bytes = 0;
    for (const LargeBlock *b = free_blocks; b; b = b->next) bytes += b->touched ? b->size : 0;
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* Also at the end of the program, after all threads' states have ended. */
__attribute__((destructor)) void large_trim(void)
{
    pthread_mutex_lock(&lock);
    return_pages(SIZE_MAX);
    for (LargeBlock *b = free_blocks, *next; b; b = next) {
        next = b->next;
        if (b->below || b->above) continue;             /* a part of a chunk */
        unlist_free(b);
        chunk_bytes -= b->size;
        memory_unpoison(b, b->size);
        system_free(b);
    }
    pthread_mutex_unlock(&lock);
}
