/* region.h: memory for many things that end together: a parsed file, a vocabulary.
 *
 * Everything asked of a region is freed by one region_free, and by an error that unwinds the scope in which the region
 * was made; so a loader that builds something of many parts needs no clean-up code. */
#ifndef KAERU_REGION_H
#define KAERU_REGION_H

#include <stddef.h>

typedef struct Region Region;

Region *region_new(void);
void region_free(Region *r);                                            /* NULL is fine */
/* n zeroed items, aligned for any type. Never NULL: memory that cannot be had is misuse, as in ag_alloc. */
void *region_alloc(Region *r, size_t n, size_t size);
/* The same items with room for n >= old_n of them; `p` (NULL if old_n is 0) is no longer valid. */
void *region_resize(Region *r, void *p, size_t old_n, size_t n, size_t size);
/* A copy of n bytes with a NUL behind them. */
char *region_text(Region *r, const char *text, size_t n);

#endif
