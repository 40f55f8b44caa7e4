/* calls/image_layers.h: calls of the functions of image_layers.h, which note their line. Written by autograd/calls.py. */
#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES
AG_NAME_CALL(Conv2d *, nn_conv2d_new_with, (AG_PLACE, int64_t in, int64_t out, int size, int stride, int padding, bool bias),
    (in, out, size, stride, padding, bias))
#define nn_conv2d_new_with(...) nn_conv2d_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_conv2d, (AG_PLACE, Conv2d *l, Tensor *x), (l, x))
#define nn_conv2d(...) nn_conv2d_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Conv2d *, nn_conv2d_new_how, (AG_PLACE, int64_t in, int64_t out, int size, AgConv how, bool bias),
    (in, out, size, how, bias))
#define nn_conv2d_new_how(...) nn_conv2d_new_how_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(ConvTranspose2d *, nn_conv_transpose2d_new_with, (AG_PLACE, int64_t in, int64_t out, int size, int stride, int
    padding, int output_padding, bool bias),
    (in, out, size, stride, padding, output_padding, bias))
#define nn_conv_transpose2d_new_with(...) nn_conv_transpose2d_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_conv_transpose2d, (AG_PLACE, ConvTranspose2d *l, Tensor *x), (l, x))
#define nn_conv_transpose2d(...) nn_conv_transpose2d_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(BatchNorm *, nn_batch_norm_new_with, (AG_PLACE, int64_t channels, double momentum, double eps),
    (channels, momentum, eps))
#define nn_batch_norm_new_with(...) nn_batch_norm_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_batch_norm, (AG_PLACE, BatchNorm *l, Tensor *x), (l, x))
#define nn_batch_norm(...) nn_batch_norm_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(GroupNorm *, nn_group_norm_new_with, (AG_PLACE, int groups, int64_t channels, double eps), (groups, channels, eps))
#define nn_group_norm_new_with(...) nn_group_norm_new_with_call(__FILE__, __LINE__, __VA_ARGS__)
AG_NAME_CALL(Tensor *, nn_group_norm, (AG_PLACE, GroupNorm *l, Tensor *x), (l, x))
#define nn_group_norm(...) nn_group_norm_call(__FILE__, __LINE__, __VA_ARGS__)
#endif
