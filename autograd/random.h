/* random.h: this thread's random generator, for operations. Programs have kaeru/random.h. */
#ifndef KAERU_RANDOM_H
#define KAERU_RANDOM_H

#include "kaeru/tensor.h"

/* Takes the next n blocks, of four random words each, and returns where they start. */
AgRandom random_blocks(uint64_t n);

#endif
