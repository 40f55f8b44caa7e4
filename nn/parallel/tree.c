/* tree.c: which shards a process has, and the tree in which the gradients of all shards are added. */
#include "parallel_parts.h"

int64_t portion_begin(int64_t n, int64_t portions, int64_t i)
{
    return n / portions * i + n % portions * i / portions;
}

int64_t first_shard(const NnParallel *p, int rank)
{
    return portion_begin(p->options.shards, p->size, rank);
}

int rank_of_shard(const NnParallel *p, int64_t shard)
{
    return (int)(((shard + 1) * p->size - 1) / p->options.shards);      /* the last rank whose first shard is not behind it */
}

int64_t middle(int64_t lo, int64_t hi)
{
    int64_t half = 1;
    while (2 * half < hi - lo) half *= 2;
    return lo + half;
}

int merges_after(int64_t lo, int64_t hi, int64_t last, int64_t first, int64_t end)
{
    if (hi - lo == 1) return 0;
    int64_t mid = middle(lo, hi);
    int below = last < mid ? merges_after(lo, mid, last, first, end) : merges_after(mid, hi, last, first, end);
    return below + (last == hi - 1 && lo >= first && hi <= end);
}

int sums_before(const NnParallel *p, int rank, int64_t shard)
{
    int n = 0;
    int64_t first = first_shard(p, rank), end = first_shard(p, rank + 1);
    for (int64_t i = first; i < shard; i++) n += 1 - merges_after(0, p->options.shards, i, first, end);
    return n;
}

int sums_sent(const NnParallel *p, int rank)
{
    return p->first_sum[rank + 1] - p->first_sum[rank];
}
