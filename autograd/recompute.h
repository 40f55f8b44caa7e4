/* recompute.h: values that backward computes again. */
#ifndef KAERU_RECOMPUTE_H
#define KAERU_RECOMPUTE_H

#include <stddef.h>

/* Below that, ag_recompute releases no value that is quick to compute. The tests set another
 * number. */
extern size_t recompute_least_bytes;

#endif
