/* calls/custom.h: calls of the functions of custom.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, ag_custom, (AG_PLACE, const AgCustom *op, AgShape shape, Tensor *const *in, int n, const void *args,
    size_t size),
    (op, shape, in, n, args, size))
#define ag_custom(...) ag_custom_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
