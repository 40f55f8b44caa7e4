/* alloc.h: the blocks of ag_alloc. */
#ifndef KAERU_ALLOC_H
#define KAERU_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* The outermost scope begins: an error can unwind the blocks that are allocated from now on. */
void blocks_begin(void);
/* Frees the blocks that were allocated after serial number `begun` and not after `failed`, and that
 * no block owns. */
void blocks_unwind(uint64_t begun, uint64_t failed);
/* The outermost scope has ended. */
void blocks_end(void);
/* A scope ends: the program may have left destructors by longjmp or throw. */
void blocks_leave_destructors(void);
bool block_has_owner(void *p);
/* As ag_free, for the function `what`, which is a layer call. */
void block_free(const char *what, void *p);
/* Returns the memory of freed objects, which is kept so that an error can tell them from others.
 * The tests count blocks. */
void forget_freed_objects(void);

#endif
