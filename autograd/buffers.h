/* buffers.h: buffers for values and gradients, and scratch memory. */
#ifndef KAERU_BUFFERS_H
#define KAERU_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reference-counted array for values or gradients. */
typedef struct Buffer {
    int refs;
    int16_t bin;                /* where its memory returns to: for memory_give (buffer_memory.h) */
    bool watched;               /* by buffer_watch */
    uint8_t by_thread;          /* of the last write in place: the lowest bits of the thread's
                                   number */
    uint32_t version;           /* how often values were written in place; see values_to_write */
    uint32_t slack;             /* how many of the usable bytes were not asked for */
    size_t size;                /* usable bytes, after the header */
    const char *writer;         /* the function that wrote values in place last; NULL: none */
    const char *file;           /* where it was called: this and `line`, */
    union {
        struct Buffer *next;    /* in a free list, or in the list of scratch buffers */
        const char *user_file;  /* and, in a layer, where the user called that: this and user_line;
                                   NULL: in none */
    };
    int line, user_line;
} Buffer;
#define BUFFER_HEADER 64        /* keeps the data on a cache line of its own */

/* Content undefined; usage error if out of memory. lasting: for a value that outlives scopes. */
Buffer *buffer_new(const char *what, size_t bytes, bool lasting);
/* n items; checks the product */
Buffer *buffer_items(const char *what, int64_t n, size_t size);
void    buffer_release(Buffer *b);                                  /* b may be NULL */
void    buffers_end_scope(void);        /* watched buffers that were released in the scope may be
                                           used for others */
static inline void *buffer_data(Buffer *b) { return (char *)b + BUFFER_HEADER; }
static inline Buffer *buffer_share(Buffer *b)
{
    b->refs++;
    return b;
}
/* Releases *b and sets it to NULL. */
static inline void buffer_drop(Buffer **b)
{
    if (*b) {
        buffer_release(*b);
    }
    *b = NULL;
}

/* ---- scratch memory -----------------------------------------------------------------------------
 * There are three kinds, by who needs it and for how long:
 *
 *     ag_scratch      a program, to the end of the scope (scope.c)
 *     op_scratch      an operation or a rule, to the end of its call (here)
 *     k_scratch       a kernel, in its own thread, which has no tensors, to its next call there */

/* Returns n items with undefined content, for one call of an operation or of a backward rule.
 * op_done and the backward pass release them at the end of the call, and an error releases them,
 * too. Functions without op_done call op_scratch_end. A nested operation also ends it. */
void *op_scratch(const char *what, int64_t n, size_t size);
/* takes over this reference to b */
void  op_scratch_adopt(Buffer *b);
void  op_scratch_end(void);

/* ---- who watches buffers --------------------------------------------------------------------- */

enum { SENTINELS = 64 };        /* bytes after a watched buffer's own */
typedef struct {
    /* Watches b, which has SENTINELS bytes of slack or more, until take_released. False if out of
     * memory. */
    bool (*begin)(const char *what, Buffer *b);
    void (*end)(Buffer *b);                                         /* b is released */
    /* A usage error if memory around a buffer of this thread was written, or (all) memory of a
     * released one. */
    void (*check)(const char *what, bool all);
    /* one that this thread has released; NULL: none */
    Buffer *(*take_released)(void);
} BufferWatch;
/* It begins to watch while an observer needs CHECK_MEMORY. NULL: there is none. See observe.h. */
extern const BufferWatch *const buffer_watch;

#endif
