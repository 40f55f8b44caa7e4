/* summary.h: a module as a table, and a mask as a picture. */
#ifndef KAERU_SUMMARY_H
#define KAERU_SUMMARY_H

#include <stdio.h>

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

/* Prints a table: module tree, parameter shapes and counts; below it the bytes of all values. */
void nn_summary(void *module, FILE *out);

/* Prints the mask, one matrix after another: "#" is visible, "." is hidden. */
void nn_mask_print(FILE *out, Tensor *mask);

#include "kaeru/calls/summary.h"

AG_PUBLIC_END
#endif
