/* calls/batches.h: calls of the functions of batches.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, ag_batch_ids, (AG_PLACE, int64_t n, int64_t size, int64_t step, uint64_t seed), (n, size, step, seed))
#define ag_batch_ids(...) ag_batch_ids_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
