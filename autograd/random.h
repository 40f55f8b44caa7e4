/* random.h: this thread's random generator. */
#ifndef KAERU_RANDOM_H
#define KAERU_RANDOM_H

#include "kaeru/tensor.h"

/* The next blocks of this thread's random generator: where they start. */
AgRandom random_blocks(uint64_t n);

#endif
