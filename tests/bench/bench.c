/* bench.c: measures kaeru's speed. compare.py runs the same workloads in other frameworks and compares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "kaeru/autograd.h"

const char program[] = "bench";

/* ---- a workload -------------------------------------------------------------------------------------------------- */

static double figure(const Workload *w, double seconds)
{
    return w->figure == BENCH_TIME ? seconds * w->amount : w->amount / seconds;
}

static void run(const Workload *w, double seconds)
{
    int64_t parameters = 0;
    double before = peak_mib(), least;
    void *state = w->begin(w, &parameters);
    double median = measure(w, state, seconds, BENCH_SAMPLES, &least);
    w->end(state);
    printf("%s %.4g %s\n", w->name, figure(w, median), w->unit);
    printf("%s.best %.4g %s\n", w->name, figure(w, least), w->unit);
    printf("%s.peak %.1f MiB\n", w->name, peak_mib() - before);
    printf("%s.threads %d threads\n", w->name, ag_threads());
    if (parameters) printf("%s.parameters %lld parameters\n", w->name, (long long)parameters);
}

/* Runs a workload in a child process, to measure its peak memory. Returns whether the child succeeded. */
static bool run_in_child(const Workload *w, double seconds)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run(w, seconds);
        exit(fflush(stdout) == 0 ? 0 : 1);
    }
    int status = 1;
    if (child > 0) waitpid(child, &status, 0);
    if (status != 0) fprintf(stderr, "bench: %s failed\n", w->name);
    return status == 0;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void usage(FILE *out)
{
    fputs("usage: bench [--threads N] [--seconds S] [--bf16] [--cpu] [--scaling | WORKLOAD...]\n"
          "       bench --machine [--threads N] [--seconds S] [--minutes M] [--csv FILE] [WORKLOAD...]\n\n"
          "Times these workloads, or all of them, and prints for each\n\n"
          "    NAME VALUE UNIT                   median over steps\n"
          "    NAME.best VALUE UNIT              the fastest step\n"
          "    NAME.peak VALUE MiB               peak memory minus the memory before the workload\n"
          "    NAME.threads VALUE threads\n"
          "    NAME.parameters VALUE parameters  parameters of the models\n\n"
          "  --threads N   number of threads; the default 0 means one per processor\n"
          "  --seconds S   how long to measure each workload, default 2 (--machine: 0.5); at least five steps (three)\n"
          "  --bf16        products in bfloat16 (ag_precision)\n"
          "  --cpu         measure processor time: for one thread on a machine with other users\n"
          "  --scaling     measure GPTs of doubled sizes instead; prints CSV for plots/scaling.gp\n"
          "  --machine     tell how kaeru runs on this machine: its processor, its instruction sets, SHA-256 of trained\n"
          "                weights, and workloads on 1, 2, 4 ... N threads in float32 and in bfloat16\n"
          "  --minutes M   with --machine: how long in all, default 8; what does not fit is left out\n"
          "  --csv FILE    with --machine: for the times, default machine.csv\n"
          "  --help        this text\n\n"
          "A step is a whole training step: forward, backward, optimizer. The workloads:\n\n", out);
    for (int i = 0; i < BENCH_WORKLOADS; i++) fprintf(out, "  %-13s%s\n", bench_workloads[i].name, bench_workloads[i].what);
}

int main(int argc, char **argv)
{
    double seconds = -1, minutes = 8;
    bool scaling = false, machine = false;
    const char *csv = "machine.csv";
    const Workload *chosen[BENCH_WORKLOADS];
    int n = 0;
    for (int i = 1; i < argc; i++) {
        const Workload *w = find_workload(argv[i]);
        if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return 0;
        } else if (strcmp(argv[i], "--threads") == 0) {
            ag_set_threads((int)number("--threads", argv[i + 1], 256));
            i++;
        } else if (strcmp(argv[i], "--seconds") == 0) {
            seconds = number("--seconds", argv[i + 1], 3600);
            i++;
        } else if (strcmp(argv[i], "--minutes") == 0) {
            minutes = number("--minutes", argv[i + 1], 1e6);
            i++;
        } else if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc) {
            csv = argv[++i];
        } else if (strcmp(argv[i], "--bf16") == 0) {
            ag_precision(AG_BF16);
        } else if (strcmp(argv[i], "--cpu") == 0) {
            processor_time = true;
        } else if (strcmp(argv[i], "--scaling") == 0) {
            scaling = true;
        } else if (strcmp(argv[i], "--machine") == 0) {
            machine = true;
        } else if (w && n < BENCH_WORKLOADS) {
            chosen[n++] = w;
        } else {
            fprintf(stderr, "bench: there is no %s %s (bench --help lists them)\n",
                    argv[i][0] == '-' ? "option" : "workload", argv[i]);
            return 2;
        }
    }
    if (scaling && n) {
        fprintf(stderr, "bench: --scaling measures GPTs of its own: expected no workload, not %s\n", chosen[0]->name);
        return 2;
    }
    if (machine) {
        if (n == 0) n = usual_workloads(chosen);
        return print_machine(chosen, n, seconds < 0 ? 0.5 : seconds, minutes, csv) ? 0 : 1;
    }
    if (seconds < 0) seconds = 2;
    if (scaling) {
        print_scaling(seconds);
        return 0;
    }
    bool good = true;
    for (int i = 0; i < (n ? n : BENCH_WORKLOADS); i++)
        good = run_in_child(n ? chosen[i] : &bench_workloads[i], seconds) && good;
    return good ? 0 : 1;
}
