/* calls/language.h: calls of the functions of language.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Tensor *, lm_loss_with, (AG_PLACE, void *m, Tensor *ids, Tensor *targets, AgReduce reduce),
    (m, ids, targets, reduce))
#define lm_loss_with(...) lm_loss_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(NnCache *, lm_cache_new, (AG_PLACE, const void *m), (m))
#define lm_cache_new(...) lm_cache_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, lm_logits, (AG_PLACE, void *m, Tensor *ids, NnCache *cache), (m, ids, cache))
#define lm_logits(...) lm_logits_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, lm_next, (AG_PLACE, void *m, Tensor *ids, NnCache *cache), (m, ids, cache))
#define lm_next(...) lm_next_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
