/* distributions.c: arrays of random numbers, and dropout.
 *
 * Each vector lane computes one Philox block, four words, for four neighboring items; vinterleave brings the words into the
 * order of the items. Item i depends on i alone, so threads can cut between any two blocks. */
#include "philox.h"
#include "vmath.h"

enum { GRAIN_BLOCKS = 2048 };

typedef struct {
    int64_t n;
    float *y;
    const float *x;
    uint64_t seed, counter;
    float low, range, most;         /* uniform */
    float mean, deviation;          /* normal */
    int32_t threshold;              /* dropout: an item is dropped if its 24 random bits are below */
    float scale;
    bool add;
} Job;

/* The words of W blocks from `counter` on: lane 4 l + g computes block W/4 g + l, the order that vinterleave expects. */
INLINE void philox_words(uint64_t seed, uint64_t counter, vi word[4])
{
    vi lane = viota(), offset = (lane & viset(3)) * viset(W / 4) + vshr(lane, 2);
    vi low = viset((int32_t)(uint32_t)counter) + offset, top = viset(INT32_MIN);
    vm carry = vilt(low ^ top, viset((int32_t)(uint32_t)counter) ^ top);
    int32_t above = (int32_t)(uint32_t)(counter >> 32);
    word[0] = low;
    word[1] = viselect(carry, viset((int32_t)((uint32_t)above + 1)), viset(above));
    word[2] = word[3] = viset(0);
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        vi high0, low0, high1, low1;
        vmul_wide(word[0], PHILOX_M0, &high0, &low0);
        vmul_wide(word[2], PHILOX_M1, &high1, &low1);
        word[0] = high1 ^ word[1] ^ viset((int32_t)key0);
        word[1] = low1;
        word[2] = high0 ^ word[3] ^ viset((int32_t)key1);
        word[3] = low0;
        key0 += PHILOX_W0;
        key1 += PHILOX_W1;
    }
}

/* j->y[i] = value for the items of blocks begin..end-1; in `value`, bits are the random words of the items. `prepare` may
 * change the words of W blocks, word[0..3], before they are interleaved. */
#define EACH_ITEM(prepare, value)                                                    \
    for (int64_t b = begin; b < end; b += W) {                                          \
        vi word[4], v[4];                                                               \
        philox_words(j->seed, j->counter + (uint64_t)b, word);                          \
        prepare;                                                                        \
        vinterleave(word, v);                                                           \
        int64_t last = end * 4 < j->n ? end * 4 : j->n;                                 \
        for (int e = 0; e < 4 && 4 * b + e * W < last; e++) {                           \
            const int64_t i = 4 * b + e * W, left = last - i < W ? last - i : W;        \
            const vi bits = v[e];                                                       \
            KEEP(j->y, value);                                                          \
        }                                                                               \
    }

/* ---- uniform ----------------------------------------------------------------------------------------------------- */

INLINE vf unit(vi word) { return vtof(vshr(word, 8)) * vset(0x1p-24f); }

static void uniform_blocks(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    EACH_ITEM((void)0, vmin(vset(j->most), vfma(vset(j->range), unit(bits), vset(j->low))))
}

/* The largest float below `high`: no number may be rounded up to it. */
static float just_below(double low, double high)
{
    float end = (float)high;
    if (low >= high || end < high) return end;
    int32_t bits;
    memcpy(&bits, &end, sizeof bits);
    bits = end > 0 ? bits - 1 : end < 0 ? bits + 1 : (int32_t)0x80000001;
    memcpy(&end, &bits, sizeof end);
    return end;
}

void ISA(uniform)(int64_t n, real *y, uint64_t seed, uint64_t counter, double low, double high)
{
    k_parallel((n + 3) / 4, GRAIN_BLOCKS, uniform_blocks,
               &(Job){ .n = n, .y = y, .seed = seed, .counter = counter, .low = (float)low, .range = (float)(high - low),
                       .most = just_below(low, high) });
}

/* ---- normal ------------------------------------------------------------------------------------------------------ */

/* Box and Muller: two uniform numbers u (in (0, 1]) and t make sqrt(-2 ln u) times the cosine and sine of t turns. */
INLINE void box_muller(vi *first, vi *second, vf mean, vf deviation)
{
    vf u = (vtof(vshr(*first, 8)) + vset(1)) * vset(0x1p-24f), sine, cosine;
    vsincos_turns(unit(*second), &sine, &cosine);
    vf radius = vsqrt(vset(-2) * vlog(u)) * deviation;
    *first = vbits(vfma(radius, cosine, mean));
    *second = vbits(vfma(radius, sine, mean));
}

static void normal_blocks(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    const vf mean = vset(j->mean), deviation = vset(j->deviation);
    EACH_ITEM((box_muller(&word[0], &word[1], mean, deviation), box_muller(&word[2], &word[3], mean, deviation)),
                 vfrom_bits(bits))
}

void ISA(normal)(int64_t n, real *y, uint64_t seed, uint64_t counter, double mean, double deviation)
{
    k_parallel((n + 3) / 4, GRAIN_BLOCKS / 2, normal_blocks,
               &(Job){ .n = n, .y = y, .seed = seed, .counter = counter, .mean = (float)mean,
                       .deviation = (float)deviation });
}

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

static void dropout_blocks(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    const float *x = j->x;
    const vi threshold = viset(j->threshold);
    const vf scale = vset(j->scale);
    EACH_ITEM((void)0, vplus(j->y + i, left, j->add, vselect(vilt(vshr(bits, 8), threshold), vset(0), LOAD(x) * scale)))
}

void ISA(dropout)(int64_t n, real *y, const real *x, double p, uint64_t seed, uint64_t counter, bool add)
{
    double drop = p * 0x1p24;
    int32_t threshold = (int32_t)drop;
    k_parallel((n + 3) / 4, GRAIN_BLOCKS, dropout_blocks,
               &(Job){ .n = n, .y = y, .x = x, .seed = seed, .counter = counter,
                       .threshold = threshold + (threshold < drop), .scale = (float)(1 / (1 - p)), .add = add });
}
