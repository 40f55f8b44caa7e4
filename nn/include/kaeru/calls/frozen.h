/* calls/frozen.h: calls of the functions of frozen.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(nn_pack_weights, (AG_PLACE, void *module, bool packed), (module, packed))
#define nn_pack_weights(...) nn_pack_weights_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_freeze_bf16, (AG_PLACE, void *module), (module))
#define nn_freeze_bf16(...) nn_freeze_bf16_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
