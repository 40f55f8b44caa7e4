/* calls/values.h: calls of the functions of values.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(uint64_t, tensor_hash, (AG_PLACE, const Tensor *t, uint64_t h), (t, h))
#define tensor_hash(...) tensor_hash_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_packed_read, (AG_PLACE, const Tensor *t, int64_t first, int64_t n, uint32_t *rows), (t, first, n, rows))
#define ag_packed_read(...) ag_packed_read_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_packed_write, (AG_PLACE, Tensor *t, int64_t first, int64_t n, const uint32_t *rows), (t, first, n, rows))
#define ag_packed_write(...) ag_packed_write_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
