/* calls/attention.h: calls of the functions of attention.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, nn_causal_mask, (AG_PLACE, int64_t n), (n))
#define nn_causal_mask(...) nn_causal_mask_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_padding_mask, (AG_PLACE, Tensor *ids, int32_t padding), (ids, padding))
#define nn_padding_mask(...) nn_padding_mask_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_causal_padding_mask, (AG_PLACE, Tensor *ids, int32_t padding), (ids, padding))
#define nn_causal_padding_mask(...) nn_causal_padding_mask_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_attention, (AG_PLACE, Tensor *q, Tensor *k, Tensor *v, Tensor *mask, Dropout *dropout, Tensor
    **weights),
    (q, k, v, mask, dropout, weights))
#define nn_attention(...) nn_attention_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(NnScore *, nn_score_new, (AG_PLACE, NnScoreKind kind, int64_t query, int64_t key, int64_t hidden),
    (kind, query, key, hidden))
#define nn_score_new(...) nn_score_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_score, (AG_PLACE, NnScore *s, Tensor *q, Tensor *k), (s, q, k))
#define nn_score(...) nn_score_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(NnCache *, nn_cache_new, (AG_PLACE, int n, int64_t capacity), (n, capacity))
#define nn_cache_new(...) nn_cache_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_cache_append, (AG_PLACE, NnCache *c, int layer, Tensor *key, Tensor *value), (c, layer, key, value))
#define nn_cache_append(...) nn_cache_append_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_cache_read, (AG_PLACE, NnCache *c, int layer, Tensor **key, Tensor **value), (c, layer, key, value))
#define nn_cache_read(...) nn_cache_read_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_cache_attention, (AG_PLACE, NnCache *c, int layer, Tensor *q, Tensor *mask, AgAttention how),
    (c, layer, q, mask, how))
#define nn_cache_attention(...) nn_cache_attention_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_cache_is_filled, (AG_PLACE, const NnCache *c, int layer), (c, layer))
#define nn_cache_is_filled(...) nn_cache_is_filled_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(MultiHeadAttention *, nn_multi_head_attention_new_with, (AG_PLACE, int heads, int64_t width, double dropout,
    NnScoreKind score),
    (heads, width, dropout, score))
#define nn_multi_head_attention_new_with(...) nn_multi_head_attention_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_multi_head_attention_cached, (AG_PLACE, MultiHeadAttention *a, Tensor *query, Tensor *key, Tensor
    *value, Tensor *mask, NnCache *cache, int layer),
    (a, query, key, value, mask, cache, layer))
#define nn_multi_head_attention_cached(...) nn_multi_head_attention_cached_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(PositionalEncoding *, nn_positional_encoding_new_with, (AG_PLACE, int64_t width, double dropout, int64_t max_len,
    bool learned),
    (width, dropout, max_len, learned))
#define nn_positional_encoding_new_with(...) nn_positional_encoding_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_positional_encoding_from, (AG_PLACE, PositionalEncoding *p, Tensor *x, int64_t start), (p, x, start))
#define nn_positional_encoding_from(...) nn_positional_encoding_from_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(PositionwiseFeedForward *, nn_positionwise_feed_forward_new, (AG_PLACE, int64_t width, int64_t hidden, double
    dropout, AgActivation activation),
    (width, hidden, dropout, activation))
#define nn_positionwise_feed_forward_new(...) nn_positionwise_feed_forward_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_positionwise_feed_forward, (AG_PLACE, PositionwiseFeedForward *f, Tensor *x), (f, x))
#define nn_positionwise_feed_forward(...) nn_positionwise_feed_forward_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(SublayerConnection *, nn_sublayer_connection_new, (AG_PLACE, int64_t width, double dropout, NnNormPlace place,
    AgNorm kind),
    (width, dropout, place, kind))
#define nn_sublayer_connection_new(...) nn_sublayer_connection_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_sublayer_in, (AG_PLACE, SublayerConnection *s, Tensor *x), (s, x))
#define nn_sublayer_in(...) nn_sublayer_in_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_sublayer_out, (AG_PLACE, SublayerConnection *s, Tensor *x, Tensor *h), (s, x, h))
#define nn_sublayer_out(...) nn_sublayer_out_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
