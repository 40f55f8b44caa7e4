/* calls/shape.h: calls of the functions of shape.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(const char *, ag_shape_text, (AG_PLACE, AgShape shape, char text[AG_SHAPE_TEXT]), (shape, text))
#define ag_shape_text(...) ag_shape_text_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(bool, ag_shape_equal, (AG_PLACE, AgShape a, AgShape b), (a, b))
#define ag_shape_equal(...) ag_shape_equal_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(int64_t, ag_shape_numel, (AG_PLACE, AgShape shape), (shape))
#define ag_shape_numel(...) ag_shape_numel_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
