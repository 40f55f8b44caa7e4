/* memory.h: memory and objects that the program or another object owns, and how much memory tensors take. */
#ifndef KAERU_PUBLIC_MEMORY_H
#define KAERU_PUBLIC_MEMORY_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* Zeroed memory for n items of `size` bytes. Never NULL: memory that cannot be allocated is a usage error. Free it with
 * ag_free. If an error unwinds a scope that was open at this call, the memory is freed with that scope. */
void *ag_alloc(size_t n, size_t size);
/* The same, but owned by `owner` (a block from ag_alloc): freed when the owner is, or earlier with ag_free. */
void *ag_alloc_in(void *owner, size_t n, size_t size);

/* Changes the capacity of p from old_n to n items: keeps the old items, zeroes new ones, and returns the new address. The new
 * memory has p's owner, and owns what p owned. p may be NULL: then it is a new block, in ag_resize_in one of that owner. */
void *ag_resize(void *p, size_t old_n, size_t n, size_t size);
void *ag_resize_in(void *owner, void *p, size_t old_n, size_t n, size_t size);

/* Copies of a string, and of n bytes with a NUL behind them. */
char *ag_strdup(const char *s);
char *ag_strndup_in(void *owner, const char *s, size_t n);

/* Frees p and what it owns. p may be NULL. */
void  ag_free(void *p);

/* Makes `owner` the owner of p; NULL: none. */
void  ag_set_owner(void *p, void *owner);
/* The same for a part that its owner points to, as a module to its parameters: p alone cannot be freed or get another owner by
 * the functions above, which is a usage error that names `type`, a static text. Owner NULL: p is a part no more. */
void  ag_set_part(void *p, void *owner, const char *type);

/* Calls destroy(p) before p is freed, for objects that hold more than memory, for example an open file. The memory of such an
 * object is reused late, so that ag_check_object can tell that it was freed. If a usage error ends the function, p is not freed
 * yet; when it is, the function is not called again. */
void  ag_on_free(void *p, void (*destroy)(void *p));

/* Zeroed memory for one object that ag_check_object checks. Free it with ag_free. */
void *ag_object_new(size_t size);
/* A usage error "what: NAME is NULL", or "NAME was freed", unless p is an object of ag_object_new, or one with ag_on_free, that
 * was not freed. */
void ag_check_object(const char *what, const char *name, const void *p);

/* Zeroed memory that the innermost scope owns and frees. */
void *ag_scratch(size_t n, size_t size);

/* The memory of this thread's tensors. Released memory is cached for later tensors, so once shapes repeat, `system_calls` (the
 * number of requests to the system for memory) stays constant. Released memory of tensors of a megabyte or more is shared by
 * all threads, and each thread's `cached` counts all of it. That of large ones that no scope owns (ag_keep) is returned to the
 * system. */
typedef struct { size_t in_use, peak, cached; int64_t system_calls; } AgMemory;     /* bytes, bytes, bytes, count */
AgMemory ag_memory(void);
void ag_memory_reset_peak(void);

/* Returns cached memory to the system. On Linux it is all but a page of each 128 KiB of small objects; elsewhere, memory of
 * large tensors is returned when a whole chunk of 128 MiB or more is free. To use a tensor whose scope has ended is still a
 * usage error, but the message can no longer tell where the tensor was made. */
void ag_memory_trim(void);

#include "kaeru/calls/memory.h"

AG_PUBLIC_END

#endif
