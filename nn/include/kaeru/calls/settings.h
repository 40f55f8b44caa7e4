/* calls/settings.h: calls of the functions of settings.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(NnSettings *, nn_settings_new, (AG_PLACE), ())
#define nn_settings_new() nn_settings_new_call(__FILE__, __LINE__)
#define nn_settings_set(...) AG_CALL_VOID(nn_settings_set(__VA_ARGS__))
AG_NAME_CALL(const char *, nn_settings_get, (AG_PLACE, const NnSettings *s, const char *key), (s, key))
#define nn_settings_get(...) nn_settings_get_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_settings_int, (AG_PLACE, const NnSettings *s, const char *key, int64_t *value), (s, key, value))
#define nn_settings_int(...) nn_settings_int_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_settings_real, (AG_PLACE, const NnSettings *s, const char *key, double *value), (s, key, value))
#define nn_settings_real(...) nn_settings_real_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
