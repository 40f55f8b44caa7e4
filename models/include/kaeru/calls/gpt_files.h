/* calls/gpt_files.h: calls of the functions of gpt_files.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(GPT *, gpt_load, (AG_PLACE, const char *path), (path))
#define gpt_load(...) gpt_load_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(GPT *, gpt_open, (AG_PLACE, const char *weights_path, const char *config_path), (weights_path, config_path))
#define gpt_open(...) gpt_open_call(__FILE__, __LINE__, __VA_ARGS__)
AG_MUST_CHECK AG_NAME_CALL(bool, gpt_write, (AG_PLACE, GPT *m, const char *weights_path, const char *config_path),
    (m, weights_path, config_path))
#define gpt_write(...) gpt_write_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
