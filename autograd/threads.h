/* threads.h: the thread pool. A build has one file that defines these functions: plain/threads.c,
 * whose pool is the calling thread alone, or another one. */
#ifndef KAERU_THREADS_H
#define KAERU_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* Sets how many threads k_parallel may use, with the caller. 0: as many as the machine has
 * processors, or as KAERU_THREADS says. The threads start on first use; a forked child starts its
 * own. */
void k_set_threads(int n);
/* Returns that number, or 1 inside a body that the pool runs. */
int  k_threads(void);

/* Calls body(arg, begin, end) on chunks that together cover 0..n, several at a time, and returns
 * when all are done. If n < 2 grain, the caller runs everything; otherwise each chunk has at least
 * `grain` items. The chunks depend on the number of threads, so the results must not depend on the
 * chunks. A call from inside a body, or while another thread of the program uses the pool, runs on
 * the caller alone. */
typedef void KBody(void *arg, int64_t begin, int64_t end);
void k_parallel(int64_t n, int64_t grain, KBody *body, void *arg);

#endif
