/* scratch.h: the memory of a thread that kernels compute in. */
#ifndef KAERU_SCRATCH_H
#define KAERU_SCRATCH_H

#include <stddef.h>

/* This thread's scratch memory, `bytes` or more of it, at an address that is a multiple of 4096; NULL if it cannot be
 * had. What it holds is lost at the next call. It is kept until the thread ends. */
void *k_scratch(size_t bytes);

#endif
