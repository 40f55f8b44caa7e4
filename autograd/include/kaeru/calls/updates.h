/* calls/updates.h: calls of the functions of updates.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(ag_adam_update_part, (AG_PLACE, Tensor *w, int64_t first, int64_t n, const ag_real *grad, ag_real *exp_avg,
    ag_real *exp_avg_sq, const AgAdam *o, int64_t step, double grad_scale),
    (w, first, n, grad, exp_avg, exp_avg_sq, o, step, grad_scale))
#define ag_adam_update_part(...) ag_adam_update_part_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_sgd_update_part, (AG_PLACE, Tensor *w, int64_t first, int64_t n, const ag_real *grad, ag_real *momentum,
    const AgSgd *o, bool is_first, double grad_scale),
    (w, first, n, grad, momentum, o, is_first, grad_scale))
#define ag_sgd_update_part(...) ag_sgd_update_part_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, ag_grad_sum_squares, (AG_PLACE, Tensor *w), (w))
#define ag_grad_sum_squares(...) ag_grad_sum_squares_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_grad_scale, (AG_PLACE, Tensor *w, double factor), (w, factor))
#define ag_grad_scale(...) ag_grad_scale_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_fill_uniform, (AG_PLACE, Tensor *w, double low, double high), (w, low, high))
#define ag_fill_uniform(...) ag_fill_uniform_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_fill_normal, (AG_PLACE, Tensor *w, double mean, double deviation), (w, mean, deviation))
#define ag_fill_normal(...) ag_fill_normal_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_fill, (AG_PLACE, Tensor *w, double value), (w, value))
#define ag_fill(...) ag_fill_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
