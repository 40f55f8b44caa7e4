/* threads.h: the thread pool. The build has one: plain/threads.c, of the caller alone, or another
 * one. */
#ifndef KAERU_THREADS_H
#define KAERU_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* How many threads k_parallel may use, the caller included; 1 inside a body that the pool runs. 0:
 * as many as the machine has processors, or as KAERU_THREADS says. The threads start on first use;
 * a forked child starts its own. */
void k_set_threads(int n);
int  k_threads(void);

/* Calls body(arg, begin, end) on chunks that together cover 0..n, several at a time; returns when
 * all are done. If n < 2 grain, the caller runs everything; otherwise each chunk has at least
 * `grain` items. The chunks depend on the number of threads, so the results must not depend on the
 * chunks. A call from inside a body, or while another thread of the program uses the pool, runs on
 * the caller alone. */
typedef void KBody(void *arg, int64_t begin, int64_t end);
void k_parallel(int64_t n, int64_t grain, KBody *body, void *arg);
/* The number of chunks that k_parallel cuts n items into for so many threads; where chunk i begins,
 * and chunk i - 1 ends. */
int64_t k_chunks(int64_t n, int64_t grain, int64_t threads);
enum { K_SPIN_NS = 40000 };     /* how long a thread without work waits for some before it sleeps */
static inline int64_t k_chunk_begin(int64_t n, int64_t chunks, int64_t i)
{
    int64_t size = n / chunks, longer = n % chunks;
    return i * size + (i < longer ? i : longer);
}

#endif
