/* calls/cache.h: calls of the functions of cache.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(nn_cache_select, (AG_PLACE, NnCache *c, const int32_t *rows, int64_t n), (c, rows, n))
#define nn_cache_select(...) nn_cache_select_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_cache_keep_last, (AG_PLACE, NnCache *c, int64_t keep), (c, keep))
#define nn_cache_keep_last(...) nn_cache_keep_last_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
