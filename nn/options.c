/* options.c: checks and converts options by the table of their fields: to and from settings, and from a command line. */
#include "kaeru/fields.h"

#include <inttypes.h>
#include <string.h>

#include "left.h"
#include "number.h"
#include "utf8.h"

enum { MOST_RANGE = 96, MOST_EXPECTED = 128, MOST_KEY = 96 };

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void *place_of(const NnField *f, const void *o)
{
    return f->variable ? f->variable : (char *)o + f->offset;
}

static double get(const NnField *f, const void *o)
{
    const void *place = place_of(f, o);
    switch (f->kind) {
    case NN_FIELD_INT:   return *(const int *)place;
    case NN_FIELD_INT64: return (double)*(const int64_t *)place;
    case NN_FIELD_BOOL:  return *(const bool *)place;
    default:             return *(const double *)place;
    }
}

static void set(const NnField *f, void *o, double value)
{
    void *place = place_of(f, o);
    switch (f->kind) {
    case NN_FIELD_INT:   *(int *)place = (int)value; break;
    case NN_FIELD_INT64: *(int64_t *)place = (int64_t)value; break;
    case NN_FIELD_BOOL:  *(bool *)place = value != 0; break;
    default:             *(double *)place = value;
    }
}

static const char *text_of(const NnField *f, const void *o)
{
    return *(const char *const *)place_of(f, o);
}

static bool is_in_range(const NnField *f, double value)
{
    return value >= f->low && (f->below ? value < f->high : value <= f->high);
}

/* Whether a whole number, which a double may not hold, is in the range, whose limits are within +-2^53. */
static bool is_whole_in_range(const NnField *f, int64_t value)
{
    return value >= (int64_t)f->low && (f->below ? value < (int64_t)f->high : value <= (int64_t)f->high);
}

static bool has_good_value(const NnField *f, const void *o)
{
    switch (f->kind) {
    case NN_FIELD_TEXT:  return true;
    case NN_FIELD_INT64: return is_whole_in_range(f, *(const int64_t *)place_of(f, o));
    default:             return is_in_range(f, get(f, o));
    }
}

/* "1 to 100", "0 to below 1" */
static const char *range_of(const NnField *f, char text[MOST_RANGE])
{
    snprintf(text, MOST_RANGE, f->kind == NN_FIELD_REAL ? "%g to %s%g" : "%.0f to %s%.0f", f->low, f->below ? "below " : "",
             f->high);
    return text;
}

/* "a whole number from 1 to 100"; the unit of a text */
static const char *expected(const NnField *f, char text[MOST_EXPECTED])
{
    char range[MOST_RANGE];
    if (f->kind == NN_FIELD_TEXT) return f->unit ? f->unit : "a text";
    snprintf(text, MOST_EXPECTED, "a %snumber from %s", f->kind == NN_FIELD_REAL ? "" : "whole ", range_of(f, range));
    return text;
}

/* "gpt.layers is 0, expected a whole number from 1 to 100" */
static bool refuse(const char *prefix, const char *name, const char *value, const NnField *f)
{
    char text[MOST_EXPECTED];
    return ag_set_error("%s%s is %s, expected %s", prefix, name, value, expected(f, text));
}

/* Reads the value of a setting or of an option. */
static bool read_value(const char *prefix, const char *name, const NnField *f, void *o, const char *text)
{
    double value;
    if (f->kind == NN_FIELD_TEXT) {
        if (!*text && !f->may_be_empty) return refuse(prefix, name, "empty", f);
        *(const char **)place_of(f, o) = text;
        return true;
    }
    if (!number_read(text, f->kind != NN_FIELD_REAL, &value)) return refuse(prefix, name, QUOTED(text), f);
    if (!is_in_range(f, value)) return refuse(prefix, name, text, f);
    set(f, o, value);
    return true;
}

static const char *prefix_of(const NnFields *table)
{
    return table->prefix ? table->prefix : "";
}

/* The bytes of a value. A usage error if there is no such kind. */
static size_t check_kind(const char *what, const NnField *f)
{
    static const size_t bytes[] = { [NN_FIELD_INT] = sizeof(int), [NN_FIELD_INT64] = sizeof(int64_t),
                                    [NN_FIELD_REAL] = sizeof(double), [NN_FIELD_BOOL] = sizeof(bool),
                                    [NN_FIELD_TEXT] = sizeof(const char *) };
    if ((int)f->kind < NN_FIELD_INT || f->kind > NN_FIELD_TEXT)
        ag_usage_error(what, "the field \"%s\" has the kind %d, expected a NnFieldKind", f->name, (int)f->kind);
    return bytes[f->kind];
}

/* A usage error unless the table has fields of known kinds, each in a variable or within the struct. */
static void check_arguments(const char *what, const NnFields *table, const void *o)
{
    ag_check_pointer(what, "fields", table);
    ag_check_pointer(what, "the member field of fields", table->field);
    if (table->size > 0) ag_check_pointer(what, "o", o);
    for (const NnField *f = table->field; f->name; f++) {
        const size_t bytes = check_kind(what, f);
        if (!f->variable && (bytes > table->size || f->offset > table->size - bytes))
            ag_usage_error(what, "the field \"%s\" has the offset %zu, which is not in the struct of %zu bytes", f->name,
                           f->offset, table->size);
    }
}

void nn_fields_defaults(const NnFields *table, void *o)
{
    check_arguments(__func__, table, o);
    if (table->size > 0) memset(o, 0, table->size);
    for (const NnField *f = table->field; f->name; f++)
        if (!f->variable && f->kind != NN_FIELD_TEXT) set(f, o, f->usual);
}

/* Whether the table's own function, if there is one, accepts the options. */
static bool check_all(const NnFields *table, const void *o)
{
    const Calls before = function_begins();
    bool good = !table->check || table->check(o);
    function_ends(before);
    return good;
}

bool nn_fields_check(const NnFields *table, const void *o)
{
    check_arguments(__func__, table, o);
    for (const NnField *f = table->field; f->name; f++) {
        char buffer[NN_FIELD_BUFFER];
        if (!has_good_value(f, o))
            return refuse(prefix_of(table), f->name, nn_field_text(f, o, buffer), f);
    }
    return check_all(table, o);
}

const char *nn_field_text(const NnField *f, const void *o, char buffer[NN_FIELD_BUFFER])
{
    ag_check_pointer(__func__, "f", f);
    check_kind(__func__, f);
    if (!f->variable) ag_check_pointer(__func__, "o", o);
    ag_check_pointer(__func__, "buffer", buffer);
    if (f->kind == NN_FIELD_TEXT) return text_of(f, o);
    if (f->kind == NN_FIELD_REAL) return number_text(get(f, o), buffer);
    int64_t whole = f->kind == NN_FIELD_INT64 ? *(const int64_t *)place_of(f, o) : (int64_t)get(f, o);
    snprintf(buffer, NN_FIELD_BUFFER, "%" PRId64, whole);
    return buffer;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static const char *key_of(const NnFields *table, const NnField *f, char key[MOST_KEY])
{
    snprintf(key, MOST_KEY, "%s%s", prefix_of(table), f->name);
    return key;
}

void nn_fields_to_settings(const NnFields *table, const void *o, NnSettings *s)
{
    AG_LAYER;
    check_arguments(__func__, table, o);
    ag_check_object(__func__, "s", s);
    for (const NnField *f = table->field; f->name; f++) {
        char key[MOST_KEY];
        if (f->once) continue;
        bool text = f->kind == NN_FIELD_TEXT, known = nn_settings_get(s, key_of(table, f, key)) != NULL;
        if (text && text_of(f, o)) nn_settings_set(s, key, "%s", text_of(f, o));
        /* an optional field of a struct that has its default, and had no other value before, is left out */
        if (!text && (known || !f->optional || f->variable || get(f, o) != f->usual))
            nn_settings_set(s, key, "%.17g", get(f, o));
    }
}

static bool read_setting(const NnFields *table, const NnField *f, void *o, const NnSettings *s)
{
    char key[MOST_KEY];
    const char *text = nn_settings_get(s, key_of(table, f, key));
    if (f->once) return true;
    if (text) return read_value(prefix_of(table), f->name, f, o, text);
    if (f->optional && f->variable) return true;
    if (f->kind == NN_FIELD_TEXT) *(const char **)place_of(f, o) = NULL;
    else if (!f->optional) return ag_set_error("the setting \"%s\" is missing", key);
    else set(f, o, f->usual);
    return true;
}

bool nn_fields_from_settings(const NnFields *table, void *o, const NnSettings *s)
{
    AG_LAYER;
    check_arguments(__func__, table, o);
    ag_check_object(__func__, "s", s);
    void *found = table->size > 0 ? memcpy(ag_alloc(table->size, 1), o, table->size) : NULL;
    bool good = true;
    for (const NnField *f = table->field; good && f->name; f++) good = read_setting(table, f, found, s);
    good = good && check_all(table, found);
    if (good && found) memcpy(o, found, table->size);
    ag_free(found);
    return good;
}

/* ---- a command line ---------------------------------------------------------------------------------------------- */

static const char *option_of(const NnField *f)
{
    return f->option ? f->option : f->name;
}

static const NnField *find(const NnOptions **list, const char *name, size_t length)
{
    for (; (*list)->fields; ++*list)
        for (const NnField *f = (*list)->fields->field; f->name; f++)
            if (f->help && strlen(option_of(f)) == length && memcmp(option_of(f), name, length) == 0) return f;
    return NULL;
}

static void check_list(const char *what, const NnOptions *list)
{
    ag_check_pointer(what, "list", list);
    for (; list->fields; list++) check_arguments(what, list->fields, list->of);
}

/* argv[*i], behind which *i is moved. */
static const char *next_argument(const char *what, char **argv, int *i)
{
    if (!argv[*i]) ag_usage_error(what, "argv[%d] is NULL, expected argc texts", *i);
    return argv[(*i)++];
}

bool nn_options_read(const NnOptions *list, int argc, char **argv, int *i)
{
    check_list(__func__, list);
    ag_check_pointer(__func__, "argv", argv);
    ag_check_pointer(__func__, "i", i);
    if (*i < 0 || *i >= argc) ag_usage_error(__func__, "argument %d of %d", *i, argc);
    char text[MOST_EXPECTED];
    const char *arg = next_argument(__func__, argv, i);
    if (strncmp(arg, "--", 2) != 0 || !arg[2]) return ag_set_error("unexpected argument '%s'", arg);
    const char *name = arg + 2;
    size_t length = strcspn(name, "=");
    bool has_value = name[length] == '=';
    const NnField *f = find(&list, name, length);
    if (!f) return ag_set_error("unknown option --%.*s", (int)length, name);
    if (f->kind == NN_FIELD_BOOL) {
        if (has_value) return ag_set_error("--%s takes no value", option_of(f));
        set(f, list->of, true);
        return true;
    }
    if (!has_value && *i >= argc) return ag_set_error("--%s needs a value: %s", option_of(f), expected(f, text));
    return read_value("--", option_of(f), f, list->of, has_value ? name + length + 1 : next_argument(__func__, argv, i));
}

static void print_option(const NnField *f, const void *o, FILE *out)
{
    const char *unit = f->unit ? f->unit : f->kind == NN_FIELD_BOOL ? "" : f->kind == NN_FIELD_REAL ? "X" : "N";
    char left[64], range[MOST_RANGE], buffer[NN_FIELD_BUFFER];
    const char *value = nn_field_text(f, o, buffer);
    snprintf(left, sizeof left, "--%s %s", option_of(f), unit);
    fprintf(out, "  %-16s %s", left, f->help);
    if (f->kind == NN_FIELD_TEXT && value) fprintf(out, " (default %s)", value);
    if (f->kind < NN_FIELD_BOOL) fprintf(out, " (default %s; %s)", value, range_of(f, range));
    fputc('\n', out);
}

void nn_options_print(const NnOptions *list, FILE *out)
{
    check_list(__func__, list);
    ag_check_pointer(__func__, "out", out);
    for (; list->fields; list++)
        for (const NnField *f = list->fields->field; f->name; f++)
            if (f->help) print_option(f, list->of, out);
}
