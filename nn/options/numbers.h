/* numbers.h: numbers of texts, exact and the same in every locale, and texts with numbers. */
#ifndef KAERU_NUMBERS_H
#define KAERU_NUMBERS_H

#include <stdarg.h>

#include "number.h"

typedef struct {
    double value;               /* the nearest double, ties to even; infinite if the number is too large */
    bool whole;                 /* written without fraction and exponent, fits an int64_t, and is not -0 */
    int64_t integer;            /* the exact value if `whole`, else 0 */
} Number;

/* Reads a number of any length by JSON's grammar, -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?, from the start of n
 * bytes. Returns the number's length. If there is no number, or the text ends inside it, returns 0, does not write
 * *number, and sets *wrong to the offset of the byte where a digit is missing. */
size_t number_scan(const char *s, size_t n, Number *number, size_t *wrong);

/* Sets *whole to a value that is a whole number within +-2^63, such as 1.0, 1e2 or -0; false, without it, for another. */
bool number_is_whole(double value, int64_t *whole);

/* Whether all of a text is a decimal number as strtod reads it, or a whole number. A whole number beyond +-2^53 becomes
 * infinite. */
bool number_read(const char *text, bool whole, double *value);

/* The text that printf writes, with a decimal point in every locale, owned by `owner`; NULL if the format cannot be written. */
char *text_printf(void *owner, const char *format, ...) AG_PRINTF(2, 3);
char *text_vprintf(void *owner, const char *format, va_list list) AG_PRINTF(2, 0);

#endif
