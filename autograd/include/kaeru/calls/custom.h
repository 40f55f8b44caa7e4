/* calls/custom.h: calls of the functions of custom.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, ag_custom, (AG_PLACE, const AgCustom *op, AgShape shape, Tensor *const *in, int n, const void *args,
    size_t size),
    (op, shape, in, n, args, size))
#define ag_custom(...) ag_custom_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_parallel, (AG_PLACE, int64_t n, int64_t grain, AgBody *body, void *arg), (n, grain, body, arg))
#define ag_parallel(...) ag_parallel_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_array_exp, (AG_PLACE, ag_real *y, const ag_real *x, int64_t n), (y, x, n))
#define ag_array_exp(...) ag_array_exp_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_array_log, (AG_PLACE, ag_real *y, const ag_real *x, int64_t n), (y, x, n))
#define ag_array_log(...) ag_array_log_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_array_tanh, (AG_PLACE, ag_real *y, const ag_real *x, int64_t n), (y, x, n))
#define ag_array_tanh(...) ag_array_tanh_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_array_sigmoid, (AG_PLACE, ag_real *y, const ag_real *x, int64_t n), (y, x, n))
#define ag_array_sigmoid(...) ag_array_sigmoid_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
