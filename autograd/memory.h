/* memory.h: where every byte of this floor comes from. */
#ifndef KAERU_MEMORY_H
#define KAERU_MEMORY_H

#include <stddef.h>

/* Memory of the system, aligned to 64 bytes; NULL if it cannot be had. Counted in AgMemory.system_calls. */
void *system_alloc(size_t bytes);
void  system_free(void *p);

/* Marks memory that nobody may touch, so that AddressSanitizer reports a use; nothing in other builds. */
void memory_poison(void *p, size_t bytes);
void memory_unpoison(void *p, size_t bytes);

#endif
