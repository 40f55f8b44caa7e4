/* calls/summary.h: calls of the functions of summary.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(nn_summary, (AG_PLACE, void *module, FILE *out), (module, out))
#define nn_summary(...) nn_summary_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_mask_print, (AG_PLACE, FILE *out, Tensor *mask), (out, mask))
#define nn_mask_print(...) nn_mask_print_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
