/* arena.c: the memory of scopes. Tensors and their arguments are small and end together, so they
 * are written one after another into chunks, and the end of a scope releases its chunks.
 *
 * Each scope begins a chunk of its own. A released chunk waits until some others have been released
 * after it. A tensor that is used after its scope has ended is therefore still there, and
 * check_alive can name it. Only the pages of these chunks are returned to the system, so a read of
 * such a tensor is never a crash. An array that is larger than a chunk has a chunk of its own,
 * which is freed. */
#include "arena.h"
#include "observe.h"
#include "system.h"

#include <pthread.h>
#include <string.h>

typedef struct Chunk {
    struct Chunk *next;         /* in use: the one that was filled before; waiting: the next to be
                                   used */
    size_t size, used;          /* used: of a chunk that is full or waits, the bytes that were in
                                   use */
} Chunk;
#define CHUNK_HEADER 64
#define CHUNK_SIZE (ARENA_CHUNK - CHUNK_HEADER)
/* what a chunk counts for itself: those that hardly anything is in do not wait for ever */
#define CHUNK_COST 512

/* A chunk waits until the others that wait have so many bytes: 32 KB still fit the fastest
 * cache. */
enum { WAITING_BYTES = 32 * 1024, WAITING_WHEN_CHECKED = 192 * 1024 };

static void *chunk_data(Chunk *c)
{
    return (char *)c + CHUNK_HEADER;
}

/* Takes the oldest waiting chunk; NULL if none may be used yet. */
static Chunk *take_waiting(Arena *a)
{
    if (a->waiting <= (observers_need & CHECK_MEMORY ? WAITING_WHEN_CHECKED : WAITING_BYTES)) {
        return NULL;
    }
    Chunk *c = a->oldest;
    a->oldest = c->next;
    if (a->newest == c) {
        a->newest = NULL;
    }
    a->waiting -= c->used;
    return c;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Arena left;                                      /* the chunks of threads that have ended */

/* A chunk of that many bytes or more; NULL if out of memory. */
static Chunk *new_chunk(Arena *a, size_t bytes)
{
    size_t size = bytes > CHUNK_SIZE ? bytes : CHUNK_SIZE;
    Chunk *c = size == CHUNK_SIZE ? take_waiting(a) : NULL;
    if (!c && size == CHUNK_SIZE) {
        pthread_mutex_lock(&lock);
        c = take_waiting(&left);
        pthread_mutex_unlock(&lock);
    }
    if (!c) {
        c = system_alloc(CHUNK_HEADER + size);
        if (!c) return NULL;
        memset(c, 0, CHUNK_HEADER);     /* ag_free of a tensor reads here whether it is a block */
        c->size = size;
    }
    memory_poison(chunk_data(c), c->size);
    c->next = a->next.chunk;
    return c;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->next.chunk || a->next.used + bytes > a->next.chunk->size) {
        Chunk *c = new_chunk(a, bytes);
        if (!c) return NULL;
        if (c->next) {
            c->next->used = a->next.used + CHUNK_COST;
        }
        a->next = (ArenaMark){ c, 0 };
    }
    void *p = (char *)chunk_data(a->next.chunk) + a->next.used;
    a->next.used += bytes;
    memory_unpoison(p, bytes);
    return memset(p, 0, bytes);
}

ArenaMark arena_begin(Arena *a)
{
    ArenaMark mark = a->next;
    if (mark.chunk) {
        a->next.used = mark.chunk->size;
    }
    return mark;
}

void arena_end(Arena *a, ArenaMark mark)
{
    if (a->next.chunk) {
        a->next.chunk->used = a->next.used + CHUNK_COST;
    }
    for (Chunk *c = a->next.chunk, *below; c != mark.chunk; c = below) {
        below = c->next;
        c->next = NULL;
        if (c->size != CHUNK_SIZE) {                    /* a large array; no tensor is in it */
            memory_unpoison(chunk_data(c), c->size);
            system_free(c);
            continue;
        }
        *(a->newest ? &a->newest->next : &a->oldest) = c;
        a->newest = c;
        a->waiting += c->used;
    }
    a->next = mark;
}

void arena_trim(Arena *a)
{
    for (Chunk *c = a->oldest; c; c = c->next) {
        system_return_pages(chunk_data(c), c->size);
    }
}

void arena_leave(Arena *a)
{
    pthread_mutex_lock(&lock);
    if (a->oldest) {
        *(left.newest ? &left.newest->next : &left.oldest) = a->oldest;
        left.newest = a->newest;
        left.waiting += a->waiting;
    }
    pthread_mutex_unlock(&lock);
    *a = (Arena){ 0 };
}
