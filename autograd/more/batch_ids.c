/* batch_ids.c: which items of a set are a mini-batch: a random order that is computed for each item, without a list. */
#include "kaeru/batches.h"
#include "kernels.h"
#include "philox.h"
#include "tensor.h"
#include "tensor_struct.h"

/* A bijection of 0..4^half-1, chosen by seed and epoch: a Feistel network. A round exchanges the halves of x's bits, and adds a
 * random function of one to the other. */
static uint64_t mixed(uint64_t x, int half, uint64_t seed, uint64_t epoch)
{
    enum { ROUNDS = 8 };
    uint64_t low = ((uint64_t)1 << half) - 1, left = x >> half, right = x & low;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint32_t word[4];
        k_philox(seed ^ epoch << 32, right << 8 | round, word);
        uint64_t next = (left + word[0]) & low;
        left = right;
        right = next;
    }
    return left << half | right;
}

Tensor *ag_batch_ids(int64_t n, int64_t size, int64_t step, uint64_t seed)
{
    if (n < 1 || n > INT32_MAX) ag_usage_error(__func__, "n is %lld, expected 1 to 2147483647 items", (long long)n);
    if (size < 1 || size > n)
        ag_usage_error(__func__, "size is %lld, expected 1 to the number of items, %lld", (long long)size, (long long)n);
    if (step < 0) ag_usage_error(__func__, "step is %lld, expected 0 or more", (long long)step);
    int64_t batches = n / size, first = step % batches * size;
    int half = 1;
    while ((int64_t)1 << 2 * half < n) half++;
    Tensor *ids = tensor_new(__func__, &SHAPE(size), AG_INT);
    for (int64_t i = 0; i < size; i++) {
        uint64_t id = (uint64_t)(first + i);
        do id = mixed(id, half, seed, (uint64_t)(step / batches));      /* until it is below n: still a bijection */
        while (id >= (uint64_t)n);
        ints(ids)[i] = (int32_t)id;
    }
    return ids;
}
