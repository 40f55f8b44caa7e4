/* calls/training.h: calls of the functions of training.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(TransformerBatch, transformer_batch_new, (AG_PLACE, Tensor *src, Tensor *tgt, int32_t pad), (src, tgt, pad))
#define transformer_batch_new(...) transformer_batch_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, transformer_run_epoch, (AG_PLACE, Transformer *m, KaeruNextBatch *next, void *source, const
    KaeruEpochOptions *options, KaeruTrainState *state),
    (m, next, source, options, state))
#define transformer_run_epoch(...) transformer_run_epoch_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_greedy_decode, (AG_PLACE, Transformer *m, Tensor *src, Tensor *src_mask, int64_t max_len,
    int32_t start_symbol, int32_t end_symbol),
    (m, src, src_mask, max_len, start_symbol, end_symbol))
#define transformer_greedy_decode(...) transformer_greedy_decode_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_beam_search, (AG_PLACE, Transformer *m, Tensor *src, Tensor *src_mask, KaeruBeamOptions
    options, double *score),
    (m, src, src_mask, options, score))
#define transformer_beam_search(...) transformer_beam_search_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
