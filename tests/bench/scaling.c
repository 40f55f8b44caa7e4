/* scaling.c: how the time of a training step grows with the sizes of a GPT. */
#include <stdio.h>

#include "bench.h"

enum { BATCH, LENGTH, WIDTH, LAYERS, DIMENSIONS };
static const char *const names[DIMENSIONS] = { "batch", "length", "width", "layers" };
static const int64_t smallest[DIMENSIONS] = { 8, 128, 256, 2 };
static const int doublings[DIMENSIONS] = { 3, 3, 2, 3 };

/* Multiplications and additions of the matrix products of a step, forward and backward: each weight with each token, and
 * attention between the positions. Blocks of 64 positions that the causal mask hides are not computed and not counted. */
static double operations(const int64_t size[DIMENSIONS])
{
    double tokens = (double)(size[BATCH] * size[LENGTH]), width = (double)size[WIDTH];
    double seen = size[LENGTH] <= 64 ? (double)size[LENGTH] : ((double)size[LENGTH] + 64) / 2;
    double weights = (double)size[LAYERS] * 12 * width * width + 256 * width;
    return tokens * (6 * weights + (double)size[LAYERS] * 14 * seen * width);
}

void print_scaling(double seconds)
{
    printf("dimension,factor,operations,seconds\n");
    for (int d = 0; d < DIMENSIONS; d++)
        for (int i = 0; i <= doublings[d]; i++) {
            Workload w = { .begin = scaled_gpt_begin, .step = gpt_step, .end = gpt_end };
            for (int k = 0; k < DIMENSIONS; k++) w.size[k] = smallest[k];
            w.size[d] <<= i;
            int64_t parameters;
            double least;
            void *state = w.begin(&w, &parameters);
            measure(&w, state, seconds, BENCH_SAMPLES, &least);
            w.end(state);
            printf("%s,%d,%.0f,%.6g\n", names[d], 1 << i, operations(w.size), least);
            fflush(stdout);
        }
}
