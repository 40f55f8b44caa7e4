/* buffer_memory.h: where the memory of buffers comes from, and where it goes to.
 *
 * A build has one file that defines these functions: plain/memory.c, which asks the system each
 * time, or a file that keeps released memory for the next buffers. */
#ifndef KAERU_BUFFER_MEMORY_H
#define KAERU_BUFFER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct Buffer;

/* Returns a buffer of at least `bytes` bytes with undefined content, or NULL if the system has no
 * memory. `size` is set, and `bin`, which only memory_give reads. The other members are 0 or those
 * of its former use. lasting: the buffer is for a value that outlives scopes. */
struct Buffer *memory_take(size_t bytes, bool lasting);
/* Takes back a buffer that nobody uses. */
void memory_give(struct Buffer *b);
/* Returns the kept memory that all threads share to the system. For that of one thread, thread_trim
 * does it (thread.h). */
void memory_trim(void);
/* Returns the number of bytes that are kept for later buffers of this thread. */
size_t memory_kept_bytes(void);

#endif
