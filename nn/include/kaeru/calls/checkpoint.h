/* calls/checkpoint.h: calls of the functions of checkpoint.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_MUST_CHECK AG_NAME_CALL(bool, nn_save, (AG_PLACE, const char *path, void *module), (path, module))
#define nn_save(...) nn_save_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_load, (AG_PLACE, const char *path, void *module), (path, module))
#define nn_load(...) nn_load_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_save_bf16, (AG_PLACE, const char *path, void *module), (path, module))
#define nn_save_bf16(...) nn_save_bf16_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_load_with, (AG_PLACE, const char *path, void *module, NnLoadOptions options),
    (path, module, options))
#define nn_load_with(...) nn_load_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_checkpoint_save, (AG_PLACE, const char *path, void *module, Optimizer *o, const NnSettings
    *settings),
    (path, module, o, settings))
#define nn_checkpoint_save(...) nn_checkpoint_save_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_checkpoint_load, (AG_PLACE, const char *path, void *module, Optimizer *o, NnSettings
    *settings),
    (path, module, o, settings))
#define nn_checkpoint_load(...) nn_checkpoint_load_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_checkpoint_save_trained, (AG_PLACE, const char *path, void *module, Optimizer *o, const
    NnSettings *settings),
    (path, module, o, settings))
#define nn_checkpoint_save_trained(...) nn_checkpoint_save_trained_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_checkpoint_settings, (AG_PLACE, const char *path, NnSettings *settings), (path, settings))
#define nn_checkpoint_settings(...) nn_checkpoint_settings_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_settings_read_json, (AG_PLACE, const char *path, NnSettings *settings), (path, settings))
#define nn_settings_read_json(...) nn_settings_read_json_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_average_checkpoints, (AG_PLACE, void *model, const char *const *paths, int n),
    (model, paths, n))
#define nn_average_checkpoints(...) nn_average_checkpoints_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
