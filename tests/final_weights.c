/* final_weights.c: final_weights transformer|gpt float32|bf16 THREADS FILE: trains that model, large enough for several
 * threads, and saves its last checkpoint: weights, optimizer and random state. trust.sh compares the hashes of these files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "runs.h"

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: final_weights transformer|gpt float32|bf16 THREADS FILE\n");
        return 2;
    }
    ag_precision(strcmp(argv[2], "bf16") == 0 ? AG_BF16 : AG_FLOAT32);
    ag_set_threads(atoi(argv[3]));
    for (int i = 0; i < N_RUNS; i++) {
        if (strcmp(argv[1], runs[i].name) != 0) continue;
        if (runs[i].train(&(RunSize){ 2, 64, 32, 25, 25 }, argv[4], false, NULL)) return 0;
        fprintf(stderr, "final_weights: %s\n", ag_error());
        return 1;
    }
    fprintf(stderr, "final_weights: there is no %s\n", argv[1]);
    return 2;
}
