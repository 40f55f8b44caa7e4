/* shards.c: data-parallel training: the gradients of a batch in shards, added in one tree by any number of processes. */
#include <string.h>

#include "common/common.h"
#include "kaeru/autograd.h"

enum { MOST_SHARDS = 64 };
static int64_t shards = 8, items = 1000;
static const ag_real *gradient[MOST_SHARDS];                            /* `items` random numbers for each shard */

/* ---- who has what ------------------------------------------------------------------------------------------------ */

/* The first shard of a process; of processes: the end. */
static int64_t first_shard(int64_t process, int64_t processes)
{
    return process * shards / processes;
}

/* The tree: the node over shards lo..hi-1 is divided at the largest power of two that is less than their number. */
static int64_t middle(int64_t lo, int64_t hi)
{
    int64_t half = 1;
    while (2 * half < hi - lo) half *= 2;
    return lo + half;
}

/* The process that has all shards lo..hi-1; -1: none has. */
static int64_t owner(int64_t lo, int64_t hi, int64_t processes)
{
    int64_t process = 0;
    while (first_shard(process + 1, processes) <= lo) process++;
    return hi <= first_shard(process + 1, processes) ? process : -1;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* sum[i]: a sum that begins with shard i. In the end sum[0] is that of all shards. */
static ag_real *sum[MOST_SHARDS];

static void add(int64_t to, int64_t from)
{
    for (int64_t i = 0; i < items; i++) sum[to][i] += sum[from][i];
}

/* Each process adds its shards from left to right, then the sums of the processes are added from left to right. */
static void add_plainly(int64_t processes)
{
    for (int64_t process = 0; process < processes; process++)
        for (int64_t i = first_shard(process, processes) + 1; i < first_shard(process + 1, processes); i++)
            add(first_shard(process, processes), i);
    for (int64_t process = 1; process < processes; process++) add(0, first_shard(process, processes));
}

/* Adds the nodes of which this process has all shards; -1: those of which none has. */
static void add_nodes(int64_t process, int64_t processes, int64_t lo, int64_t hi)
{
    if (hi - lo == 1) return;
    add_nodes(process, processes, lo, middle(lo, hi));
    add_nodes(process, processes, middle(lo, hi), hi);
    if (owner(lo, hi, processes) == process) add(lo, middle(lo, hi));
}

/* Each process adds its nodes and sends the topmost ones. The receiver adds them up. */
static void add_in_tree(int64_t processes)
{
    for (int64_t process = 0; process < processes; process++) add_nodes(process, processes, 0, shards);
    add_nodes(-1, processes, 0, shards);
}

/* Adds up all shards. Returns the number of items that differ from the sums of one process, which are kept. */
static int64_t differences(int64_t processes, bool in_tree, ag_real *of_one)
{
    for (int64_t i = 0; i < shards; i++) memcpy(sum[i], gradient[i], (size_t)items * sizeof *sum[i]);
    if (in_tree) add_in_tree(processes);
    else add_plainly(processes);
    if (processes == 1) memcpy(of_one, sum[0], (size_t)items * sizeof *of_one);
    int64_t n = 0;
    for (int64_t i = 0; i < items; i++) n += sum[0][i] != of_one[i];
    return n;
}

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

static void show_order(void)
{
    ag_real a = 100000000, b = 1, c = -a, ab = a + b, ac = a + c;
    say("The order of a sum matters, because each addition rounds:\n\n"
        "    (100000000 + 1) - 100000000 = %g\n    (100000000 - 100000000) + 1 = %g\n\n",
        (double)(ab + c), (double)(ac + b));
}

static void show_sums(void)
{
    ag_real *plain = tensor_mutable_data(tensor_zeros(SHAPE(items))), *tree = tensor_mutable_data(tensor_zeros(SHAPE(items)));
    Csv *csv = csv_open("shards_sums.csv", "processes,plain,tree,of");
    say("%lld shards with gradients of %lld numbers: how many sums differ from those of one process\n\n"
        "processes  left to right   the tree\n", (long long)shards, (long long)items);
    for (int64_t processes = 1; processes <= shards; processes++) {
        int64_t by_plain = differences(processes, false, plain), by_tree = differences(processes, true, tree);
        csv_row(csv, (double)processes, (double)by_plain, (double)by_tree, (double)items);
        printf("%9lld %14lld %10lld\n", (long long)processes, (long long)by_plain, (long long)by_tree);
    }
    csv_close(csv);
}

/* Writes the node over lo..hi-1 and those below it; returns its height. */
static double write_tree(Csv *csv, int64_t processes, int64_t lo, int64_t hi)
{
    double left = 0, right = 0, height = 0;
    if (hi - lo > 1) {
        left = write_tree(csv, processes, lo, middle(lo, hi));
        right = write_tree(csv, processes, middle(lo, hi), hi);
        height = 1 + (left > right ? left : right);
    }
    csv_row(csv, (double)processes, (double)lo, (double)middle(lo, hi), (double)hi, height, left, right,
            (double)owner(lo, hi, processes));
    return height;
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("shards", shards, 1, MOST_SHARDS, "shards of the batch"),
        NN_OPTION("items", items, 1, 1000000, "numbers in the gradient of a shard"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "shards",
        "Adds the gradients of the shards of a batch as one process, two processes, ... would add them: from left to right,\n"
        "where the result depends on their number, and in a fixed tree, where it does not.\n\n"
        "Writes shards_sums.csv (processes,plain,tree,of) and the tree, shards.csv\n"
        "(processes,lo,middle,hi,height,left,right,process), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    for (int64_t i = 0; i < shards; i++) {
        gradient[i] = tensor_data(tensor_normal(SHAPE(items), 0, 1));
        sum[i] = tensor_mutable_data(tensor_zeros(SHAPE(items)));
    }
    show_order();
    show_sums();
    Csv *csv = csv_open("shards.csv", "processes,lo,middle,hi,height,left,right,process");
    for (int64_t processes = 1; processes <= shards; processes++) write_tree(csv, processes, 0, shards);
    csv_close(csv);
    picture_draw("shards");
    ag_end(scope);
    return example_end();
}
