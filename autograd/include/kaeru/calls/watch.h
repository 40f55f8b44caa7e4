/* calls/watch.h: calls of the functions of watch.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(ag_watch_backward, (AG_PLACE, AgWatch watch), (watch))
#define ag_watch_backward(...) ag_watch_backward_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
