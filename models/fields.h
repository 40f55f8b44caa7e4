/* fields.h: a table of the numbers in an options struct, to check them and to save them as settings of a checkpoint. */
#ifndef KAERU_FIELDS_H
#define KAERU_FIELDS_H

#include "kaeru/nn.h"

typedef enum { FIELD_WHOLE, FIELD_REAL, FIELD_FLAG } FieldKind;     /* int64_t, double, bool */
/* `name` is that of the setting, "gpt.layers"; a value must be in low..high, and less than high if `open`. */
typedef struct { const char *name; FieldKind kind; size_t offset; double low, high; bool open; } Field;

/* False with ag_error(): "gpt.layers is 0, expected 1 to 100000". */
bool fields_check(const Field *field, int n, const void *options);
void fields_to_settings(const Field *field, int n, const void *options, Settings *s);
/* Sets all fields, or returns false with ag_error() and changes none of them. */
bool fields_from_settings(const Field *field, int n, void *options, const Settings *s);

#endif
