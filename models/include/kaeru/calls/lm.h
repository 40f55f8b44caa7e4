/* calls/lm.h: calls of the functions of lm.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(LmData *, lm_data_open, (AG_PLACE, const char *path, const KaeruVocab *v), (path, v))
#define lm_data_open(...) lm_data_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(LmData *, lm_data_of_text, (AG_PLACE, const char *name, const char *text, size_t n, const KaeruVocab *v),
    (name, text, n, v))
#define lm_data_of_text(...) lm_data_of_text_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(LmData *, lm_data_open_pairs, (AG_PLACE, const char *path, const KaeruVocab *v, int32_t begin, int32_t end),
    (path, v, begin, end))
#define lm_data_open_pairs(...) lm_data_open_pairs_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, lm_data_tokens, (AG_PLACE, const LmData *d, LmPart part), (d, part))
#define lm_data_tokens(...) lm_data_tokens_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(LmUse, lm_data_use, (AG_PLACE, const LmData *d, LmPart part, int64_t length), (d, part, length))
#define lm_data_use(...) lm_data_use_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, lm_data_fits, (AG_PLACE, const LmData *d, const void *m, int64_t length), (d, m, length))
#define lm_data_fits(...) lm_data_fits_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(lm_data_draw, (AG_PLACE, const LmData *d, int64_t batch, int64_t length, Tensor **ids, Tensor **targets),
    (d, batch, length, ids, targets))
#define lm_data_draw(...) lm_data_draw_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, lm_evaluate, (AG_PLACE, void *m, const LmData *d, int64_t batch, int64_t length, int64_t tokens, int64_t
    *counted),
    (m, d, batch, length, tokens, counted))
#define lm_evaluate(...) lm_evaluate_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, lm_tokenize, (AG_PLACE, const char *text_path, const KaeruVocab *v, const char *tokens_path,
    int64_t *count),
    (text_path, v, tokens_path, count))
#define lm_tokenize(...) lm_tokenize_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, lm_is_token_file, (AG_PLACE, const char *path), (path))
#define lm_is_token_file(...) lm_is_token_file_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, lm_train, (AG_PLACE, LmTraining *t, bool resume), (t, resume))
#define lm_train(...) lm_train_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
