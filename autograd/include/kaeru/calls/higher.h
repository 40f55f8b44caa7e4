/* calls/higher.h: calls of the functions of higher.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, ag_jvp, (AG_PLACE, Tensor *y, Tensor *const *in, Tensor *const *v, int n), (y, in, v, n))
#define ag_jvp(...) ag_jvp_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
