/* calls/more_optim.h: calls of the functions of more_optim.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Optimizer *, nn_rmsprop_new_with, (AG_PLACE, void *module, NnRMSprop options), (module, options))
#define nn_rmsprop_new_with(...) nn_rmsprop_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Optimizer *, nn_muon_new_with, (AG_PLACE, void *module, NnMuon options, bool (*belongs)(const NnNamedTensor *p,
    void *arg), void *arg),
    (module, options, belongs, arg))
#define nn_muon_new_with(...) nn_muon_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Optimizer *, nn_muon_new, (AG_PLACE, void *module, double lr, double adam_lr, const char *head),
    (module, lr, adam_lr, head))
#define nn_muon_new(...) nn_muon_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_ema_update, (AG_PLACE, void *average, void *module, double decay), (average, module, decay))
#define nn_ema_update(...) nn_ema_update_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_parameters_to_vector, (AG_PLACE, void *module), (module))
#define nn_parameters_to_vector(...) nn_parameters_to_vector_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_gradients_to_vector, (AG_PLACE, void *module), (module))
#define nn_gradients_to_vector(...) nn_gradients_to_vector_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_vector_to_parameters, (AG_PLACE, void *module, Tensor *vector), (module, vector))
#define nn_vector_to_parameters(...) nn_vector_to_parameters_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
