/* threads.h: the number of threads that compute.
 *
 *     ag_set_threads(4);
 *
 * Operations divide their work among threads of the library. Results have the same bits on any
 * number of threads.
 *
 * A program may also call kaeru from threads of its own. Each of them has its own scopes, random
 * generator, precision, error handler, ag_error() and cache of memory. When such a thread ends, its
 * open scopes end, and with them its tensors. One thread at a time may use a tensor, a module or
 * another object. The thread that made an object frees it. A result of one thread's graph cannot be
 * an input in another thread. */
#ifndef KAERU_PUBLIC_THREADS_H
#define KAERU_PUBLIC_THREADS_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* Sets the number of threads of the library, 1 to 256. 0: the number in the environment variable
 * KAERU_THREADS; without it, one for each processor. No other thread may compute during this
 * call. */
void ag_set_threads(int n);
/* Returns the number of threads of the library. */
int  ag_threads(void);

#include "kaeru/calls/threads.h"

AG_PUBLIC_END

#endif
