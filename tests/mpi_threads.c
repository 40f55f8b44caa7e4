/* mpi_threads.c: prints how many threads each process has after nn_mpi_begin. */
#include <stdio.h>

#include "kaeru/mpi.h"

int main(void)
{
    NnProcesses *p = nn_mpi_begin();
    printf("%d\n", ag_threads());
    if (p) p->end(p);
    return 0;
}
