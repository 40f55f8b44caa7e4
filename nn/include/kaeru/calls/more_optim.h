/* calls/more_optim.h: calls of the functions of more_optim.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Optimizer *, nn_rmsprop_new_with, (AG_PLACE, void *module, NnRMSprop options), (module, options))
#define nn_rmsprop_new_with(...) nn_rmsprop_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_ema_update, (AG_PLACE, void *average, void *module, double decay), (average, module, decay))
#define nn_ema_update(...) nn_ema_update_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
