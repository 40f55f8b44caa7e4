/* fields.h: options described once, by a table of fields: name, place, default, limits, help. By its table, a struct of options
 * gets its defaults and is checked. options.h has the other uses of a table: settings of checkpoints, and a command line. */
#ifndef KAERU_FIELDS_H
#define KAERU_FIELDS_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* The type of a value. NN_FIELD_INT: also of an enum of the size of an int. NN_FIELD_TEXT: a const char *, NULL if none is
 * given. */
typedef enum { NN_FIELD_INT, NN_FIELD_INT64, NN_FIELD_REAL, NN_FIELD_BOOL, NN_FIELD_TEXT } NnFieldKind;

typedef struct {
    const char *name;           /* of the setting, after the prefix of the table; NULL ends the table */
    NnFieldKind kind;
    size_t offset;              /* in the struct */
    void *variable;             /* not NULL: the value is in this variable and not in a struct */
    double usual;               /* the default, for fields of a struct */
    double low, high;           /* the limits, both within +-2^53 for whole numbers */
    const char *help;           /* a line for --help; NULL: not an option of a command line */
    const char *option;         /* "lr-min" for --lr-min; NULL: the name */
    const char *unit;           /* what --help prints for a text: "FILE" */
    bool below;                 /* the value must be below `high` */
    bool optional;              /* settings may lack it: then a variable keeps its value, and a field has its default, for which
                                   no setting is written */
    bool once;                  /* belongs to one call of a program: it is no setting */
    bool fixed;                 /* for programs: a run that is resumed cannot change it */
    bool may_be_empty;          /* a text: "" is a value */
} NnField;

typedef struct {
    const char *prefix;         /* of the names of the settings: "gpt." */
    size_t size;                /* of the struct; 0: all values are in variables */
    const NnField *field;
    bool (*check)(const void *o);   /* after the limits; false with ag_error(). NULL: there is nothing else to check */
} NnFields;

#ifndef __cplusplus                     /* C++ has no _Generic: there, set the members of NnField */
#define NN_FIELD_KIND(value) \
    _Generic((value), int: NN_FIELD_INT, unsigned: NN_FIELD_INT, int64_t: NN_FIELD_INT64, double: NN_FIELD_REAL, \
             bool: NN_FIELD_BOOL, const char *: NN_FIELD_TEXT)
/* A member of a struct. Members of NnField may follow the help: NN_FIELD("p", Dropout, p, 0.1, 0, 1, "...", .below = true) */
#define NN_FIELD(key, type, member, usual_value, lowest, highest, ...) \
    { .name = (key), .kind = NN_FIELD_KIND(((type *)0)->member), .offset = offsetof(type, member), .usual = (usual_value), \
      .low = (lowest), .high = (highest), .help = __VA_ARGS__ }
/* Variables: a number; a text; a bool, which the option without a value sets to true. */
#define NN_OPTION(key, place, lowest, highest, ...) \
    { .name = (key), .kind = NN_FIELD_KIND(place), .variable = &(place), .low = (lowest), .high = (highest), \
      .help = __VA_ARGS__ }
#define NN_TEXT_OPTION(key, value_unit, place, ...) NN_OPTION(key, place, 0, 0, __VA_ARGS__, .unit = (value_unit))
#define NN_FLAG_OPTION(key, place, ...) NN_OPTION(key, place, 0, 1, __VA_ARGS__, .optional = true)
#define NN_FIELDS_END { .name = NULL }
#endif

/* ---- a struct of options ----------------------------------------------------------------------------------------- */

/* Sets the fields to their defaults and the rest of the struct to 0. */
void nn_fields_defaults(const NnFields *fields, void *o);
/* False with ag_error() if a value is out of range: "gpt.layers is 0, expected a whole number from 1 to 100000". */
bool nn_fields_check(const NnFields *fields, const void *o);
/* The value as text, which may be in `buffer`; NULL for a text that was not given. */
enum { NN_FIELD_BUFFER = 32 };
const char *nn_field_text(const NnField *f, const void *o, char buffer[NN_FIELD_BUFFER]);

#include "kaeru/calls/fields.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/module.h"
#include "kaeru/options.h"
#endif

#endif
