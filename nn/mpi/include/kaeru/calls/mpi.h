/* calls/mpi.h: calls of the functions of mpi.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(NnProcesses *, nn_mpi_begin, (AG_PLACE), ())
#define nn_mpi_begin() nn_mpi_begin_call(__FILE__, __LINE__)
AG_NAME_CALL_VOID(nn_mpi_abort, (AG_PLACE, int status), (status))
#define nn_mpi_abort(...) nn_mpi_abort_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
