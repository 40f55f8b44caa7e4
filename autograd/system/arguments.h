/* arguments.h: checks of tensors that the program has given to a function of the library. The message names the argument. */
#ifndef KAERU_ARGUMENTS_H
#define KAERU_ARGUMENTS_H

#include "kaeru/tensor.h"

/* A usage error, in the name of function `what`, unless t is a live tensor; `argument` is what the message calls it. */
void check_alive(const char *what, const char *argument, const Tensor *t);
/* The same, and unless t has that type and its values can be read. */
void check_tensor(const char *what, const char *argument, const Tensor *t, AgDType dtype);

#endif
