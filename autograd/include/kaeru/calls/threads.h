/* calls/threads.h: calls of the functions of threads.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(ag_set_threads, (AG_PLACE, int n), (n))
#define ag_set_threads(...) ag_set_threads_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int, ag_threads, (AG_PLACE), ())
#define ag_threads() ag_threads_call(__FILE__, __LINE__)
#endif
