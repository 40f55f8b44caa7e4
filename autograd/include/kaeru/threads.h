/* threads.h: the threads that compute.
 *
 * Operations divide their work among threads of the library. A program may also call kaeru from threads of its own. Each of
 * them has its own scopes, random generator, precision, error handler, ag_error() and cache of memory. When it ends, its open
 * scopes end, and with them its tensors. One thread at a time may use a tensor, a module or another object, and the thread
 * that made an object frees it. A result of one thread's graph cannot be an input in another thread. */
#ifndef KAERU_PUBLIC_THREADS_H
#define KAERU_PUBLIC_THREADS_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* Threads of the library: 1 to 256; 0: KAERU_THREADS, else one per processor. Not while another thread computes. */
void ag_set_threads(int n);
int  ag_threads(void);

#include "kaeru/calls/threads.h"

AG_PUBLIC_END

#endif
