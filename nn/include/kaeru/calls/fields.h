/* calls/fields.h: calls of the functions of fields.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL_VOID(nn_fields_defaults, (AG_PLACE, const NnFields *fields, void *o), (fields, o))
#define nn_fields_defaults(...) nn_fields_defaults_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, nn_fields_check, (AG_PLACE, const NnFields *fields, const void *o), (fields, o))
#define nn_fields_check(...) nn_fields_check_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(const char *, nn_field_text, (AG_PLACE, const NnField *f, const void *o, char buffer[NN_FIELD_BUFFER]),
    (f, o, buffer))
#define nn_field_text(...) nn_field_text_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
