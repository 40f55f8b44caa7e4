/* calls/init.h: calls of the functions of init.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(nn_init_xavier_uniform, (AG_PLACE, Tensor *w, double gain), (w, gain))
#define nn_init_xavier_uniform(...) nn_init_xavier_uniform_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_init_xavier_normal, (AG_PLACE, Tensor *w, double gain), (w, gain))
#define nn_init_xavier_normal(...) nn_init_xavier_normal_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_init_kaiming_uniform, (AG_PLACE, Tensor *w, double a), (w, a))
#define nn_init_kaiming_uniform(...) nn_init_kaiming_uniform_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_init_kaiming_normal, (AG_PLACE, Tensor *w, double a), (w, a))
#define nn_init_kaiming_normal(...) nn_init_kaiming_normal_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
