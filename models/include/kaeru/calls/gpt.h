/* calls/gpt.h: calls of the functions of gpt.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(double, gpt_size, (AG_PLACE, const GPTOptions *o), (o))
#define gpt_size(...) gpt_size_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(GPT *, gpt_new, (AG_PLACE, GPTOptions options), (options))
#define gpt_new(...) gpt_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, gpt_forward, (AG_PLACE, GPT *m, Tensor *ids), (m, ids))
#define gpt_forward(...) gpt_forward_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
