/* mpi_faults.c: loaded before the MPI library (LD_PRELOAD), makes one call fail: KAERU_MPI_FAULT="NAME N" is call number N,
 * from 0, of function NAME. With "MPI_Finalize never" that function does not return. All other calls go to MPI by the names
 * that it keeps for such libraries. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

static bool fails(const char *name)
{
    static long calls;
    const char *fault = getenv("KAERU_MPI_FAULT");
    size_t n = strlen(name);
    return fault && strncmp(fault, name, n) == 0 && fault[n] == ' ' && calls++ == atol(fault + n);
}

#define CALL(name, parameters, arguments) \
    int MPI_##name parameters { return fails("MPI_" #name) ? MPI_ERR_OTHER : PMPI_##name arguments; }

/* It fails only when all processes are in it: they wait for each other there. */
int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    return fails("MPI_Init") ? MPI_ERR_OTHER : code;
}

int MPI_Finalize(void)
{
    const char *fault = getenv("KAERU_MPI_FAULT");
    while (fault && strcmp(fault, "MPI_Finalize never") == 0) pause();
    return fails("MPI_Finalize") ? MPI_ERR_OTHER : PMPI_Finalize();
}

CALL(Cancel, (MPI_Request *request), (request))
CALL(Request_free, (MPI_Request *request), (request))
CALL(Wait, (MPI_Request *request, MPI_Status *status), (request, status))
CALL(Comm_size, (MPI_Comm comm, int *size), (comm, size))
CALL(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
CALL(Comm_dup, (MPI_Comm comm, MPI_Comm *copy), (comm, copy))
CALL(Comm_free, (MPI_Comm *comm), (comm))
CALL(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
CALL(Comm_get_attr, (MPI_Comm comm, int key, void *value, int *found), (comm, key, value, found))
CALL(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part), (comm, type, key, info, part))
CALL(Allgather, (const void *from, int n, MPI_Datatype type, void *to, int n_to, MPI_Datatype type_to, MPI_Comm comm),
     (from, n, type, to, n_to, type_to, comm))
CALL(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
CALL(Test, (MPI_Request *request, int *done, MPI_Status *status), (request, done, status))
CALL(Isend, (const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
     (bytes, n, type, to, tag, comm, request))
CALL(Irecv, (void *bytes, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
     (bytes, n, type, from, tag, comm, request))
CALL(Testsome, (int n, MPI_Request request[], int *n_done, int done[], MPI_Status status[]),
     (n, request, n_done, done, status))
