/* recompute.h: a number of recompute.c that the tests change. */
#ifndef KAERU_RECOMPUTE_H
#define KAERU_RECOMPUTE_H

#include <stddef.h>

/* AG_CHEAP releases no smaller value than this one: it would save little memory for its time. */
extern size_t recompute_least_bytes;

#endif
