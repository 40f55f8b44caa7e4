/* region.h: memory for many items that are freed together, as ag_alloc_in with names of its own. */
#ifndef KAERU_REGION_H
#define KAERU_REGION_H

#include "kaeru/tensor.h"

typedef struct Region Region;
#define region_new()                      ((Region *)ag_alloc(1, 1))
#define region_free(r)                    ag_free(r)
#define region_alloc(r, n, size)          ag_alloc_in(r, n, size)
#define region_resize(r, p, old, n, size) ag_resize_in(r, p, old, n, size)
#define region_text(r, text, n)           ag_strndup_in(r, text, n)

#endif
