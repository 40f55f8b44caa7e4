/* fields.c: checks the numbers of an options struct and converts them to settings and back, by a table of fields. */
#include "fields.h"

#include <inttypes.h>

typedef union { const void *of; const int64_t *whole; const double *number; const bool *flag; } FieldPointer;

static FieldPointer pointer_to(const Field *field, const void *options)
{
    return (FieldPointer){ (const char *)options + field->offset };
}

static double value_of(const Field *field, const void *options)
{
    FieldPointer at = pointer_to(field, options);
    return field->kind == FIELD_WHOLE ? (double)*at.whole : field->kind == FIELD_REAL ? *at.number : *at.flag;
}

static bool check(const Field *field, double value)
{
    if (value >= field->low && (field->open ? value < field->high : value <= field->high)) return true;
    const char *below = field->open ? "below " : "";
    if (field->kind == FIELD_REAL)
        return ag_set_error("%s is %g, expected %g to %s%g", field->name, value, field->low, below, field->high);
    return ag_set_error("%s is %.0f, expected %.0f to %s%.0f", field->name, value, field->low, below, field->high);
}

bool fields_check(const Field *field, int n, const void *options)
{
    for (int i = 0; i < n; i++)
        if (!check(&field[i], value_of(&field[i], options))) return false;
    return true;
}

void fields_to_settings(const Field *field, int n, const void *options, Settings *s)
{
    for (int i = 0; i < n; i++) {
        if (field[i].kind == FIELD_WHOLE)
            nn_settings_set(s, field[i].name, "%" PRId64, *pointer_to(&field[i], options).whole);
        else nn_settings_set(s, field[i].name, "%.17g", value_of(&field[i], options));
    }
}

/* The ranges are within 2^53, so a whole number is exact as a double. */
static bool read_field(const Field *field, const Settings *s, int64_t *whole, double *number)
{
    if (field->kind == FIELD_REAL) return nn_settings_real(s, field->name, number) && check(field, *number);
    if (!nn_settings_int(s, field->name, whole)) return false;
    *number = (double)*whole;
    return check(field, *number);
}

bool fields_from_settings(const Field *field, int n, void *options, const Settings *s)
{
    for (int pass = 0; pass < 2; pass++) {                          /* first checks all fields, then sets them */
        for (int i = 0; i < n; i++) {
            int64_t whole = 0;
            double number = 0;
            if (!read_field(&field[i], s, &whole, &number)) return false;
            char *to = (char *)options + field[i].offset;
            if (pass == 0) continue;
            if (field[i].kind == FIELD_WHOLE) *(int64_t *)(void *)to = whole;
            else if (field[i].kind == FIELD_REAL) *(double *)(void *)to = number;
            else *(bool *)(void *)to = whole != 0;
        }
    }
    return true;
}
