/* pool.c: memory for large buffers, which all threads share.
 *
 * A chunk of the system's memory is divided into blocks. A new buffer gets the lower part of the smallest free block that is
 * large enough, and free neighbors are joined. So the gradients of a backward pass get the memory of activations, whose sizes
 * are different. Under Linux, the part of a chunk that was never used takes no memory. */
#include "internal.h"

#include <pthread.h>

typedef struct PoolBlock PoolBlock;
struct PoolBlock {
    size_t size;                /* bytes, with this header */
    size_t touched;             /* of a free block: so many of its first bytes were used before */
    PoolBlock *below, *above;       /* its neighbors in the chunk; NULL at the ends */
    PoolBlock *previous, *next;     /* in the list of free blocks */
    bool free;
};

enum { POOL_HEADER = 64, PAGE = 4096, LEAST_CHUNK = sizeof(void *) > 4 ? 1 << 27 : 1 << 24 };
_Static_assert(sizeof(PoolBlock) <= POOL_HEADER, "a block's header");

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static PoolBlock *free_blocks;
static size_t chunk_bytes, free_bytes;          /* of all chunks; of what was used before and is free */

static void list_free(PoolBlock *b)
{
    b->free = true;
    b->previous = NULL;
    b->next = free_blocks;
    if (b->next) b->next->previous = b;
    free_blocks = b;
}

static void unlist_free(PoolBlock *b)
{
    b->free = false;
    if (b->previous) b->previous->next = b->next;
    else free_blocks = b->next;
    if (b->next) b->next->previous = b->previous;
}

static void pool_before_fork(void) { pthread_mutex_lock(&pool_lock); }
static void pool_after_fork(void) { pthread_mutex_unlock(&pool_lock); }

/* As much as the pool has, or the next less that the system can give: few chunks, since blocks of two chunks cannot be
 * joined. */
static PoolBlock *new_pool_chunk(size_t size)
{
    static bool fork_handled;
    if (!fork_handled) fork_handled = pthread_atfork(pool_before_fork, pool_after_fork, pool_after_fork) == 0;
    size_t bytes = chunk_bytes < LEAST_CHUNK ? LEAST_CHUNK : chunk_bytes;
    if (bytes < size) bytes = size;
    PoolBlock *b = system_alloc(bytes);
    while (!b && bytes > size) {
        bytes = bytes / 4 > size ? bytes / 4 / PAGE * PAGE : size;
        b = system_alloc(bytes);
    }
    if (!b) return NULL;
    *b = (PoolBlock){ .size = bytes };
    memory_poison((char *)b + POOL_HEADER, bytes - POOL_HEADER);
    chunk_bytes += bytes;
    list_free(b);
    return b;
}

static PoolBlock *find_block(size_t size)
{
    PoolBlock *best = NULL;
    for (PoolBlock *b = free_blocks; b; b = b->next)
        if (b->size >= size && (!best || b->size < best->size)) best = b;
    return best;
}

/* Takes the first bytes of a free block. */
static void take_block(PoolBlock *b, size_t size)
{
    unlist_free(b);
    free_bytes -= b->touched < size ? b->touched : size;
    if (b->size == size) return;
    PoolBlock *rest = (PoolBlock *)((char *)b + size);
    memory_unpoison(rest, POOL_HEADER);
    *rest = (PoolBlock){ .size = b->size - size, .below = b, .above = b->above };
    if (b->touched > size) rest->touched = b->touched - size;
    if (rest->above) rest->above->below = rest;
    b->above = rest;
    b->size = size;
    list_free(rest);
}

void *pool_alloc(size_t bytes, size_t *size)
{
    size_t needed = (bytes + POOL_HEADER + PAGE - 1) / PAGE * PAGE;
    pthread_mutex_lock(&pool_lock);
    PoolBlock *b = find_block(needed);
    if (!b) b = new_pool_chunk(needed);
    if (b) take_block(b, needed);
    pthread_mutex_unlock(&pool_lock);
    if (!b) return NULL;
    *size = needed - POOL_HEADER;
    memory_unpoison(b, needed);
    return (char *)b + POOL_HEADER;
}

/* Two free neighbors become one. */
static void join_blocks(PoolBlock *lower, PoolBlock *upper)
{
    unlist_free(upper);
    lower->touched += upper->touched;                   /* only the highest block of a chunk can have an unused part */
    lower->size += upper->size;
    lower->above = upper->above;
    if (lower->above) lower->above->below = lower;
    memory_poison(upper, POOL_HEADER);
}

void pool_free(void *p)
{
    PoolBlock *b = (PoolBlock *)((char *)p - POOL_HEADER);
    memory_poison(p, b->size - POOL_HEADER);
    pthread_mutex_lock(&pool_lock);
    b->touched = b->size;
    free_bytes += b->size;
    list_free(b);
    if (b->above && b->above->free) join_blocks(b, b->above);
    if (b->below && b->below->free) join_blocks(b->below, b);
    pthread_mutex_unlock(&pool_lock);
}

size_t pool_free_bytes(void)
{
    pthread_mutex_lock(&pool_lock);
    size_t bytes = free_bytes;
    pthread_mutex_unlock(&pool_lock);
    return bytes;
}

void pool_trim(void)
{
    pthread_mutex_lock(&pool_lock);
    for (PoolBlock *b = free_blocks, *next; b; b = next) {
        next = b->next;
        if (b->below || b->above) continue;
        unlist_free(b);
        free_bytes -= b->touched;
        chunk_bytes -= b->size;
        memory_unpoison(b, b->size);
        system_free(b);
    }
    pthread_mutex_unlock(&pool_lock);
}
