/* calls/transformer_files.h: calls of the functions of transformer_files.h, which note their line. Written by
 * autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(transformer_to_settings, (AG_PLACE, int64_t src_vocab, int64_t tgt_vocab, const TransformerOptions *o,
    NnSettings *s),
    (src_vocab, tgt_vocab, o, s))
#define transformer_to_settings(...) transformer_to_settings_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Transformer *, transformer_load, (AG_PLACE, const char *path), (path))
#define transformer_load(...) transformer_load_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
