/* fields.h: the functions of fields.c that the folder options uses, too. */
#ifndef KAERU_FIELDS_INSIDE_H
#define KAERU_FIELDS_INSIDE_H

#include "kaeru/fields.h"

enum { MOST_RANGE = 96, MOST_EXPECTED = 128 };

/* Returns the address of the value: a variable, or a member of the struct o. */
void *field_place(const NnField *f, const void *o);
/* Returns the value of a number or a bool. */
double field_value(const NnField *f, const void *o);
/* Sets the value of a number or a bool. */
void field_set(const NnField *f, void *o, double value);
/* Returns the value of a text. */
const char *field_string(const NnField *f, const void *o);
/* Returns whether the value is within the limits. */
bool field_accepts(const NnField *f, double value);
/* Writes the limits, as "1 to 100" or "0 to below 1", and returns the text. */
const char *field_range(const NnField *f, char text[MOST_RANGE]);
/* Returns what the value must be: "a whole number from 1 to 100", or the unit of a text. The result
 * may be in `text`. */
const char *field_expected(const NnField *f, char text[MOST_EXPECTED]);
/* Sets the error "gpt.layers is 0, expected a whole number from 1 to 100", and returns false. */
bool field_refuse(const char *prefix, const char *name, const char *value, const NnField *f);
/* Returns the prefix of the table, which may be empty. */
const char *fields_prefix(const NnFields *table);
/* Returns whether the table's own function accepts the options. If there is none, they are good. */
bool fields_accept(const NnFields *table, const void *o);
/* Checks that the fields of the table have known kinds, and that each is in a variable or within
 * the struct. */
void check_table(const char *what, const NnFields *table, const void *o);

#endif
