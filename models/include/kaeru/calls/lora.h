/* calls/lora.h: calls of the functions of lora.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_MUST_CHECK AG_NAME_CALL(bool, nn_lora_add, (AG_PLACE, void *module, NnLoraOptions options), (module, options))
#define nn_lora_add(...) nn_lora_add_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_lora_merge, (AG_PLACE, void *module), (module))
#define nn_lora_merge(...) nn_lora_merge_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_lora_save, (AG_PLACE, void *module, const char *folder), (module, folder))
#define nn_lora_save(...) nn_lora_save_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_lora_save_with, (AG_PLACE, void *module, const char *folder, NnLoraSaveOptions options),
    (module, folder, options))
#define nn_lora_save_with(...) nn_lora_save_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_lora_load, (AG_PLACE, void *module, const char *folder), (module, folder))
#define nn_lora_load(...) nn_lora_load_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
