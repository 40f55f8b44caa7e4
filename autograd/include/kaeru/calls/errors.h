/* calls/errors.h: calls of the functions of errors.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
#define ag_usage_error(...) AG_CALL_VOID(ag_usage_error(__VA_ARGS__))
AG_NAME_CALL_VOID(ag_check_pointer, (AG_PLACE, const char *what, const char *name, const void *p), (what, name, p))
#define ag_check_pointer(...) ag_check_pointer_call(__FILE__, __LINE__, __VA_ARGS__)
#define ag_warning(...) AG_CALL_VOID(ag_warning(__VA_ARGS__))
AG_NAME_CALL(bool, ag_warn_of_step, (AG_PLACE), ())
#define ag_warn_of_step() ag_warn_of_step_call(__FILE__, __LINE__)
#endif
