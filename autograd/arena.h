/* arena.h: the arena of scopes: tensors and their arguments. */
#ifndef KAERU_ARENA_H
#define KAERU_ARENA_H

#include <stddef.h>

enum { ARENA_CHUNK = 128 * 1024 };      /* bytes of a chunk of the usual size, as system_alloc gets
                                           them */
typedef struct { struct Chunk *chunk; size_t used; } ArenaMark;
/* next: where it writes next. Chunks that were released wait before they are used for something
 * else, the oldest first; `waiting` is their number of bytes in use. */
typedef struct { ArenaMark next; struct Chunk *oldest, *newest; size_t waiting; } Arena;
/* Zeroed memory until arena_end with the last mark that arena_begin returned. NULL if out of
 * memory. */
void *arena_alloc(Arena *a, size_t bytes);
ArenaMark arena_begin(Arena *a);
void  arena_end(Arena *a, ArenaMark mark);
void  arena_trim(Arena *a);             /* returns the memory of chunks that wait to the system, but
                                           not their addresses */
/* The thread ends, and all its scopes have ended: leaves the chunks to other threads. */
void  arena_leave(Arena *a);

#endif
