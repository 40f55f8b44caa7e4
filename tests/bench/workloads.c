/* workloads.c: the list of workloads. */
#include <string.h>

#include "bench.h"

#define GEMM(name, kind, m, n, k) \
    { name, "product " kind ": " #m " x " #n " x " #k, gemm_begin, gemm_step, gemm_end, \
      BENCH_RATE, 2e-9 * m * n * k, "GFLOPS", { m, n, k }, kind }

const Workload bench_workloads[BENCH_WORKLOADS] = {
    GEMM("gemm", "AB", 1024, 1024, 1024),
    GEMM("gemm_128", "AB", 128, 128, 128),
    GEMM("gemm_512", "AB", 512, 512, 512),
    GEMM("gemm_2048", "AB", 2048, 2048, 2048),
    GEMM("gemm_deep", "AB", 64, 64, 4096),
    GEMM("gemm_abt", "ABt", 1024, 1024, 1024),
    GEMM("gemm_atb", "AtB", 1024, 1024, 1024),
    { "dispatch", "a piece for each thread, all wait for each other", dispatch_begin, dispatch_step,
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

const Workload *find_workload(const char *name)
{
    for (int i = 0; i < BENCH_WORKLOADS; i++)
        if (strcmp(bench_workloads[i].name, name) == 0) return &bench_workloads[i];
    return NULL;
}

int usual_workloads(const Workload *chosen[BENCH_WORKLOADS])
{
    static const char *const names[] = { "gemm", "overhead", "skip_small", "skip", "shakespeare", "copy", "decode", "gpt2",
                                         "translate", "gpt2_long" };
    int n = 0;
    for (; n < (int)(sizeof names / sizeof *names); n++) chosen[n] = find_workload(names[n]);
    return n;
}
