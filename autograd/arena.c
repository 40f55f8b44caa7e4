/* arena.c: the memory of scopes. Tensors and their arguments are small and end together, so they
 * are written one after another into chunks, and the end of a scope releases its chunks.
 *
 * Each scope begins a chunk of its own. A released chunk waits before it is used again, until
 * chunks of WAITING_BYTES have been released after it. A tensor that is used soon after its scope
 * has ended is therefore still there, and check_alive can name it. Chunks are never freed, only
 * their pages are returned to the system, so reading such a tensor never crashes. An array that is
 * larger than a chunk has a chunk of its own, which is freed. */
#include "arena.h"
#include "observe.h"
#include "system.h"

#include <pthread.h>
#include <string.h>

typedef struct Chunk {
    struct Chunk *next;         /* the chunk that was filled before this one; if this one waits, the
                                   chunk that was released after it */
    size_t size;                /* bytes after the header */
    size_t used;                /* of a chunk that is full or waits: the bytes that were in use, and
                                   CHUNK_COST */
} Chunk;

enum { CHUNK_HEADER = 64, CHUNK_SIZE = ARENA_CHUNK - CHUNK_HEADER };
enum { CHUNK_COST = 512 };      /* so that chunks that are almost empty do not wait forever */
/* The oldest chunk is used again when the other waiting ones have more bytes than this. 32 KiB
 * still fit the fastest cache. */
enum { WAITING_BYTES = 32 * 1024, WAITING_WHEN_CHECKED = 192 * 1024 };

static void *chunk_data(Chunk *c)
{
    return (char *)c + CHUNK_HEADER;
}

/* Takes the oldest waiting chunk, if those that were released after it have bytes enough. Returns
 * NULL if all of them have to wait longer. */
static Chunk *take_waiting(Arena *a)
{
    size_t wait = observers_need & CHECK_MEMORY ? WAITING_WHEN_CHECKED : WAITING_BYTES;
    Chunk *c = a->oldest;
    if (!c || a->waiting - c->used <= wait) return NULL;
    a->oldest = c->next;
    if (a->newest == c) {
        a->newest = NULL;
    }
    a->waiting -= c->used;
    return c;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Arena left;              /* the chunks of threads that have ended, under `lock` */

/* Appends the list of chunks from `first` to `last` to those that wait. */
static void append_waiting(Arena *a, Chunk *first, Chunk *last)
{
    if (a->newest) {
        a->newest->next = first;
    } else {
        a->oldest = first;
    }
    a->newest = last;
}

/* Returns a chunk of that many bytes or more, or NULL if out of memory. */
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
    memory_poison(chunk_data(c), c->size);      /* until arena_alloc gives parts of it away */
    c->next = a->next.chunk;
    return c;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) return NULL;
    bytes = (bytes + 15) / 16 * 16;
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
    Chunk *c = a->next.chunk;
    while (c != mark.chunk) {
        Chunk *before = c->next;
        c->next = NULL;
        if (c->size == CHUNK_SIZE) {
            append_waiting(a, c, c);
            a->waiting += c->used;
        } else {                    /* a large array; no tensor is in it */
            memory_unpoison(chunk_data(c), c->size);
            system_free(c);
        }
        c = before;
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
        append_waiting(&left, a->oldest, a->newest);
        left.waiting += a->waiting;
    }
    pthread_mutex_unlock(&lock);
    *a = (Arena){ 0 };
}
