/* calls/scope.h: calls of the functions of scope.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(AgScope, ag_begin, (AG_PLACE, AgMode mode), (mode))
#define ag_begin(...) \
    ag_begin_call(__FILE__, __LINE__ + \
        AG_ASSERT(sizeof #__VA_ARGS__ > 1, "ag_begin takes AG_RECORD or AG_NO_GRAD"), __VA_ARGS__)
AG_NAME_CALL_VOID(ag_end, (AG_PLACE, AgScope scope), (scope))
#define ag_end(...) ag_end_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, ag_end_return, (AG_PLACE, AgScope scope, Tensor *t), (scope, t))
#define ag_end_return(...) ag_end_return_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(ag_end_return_list, (AG_PLACE, AgScope scope, Tensor **t, int n), (scope, t, n))
#define ag_end_return_list(...) ag_end_return_list_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, ag_recording, (AG_PLACE), ())
#define ag_recording() ag_recording_call(__FILE__, __LINE__)
AG_NAME_CALL(Tensor *, ag_keep, (AG_PLACE, const Tensor *t), (t))
#define ag_keep(...) ag_keep_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, tensor_clone, (AG_PLACE, const Tensor *t), (t))
#define tensor_clone(...) tensor_clone_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, tensor_new_owned, (AG_PLACE, AgShape shape, AgDType dtype), (shape, dtype))
#define tensor_new_owned(...) tensor_new_owned_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(tensor_free, (AG_PLACE, Tensor *t), (t))
#define tensor_free(...) tensor_free_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
