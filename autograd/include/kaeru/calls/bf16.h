/* calls/bf16.h: calls of the functions of bf16.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(AgPrecision, ag_precision, (AG_PLACE, AgPrecision precision), (precision))
#define ag_precision(...) ag_precision_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(AgPrecision, ag_precision_now, (AG_PLACE), ())
#define ag_precision_now() ag_precision_now_call(__FILE__, __LINE__)
AG_NAME_CALL_VOID(ag_pack_weight, (AG_PLACE, Tensor *weight), (weight))
#define ag_pack_weight(...) ag_pack_weight_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_unpack_weight, (AG_PLACE, Tensor *weight), (weight))
#define ag_unpack_weight(...) ag_unpack_weight_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_freeze_bf16, (AG_PLACE, Tensor *weight), (weight))
#define ag_freeze_bf16(...) ag_freeze_bf16_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
