/* calls/recompute.h: calls of the functions of recompute.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(AgMark, ag_mark, (AG_PLACE), ())
#define ag_mark() ag_mark_call(__FILE__, __LINE__)
AG_NAME_CALL(Tensor *, ag_recompute, (AG_PLACE, AgMark since, Tensor *y, AgRecompute what), (since, y, what))
#define ag_recompute(...) ag_recompute_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
