/* summary.h: a module as a table. */
#ifndef KAERU_SUMMARY_H
#define KAERU_SUMMARY_H

#include <stdio.h>

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

/* Prints a table: module tree, parameter shapes and counts; below it the bytes of all values. */
void nn_summary(void *module, FILE *out);

#include "kaeru/calls/summary.h"

AG_PUBLIC_END
#endif
