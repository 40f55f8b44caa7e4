/* calls/gradient_arrays.h: calls of the functions of gradient_arrays.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, ag_take_gradient, (AG_PLACE, Tensor *leaf), (leaf))
#define ag_take_gradient(...) ag_take_gradient_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_put_gradient, (AG_PLACE, Tensor *leaf, Tensor *gradient), (leaf, gradient))
#define ag_put_gradient(...) ag_put_gradient_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, ag_sum_squares, (AG_PLACE, const ag_real *x, int64_t n), (x, n))
#define ag_sum_squares(...) ag_sum_squares_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_add_to, (AG_PLACE, ag_real *y, const ag_real *x, int64_t n), (y, x, n))
#define ag_add_to(...) ag_add_to_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
