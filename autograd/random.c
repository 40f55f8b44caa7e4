/* random.c: this thread's random generator, and tensors filled from it.
 *
 * The generator is a counter. Block number `counter` of the stream `seed` has four random words,
 * which philox.h computes from these two numbers alone. An operation takes as many blocks as it
 * needs and moves the counter past them. So what it gets depends only on the seed and the order of
 * the calls, never on threads or on the machine. */
#include "checks.h"
#include "kaeru/random.h"
#include "kaeru/tensor.h"
#include "kaeru/updates.h"
#include "kernels.h"
#include "philox.h"
#include "random.h"
#include "tensor.h"
#include "tensor_struct.h"

#include <math.h>

static _Thread_local AgRandom generator;

AgRandom random_blocks(uint64_t n)
{
    AgRandom start = generator;
    generator.counter += n;
    return start;
}

void ag_seed(uint64_t seed) { generator = (AgRandom){ seed, 0 }; }
AgRandom ag_random_state(void) { return generator; }
void ag_set_random_state(AgRandom state) { generator = state; }

/* Returns 64 random bits, which take a block. */
static uint64_t random_u64(void)
{
    AgRandom r = random_blocks(1);
    uint32_t word[4];
    k_philox(r.seed, r.counter, word);
    return (uint64_t)word[1] << 32 | word[0];
}

uint32_t ag_random_u32(void)
{
    return (uint32_t)random_u64();
}

double ag_random_uniform(void)
{
    return (double)(random_u64() >> 11) * 0x1p-53;
}

int64_t ag_random_below(int64_t n)
{
    if (n < 1) {
        ag_usage_error(__func__, "n is %lld, expected 1 or more", (long long)n);
    }
    const uint64_t range = (uint64_t)n;
    const uint64_t limit = UINT64_MAX - UINT64_MAX % range;     /* a multiple of n: below it, all
                                                                   remainders are equally likely */
    uint64_t x;
    do {
        x = random_u64();
    } while (x >= limit);
    return (int64_t)(x % range);
}

void ag_random_permutation(int64_t n, int32_t *out)
{
    if (n < 0 || n > INT32_MAX) {
        ag_usage_error(__func__, "n is %lld, expected an int32_t of 0 or more", (long long)n);
    }
    if (n > 0) {
        ag_check_pointer(__func__, "out", out);
    }
    /* the shuffle of Fisher and Yates: i takes a random place, whose number moves to place i */
    for (int64_t i = 0; i < n; i++) {
        int64_t j = ag_random_below(i + 1);
        if (j < i) {
            out[i] = out[j];
        }
        out[j] = (int32_t)i;
    }
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Takes blocks with a word for each item. */
static AgRandom blocks_for(const Tensor *t) { return random_blocks(((uint64_t)t->numel + 3) / 4); }

static void fill_uniform(const char *what, Tensor *t, double low, double high)
{
    if (!isfinite((real)low) || !isfinite((real)high) || !isfinite((real)(high - low))) {
        ag_usage_error(what, "low %g and high %g, expected finite numbers, and a finite difference",
                       low, high);
    }
    if (low > high) {
        ag_usage_error(what, "low %g is above high %g", low, high);
    }
    AgRandom r = blocks_for(t);
    k_uniform(t->numel, reals(t), r.seed, r.counter, low, high);
}

static void fill_normal(const char *what, Tensor *t, double mean, double deviation)
{
    if (!(deviation >= 0)) {
        ag_usage_error(what, "deviation is %g, expected 0 or more", deviation);
    }
    if (!isfinite((real)mean) || !isfinite((real)deviation) ||
        !isfinite((real)(mean + deviation))) {
        ag_usage_error(what, "mean %g and deviation %g, expected finite numbers", mean, deviation);
    }
    AgRandom r = blocks_for(t);
    k_normal(t->numel, reals(t), r.seed, r.counter, mean, deviation);
}

Tensor *tensor_uniform(AgShape shape, double low, double high)
{
    Tensor *t = tensor_new(__func__, &shape, AG_REAL);
    fill_uniform(__func__, t, low, high);
    return t;
}

Tensor *tensor_normal(AgShape shape, double mean, double deviation)
{
    Tensor *t = tensor_new(__func__, &shape, AG_REAL);
    fill_normal(__func__, t, mean, deviation);
    return t;
}

Tensor *tensor_randint(AgShape shape, int32_t low, int32_t high)
{
    if (low >= high) {
        ag_usage_error(__func__, "low %d is not below high %d", low, high);
    }
    Tensor *t = tensor_new(__func__, &shape, AG_INT);
    for (int64_t i = 0; i < t->numel; i++) {
        ints(t)[i] = (int32_t)(low + ag_random_below((int64_t)high - low));
    }
    return t;
}

void ag_fill_uniform(Tensor *w, double low, double high)
{
    values_to_write(__func__, "w", w, AG_REAL);
    fill_uniform(__func__, w, low, high);
}

void ag_fill_normal(Tensor *w, double mean, double deviation)
{
    values_to_write(__func__, "w", w, AG_REAL);
    fill_normal(__func__, w, mean, deviation);
}

void ag_fill(Tensor *w, double value)
{
    real *values = values_to_write(__func__, "w", w, AG_REAL);
    k_fill(w->numel, values, (real)value);
}
