/* memory.h: memory and objects that the program or another object owns, and how much memory tensors
 * take.
 *
 *     Counts *counts = ag_alloc(1, sizeof *counts);
 *     counts->of_word = ag_alloc_in(counts, n_words, sizeof *counts->of_word);
 *     ag_free(counts);                        frees counts->of_word, too
 */
#ifndef KAERU_PUBLIC_MEMORY_H
#define KAERU_PUBLIC_MEMORY_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* Returns zeroed memory for n items of `size` bytes. It is never NULL: a failed allocation is a
 * usage error. Free it with ag_free. If an error ends a scope that was open at this call, the
 * memory is freed with that scope. */
void *ag_alloc(size_t n, size_t size);
/* As ag_alloc, but `owner`, memory from ag_alloc, owns the memory. It is freed with its owner, or
 * earlier by ag_free. */
void *ag_alloc_in(void *owner, size_t n, size_t size);

/* Change the capacity of p from old_n to n items, and return the new address. Old items are kept,
 * and new ones are zeros. The new memory has p's owner, and owns what p owned. If p is NULL, the
 * memory is new, and in ag_resize_in `owner` owns it. */
void *ag_resize(void *p, size_t old_n, size_t n, size_t size);
void *ag_resize_in(void *owner, void *p, size_t old_n, size_t n, size_t size);

/* Return a copy of a string, and one of n bytes with a NUL behind them. */
char *ag_strdup(const char *s);
char *ag_strndup_in(void *owner, const char *s, size_t n);

/* Frees p and what it owns. p may be NULL. */
void  ag_free(void *p);

/* Makes `owner` the owner of p. NULL: p has no owner. */
void  ag_set_owner(void *p, void *owner);
/* As ag_set_owner, for a part to which its owner points, as a module points to its parameters. The
 * functions above then cannot free p or give it another owner: that is a usage error, which names
 * `type`, a static text. If owner is NULL, p is a part no more. */
void  ag_set_part(void *p, void *owner, const char *type);

/* Calls destroy(p) before p is freed. This is for objects that hold more than memory, for example
 * an open file. The memory of such an object is reused late, so that ag_check_object can see that
 * it was freed. If a usage error ends the function, p is not freed yet. When it is freed later, the
 * function is not called again. */
void  ag_on_free(void *p, void (*destroy)(void *p));

/* Returns zeroed memory for one object that ag_check_object checks. Free it with ag_free. */
void *ag_object_new(size_t size);
/* Checks that p is an object of ag_object_new, or one with ag_on_free, that was not freed.
 * Otherwise it is a usage error, "what: NAME is NULL" or "NAME was freed". */
void ag_check_object(const char *what, const char *name, const void *p);

/* Returns zeroed memory that the innermost scope owns and frees. */
void *ag_scratch(size_t n, size_t size);

/* The memory of this thread's tensors: three numbers of bytes, and the number of requests to the
 * system for memory. Released memory is cached for later tensors, so system_calls stays the same
 * once shapes repeat. All threads share the released memory of tensors of a megabyte or more, and
 * `cached` of each thread counts all of it. The memory of such tensors that no scope owns (ag_keep)
 * returns to the system. */
typedef struct { size_t in_use, peak, cached; int64_t system_calls; } AgMemory;
AgMemory ag_memory(void);
/* Sets `peak` to `in_use`. */
void ag_memory_reset_peak(void);

/* Returns cached memory to the system. On Linux it is all but a page of each 128 KiB of small
 * objects. Elsewhere, memory of large tensors is returned when a whole chunk of 128 MiB or more is
 * free. After this call, the use of a tensor whose scope has ended is still a usage error, but the
 * message cannot say where the tensor was made. */
void ag_memory_trim(void);

#include "kaeru/calls/memory.h"

AG_PUBLIC_END

#endif
