/* calls/higher.h: calls of the functions of higher.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, ag_jvp, (AG_PLACE, Tensor *y, Tensor *const *in, Tensor *const *v, int n), (y, in, v, n))
#define ag_jvp(...) ag_jvp_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_grad_recorded, (AG_PLACE, Tensor *y, Tensor *const *in, int n, Tensor **out), (y, in, n, out))
#define ag_grad_recorded(...) ag_grad_recorded_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, ag_custom_tangent, (AG_PLACE, Tensor *y, AgTangent *tangent), (y, tangent))
#define ag_custom_tangent(...) ag_custom_tangent_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, ag_tangentcheck, (AG_PLACE, Tensor *y, Tensor *const *in, int n, int orders, FILE *report),
    (y, in, n, orders, report))
#define ag_tangentcheck(...) ag_tangentcheck_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
