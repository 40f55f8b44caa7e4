/* arena.c: the memory of scopes. Tensors and their arguments are small and end together, in the reverse order of scopes, so
 * they are written one after another into chunks, and ending a scope resets the position. Chunks are kept for later. */
#include "internal.h"

#include <string.h>

typedef struct Chunk {
    struct Chunk *next;
    size_t size;
} Chunk;
#define CHUNK_HEADER 64
#define CHUNK_SIZE (128 * 1024)

static void *chunk_data(Chunk *c)
{
    return (char *)c + CHUNK_HEADER;
}

/* The chunk behind the current one, with room for that many bytes: a kept one or a new one. NULL if out of memory. */
static Chunk *next_chunk(Arena *a, size_t bytes)
{
    Chunk **link = a->next.chunk ? &a->next.chunk->next : &a->first;
    if (*link && (*link)->size >= bytes) return *link;
    size_t size = bytes > CHUNK_SIZE ? bytes : CHUNK_SIZE;
    Chunk *fresh = system_alloc(CHUNK_HEADER + size);
    if (!fresh) return NULL;
    *fresh = (Chunk){ *link, size };
    *link = fresh;
    memory_poison(chunk_data(fresh), size);
    return fresh;
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

ArenaMark arena_own_chunk(Arena *a)
{
    if (a->next.chunk) a->next.used = a->next.chunk->size;
    return a->next;
}

void arena_reset(Arena *a, ArenaMark mark, bool quarantine)
{
    Chunk *last = a->next.chunk;
    a->next = mark;
    if (quarantine) {
        Chunk **link = mark.chunk ? &mark.chunk->next : &a->first;
        while (*link) {
            Chunk *dead = *link;
            *link = dead->next;
            memory_unpoison(chunk_data(dead), dead->size);
            guard_quarantine(dead);
        }
        return;
    }
    size_t used = mark.used;
    for (Chunk *c = mark.chunk ? mark.chunk : a->first; c; c = c->next, used = 0) {
        memory_poison((char *)chunk_data(c) + used, c->size - used);
        if (c == last) break;
    }
}

void arena_free(Arena *a)
{
    while (a->first) {
        Chunk *next = a->first->next;
        memory_unpoison(chunk_data(a->first), a->first->size);
        system_free(a->first);
        a->first = next;
    }
    a->next = (ArenaMark){ NULL, 0 };
}
