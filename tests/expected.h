/* expected.h: what a fixture's file says, and tensors compared with it. */
#ifndef KAERU_TESTS_EXPECTED_H
#define KAERU_TESTS_EXPECTED_H

#include "kaeru/autograd.h"
#include "safetensors.h"

/* The file, which must open; end it with st_close. */
SafeTensors *expectations(const char *path);
/* A tensor of the file, which must be there, as reals or as ids, in this scope. */
Tensor *reals_of(const SafeTensors *st, const char *name);
Tensor *ids_of(const SafeTensors *st, const char *name);
/* The largest absolute value. */
double largest(const Tensor *t);
/* Same shape, and no number further off than the tolerance. */
void check_close(const char *what, const Tensor *found, const Tensor *expected, double tolerance);

#endif
