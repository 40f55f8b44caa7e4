/* arguments.h: checks of what the program has given to a function of the library.
 *
 * Each reports a usage error of the function `what` if its check fails. The message calls the
 * parameter `argument`. */
#ifndef KAERU_ARGUMENTS_H
#define KAERU_ARGUMENTS_H

#include "kaeru/tensor.h"

/* Checks that t is a live tensor. */
void check_alive(const char *what, const char *argument, const Tensor *t);
/* Checks that t is a live tensor of that type, and that its values can be read. */
void check_tensor(const char *what, const char *argument, const Tensor *t, AgDType dtype);
/* Checks that x is finite and `valid`: "lr is -1, expected a finite number of 0 or more". */
void check_number(const char *what, const char *argument, double x, bool valid,
                  const char *expected);

#endif
