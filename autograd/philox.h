/* philox.h: Philox4x32-10, a random generator without a state: it turns a counter and a key into
 * four random words (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * 2011). Ten rounds multiply the words and mix them, each with a key of its own. */
#ifndef KAERU_PHILOX_H
#define KAERU_PHILOX_H

#include <stdint.h>

enum { PHILOX_ROUNDS = 10 };
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
/* The key grows by these in each round: by the digits of the golden ratio and of sqrt(3) - 1. */
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

/* Replaces `counter` by the four random words that belong to it and to the key. */
static inline void philox4x32(uint32_t counter[4], uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * counter[0], p1 = (uint64_t)PHILOX_M1 * counter[2];
        counter[0] = (uint32_t)(p1 >> 32) ^ counter[1] ^ key0;
        counter[1] = (uint32_t)p1;
        counter[2] = (uint32_t)(p0 >> 32) ^ counter[3] ^ key1;
        counter[3] = (uint32_t)p0;
        key0 += PHILOX_W0;
        key1 += PHILOX_W1;
    }
}

/* Writes the four words of block `counter` of the stream `seed`. */
static inline void k_philox(uint64_t seed, uint64_t counter, uint32_t out[4])
{
    out[0] = (uint32_t)counter;
    out[1] = (uint32_t)(counter >> 32);
    out[2] = out[3] = 0;
    philox4x32(out, (uint32_t)seed, (uint32_t)(seed >> 32));
}

#endif
