/* memory.h: where tensors and objects have their memory. */
#ifndef KAERU_MEMORY_H
#define KAERU_MEMORY_H

#include "system.h"
#include "thread.h"

/* ---- large blocks of memory, which all threads share (large.c) ---------------------------------------------------- */

/* Memory of at least so many bytes, aligned to 64; *size: how many it has. NULL if the system has none. */
void  *large_alloc(size_t bytes, size_t *size);
void   large_free(void *p);
size_t large_free_bytes(void);                                      /* released, and kept for later */
void   large_trim(void);                                            /* returns to the system what it can */

/* ---- buffers (buffers.c) ------------------------------------------------------------------------------------------- */

/* A reference-counted array for values or gradients, from a cache of released ones. */
typedef struct Buffer {
    int refs;
    int16_t bin;                /* the free list that it returns to, or one of these */
    bool watched;               /* by buffer_watch */
    uint8_t by_thread;          /* of the last write in place: the lowest bits of the thread's number */
    uint32_t version;           /* how often values were written in place; see values_to_write */
    uint32_t slack;             /* how many of the usable bytes were not asked for */
    size_t size;                /* usable bytes, after the header */
    const char *writer;         /* the function that wrote values in place last; NULL: none */
    const char *file;           /* where it was called: this and `line`, */
    union {
        struct Buffer *next;    /* in a free list, or in the list of scratch buffers */
        const char *user_file;  /* and, in a layer, where the user called that: this and user_line; NULL: in none */
    };
    int line, user_line;
} Buffer;
enum { LARGE = -1, ALONE = -2 };                        /* of large.c, a system_alloc of its own */
#define BUFFER_HEADER 64        /* keeps the data on a cache line of its own */

/* Content undefined; usage error if out of memory. lasting: for a value that outlives scopes. */
Buffer *buffer_new(const char *what, size_t bytes, bool lasting);
Buffer *buffer_items(const char *what, int64_t n, size_t size);     /* n items; checks the product */
void    buffer_release(Buffer *b);                                  /* b may be NULL */
void    buffers_end_scope(void);        /* watched buffers that were released in the scope may be used for others */
static inline void *buffer_data(Buffer *b) { return (char *)b + BUFFER_HEADER; }
static inline Buffer *buffer_share(Buffer *b) { b->refs++; return b; }
/* Releases *b and sets it to NULL. */
static inline void buffer_drop(Buffer **b)
{
    if (*b) buffer_release(*b);
    *b = NULL;
}

/* Memory that one call of an operation or of a backward rule needs. op_done and the backward pass release it at the end of
 * the call, and an error releases it, too. Functions without op_done call scratch_end. A nested operation also ends it. */
void *scratch_new(const char *what, int64_t n, size_t size);        /* n items, content undefined */
void  scratch_adopt(Buffer *b);                                     /* takes over this reference to b */
void  scratch_end(void);

/* ---- who watches buffers ------------------------------------------------------------------------------------------ */

enum { SENTINELS = 64 };        /* bytes after a watched buffer's own */
typedef struct {
    /* Watches b, which has SENTINELS bytes of slack or more, until take_released. False if out of memory. */
    bool (*begin)(const char *what, Buffer *b);
    void (*end)(Buffer *b);                                         /* b is released */
    /* A usage error if memory around a buffer of this thread was written, or (all) memory of a released one. */
    void (*check)(const char *what, bool all);
    Buffer *(*take_released)(void);                                 /* one that this thread has released; NULL: none */
} BufferWatch;
/* It is set before main, and begins to watch while an observer needs CHECK_MEMORY. NULL: there is none. */
extern const BufferWatch *buffer_watch;

/* ---- the arena of scopes (arena.c): tensors and their arguments ---------------------------------------------------- */

enum { ARENA_CHUNK = 128 * 1024 };      /* bytes of a chunk of the usual size, as system_alloc gets them */
typedef struct { struct Chunk *chunk; size_t used; } ArenaMark;
/* next: where it writes next. Chunks that were released wait before they are used for something else, the oldest first;
 * `waiting` is their number of bytes in use. */
typedef struct { ArenaMark next; struct Chunk *oldest, *newest; size_t waiting; } Arena;
/* Zeroed memory until arena_end with the last mark that arena_begin returned. NULL if out of memory. */
void *arena_alloc(Arena *a, size_t bytes);
ArenaMark arena_begin(Arena *a);
void  arena_end(Arena *a, ArenaMark mark);
void  arena_trim(Arena *a);             /* returns the memory of chunks that wait to the system, but not their addresses */
/* The thread ends, and all its scopes have ended: leaves the chunks to other threads. */
void  arena_leave(Arena *a);

/* ---- the blocks of ag_alloc (alloc.c) ----------------------------------------------------------------------------- */

/* The outermost scope begins: an error can unwind the blocks that are allocated from now on. */
void blocks_begin(void);
/* Frees the blocks that were allocated after serial number `begun` and not after `failed`, and that no block owns. */
void blocks_unwind(uint64_t begun, uint64_t failed);
/* The outermost scope has ended. */
void blocks_end(void);
/* A scope ends: the program may have left destructors by longjmp or throw. */
void blocks_leave_destructors(void);
bool block_has_owner(void *p);
/* As ag_free, for the function `what`, which is a layer call. */
void block_free(const char *what, void *p);
/* Returns the memory of freed objects, which is kept so that an error can tell them from others. The tests count blocks. */
void forget_freed_objects(void);

#endif
