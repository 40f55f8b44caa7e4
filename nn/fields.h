/* fields.h: what fields.c has for the files of options. */
#ifndef KAERU_FIELDS_INSIDE_H
#define KAERU_FIELDS_INSIDE_H

#include "kaeru/fields.h"

enum { MOST_RANGE = 96, MOST_EXPECTED = 128 };

/* Returns where the value is. */
void *field_place(const NnField *f, const void *o);
/* Returns the value of a number or a bool, or sets it. */
double field_value(const NnField *f, const void *o);
void field_set(const NnField *f, void *o, double value);
/* Returns the value of a text. */
const char *field_string(const NnField *f, const void *o);
/* Whether the value is within the limits. */
bool field_accepts(const NnField *f, double value);
/* Writes the limits: "1 to 100", "0 to below 1". Returns the text. */
const char *field_range(const NnField *f, char text[MOST_RANGE]);
/* Returns "a whole number from 1 to 100", which may be in `text`; the unit of a text. */
const char *field_expected(const NnField *f, char text[MOST_EXPECTED]);
/* Sets the error "gpt.layers is 0, expected a whole number from 1 to 100"; returns false. */
bool field_refuse(const char *prefix, const char *name, const char *value, const NnField *f);
/* Returns the prefix of the table, which may be empty. */
const char *fields_prefix(const NnFields *table);
/* Whether the table's own function, if there is one, accepts the options. */
bool fields_accept(const NnFields *table, const void *o);
/* A usage error unless the table has fields of known kinds, each in a variable or within the
 * struct. */
void check_table(const char *what, const NnFields *table, const void *o);

#endif
