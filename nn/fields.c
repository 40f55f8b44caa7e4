/* fields.c: structs of options, described by a table with a row for each field: name, place,
 * default and limits. By the table, a struct gets its defaults and is checked. models/gpt_options.c
 * is an example of a table. Its fields are members of a struct; in the tables of some programs they
 * are variables. The folder options reads files and command lines by the same tables. */
#include "fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "program_calls.h"

/* ---- values ---------------------------------------------------------------------------------- */

void *field_place(const NnField *f, const void *o)
{
    return f->variable ? f->variable : (char *)o + f->offset;
}

double field_value(const NnField *f, const void *o)
{
    const void *place = field_place(f, o);
    switch (f->kind) {
    case NN_FIELD_INT: return *(const int *)place;
    case NN_FIELD_INT64: return (double)*(const int64_t *)place;
    case NN_FIELD_BOOL: return *(const bool *)place;
    default: return *(const double *)place;
    }
}

void field_set(const NnField *f, void *o, double value)
{
    void *place = field_place(f, o);
    switch (f->kind) {
    case NN_FIELD_INT:
        *(int *)place = (int)value;
        break;
    case NN_FIELD_INT64:
        *(int64_t *)place = (int64_t)value;
        break;
    case NN_FIELD_BOOL:
        *(bool *)place = value != 0;
        break;
    default:
        *(double *)place = value;
    }
}

const char *field_string(const NnField *f, const void *o)
{
    return *(const char *const *)field_place(f, o);
}

bool field_accepts(const NnField *f, double value)
{
    return value >= f->low && (f->below ? value < f->high : value <= f->high);
}

/* Returns whether a whole number is within the limits. It is not compared as a double, which may
 * round it; the limits are within +-2^53. */
static bool is_whole_in_range(const NnField *f, int64_t value)
{
    return value >= (int64_t)f->low &&
           (f->below ? value < (int64_t)f->high : value <= (int64_t)f->high);
}

static bool has_good_value(const NnField *f, const void *o)
{
    switch (f->kind) {
    case NN_FIELD_TEXT: return true;
    case NN_FIELD_INT64: return is_whole_in_range(f, *(const int64_t *)field_place(f, o));
    default: return field_accepts(f, field_value(f, o));
    }
}

const char *field_range(const NnField *f, char text[MOST_RANGE])
{
    const char *format = f->kind == NN_FIELD_REAL ? "%g to %s%g" : "%.0f to %s%.0f";
    snprintf(text, MOST_RANGE, format, f->low, f->below ? "below " : "", f->high);
    return text;
}

const char *field_expected(const NnField *f, char text[MOST_EXPECTED])
{
    char range[MOST_RANGE];
    if (f->kind == NN_FIELD_TEXT) return f->unit ? f->unit : "a text";
    snprintf(text, MOST_EXPECTED, "a %snumber from %s", f->kind == NN_FIELD_REAL ? "" : "whole ",
             field_range(f, range));
    return text;
}

bool field_refuse(const char *prefix, const char *name, const char *value, const NnField *f)
{
    char text[MOST_EXPECTED];
    return ag_set_error("%s%s is %s, expected %s", prefix, name, value, field_expected(f, text));
}

const char *fields_prefix(const NnFields *table)
{
    return table->prefix ? table->prefix : "";
}

/* Returns the bytes of a value. Checks that the kind is known. */
static size_t check_kind(const char *what, const NnField *f)
{
    static const size_t bytes[] = {
        [NN_FIELD_INT] = sizeof(int), [NN_FIELD_INT64] = sizeof(int64_t),
        [NN_FIELD_REAL] = sizeof(double), [NN_FIELD_BOOL] = sizeof(bool),
        [NN_FIELD_TEXT] = sizeof(const char *),
    };
    if ((int)f->kind < NN_FIELD_INT || f->kind > NN_FIELD_TEXT) {
        ag_usage_error(what, "the field \"%s\" has the kind %d, expected a NnFieldKind", f->name,
                       (int)f->kind);
    }
    return bytes[f->kind];
}

void check_table(const char *what, const NnFields *table, const void *o)
{
    ag_check_pointer(what, "fields", table);
    ag_check_pointer(what, "the member field of fields", table->field);
    if (table->size > 0) {
        ag_check_pointer(what, "o", o);
    }
    for (const NnField *f = table->field; f->name; f++) {
        const size_t bytes = check_kind(what, f);
        if (!f->variable && (bytes > table->size || f->offset > table->size - bytes)) {
            ag_usage_error(what, "the field \"%s\" has the offset %zu, which is not in the struct "
                           "of %zu bytes", f->name, f->offset, table->size);
        }
    }
}

void nn_fields_defaults(const NnFields *table, void *o)
{
    check_table(__func__, table, o);
    if (table->size > 0) {
        memset(o, 0, table->size);
    }
    for (const NnField *f = table->field; f->name; f++) {
        if (!f->variable && f->kind != NN_FIELD_TEXT) {
            field_set(f, o, f->usual);
        }
    }
}

bool fields_accept(const NnFields *table, const void *o)
{
    const Calls before = function_begins();
    bool good = !table->check || table->check(o);
    function_ends(before);
    return good;
}

bool nn_fields_check(const NnFields *table, const void *o)
{
    check_table(__func__, table, o);
    for (const NnField *f = table->field; f->name; f++) {
        char buffer[NN_FIELD_BUFFER];
        if (!has_good_value(f, o)) {
            field_refuse(fields_prefix(table), f->name, nn_field_text(f, o, buffer), f);
            return false;
        }
    }
    return fields_accept(table, o);
}

const char *nn_field_text(const NnField *f, const void *o, char buffer[NN_FIELD_BUFFER])
{
    ag_check_pointer(__func__, "f", f);
    check_kind(__func__, f);
    if (!f->variable) {
        ag_check_pointer(__func__, "o", o);
    }
    ag_check_pointer(__func__, "buffer", buffer);
    if (f->kind == NN_FIELD_TEXT) return field_string(f, o);
    if (f->kind == NN_FIELD_REAL) return number_text(field_value(f, o), buffer);
    int64_t whole = f->kind == NN_FIELD_INT64 ? *(const int64_t *)field_place(f, o)
                                              : (int64_t)field_value(f, o);
    snprintf(buffer, NN_FIELD_BUFFER, "%" PRId64, whole);
    return buffer;
}
