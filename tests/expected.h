/* expected.h: the fixtures' files, and comparisons of tensors, of models and of texts. */
#ifndef KAERU_TESTS_EXPECTED_H
#define KAERU_TESTS_EXPECTED_H

#include <stdio.h>

#include "kaeru/nn.h"
#include "stored.h"

/* The file, which must open; free it with ag_free. */
NnTensorFile *open_safetensors(const char *path);
/* A tensor of the file, which must have it, as reals or as ids. The scope owns it. */
Tensor *reals_of(const NnTensorFile *st, const char *name);
Tensor *ids_of(const NnTensorFile *st, const char *name);
/* The largest absolute value. */
double largest(const Tensor *t);
/* Same shape, and no number further off than the tolerance. */
void check_close(const char *what, const Tensor *found, const Tensor *expected, double tolerance);
/* This shape and exactly these numbers; NaN equals NaN. */
void check_reals(const Tensor *t, AgShape shape, const double *values);
#define CHECK(t, shape, ...) check_reals(t, shape, (double[]){ __VA_ARGS__ })
/* Two modules must have the same parameters: names, sizes, and values to the bit. */
void check_same_parameters(void *left, void *right);

/* The text that ag_explain, ag_graph_frame (of the last frame) and tensor_fprint write; free it. */
char *explained(Tensor *loss);
char *drawn(Tensor *y);
char *printed(Tensor *t);
/* Closes a temporary file and returns the text in it; free it. */
char *text_of(FILE *f);

#endif
