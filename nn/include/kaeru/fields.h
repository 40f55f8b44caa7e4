/* fields.h: options described once, by a table with a row for each field: name, place, default,
 * limits, help. By its table, a struct of options gets its defaults and is checked.
 *
 *     typedef struct { int64_t layers; double dropout; } Options;
 *
 *     static const NnField rows[] = {
 *         NN_FIELD("layers", Options, layers, 6, 1, 100, "layers of the model"),
 *         NN_FIELD("dropout", Options, dropout, 0.1, 0, 1, "share of activations dropped"),
 *         NN_FIELDS_END
 *     };
 *     static const NnFields table = { "net.", sizeof(Options), rows, NULL };
 *
 * options.h has the other uses of a table: settings of checkpoints, and a command line. */
#ifndef KAERU_FIELDS_H
#define KAERU_FIELDS_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- tables ---------------------------------------------------------------------------------- */

/* The type of a value. */
typedef enum {
    NN_FIELD_INT,               /* an int, or an enum of its size */
    NN_FIELD_INT64,
    NN_FIELD_REAL,
    NN_FIELD_BOOL,
    NN_FIELD_TEXT               /* a const char *, NULL if none is given */
} NnFieldKind;

typedef struct {
    const char *name;           /* the name of the setting, after the prefix of the table; NULL ends
                                   the table */
    NnFieldKind kind;
    size_t offset;              /* the place in the struct */
    void *variable;             /* the variable of the value; NULL: it is in the struct */
    double usual;               /* the default, for fields of a struct */
    double low, high;           /* the limits, both within +-2^53 for whole numbers */
    const char *help;           /* a line for --help; NULL: not an option of a command line */
    const char *option;         /* "lr-min" for --lr-min; NULL: the name */
    const char *unit;           /* what --help prints for a text: "FILE" */
    bool below;                 /* whether the value must be below `high` */
    bool optional;              /* whether settings may lack it. A variable then keeps its value. A
                                   field has its default, for which no setting is written */
    bool once;                  /* whether it belongs to one call of a program: it is no setting */
    bool fixed;                 /* for programs: whether a run that is resumed cannot change it */
    bool may_be_empty;          /* whether "" is a value of a text */
} NnField;

typedef struct {
    const char *prefix;         /* the prefix of the names of the settings: "gpt." */
    size_t size;                /* the size of the struct; 0 if all values are in variables */
    const NnField *field;       /* the rows, ended by NN_FIELDS_END */
    /* Returns whether options within their limits are good together, else false with ag_error().
     * NULL if there is nothing else to check. */
    bool (*check)(const void *o);
} NnFields;

#ifndef __cplusplus                     /* C++ has no _Generic: there, set the members of NnField */
#define NN_FIELD_KIND(value) \
    _Generic((value), int: NN_FIELD_INT, unsigned: NN_FIELD_INT, int64_t: NN_FIELD_INT64, \
             double: NN_FIELD_REAL, bool: NN_FIELD_BOOL, const char *: NN_FIELD_TEXT)
/* A row for a member of a struct. Members of NnField may follow the help:
 *     NN_FIELD("p", Dropout, p, 0.1, 0, 1, "...", .below = true) */
#define NN_FIELD(key, type, member, usual_value, lowest, highest, ...) \
    { .name = (key), .kind = NN_FIELD_KIND(((type *)0)->member), .offset = offsetof(type, member), \
      .usual = (usual_value), .low = (lowest), .high = (highest), .help = __VA_ARGS__ }
/* Rows for variables: a number; a text; a bool, which the option without a value sets to true. */
#define NN_OPTION(key, place, lowest, highest, ...) \
    { .name = (key), .kind = NN_FIELD_KIND(place), .variable = &(place), .low = (lowest), \
      .high = (highest), .help = __VA_ARGS__ }
#define NN_TEXT_OPTION(key, value_unit, place, ...) \
    NN_OPTION(key, place, 0, 0, __VA_ARGS__, .unit = (value_unit))
#define NN_FLAG_OPTION(key, place, ...) \
    NN_OPTION(key, place, 0, 1, __VA_ARGS__, .optional = true)
#define NN_FIELDS_END { .name = NULL }
#endif

/* ---- a struct of options --------------------------------------------------------------------- */

/* Sets the fields to their defaults and the rest of the struct to 0. */
void nn_fields_defaults(const NnFields *fields, void *o);
/* Returns whether all values are good, else false with ag_error(): "gpt.layers is 0, expected a
 * whole number from 1 to 100000". */
bool nn_fields_check(const NnFields *fields, const void *o);
/* Returns the value as text, which may be in `buffer`; NULL for a text that was not given. */
enum { NN_FIELD_BUFFER = 32 };
const char *nn_field_text(const NnField *f, const void *o, char buffer[NN_FIELD_BUFFER]);

#include "kaeru/calls/fields.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/module.h"
#include "kaeru/options.h"
#endif

#endif
