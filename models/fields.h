/* fields.h: the numbers in an options struct as a table, which checks them and converts them to and from the settings of
 * a checkpoint. */
#ifndef KAERU_FIELDS_H
#define KAERU_FIELDS_H

#include "kaeru/nn.h"
#include "stored.h"

typedef enum { FIELD_INT, FIELD_INT64, FIELD_DOUBLE, FIELD_BOOL } FieldKind;        /* FIELD_INT: an enum, too */

/* `name` is the setting's, "gpt.layers". A value must be in low..high; if the range is half open, it must be below high.
 * The bounds of an integer are within 2^53, so that a double holds it exactly. */
typedef struct { const char *name; FieldKind kind; size_t offset; double low, high; bool half_open; } Field;

/* False with ag_error() if a value is out of range: "gpt.layers is 0, expected 1 to 100000". */
bool fields_check(const Field *field, int n, const void *options);
void fields_to_settings(const Field *field, int n, const void *options, NnSettings *s);
/* Reads and checks all fields. If one fails, returns false with ag_error() and leaves the options as they were. */
bool fields_from_settings(const Field *field, int n, void *options, const NnSettings *s);

/* Whether a checkpoint is large enough for a model of that many parameters or more, at two bytes each. This is checked
 * before the model is constructed, so that a bad file cannot make it ask for too much memory. */
bool checkpoint_may_hold(const char *path, double parameters);
/* The same for an open file of weights, which must have at least as many numbers. */
bool weights_may_hold(const NnTensorFile *f, double parameters);

#endif
