/* buffer_memory.h: where the memory of buffers comes from, and where it goes to.
 *
 * A build has one file that defines these functions: plain/memory.c, which asks the system each
 * time, or another one, which keeps released memory for the next buffers. */
#ifndef KAERU_BUFFER_MEMORY_H
#define KAERU_BUFFER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct Buffer;

/* Returns memory for a buffer of so many bytes or more, with `size` set and all other members 0 or
 * of memory_take's own; its content is undefined. lasting: it is for a value that outlives scopes.
 * NULL if the system has no memory. */
struct Buffer *memory_take(size_t bytes, bool lasting);
/* Takes the memory of a buffer that nobody uses. */
void memory_give(struct Buffer *b);
/* Returns kept memory that all threads share to the system. What a thread keeps, its state's `trim`
 * returns (thread.h). */
void memory_trim(void);
/* The number of bytes that are kept for later buffers of this thread. */
size_t memory_kept_bytes(void);

#endif
