/* calls/clone.h: calls of the functions of clone.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(void *, nn_clone, (AG_PLACE, const void *module), (module))
#define nn_clone(...) nn_clone_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
