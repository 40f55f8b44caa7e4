/* chunks.h: how the pool of fast/threads.c cuts a job, and how long its threads wait: for models of its time, too. */
#ifndef KAERU_CHUNKS_H
#define KAERU_CHUNKS_H

#include <stdint.h>

/* Returns the number of chunks that k_parallel cuts n items into for so many threads. */
int64_t k_chunks(int64_t n, int64_t grain, int64_t threads);
/* Returns where chunk i begins and chunk i - 1 ends. */
static inline int64_t k_chunk_begin(int64_t n, int64_t chunks, int64_t i)
{
    int64_t size = n / chunks, longer = n % chunks;
    return i * size + (i < longer ? i : longer);
}

enum { K_SPIN_NS = 40000 };     /* nanoseconds that a thread without work waits for some before it sleeps */

#endif
