/* philox.c: one block of random words. distributions.c computes many blocks in vectors. */
#include "philox.h"

void k_philox(uint64_t seed, uint64_t counter, uint32_t out[4])
{
    out[0] = (uint32_t)counter;
    out[1] = (uint32_t)(counter >> 32);
    out[2] = out[3] = 0;
    philox4x32(out, (uint32_t)seed, (uint32_t)(seed >> 32));
}
