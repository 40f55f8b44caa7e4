/* calls/recurrent.h: calls of the functions of recurrent.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Recurrent *, nn_recurrent_new_with, (AG_PLACE, RecurrentKind kind, int64_t in, int64_t hidden, int layers, bool
    both, double dropout),
    (kind, in, hidden, layers, both, dropout))
#define nn_recurrent_new_with(...) nn_recurrent_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_recurrent_keep, (AG_PLACE, RecurrentState *kept, const RecurrentState *state), (kept, state))
#define nn_recurrent_keep(...) nn_recurrent_keep_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_recurrent_step, (AG_PLACE, Recurrent *r, Tensor *x, RecurrentState *state), (r, x, state))
#define nn_recurrent_step(...) nn_recurrent_step_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_recurrent, (AG_PLACE, Recurrent *r, Tensor *x, Tensor *mask, RecurrentState *state),
    (r, x, mask, state))
#define nn_recurrent(...) nn_recurrent_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
