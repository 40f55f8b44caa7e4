/* calls/print.h: calls of the functions of print.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(tensor_fprint, (AG_PLACE, FILE *out, const Tensor *t), (out, t))
#define tensor_fprint(...) tensor_fprint_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
