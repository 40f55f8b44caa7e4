/* number.h: numbers as text, the same in every locale and to the last bit. */
#ifndef KAERU_NUMBER_H
#define KAERU_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double value;               /* the nearest double, ties to even; infinite if beyond the largest */
    bool whole;                 /* written without fraction and exponent, within int64_t, and not -0: */
    int64_t integer;            /* then exactly this */
} Number;

/* Reads a number by JSON's grammar, -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?, from the start of n bytes. Returns
 * how many belong to it. If none does, or the text breaks off inside the number, `*number` is not written and the
 * result is 0, with *wrong the offset of the byte where a digit is missing. */
size_t number_scan(const char *s, size_t n, Number *number, size_t *wrong);

#define NUMBER_TEXT 32
/* The shortest of 15, 16 or 17 digits that reads back as the same (finite) double. Returns text. */
char *number_text(double value, char text[NUMBER_TEXT]);

#endif
