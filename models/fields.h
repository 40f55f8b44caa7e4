/* fields.h: the numbers of an options struct as a table, to check them and to keep them as settings of a checkpoint. */
#ifndef KAERU_FIELDS_H
#define KAERU_FIELDS_H

#include "kaeru/nn.h"

typedef enum { FIELD_WHOLE, FIELD_REAL, FIELD_FLAG } FieldKind;     /* int64_t, double, bool */
/* `name` is the setting's, "gpt.layers"; a value must be in low..high, and below high if that is said to be `open`. */
typedef struct { const char *name; FieldKind kind; size_t offset; double low, high; bool open; } Field;

/* False with ag_error(): "gpt.layers is 0, expected 1 to 100000". */
bool fields_check(const Field *field, int n, const void *options);
void fields_to_settings(const Field *field, int n, const void *options, Settings *s);
/* Reads and checks all of them, or refuses and leaves the options as they are. */
bool fields_from_settings(const Field *field, int n, void *options, const Settings *s);

#endif
