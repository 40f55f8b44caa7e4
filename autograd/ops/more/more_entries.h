/* more_entries.h: what follows from the entries of more.def. Written by autograd/headers.py. */
void conv2d_backward(Tensor *y);
void conv_transpose2d_backward(Tensor *y);
void pool2d_backward(Tensor *y);
void rope_backward(Tensor *y);
void rope_values(Tensor *y, const OpCall *c);
#define INPUTS_rope (const char *const[]){ "x", "table", NULL }
#define NUMBERS_rope (const char *const[]){ NULL }
#define INPUTS_conv2d (const char *const[]){ "x", "weight", "bias", NULL }
#define NUMBERS_conv2d (const char *const[]){ NULL }
#define INPUTS_conv2d_with (const char *const[]){ "x", "weight", "bias", NULL }
#define NUMBERS_conv2d_with (const char *const[]){ NULL }
#define INPUTS_conv_transpose2d (const char *const[]){ "x", "weight", "bias", NULL }
#define NUMBERS_conv_transpose2d (const char *const[]){ NULL }
#define INPUTS_max_pool2d (const char *const[]){ "x", NULL }
#define NUMBERS_max_pool2d (const char *const[]){ NULL }
#define INPUTS_mean_pool2d (const char *const[]){ "x", NULL }
#define NUMBERS_mean_pool2d (const char *const[]){ NULL }
