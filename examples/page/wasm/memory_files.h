/* memory_files.h: the bytes of the files in memory. */
#ifndef KAERU_PAGE_MEMORY_FILES_H
#define KAERU_PAGE_MEMORY_FILES_H

#include <stddef.h>

/* Valid until another file of that name is written; NULL if there is none. */
const void *memory_file(const char *name, size_t *size);

#endif
