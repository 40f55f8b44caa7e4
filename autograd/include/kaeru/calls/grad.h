/* calls/grad.h: calls of the functions of grad.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(ag_grad, (AG_PLACE, Tensor *y, Tensor *const *in, int n, Tensor **out), (y, in, n, out))
#define ag_grad(...) ag_grad_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
