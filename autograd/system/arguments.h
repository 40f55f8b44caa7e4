/* arguments.h: checks of what the program has given to a function of the library. The message names the argument. */
#ifndef KAERU_ARGUMENTS_H
#define KAERU_ARGUMENTS_H

#include "kaeru/tensor.h"

/* A usage error, in the name of function `what`, unless t is a live tensor; `argument` is what the message calls it. */
void check_alive(const char *what, const char *argument, const Tensor *t);
/* The same, and unless t has that type and its values can be read. */
void check_tensor(const char *what, const char *argument, const Tensor *t, AgDType dtype);
/* A usage error unless x is finite and `valid`: "lr is -1, expected a finite number of 0 or more". */
void check_number(const char *what, const char *argument, double x, bool valid, const char *expected);

#endif
