/* calls/debug.h: calls of the functions of debug.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(bool, ag_gradcheck, (AG_PLACE, AgFunction *f, void *arg, Tensor **in, int n, FILE *report),
    (f, arg, in, n, report))
#define ag_gradcheck(...) ag_gradcheck_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_explain, (AG_PLACE, FILE *out, Tensor *loss), (out, loss))
#define ag_explain(...) ag_explain_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int, ag_graph_frame, (AG_PLACE, FILE *out, Tensor *loss, int frame), (out, loss, frame))
#define ag_graph_frame(...) ag_graph_frame_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_find_nan, (AG_PLACE, bool on), (on))
#define ag_find_nan(...) ag_find_nan_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_find_nan_alone, (AG_PLACE, bool on), (on))
#define ag_find_nan_alone(...) ag_find_nan_alone_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_guard, (AG_PLACE, bool on), (on))
#define ag_guard(...) ag_guard_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_warn, (AG_PLACE, bool on), (on))
#define ag_warn(...) ag_warn_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
