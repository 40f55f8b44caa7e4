/* processes.c: the speed and memory of training by several processes: mpirun -n 2 processes gpt2. processes.py runs it in turn
 * with one process and with PyTorch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kaeru/mpi.h"

const char program[] = "processes";

static const Workload workloads[] = {
    { .name = "shakespeare", .what = "GPT, 4 layers, 4 heads, width 128, vocabulary 65, batch 12 of 64: AdamW",
      .begin = shakespeare_begin, .end = gpt_end, .size = { 12, 64 } },
    { .name = "gpt2", .what = "GPT-2 124M, batch 4 of 64: AdamW", .begin = gpt2_begin, .end = gpt_end, .size = { 4, 64 } },
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

static void usage(FILE *out)
{
    fputs("usage: [mpirun -n P] processes [--threads N] [--steps N] [--shards S] [--batch B] WORKLOAD\n\n"
          "Times the training steps of P processes and prints\n\n"
          "    NAME VALUE ms/step                median over steps, in the first process\n"
          "    NAME.best VALUE ms/step           the fastest step\n"
          "    NAME.peak VALUE MiB               resident memory of the process that needs most\n"
          "    NAME.model VALUE MiB              weights, gradients, and 2/P of the weights for the optimizer\n"
          "    NAME.threads VALUE threads        of each process\n"
          "    NAME.processes VALUE processes\n"
          "    NAME.shards VALUE shards\n"
          "    NAME.parameters VALUE parameters\n\n"
          "  --threads N   threads of each process; the default 0 divides the processors\n"
          "  --steps N     measured steps, default 5\n"
          "  --shards S    shards of a batch; the default 0 means one for each process. One process without shards\n"
          "                takes steps as bench does\n"
          "  --batch B     another batch; a multiple of the shards\n"
          "  --help        this text\n\n", out);
    for (int i = 0; i < WORKLOADS; i++) fprintf(out, "  %-13s%s\n", workloads[i].name, workloads[i].what);
}

/* The largest of all processes' values. */
static double largest(NnParallel *all, int processes, double mine)
{
    double *value = ag_alloc((size_t)processes, sizeof *value), most = mine;
    for (int i = 0; i < processes; i++) value[i] = mine;
    nn_parallel_collect(all, value, processes);
    for (int i = 0; i < processes; i++)
        if (value[i] > most) most = value[i];
    ag_free(value);
    return most;
}

static void run(Workload w, int64_t shards, int steps, NnProcesses *processes)
{
    int size = processes ? processes->size : 1;
    int64_t parameters = 0;
    void *state = w.begin(&w, &parameters);
    NnParallel *all = shards ? gpt_share(state, shards, processes) : NULL;
    w.step = all ? gpt_shared_step : gpt_step;
    double least, median = measure_steps(&w, state, steps, &least), peak = peak_mib();
    if (all) peak = largest(all, size, peak);
    printf("%s %.4g ms/step\n", w.name, 1e3 * median);
    printf("%s.best %.4g ms/step\n", w.name, 1e3 * least);
    printf("%s.peak %.0f MiB\n", w.name, peak);
    printf("%s.model %.0f MiB\n", w.name, (double)parameters * sizeof(ag_real) * (2 + 2.0 / size) / 1048576);
    printf("%s.threads %d threads\n", w.name, ag_threads());
    printf("%s.processes %d processes\n", w.name, size);
    printf("%s.shards %lld shards\n", w.name, shards ? (long long)shards : 1);
    printf("%s.parameters %lld parameters\n", w.name, (long long)parameters);
    if (all) nn_parallel_end(all);
    w.end(state);
}

static const Workload *find(const char *name)
{
    for (int i = 0; i < WORKLOADS; i++)
        if (strcmp(workloads[i].name, name) == 0) return &workloads[i];
    return NULL;
}

int main(int argc, char **argv)
{
    enum { THREADS, STEPS, SHARDS, BATCH, NUMBERS };
    static const char *const names[NUMBERS] = { "--threads", "--steps", "--shards", "--batch" };
    double value[NUMBERS] = { [STEPS] = 5 };
    const Workload *chosen = NULL;
    NnProcesses *processes = nn_mpi_begin();
    for (int i = 1; i < argc; i++) {
        int k = 0;
        while (k < NUMBERS && strcmp(argv[i], names[k]) != 0) k++;
        if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return 0;
        } else if (k < NUMBERS) {
            value[k] = number(argv[i], argv[i + 1], 100000);
            i++;
        } else if (!(chosen = find(argv[i]))) {
            fprintf(stderr, "processes: there is no %s %s (--help lists them)\n",
                    argv[i][0] == '-' ? "option" : "workload", argv[i]);
            nn_mpi_abort(2);
        }
    }
    if (!chosen) {
        fprintf(stderr, "processes: expected a workload (--help lists them)\n");
        nn_mpi_abort(2);
    }
    if (value[THREADS] > 0) ag_set_threads((int)value[THREADS]);
    Workload w = *chosen;
    int64_t shards = value[SHARDS] > 0 ? (int64_t)value[SHARDS] : processes ? processes->size : 0;
    if (value[BATCH] > 0) w.size[0] = (int64_t)value[BATCH];
    if (shards && w.size[0] % shards) {
        fprintf(stderr, "processes: a batch of %lld in %lld shards: expected a multiple\n", (long long)w.size[0],
                (long long)shards);
        nn_mpi_abort(2);
    }
    if (shards) w.size[0] /= shards;
    run(w, shards, value[STEPS] < 1 ? 1 : (int)value[STEPS], processes);
    return 0;
}
