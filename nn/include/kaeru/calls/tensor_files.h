/* calls/tensor_files.h: calls of the functions of tensor_files.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(NnTensorFile *, tensor_file_open, (AG_PLACE, const char *path), (path))
#define tensor_file_open(...) tensor_file_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int, tensor_file_count, (AG_PLACE, const NnTensorFile *f), (f))
#define tensor_file_count(...) tensor_file_count_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(const NnFileTensor *, tensor_file_item, (AG_PLACE, const NnTensorFile *f, int i), (f, i))
#define tensor_file_item(...) tensor_file_item_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(const NnFileTensor *, tensor_file_find, (AG_PLACE, const NnTensorFile *f, const char *name), (f, name))
#define tensor_file_find(...) tensor_file_find_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(const char *, tensor_file_metadata, (AG_PLACE, const NnTensorFile *f, const char *key), (f, key))
#define tensor_file_metadata(...) tensor_file_metadata_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, tensor_file_read, (AG_PLACE, const NnTensorFile *f, const char *name, Tensor *t), (f, name, t))
#define tensor_file_read(...) tensor_file_read_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, tensor_file_get, (AG_PLACE, const NnTensorFile *f, const char *name), (f, name))
#define tensor_file_get(...) tensor_file_get_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, tensor_load, (AG_PLACE, const char *path, const char *name), (path, name))
#define tensor_load(...) tensor_load_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, tensor_save_list, (AG_PLACE, const char *path, const NnNamedValue *list, int n),
    (path, list, n))
#define tensor_save_list(...) tensor_save_list_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
