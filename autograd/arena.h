/* arena.h: the memory of scopes: tensors and their arguments. See arena.c. */
#ifndef KAERU_ARENA_H
#define KAERU_ARENA_H

#include <stddef.h>

enum { ARENA_CHUNK = 128 * 1024 };  /* bytes of a chunk of the usual size, with its header */

/* A position in an arena: the first `used` bytes of this chunk, and all chunks before it. */
typedef struct { struct Chunk *chunk; size_t used; } ArenaMark;

typedef struct {
    ArenaMark next;                 /* where the next memory begins */
    struct Chunk *oldest, *newest;  /* the list of released chunks, which wait for their next use */
    size_t waiting;                 /* the number of bytes that were in use in them */
} Arena;

/* Returns zeroed memory, which lasts until arena_end with the mark of the last arena_begin. NULL if
 * out of memory. */
void *arena_alloc(Arena *a, size_t bytes);
/* Returns the position for arena_end, and ends the chunk: the next memory is in another one. */
ArenaMark arena_begin(Arena *a);
/* Releases all memory after the mark. */
void  arena_end(Arena *a, ArenaMark mark);
/* Returns the memory of the waiting chunks to the system, but not their addresses. */
void  arena_trim(Arena *a);
/* Leaves the waiting chunks to other threads: this one ends, and has no open scope. */
void  arena_leave(Arena *a);

#endif
