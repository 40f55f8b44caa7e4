/* final_weights.c: final_weights transformer|gpt float32|bf16 THREADS FILE [STEPS SHARDS]: trains that model, large enough for
 * several threads, and saves its last checkpoint: weights, optimizer and random state. trust.sh compares the hashes of these
 * files. With SHARDS, mpirun can start it in several processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "runs.h"
#ifdef KAERU_MPI
#include "kaeru/mpi.h"
#endif

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 7) {
        fprintf(stderr, "usage: final_weights transformer|gpt float32|bf16 THREADS FILE [STEPS SHARDS]\n");
        return 2;
    }
    RunSize size = final_size;
    if (argc == 7) {
        size.steps = size.every = atoi(argv[5]);
        size.shards = atoi(argv[6]);
#ifdef KAERU_MPI
        size.processes = nn_mpi_begin();
#endif
    }
    ag_precision(strcmp(argv[2], "bf16") == 0 ? AG_BF16 : AG_FLOAT32);
    ag_set_threads(atoi(argv[3]));
    for (int i = 0; i < N_RUNS; i++) {
        if (strcmp(argv[1], runs[i].name) != 0) continue;
        bool good = runs[i].train(&size, argv[4], false, NULL);
        if (!good) fprintf(stderr, "final_weights: %s\n", ag_error());
        if (good && size.processes) size.processes->end(size.processes);
        return good ? 0 : 1;
    }
    fprintf(stderr, "final_weights: there is no %s\n", argv[1]);
    return 2;
}
