/* calls/generate.h: calls of the functions of generate.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(int32_t, lm_sample_next, (AG_PLACE, const ag_real *logits, int64_t n, const LmSampling *how), (logits, n, how))
#define lm_sample_next(...) lm_sample_next_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, lm_sample_probabilities, (AG_PLACE, const ag_real *logits, int64_t n, const LmSampling *how, double *p),
    (logits, n, how, p))
#define lm_sample_probabilities(...) lm_sample_probabilities_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, lm_generate, (AG_PLACE, void *m, const int32_t *prompt, int64_t n, int64_t most, const LmSampling *how,
    KaeruNextToken *next, void *arg),
    (m, prompt, n, most, how, next, arg))
#define lm_generate(...) lm_generate_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
