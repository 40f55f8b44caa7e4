/* calls/parallel.h: calls of the functions of parallel.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
#define nn_processes_agree(...) AG_CALL_BOOL(nn_processes_agree(__VA_ARGS__))
AG_NAME_CALL(NnParallel *, nn_parallel_new_with, (AG_PLACE, Optimizer *optimizer, NnParallelOptions options, NnProcesses
    *processes),
    (optimizer, options, processes))
#define nn_parallel_new_with(...) nn_parallel_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_parallel_shard, (AG_PLACE, NnParallel *p), (p))
#define nn_parallel_shard(...) nn_parallel_shard_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, nn_parallel_index, (AG_PLACE, const NnParallel *p), (p))
#define nn_parallel_index(...) nn_parallel_index_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_parallel_count, (AG_PLACE, NnParallel *p, double n), (p, n))
#define nn_parallel_count(...) nn_parallel_count_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, nn_parallel_step, (AG_PLACE, NnParallel *p), (p))
#define nn_parallel_step(...) nn_parallel_step_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_parallel_stop, (AG_PLACE, NnParallel *p), (p))
#define nn_parallel_stop(...) nn_parallel_stop_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_parallel_stopped, (AG_PLACE, const NnParallel *p), (p))
#define nn_parallel_stopped(...) nn_parallel_stopped_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_parallel_is_mine, (AG_PLACE, const NnParallel *p, int64_t i), (p, i))
#define nn_parallel_is_mine(...) nn_parallel_is_mine_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_parallel_collect, (AG_PLACE, NnParallel *p, double *value, int64_t n), (p, value, n))
#define nn_parallel_collect(...) nn_parallel_collect_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_parallel_agree, (AG_PLACE, NnParallel *p, const char *what, const void *bytes, size_t n),
    (p, what, bytes, n))
#define nn_parallel_agree(...) nn_parallel_agree_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_parallel_check, (AG_PLACE, NnParallel *p, bool good), (p, good))
#define nn_parallel_check(...) nn_parallel_check_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, nn_parallel_shards, (AG_PLACE, const NnParallel *p), (p))
#define nn_parallel_shards(...) nn_parallel_shards_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_parallel_end, (AG_PLACE, NnParallel *p), (p))
#define nn_parallel_end(...) nn_parallel_end_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
