/* calls/optim.h: calls of the functions of optim.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Optimizer *, nn_adam_new_with, (AG_PLACE, void *module, AgAdam options), (module, options))
#define nn_adam_new_with(...) nn_adam_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Optimizer *, nn_sgd_new_with, (AG_PLACE, void *module, AgSgd options), (module, options))
#define nn_sgd_new_with(...) nn_sgd_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int, nn_optimizer_group, (AG_PLACE, Optimizer *o, bool (*belongs)(const NnNamedTensor *p, void *arg), void *arg,
    double weight_decay, double lr_factor),
    (o, belongs, arg, weight_decay, lr_factor))
#define nn_optimizer_group(...) nn_optimizer_group_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_is_not_matrix, (AG_PLACE, const NnNamedTensor *p, void *unused), (p, unused))
#define nn_is_not_matrix(...) nn_is_not_matrix_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_optimizer_check, (AG_PLACE, const char *what, const Optimizer *o, const void *module), (what, o, module))
#define nn_optimizer_check(...) nn_optimizer_check_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_optimizer_step, (AG_PLACE, Optimizer *o), (o))
#define nn_optimizer_step(...) nn_optimizer_step_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, nn_optimizer_lr, (AG_PLACE, const Optimizer *o), (o))
#define nn_optimizer_lr(...) nn_optimizer_lr_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_optimizer_set_lr, (AG_PLACE, Optimizer *o, double lr), (o, lr))
#define nn_optimizer_set_lr(...) nn_optimizer_set_lr_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, nn_optimizer_steps, (AG_PLACE, const Optimizer *o), (o))
#define nn_optimizer_steps(...) nn_optimizer_steps_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, nn_clip_grad_norm, (AG_PLACE, void *module, double max_norm), (module, max_norm))
#define nn_clip_grad_norm(...) nn_clip_grad_norm_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Optimizer *, nn_optimizer_new, (AG_PLACE, void *module, const OptimizerKind *kind, const void *options, size_t
    size, double lr, double weight_decay),
    (module, kind, options, size, lr, weight_decay))
#define nn_optimizer_new(...) nn_optimizer_new_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
