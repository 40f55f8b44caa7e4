/* buffers.h: buffers for values and gradients, and scratch memory.
 *
 * A buffer is an array with a reference count: a view of a tensor shares its buffer, and backward
 * can release a value while its tensor lives on. A buffer also counts the writes in place, so that
 * backward can tell that a value is no longer the one that an operation has read. */
#ifndef KAERU_BUFFERS_H
#define KAERU_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Buffer {
    int refs;                   /* the reference count */
    int16_t bin;                /* the place that its memory returns to, for memory_give */
    bool watched;               /* buffer_watch watches it */
    uint8_t by_thread;          /* thread_number() of the thread that has written last in place */
    uint32_t version;           /* the number of writes in place (values_to_write) */
    uint32_t slack;             /* the number of bytes of `size` that nobody has asked for */
    size_t size;                /* the number of bytes after the header */

    /* The last write in place, for messages. */
    const char *writer;         /* the function that has written, or NULL */
    const char *file;           /* the place of its call: this and `line` */
    union {
        struct Buffer *next;    /* the next buffer of the list that this one is in */
        const char *user_file;  /* the program's call of the layer around it: this and `user_line`;
                                   NULL outside layers */
    };
    int line, user_line;
} Buffer;
#define BUFFER_HEADER 64        /* bytes: the data begin on a cache line of their own */

/* Returns a buffer with undefined content. Too little memory is a usage error. lasting: it is for a
 * value that outlives scopes. */
Buffer *buffer_new(const char *what, size_t bytes, bool lasting);
/* Returns a buffer of n items, and checks that they are not too many. */
Buffer *buffer_items(const char *what, int64_t n, size_t size);
/* Gives a reference back; with the last one the buffer is free. b may be NULL. */
void    buffer_release(Buffer *b);
/* Frees the watched buffers that were released in the scope, which ends. */
void    buffers_end_scope(void);
static inline void *buffer_data(Buffer *b) { return (char *)b + BUFFER_HEADER; }
/* Returns b, with one more reference. */
static inline Buffer *buffer_share(Buffer *b)
{
    b->refs++;
    return b;
}
/* Releases *b, if it is not NULL, and sets it to NULL. */
static inline void buffer_drop(Buffer **b)
{
    if (*b) {
        buffer_release(*b);
    }
    *b = NULL;
}

/* ---- scratch memory -----------------------------------------------------------------------------
 * There are three kinds of scratch memory, which differ in who needs it and for how long:
 *
 *     ag_scratch      a program, until the scope ends (scope.c)
 *     op_scratch      an operation or a backward rule, until its call ends (here)
 *     k_scratch       a kernel, which has no tensors, until its next call in the same thread */

/* Returns n items with undefined content, for one call of an operation or of a backward rule.
 * op_done, the backward pass and an error release them. Functions without op_done call
 * op_scratch_end. An operation inside the call releases them, too. */
void *op_scratch(const char *what, int64_t n, size_t size);
/* Adds b to the scratch memory, with the reference that the caller has. */
void  op_scratch_adopt(Buffer *b);
void  op_scratch_end(void);

/* ---- a watch of buffers -------------------------------------------------------------------------
 * A debugging tool that finds writes outside of a buffer and after its release. */

enum { SENTINELS = 64 };        /* the number of bytes behind a watched buffer that are checked */
typedef struct {
    /* Begins to watch b, which has SENTINELS bytes of slack or more. Returns false if out of
     * memory. */
    bool (*begin)(const char *what, Buffer *b);
    /* Takes b, which is released, and watches it until take_released returns it. */
    void (*end)(Buffer *b);
    /* Checks that nobody has written around a buffer of this thread or, if `all`, into a released
     * one. */
    void (*check)(const char *what, bool all);
    /* Returns a buffer that this thread has released, or NULL. */
    Buffer *(*take_released)(void);
} BufferWatch;
/* The watch, which is used while an observer needs CHECK_MEMORY (observe.h). NULL: a build without
 * one. */
extern const BufferWatch *const buffer_watch;

#endif
