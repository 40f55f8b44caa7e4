/* calls/translation.h: calls of the functions of translation.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_MUST_CHECK AG_NAME_CALL(bool, kaeru_lines_open, (AG_PLACE, KaeruLines *l, const char *path), (l, path))
#define kaeru_lines_open(...) kaeru_lines_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, kaeru_lines_of_text, (AG_PLACE, KaeruLines *l, const char *name, int64_t first, const char *text, size_t
    size),
    (l, name, first, text, size))
#define kaeru_lines_of_text(...) kaeru_lines_of_text_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_lines_lower, (AG_PLACE, KaeruLines *l), (l))
#define kaeru_lines_lower(...) kaeru_lines_lower_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(char *, kaeru_lines_join, (AG_PLACE, const KaeruLines *texts, int n, size_t *size), (texts, n, size))
#define kaeru_lines_join(...) kaeru_lines_join_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_lines_close, (AG_PLACE, KaeruLines *l), (l))
#define kaeru_lines_close(...) kaeru_lines_close_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(KaeruSentencePairs *, kaeru_sentence_pairs_new, (AG_PLACE, const KaeruLines *src, const KaeruVocab *src_vocab,
    const KaeruLines *tgt, const KaeruVocab *tgt_vocab, int64_t max_tokens),
    (src, src_vocab, tgt, tgt_vocab, max_tokens))
#define kaeru_sentence_pairs_new(...) kaeru_sentence_pairs_new_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, kaeru_sentence_pairs_count, (AG_PLACE, const KaeruSentencePairs *p), (p))
#define kaeru_sentence_pairs_count(...) kaeru_sentence_pairs_count_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, kaeru_sentence_pairs_left_out, (AG_PLACE, const KaeruSentencePairs *p), (p))
#define kaeru_sentence_pairs_left_out(...) kaeru_sentence_pairs_left_out_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_sentence_pairs_shuffle, (AG_PLACE, KaeruSentencePairs *p, int64_t batch_tokens), (p, batch_tokens))
#define kaeru_sentence_pairs_shuffle(...) kaeru_sentence_pairs_shuffle_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_sentence_pairs_sort, (AG_PLACE, KaeruSentencePairs *p, int64_t batch_tokens), (p, batch_tokens))
#define kaeru_sentence_pairs_sort(...) kaeru_sentence_pairs_sort_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, kaeru_sentence_pairs_batches, (AG_PLACE, const KaeruSentencePairs *p), (p))
#define kaeru_sentence_pairs_batches(...) kaeru_sentence_pairs_batches_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, kaeru_sentence_pairs_next, (AG_PLACE, void *pairs, TransformerBatch *batch), (pairs, batch))
#define kaeru_sentence_pairs_next(...) kaeru_sentence_pairs_next_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, transformer_translate_lines, (AG_PLACE, const TransformerTranslator *t, const KaeruLines *src, const
    KaeruTranslateOptions *how, KaeruLines *out),
    (t, src, how, out))
#define transformer_translate_lines(...) transformer_translate_lines_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_bleu_add, (AG_PLACE, KaeruBleu *b, const char *translation, size_t n, const char *reference, size_t
    reference_n),
    (b, translation, n, reference, reference_n))
#define kaeru_bleu_add(...) kaeru_bleu_add_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(double, kaeru_bleu_score, (AG_PLACE, const KaeruBleu *b), (b))
#define kaeru_bleu_score(...) kaeru_bleu_score_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
