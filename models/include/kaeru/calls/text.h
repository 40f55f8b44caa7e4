/* calls/text.h: calls of the functions of text.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_MUST_CHECK AG_NAME_CALL(bool, kaeru_text_open, (AG_PLACE, KaeruText *text, const char *path), (text, path))
#define kaeru_text_open(...) kaeru_text_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_text_close, (AG_PLACE, KaeruText *text), (text))
#define kaeru_text_close(...) kaeru_text_close_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, kaeru_text_is_same_file, (AG_PLACE, const char *a, const char *b), (a, b))
#define kaeru_text_is_same_file(...) kaeru_text_is_same_file_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(KaeruWriter *, kaeru_writer_open, (AG_PLACE, const char *path, const char *like, const char *shown),
    (path, like, shown))
#define kaeru_writer_open(...) kaeru_writer_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(FILE *, kaeru_writer_stream, (AG_PLACE, KaeruWriter *w), (w))
#define kaeru_writer_stream(...) kaeru_writer_stream_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, kaeru_writer_commit, (AG_PLACE, KaeruWriter *w), (w))
#define kaeru_writer_commit(...) kaeru_writer_commit_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, kaeru_text_check, (AG_PLACE, const char *name, int64_t first, const char *text, size_t n),
    (name, first, text, n))
#define kaeru_text_check(...) kaeru_text_check_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_text_stream_put, (AG_PLACE, KaeruTextStream *s, const char *bytes, size_t n), (s, bytes, n))
#define kaeru_text_stream_put(...) kaeru_text_stream_put_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(kaeru_text_stream_end, (AG_PLACE, KaeruTextStream *s), (s))
#define kaeru_text_stream_end(...) kaeru_text_stream_end_call(__FILE__, __LINE__, __VA_ARGS__)
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
AG_NAME_CALL(KaeruVocab *, kaeru_vocab_chars, (AG_PLACE, const char *text, size_t n), (text, n))
#define kaeru_vocab_chars(...) kaeru_vocab_chars_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(KaeruVocab *, kaeru_vocab_words, (AG_PLACE, const char *text, size_t n, int64_t min_count), (text, n, min_count))
#define kaeru_vocab_words(...) kaeru_vocab_words_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(KaeruVocab *, kaeru_vocab_bpe, (AG_PLACE, KaeruVocabKind kind, const char *text, size_t n, int32_t size),
    (kind, text, n, size))
#define kaeru_vocab_bpe(...) kaeru_vocab_bpe_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(KaeruVocab *, kaeru_vocab_open, (AG_PLACE, KaeruVocabKind kind, const char *vocab_path, const char *merges_path),
    (kind, vocab_path, merges_path))
#define kaeru_vocab_open(...) kaeru_vocab_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, kaeru_vocab_save, (AG_PLACE, const KaeruVocab *v, const char *vocab_path, const char
    *merges_path),
    (v, vocab_path, merges_path))
#define kaeru_vocab_save(...) kaeru_vocab_save_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, kaeru_vocab_export, (AG_PLACE, const KaeruVocab *v, const char *tokenizer_path, const char
    *config_path),
    (v, tokenizer_path, config_path))
#define kaeru_vocab_export(...) kaeru_vocab_export_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(char *, kaeru_vocab_to_text, (AG_PLACE, const KaeruVocab *v, char **merges), (v, merges))
#define kaeru_vocab_to_text(...) kaeru_vocab_to_text_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(KaeruVocab *, kaeru_vocab_of_text, (AG_PLACE, KaeruVocabKind kind, const char *name, const char *vocab, const char
    *merges),
    (kind, name, vocab, merges))
#define kaeru_vocab_of_text(...) kaeru_vocab_of_text_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(KaeruVocabKind, kaeru_vocab_kind, (AG_PLACE, const KaeruVocab *v), (v))
#define kaeru_vocab_kind(...) kaeru_vocab_kind_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int32_t, kaeru_vocab_size, (AG_PLACE, const KaeruVocab *v), (v))
#define kaeru_vocab_size(...) kaeru_vocab_size_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(uint64_t, kaeru_vocab_fingerprint, (AG_PLACE, const KaeruVocab *v), (v))
#define kaeru_vocab_fingerprint(...) kaeru_vocab_fingerprint_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int32_t, kaeru_vocab_special, (AG_PLACE, const KaeruVocab *v, KaeruSpecial which), (v, which))
#define kaeru_vocab_special(...) kaeru_vocab_special_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int32_t, kaeru_vocab_find, (AG_PLACE, const KaeruVocab *v, const char *token, size_t n), (v, token, n))
#define kaeru_vocab_find(...) kaeru_vocab_find_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(const char *, kaeru_vocab_token, (AG_PLACE, const KaeruVocab *v, int32_t id, size_t *n), (v, id, n))
#define kaeru_vocab_token(...) kaeru_vocab_token_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, kaeru_vocab_check, (AG_PLACE, const KaeruVocab *v, const char *name, const char *text, size_t n),
    (v, name, text, n))
#define kaeru_vocab_check(...) kaeru_vocab_check_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(char *, kaeru_vocab_unknown, (AG_PLACE, const KaeruVocab *v, const char *text, size_t n), (v, text, n))
#define kaeru_vocab_unknown(...) kaeru_vocab_unknown_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int32_t *, kaeru_vocab_encode, (AG_PLACE, const KaeruVocab *v, const char *text, size_t n, KaeruEncoding how,
    size_t *count),
    (v, text, n, how, count))
#define kaeru_vocab_encode(...) kaeru_vocab_encode_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(char *, kaeru_vocab_decode, (AG_PLACE, const KaeruVocab *v, const int32_t *ids, size_t count, size_t *n),
    (v, ids, count, n))
#define kaeru_vocab_decode(...) kaeru_vocab_decode_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int32_t *, kaeru_sentence_encode, (AG_PLACE, const KaeruVocab *v, const char *text, size_t n, size_t *count),
    (v, text, n, count))
#define kaeru_sentence_encode(...) kaeru_sentence_encode_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(char *, kaeru_sentence_decode, (AG_PLACE, const KaeruVocab *v, const int32_t *ids, size_t count, size_t *n),
    (v, ids, count, n))
#define kaeru_sentence_decode(...) kaeru_sentence_decode_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
