/* each_add.h: EACH of simd.h for an output that is written or added to. */
#ifndef KAERU_EACH_ADD_H
#define KAERU_EACH_ADD_H

#include "simd.h"

/* out[i] = value, or out[i] += value if add, for i in begin..end-1. */
#define EACH_ADD(add, out, value)               \
    do {                                        \
        if (add)                                \
            EACH(out, LOAD(out) + (value));     \
        else                                    \
            EACH(out, value);                   \
    } while (0)

#endif
