/* print.h: numbers of tensors as text. */
#ifndef KAERU_DEBUG_PRINT_H
#define KAERU_DEBUG_PRINT_H

#include <stdio.h>

/* Writes a number with 5 digits, with a point in every locale. */
void print_number(FILE *out, double x);

#endif
