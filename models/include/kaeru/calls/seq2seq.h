/* calls/seq2seq.h: calls of the functions of seq2seq.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Seq2SeqOptions, seq2seq_defaults, (AG_PLACE), ())
#define seq2seq_defaults() seq2seq_defaults_call(__FILE__, __LINE__)
AG_NAME_CALL(Seq2Seq *, seq2seq_new, (AG_PLACE, int64_t src_vocab, int64_t tgt_vocab, Seq2SeqOptions options),
    (src_vocab, tgt_vocab, options))
#define seq2seq_new(...) seq2seq_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, seq2seq_forward, (AG_PLACE, Seq2Seq *m, Tensor *src, Tensor *tgt, Tensor *src_mask),
    (m, src, tgt, src_mask))
#define seq2seq_forward(...) seq2seq_forward_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, seq2seq_greedy_decode, (AG_PLACE, Seq2Seq *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t
    start_symbol, int32_t end_symbol),
    (m, src, src_mask, max_len, start_symbol, end_symbol))
#define seq2seq_greedy_decode(...) seq2seq_greedy_decode_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
