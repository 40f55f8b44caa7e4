/* calls/options.h: calls of the functions of options.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(nn_fields_to_settings, (AG_PLACE, const NnFields *fields, const void *o, NnSettings *s), (fields, o, s))
#define nn_fields_to_settings(...) nn_fields_to_settings_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, nn_fields_from_settings, (AG_PLACE, const NnFields *fields, void *o, const NnSettings *s),
    (fields, o, s))
#define nn_fields_from_settings(...) nn_fields_from_settings_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_options_read, (AG_PLACE, const NnOptions *list, int argc, char **argv, int *i), (list, argc, argv, i))
#define nn_options_read(...) nn_options_read_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL_VOID(nn_options_print, (AG_PLACE, const NnOptions *list, FILE *out), (list, out))
#define nn_options_print(...) nn_options_print_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
