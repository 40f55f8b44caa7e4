/* bench.c: measures kaeru's speed. compare.py runs the same workloads in other frameworks and compares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "kaeru/autograd.h"

#define GEMM(name, kind, m, n, k) \
    { name, "product " kind ": " #m " x " #n " x " #k, gemm_begin, gemm_step, gemm_end, \
      BENCH_RATE, 2e-9 * m * n * k, "GFLOPS", { m, n, k }, kind }

const char program[] = "bench";

static const Workload workloads[] = {
    GEMM("gemm", "AB", 1024, 1024, 1024),
    GEMM("gemm_128", "AB", 128, 128, 128),
    GEMM("gemm_512", "AB", 512, 512, 512),
    GEMM("gemm_2048", "AB", 2048, 2048, 2048),
    GEMM("gemm_deep", "AB", 64, 64, 4096),
    GEMM("gemm_abt", "ABt", 1024, 1024, 1024),
    GEMM("gemm_atb", "AtB", 1024, 1024, 1024),
    { "dispatch", "two pieces that wait for each other, given to the thread pool", dispatch_begin, dispatch_step,
      dispatch_end, BENCH_TIME, 1e6, "us", { 0 }, NULL },
    { "overhead", "50 x y = tanh(y W + b), y (1,16), W (16,16); sum; backward: 151 operations", overhead_begin,
      overhead_step, overhead_end, BENCH_TIME, 1e9 / 151, "ns/op", { 0 }, NULL },
    { "skip", "f(x) and x + f(x), 10-128-10, learn to return 10000 rows: Adam", skip_begin, skip_step, skip_end,
      BENCH_TIME, 1e3, "ms/step", { 10000 }, NULL },
    { "skip_small", "the same with 100 rows", skip_begin, skip_step, skip_end, BENCH_TIME, 1e6, "us/step", { 100 },
      NULL },
    { "copy", "Transformer, N 2, d_model 512, vocabularies 11, batch 80, source 10, target 9: Adam", copy_begin,
      transformer_step, transformer_end, BENCH_TIME, 1e3, "ms/step", { 0 }, NULL },
    { "translate", "Transformer, N 6, d_model 512, vocabularies 8000 and 6000, batch 32 of 24 and 24: Adam",
      translate_begin, transformer_step, transformer_end, BENCH_TIME, 1e3, "ms/step", { 0 }, NULL },
    { "shakespeare", "GPT, 4 layers, 4 heads, width 128, vocabulary 65, batch 12 of 64: AdamW", shakespeare_begin,
      gpt_step, gpt_end, BENCH_TIME, 1e3, "ms/step", { 12, 64 }, NULL },
    { "gpt2", "GPT-2 124M, batch 4 of 64: AdamW", gpt2_begin, gpt_step, gpt_end, BENCH_TIME, 1e3, "ms/step", { 4, 64 },
      NULL },
    { "gpt2_long", "GPT-2 124M, batch 1 of 1024: AdamW", gpt2_begin, gpt_step, gpt_end, BENCH_TIME, 1e3, "ms/step",
      { 1, 1024 }, NULL },
    { "decode", "GPT-2 124M writes 48 tokens after a prompt of 16", decode_begin, decode_step, decode_end, BENCH_RATE,
      48, "tokens/s", { 16, 48 }, "gpt2" },
    { "memory", "reads 1 GB", memory_begin, memory_step, memory_end, BENCH_RATE, 1, "GB/s", { 1000000000 }, NULL },
    { "decode_llama", "the weights that are read while a Llama of 135M parameters writes 48 tokens", decode_begin, decode_step,
      decode_end, BENCH_RATE, 48 * 4 * 0.134515008, "GB/s", { 16, 48 }, "llama" },
    { "lora", "Llama of SmolLM2-135M's size, adapters of rank 8 in attention, batch 4 of 128: AdamW", lora_begin,
      gpt_step, gpt_end, BENCH_TIME, 1e3, "ms/step", { 4, 128 }, NULL },
    { "conv", "3 x 3 convolution, 64 to 64 channels, batch 16 of 32 x 32, forward and backward", conv_begin, conv_step,
      conv_end, BENCH_TIME, 1e3, "ms/step", { 16, 64, 32 }, NULL },
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

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
    double median = measure(w, state, seconds, &least);
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
    fputs("usage: bench [--threads N] [--seconds S] [--bf16] [--cpu] [--scaling | WORKLOAD...]\n\n"
          "Times these workloads, or all of them, and prints for each\n\n"
          "    NAME VALUE UNIT                   median over steps\n"
          "    NAME.best VALUE UNIT              the fastest step\n"
          "    NAME.peak VALUE MiB               peak memory minus the memory before the workload\n"
          "    NAME.threads VALUE threads\n"
          "    NAME.parameters VALUE parameters  parameters of the models\n\n"
          "  --threads N   number of threads; the default 0 means one per processor\n"
          "  --seconds S   how long to measure each workload, default 2; at least five steps\n"
          "  --bf16        products in bfloat16 (ag_precision)\n"
          "  --cpu         measure processor time: for one thread on a machine with other users\n"
          "  --scaling     measure GPTs of doubled sizes instead; prints CSV for plots/scaling.gp\n"
          "  --help        this text\n\n"
          "A step is a whole training step: forward, backward, optimizer. The workloads:\n\n", out);
    for (int i = 0; i < WORKLOADS; i++) fprintf(out, "  %-13s%s\n", workloads[i].name, workloads[i].what);
}

static const Workload *find(const char *name)
{
    for (int i = 0; i < WORKLOADS; i++)
        if (strcmp(workloads[i].name, name) == 0) return &workloads[i];
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = 2;
    bool scaling = false;
    const Workload *chosen[WORKLOADS];
    int n = 0;
    for (int i = 1; i < argc; i++) {
        const Workload *w = find(argv[i]);
        if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return 0;
        } else if (strcmp(argv[i], "--threads") == 0) {
            ag_set_threads((int)number("--threads", argv[i + 1], 256));
            i++;
        } else if (strcmp(argv[i], "--seconds") == 0) {
            seconds = number("--seconds", argv[i + 1], 3600);
            i++;
        } else if (strcmp(argv[i], "--bf16") == 0) {
            ag_precision(AG_BF16);
        } else if (strcmp(argv[i], "--cpu") == 0) {
            processor_time = true;
        } else if (strcmp(argv[i], "--scaling") == 0) {
            scaling = true;
        } else if (w && n < WORKLOADS) {
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
    if (scaling) {
        print_scaling(seconds);
        return 0;
    }
    bool good = true;
    for (int i = 0; i < (n ? n : WORKLOADS); i++) good = run_in_child(n ? chosen[i] : &workloads[i], seconds) && good;
    return good ? 0 : 1;
}
