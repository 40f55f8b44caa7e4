/* large_buffers.h: large blocks of memory, which all threads share. */
#ifndef KAERU_LARGE_BUFFERS_H
#define KAERU_LARGE_BUFFERS_H

#include <stddef.h>

/* Memory of at least so many bytes, aligned to 64; *size: how many it has. NULL if the system has
 * none. */
void  *large_alloc(size_t bytes, size_t *size);
void   large_free(void *p);
size_t large_free_bytes(void);  /* released, and kept for later */
void   large_trim(void);  /* returns to the system what it can */

#endif
