/* mpi.h: processes over MPI, for kaeru/parallel.h. Part of libkaeru_mpi (pkg-config kaeru-mpi). */
#ifndef KAERU_MPI_H
#define KAERU_MPI_H

#include "kaeru/kaeru.h"

AG_PUBLIC_BEGIN

/* Starts MPI and returns its processes; NULL if this process was not started by mpirun, srun or the like, or is the only one.
 * Call it once, from the thread that trains, before that thread opens files. nn_parallel_end ends MPI.
 *
 * From here on, standard output of all processes but the first goes to /dev/null. Processes on one machine that may use the
 * same processors divide them among their threads (ag_set_threads), unless KAERU_THREADS is set. A usage error in this thread
 * is reported by one process, which ends the others, unless the program has its own handler (ag_on_usage_error). */
NnProcesses *nn_mpi_begin(void);

/* Ends all processes with this status; without MPI, this process. */
AG_NORETURN void nn_mpi_abort(int status);

#include "kaeru/calls/mpi.h"

AG_PUBLIC_END
#endif
