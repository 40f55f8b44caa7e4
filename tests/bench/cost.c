/* cost.c: a model of the cost of data-parallel training: its efficiency from 1 to 1024 processes. Prints CSV for plots/cost.gp.
 *
 * A step of one process computes for T seconds, of which the backward pass takes two thirds. With P processes, each sends N/P
 * of its N gradients to each of the P - 1 others while backward goes on, and N/P new weights to each after the optimizer's
 * step. A network adapter sends and receives at the same time. So each of the two exchanges takes
 *
 *     E = messages x overhead + 4 N (P - 1) / P / bandwidth
 *
 * The first one is hidden behind the backward pass, but for the gradients that come last: those of the embedding, which the
 * output layer shares, are complete at the end. Then, with their share of the N,
 *
 *     step = T + max(share E, E - 2/3 T) + E,        efficiency = T / step
 *
 * Each process takes 1/P of the optimizer's step, which is short and left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

const char program[] = "cost";

typedef struct { const char *name; double parameters, layers, width, vocabulary, context; } Model;

/* Radford et al. 2019; the names of the OpenAI files. */
static const Model models[] = {
    { "GPT-2 124M", 124439808, 12, 768, 50257, 1024 },
    { "GPT-2 1.5B", 1557611200, 48, 1600, 50257, 1024 },
};
static const double gigabits[] = { 10, 100 };

/* Each weight multiplies each token three times, forward and twice in backward, and attention multiplies positions. */
static double operations(const Model *m, double tokens)
{
    return tokens * (6 * m->parameters + 6 * m->layers * m->context * m->width);
}

/* The numbers in a message: see divide in nn/parallel/pieces.c. */
static double message(double processes)
{
    enum { CHUNK = 1 << 14, MOST = 1 << 16, AT_ONCE = 1 << 21 };
    int64_t chunks = processes > 1 ? (int64_t)(AT_ONCE / (processes - 1)) / CHUNK : 1;
    return chunks * CHUNK > MOST ? MOST : chunks < 1 ? CHUNK : (double)(chunks * CHUNK);
}

typedef struct { double computing, exchange, step; } Cost;

static Cost cost(const Model *m, double processes, double seconds, double overhead, double bytes_a_second)
{
    Cost c = { .computing = seconds };
    c.exchange = m->parameters * (processes - 1) / processes * (overhead / message(processes) + 4 / bytes_a_second);
    double last = m->vocabulary * m->width / m->parameters * c.exchange, behind = c.exchange - seconds * 2 / 3;
    c.step = seconds + (last > behind ? last : behind) + c.exchange;
    return c;
}

/* A cluster: each process has so many tokens, so that the whole batch grows with their number. */
static void print_cluster(double flops, double tokens, double overhead)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t k = 0; k < sizeof gigabits / sizeof *gigabits; k++)
            for (double processes = 1; processes <= 1024; processes *= 2) {
                double seconds = operations(&models[i], tokens) / flops;
                Cost c = cost(&models[i], processes, seconds, overhead, gigabits[k] / 8 * 1e9);
                printf("%s,%g,%g,%g,%.4g,%.4g,%.4f\n", models[i].name, gigabits[k], tokens, processes, c.computing, c.exchange,
                       c.computing / c.step);
            }
}

/* Compares with what processes.py --check measured: one batch of 8 shards on one machine, whose processors the processes share,
 * and whose memory all of them use at the same time. */
static bool print_check(const char *path, double overhead, double gigabytes)
{
    FILE *file = fopen(path, "r");
    char line[128];
    double one = 0, processes, processors, seconds;
    if (!file || !fgets(line, sizeof line, file) || strcmp(line, "processes,processors,seconds\n") != 0) {
        fprintf(stderr, "cost: %s: expected processes,processors,seconds, as processes.py --check prints\n", path);
        if (file) fclose(file);
        return false;
    }
    printf("processes,measured,model\n");
    while (fscanf(file, "%lf,%lf,%lf", &processes, &processors, &seconds) == 3) {
        double shards = 8, most = 0;
        if (processes == 1) one = seconds;
        for (int i = 0; i < processes; i++) {               /* the process with the most shards */
            double own = (double)((int64_t)(shards * (i + 1) / processes) - (int64_t)(shards * i / processes));
            most = own > most ? own : most;
        }
        double share = most / shards > 1 / processors ? most / shards : 1 / processors;
        Cost c = cost(&models[0], processes, one * share, overhead, gigabytes * 1e9 / processes);
        printf("%g,%.4g,%.4g\n", processes, seconds, c.step);
    }
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    enum { FLOPS, OVERHEAD, MEMORY, NUMBERS };
    static const char *const names[NUMBERS] = { "--gflops", "--overhead", "--memory" };
    double value[NUMBERS] = { 2000, 10, 5 };
    const char *check = NULL;
    for (int i = 1; i < argc; i++) {
        int k = 0;
        while (k < NUMBERS && strcmp(argv[i], names[k]) != 0) k++;
        if (k < NUMBERS) {
            value[k] = number(argv[i], argv[i + 1], 1e9);
            i++;
        } else if (strcmp(argv[i], "--check") == 0 && i + 1 < argc) {
            check = argv[++i];
        } else {
            bool help = strcmp(argv[i], "--help") == 0;
            fputs("usage: cost [--gflops G] [--overhead US] [--memory GB] [--check FILE]\n\n"
                  "Prints the efficiency of data-parallel training by 1 to 1024 processes, by the model in cost.c, for GPT-2\n"
                  "124M and 1.5B, a network of 10 and 100 Gbit/s, and 1024 and 8192 tokens of a process in a step\n\n"
                  "  --gflops G     operations of a process (a machine) a second, in 10^9; default 2000. bench measured\n"
                  "                 220 for two Xeon cores (gpt2)\n"
                  "  --overhead US  of a message, in microseconds; default 10\n"
                  "  --check FILE   compares with the times of processes.py --check instead\n"
                  "  --memory GB    10^9 bytes a second for the messages on that machine; default 5\n",
                  help ? stdout : stderr);
            return help ? 0 : 2;
        }
    }
    double overhead = 1e-6 * value[OVERHEAD];
    if (check) return print_check(check, overhead, value[MEMORY]) ? 0 : 1;
    printf("model,gigabits,tokens,processes,computing,exchange,efficiency\n");
    for (double tokens = 1024; tokens <= 8192; tokens *= 8) print_cluster(1e9 * value[FLOPS], tokens, overhead);
    return 0;
}
