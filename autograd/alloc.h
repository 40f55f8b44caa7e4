/* alloc.h: the blocks of ag_alloc, as scopes, layers and tests see them. Programs have the
 * functions of kaeru/memory.h. */
#ifndef KAERU_ALLOC_H
#define KAERU_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* Notes that the outermost scope begins: an error can free the blocks that are allocated from now
 * on. */
void blocks_begin(void);
/* Frees the blocks without an owner that were allocated after serial number `begun` and not after
 * `failed`. */
void blocks_unwind(uint64_t begun, uint64_t failed);
/* Notes that the outermost scope has ended: no error frees the blocks that still exist. */
void blocks_end(void);
/* Ends the destructors that the program has left by longjmp or throw. The end of a scope calls
 * it. */
void blocks_leave_destructors(void);
/* Returns whether another block owns p. */
bool block_has_owner(void *p);
/* Does the same as ag_free, for p that is not NULL. Errors are those of the function `what`, which
 * is a layer call. */
void block_free(const char *what, void *p);
/* Frees the memory of freed objects, which is kept so that an error can tell them from other
 * memory. Tests that count allocations call it. */
void forget_freed_objects(void);

#endif
