/* arena.c: the memory of scopes. Tensors and their arguments are small and end together, so they are written one after another
 * into chunks, and the end of a scope releases its chunks.
 *
 * Each scope begins a chunk of its own. A released chunk waits until some others have been released after it. A tensor that is
 * used after its scope has ended is therefore still there, and check_alive can name it. */
#include "internal.h"

#include <pthread.h>
#include <string.h>

typedef struct Chunk {
    struct Chunk *next;
    size_t size, used;          /* used: of a chunk that waits, the bytes that were in use */
} Chunk;
#define CHUNK_HEADER 64
#define CHUNK_SIZE (128 * 1024)

/* A chunk waits until so many others wait, or so many bytes: 32 KB still fit the fastest cache. */
enum { WAITING = 64, WAITING_BYTES = 32 * 1024, WAITING_IN_GUARD_MODE = 256 };

static void *chunk_data(Chunk *c)
{
    return (char *)c + CHUNK_HEADER;
}

/* The link to the chunk after the current one: the first of those that wait. */
static Chunk **first_waiting(Arena *a)
{
    return a->next.chunk ? &a->next.chunk->next : &a->first;
}

/* Inserts a chunk with room for that many bytes after the current one: the oldest that fits, or a new one. NULL if out of
 * memory. */
static Chunk *next_chunk(Arena *a, size_t bytes)
{
    Chunk **place = first_waiting(a), *chunk = NULL;
    bool guard = context()->guard;
    if (a->waiting > (guard ? WAITING_IN_GUARD_MODE : WAITING) || (!guard && a->waiting_bytes > WAITING_BYTES)) {
        Chunk **link = place, *before = NULL;
        while (*link && (*link)->size < bytes) {
            before = *link;
            link = &before->next;
        }
        chunk = *link;
        if (chunk) {
            *link = chunk->next;
            if (a->last == chunk) a->last = before;
            a->waiting--;
            a->waiting_bytes -= chunk->used;
        }
    }
    if (!chunk) {
        size_t size = bytes > CHUNK_SIZE ? bytes : CHUNK_SIZE;
        chunk = system_alloc(CHUNK_HEADER + size);
        if (!chunk) return NULL;
        memset(chunk, 0, CHUNK_HEADER);                 /* ag_free of a tensor reads here whether it is a block */
        chunk->size = size;
    }
    memory_poison(chunk_data(chunk), chunk->size);
    chunk->next = *place;
    *place = chunk;
    return chunk;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->next.chunk || a->next.used + bytes > a->next.chunk->size) {
        Chunk *chunk = next_chunk(a, bytes);
        if (!chunk) return NULL;
        a->next = (ArenaMark){ chunk, 0 };
    }
    void *p = (char *)chunk_data(a->next.chunk) + a->next.used;
    a->next.used += bytes;
    memory_unpoison(p, bytes);
    return memset(p, 0, bytes);
}

ArenaMark arena_begin(Arena *a)
{
    ArenaMark mark = a->next;
    if (mark.chunk) a->next.used = mark.chunk->size;
    return mark;
}

void arena_end(Arena *a, ArenaMark mark)
{
    Chunk *last = a->next.chunk;
    if (last) last->used = a->next.used;
    a->next = mark;
    if (last == mark.chunk) return;
    Chunk **first = first_waiting(a), *begin = *first;
    for (Chunk *c = begin;; c = c->next) {
        if (c != last) c->used = c->size;
        a->waiting++;
        a->waiting_bytes += c->used;
        if (c == last) break;
    }
    if (a->last) {                                      /* others wait: these go behind them */
        *first = last->next;
        last->next = NULL;
        a->last->next = begin;
    }
    a->last = last;
}

void arena_trim(Arena *a)
{
    for (Chunk **link = first_waiting(a), *c; (c = *link) != NULL;) {
        *link = c->next;
        memory_unpoison(chunk_data(c), c->size);
        system_free(c);
    }
    a->last = NULL;
    a->waiting = 0;
    a->waiting_bytes = 0;
}

void arena_keep(Arena *a)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static Chunk *kept;
    pthread_mutex_lock(&lock);
    if (a->last) {
        a->last->next = kept;
        kept = a->first;
    }
    pthread_mutex_unlock(&lock);
    *a = (Arena){ 0 };
}
