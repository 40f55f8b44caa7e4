/* options.c: options to and from settings, and from a command line, by the table of their fields. */
#include "kaeru/options.h"

#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "numbers.h"
#include "settings.h"
#include "utf8.h"

enum { MOST_KEY = 96 };

/* Reads the value of a setting or of an option. */
static bool read_value(const char *prefix, const char *name, const NnField *f, void *o, const char *text)
{
    double value;
    if (f->kind == NN_FIELD_TEXT) {
        if (!*text && !f->may_be_empty) return field_refuse(prefix, name, "empty", f);
        *(const char **)field_place(f, o) = text;
        return true;
    }
    if (!number_read(text, f->kind != NN_FIELD_REAL, &value)) return field_refuse(prefix, name, QUOTED(text), f);
    if (!field_accepts(f, value)) return field_refuse(prefix, name, text, f);
    field_set(f, o, value);
    return true;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static const char *key_of(const NnFields *table, const NnField *f, char key[MOST_KEY])
{
    snprintf(key, MOST_KEY, "%s%s", fields_prefix(table), f->name);
    return key;
}

void nn_fields_to_settings(const NnFields *table, const void *o, NnSettings *s)
{
    AG_LAYER;
    check_table(__func__, table, o);
    ag_check_object(__func__, "s", s);
    for (const NnField *f = table->field; f->name; f++) {
        char key[MOST_KEY];
        if (f->once) continue;
        bool text = f->kind == NN_FIELD_TEXT, known = nn_settings_get(s, key_of(table, f, key)) != NULL;
        if (text && field_string(f, o)) nn_settings_set(s, key, "%s", field_string(f, o));
        /* an optional field of a struct that has its default, and had no other value before, is left out */
        if (!text && (known || !f->optional || f->variable || field_value(f, o) != f->usual))
            nn_settings_set(s, key, "%.17g", field_value(f, o));
    }
}

static bool read_setting(const NnFields *table, const NnField *f, void *o, const NnSettings *s)
{
    char key[MOST_KEY];
    const char *text = nn_settings_get(s, key_of(table, f, key));
    if (f->once) return true;
    if (text) return read_value(fields_prefix(table), f->name, f, o, text);
    if (f->optional && f->variable) return true;
    if (f->kind == NN_FIELD_TEXT) *(const char **)field_place(f, o) = NULL;
    else if (!f->optional) return ag_set_error("the setting \"%s\" is missing", key);
    else field_set(f, o, f->usual);
    return true;
}

bool nn_fields_from_settings(const NnFields *table, void *o, const NnSettings *s)
{
    AG_LAYER;
    check_table(__func__, table, o);
    ag_check_object(__func__, "s", s);
    void *found = table->size > 0 ? memcpy(ag_alloc(table->size, 1), o, table->size) : NULL;
    bool good = true;
    for (const NnField *f = table->field; good && f->name; f++) good = read_setting(table, f, found, s);
    good = good && fields_accept(table, found);
    if (good && found) memcpy(o, found, table->size);
    ag_free(found);
    return good || settings_error(s, "%s", ag_error());
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
    for (; list->fields; list++) check_table(what, list->fields, list->of);
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
        field_set(f, list->of, true);
        return true;
    }
    if (!has_value && *i >= argc) return ag_set_error("--%s needs a value: %s", option_of(f), field_expected(f, text));
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
    if (f->kind < NN_FIELD_BOOL) fprintf(out, " (default %s; %s)", value, field_range(f, range));
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
