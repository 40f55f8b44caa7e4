/* calls/rms_norm.h: calls of the functions of rms_norm.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(RMSNorm *, nn_rms_norm_new_with, (AG_PLACE, int64_t width, double eps), (width, eps))
#define nn_rms_norm_new_with(...) nn_rms_norm_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_rms_norm, (AG_PLACE, RMSNorm *l, Tensor *x), (l, x))
#define nn_rms_norm(...) nn_rms_norm_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
