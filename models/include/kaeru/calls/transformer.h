/* calls/transformer.h: calls of the functions of transformer.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(TransformerGenerator *, transformer_generator_new, (AG_PLACE, int64_t d_model, int64_t vocab), (d_model, vocab))
#define transformer_generator_new(...) transformer_generator_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_generator, (AG_PLACE, TransformerGenerator *g, Tensor *x), (g, x))
#define transformer_generator(...) transformer_generator_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(TransformerEmbeddings *, transformer_embeddings_new, (AG_PLACE, int64_t d_model, int64_t vocab), (d_model, vocab))
#define transformer_embeddings_new(...) transformer_embeddings_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_embeddings, (AG_PLACE, TransformerEmbeddings *e, Tensor *ids), (e, ids))
#define transformer_embeddings(...) transformer_embeddings_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(TransformerEncoderLayer *, transformer_encoder_layer_new, (AG_PLACE, const TransformerOptions *o), (o))
#define transformer_encoder_layer_new(...) transformer_encoder_layer_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_encoder_layer, (AG_PLACE, TransformerEncoderLayer *l, Tensor *x, Tensor *mask), (l, x, mask))
#define transformer_encoder_layer(...) transformer_encoder_layer_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(TransformerEncoder *, transformer_encoder_new, (AG_PLACE, const TransformerOptions *o), (o))
#define transformer_encoder_new(...) transformer_encoder_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_encoder, (AG_PLACE, TransformerEncoder *e, Tensor *x, Tensor *mask), (e, x, mask))
#define transformer_encoder(...) transformer_encoder_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(TransformerDecoderLayer *, transformer_decoder_layer_new, (AG_PLACE, const TransformerOptions *o), (o))
#define transformer_decoder_layer_new(...) transformer_decoder_layer_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_decoder_layer, (AG_PLACE, TransformerDecoderLayer *l, Tensor *x, Tensor *memory, Tensor
    *src_mask, Tensor *tgt_mask, NnCache *cache, int layer),
    (l, x, memory, src_mask, tgt_mask, cache, layer))
#define transformer_decoder_layer(...) transformer_decoder_layer_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(TransformerDecoder *, transformer_decoder_new, (AG_PLACE, const TransformerOptions *o), (o))
#define transformer_decoder_new(...) transformer_decoder_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_decoder, (AG_PLACE, TransformerDecoder *d, Tensor *x, Tensor *memory, Tensor *src_mask,
    Tensor *tgt_mask, NnCache *cache),
    (d, x, memory, src_mask, tgt_mask, cache))
#define transformer_decoder(...) transformer_decoder_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Transformer *, transformer_new, (AG_PLACE, int64_t src_vocab, int64_t tgt_vocab, TransformerOptions options),
    (src_vocab, tgt_vocab, options))
#define transformer_new(...) transformer_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_forward, (AG_PLACE, Transformer *m, Tensor *src, Tensor *tgt, Tensor *src_mask, Tensor
    *tgt_mask),
    (m, src, tgt, src_mask, tgt_mask))
#define transformer_forward(...) transformer_forward_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_encode, (AG_PLACE, Transformer *m, Tensor *src, Tensor *src_mask), (m, src, src_mask))
#define transformer_encode(...) transformer_encode_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_decode, (AG_PLACE, Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt, Tensor
    *tgt_mask),
    (m, memory, src_mask, tgt, tgt_mask))
#define transformer_decode(...) transformer_decode_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_decode_next, (AG_PLACE, Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt,
    NnCache *cache),
    (m, memory, src_mask, tgt, cache))
#define transformer_decode_next(...) transformer_decode_next_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(NnCache *, transformer_cache_new, (AG_PLACE, Transformer *m, int64_t capacity), (m, capacity))
#define transformer_cache_new(...) transformer_cache_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(transformer_keep_weights, (AG_PLACE, Transformer *m, bool keep), (m, keep))
#define transformer_keep_weights(...) transformer_keep_weights_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(TransformerEncoderOnly *, transformer_encoder_only_new, (AG_PLACE, int64_t vocab, TransformerOptions options),
    (vocab, options))
#define transformer_encoder_only_new(...) transformer_encoder_only_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, transformer_encoder_only, (AG_PLACE, TransformerEncoderOnly *m, Tensor *ids, Tensor *mask),
    (m, ids, mask))
#define transformer_encoder_only(...) transformer_encoder_only_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
