/* calls/json.h: calls of the functions of json.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(NnJson *, nn_json_open, (AG_PLACE, const char *path), (path))
#define nn_json_open(...) nn_json_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(NnJson *, nn_json_parse, (AG_PLACE, const char *name, const char *text, size_t size), (name, text, size))
#define nn_json_parse(...) nn_json_parse_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_json_has, (AG_PLACE, const NnJson *json, const char *where), (json, where))
#define nn_json_has(...) nn_json_has_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_json_int, (AG_PLACE, const NnJson *json, const char *where, int64_t *value),
    (json, where, value))
#define nn_json_int(...) nn_json_int_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_json_real, (AG_PLACE, const NnJson *json, const char *where, double *value),
    (json, where, value))
#define nn_json_real(...) nn_json_real_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_json_bool, (AG_PLACE, const NnJson *json, const char *where, bool *value),
    (json, where, value))
#define nn_json_bool(...) nn_json_bool_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(const char *, nn_json_text, (AG_PLACE, const NnJson *json, const char *where), (json, where))
#define nn_json_text(...) nn_json_text_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, nn_json_count, (AG_PLACE, const NnJson *json, const char *where), (json, where))
#define nn_json_count(...) nn_json_count_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(const char *, nn_json_name, (AG_PLACE, const NnJson *json, const char *where, int64_t i), (json, where, i))
#define nn_json_name(...) nn_json_name_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
