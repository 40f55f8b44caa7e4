/* settings.c: the settings of a run or a model: a text for each key, and its conversion to numbers. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "array.h"
#include "numbers.h"
#include "settings.h"
#include "utf8.h"

NnSettings *nn_settings_new(void)
{
    return ag_object_new(sizeof(NnSettings));
}

/* The setting of that name among the first n. */
static Setting *find(const NnSettings *s, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (strcmp(s->item[i].key, key) == 0) return &s->item[i];
    return NULL;
}

void nn_settings_set(NnSettings *s, const char *key, const char *format, ...)
{
    ag_check_object(__func__, "s", s);
    ag_check_pointer(__func__, "key", key);
    ag_check_pointer(__func__, "format", format);
    va_list list;
    va_start(list, format);
    char *value = text_vprintf(s, format, list);
    va_end(list);
    if (!value) ag_usage_error(__func__, "\"%s\" cannot be written as \"%s\"", key, format);
    settings_set(s, s->n, key, value);
}

void settings_set(NnSettings *s, int n, const char *key, char *value)
{
    Setting *setting = find(s, n, key);
    if (!setting) {
        s->item = array_for(s, s->item, (size_t)s->n + 1, &s->capacity, sizeof *s->item);
        setting = &s->item[s->n];
        setting->key = ag_strndup_in(s, key, strlen(key));
        s->n++;
    }
    if (setting->value && strcmp(setting->value, value) == 0) ag_free(value);   /* the old text stays: it may be in use */
    else ag_free(setting->value), setting->value = value;
}

const char *nn_settings_get(const NnSettings *s, const char *key)
{
    ag_check_object(__func__, "s", s);
    ag_check_pointer(__func__, "key", key);
    const Setting *setting = find(s, s->n, key);
    return setting ? setting->value : NULL;
}

void settings_of_file(NnSettings *s, const char *file)
{
    ag_free(s->file);
    s->file = ag_strndup_in(s, file, strlen(file));
}

bool settings_error(const NnSettings *s, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = text_vprintf((void *)s, format, list);
    va_end(list);
    ag_set_error("%s%s%s", s->file ? s->file : "", s->file ? ": " : "", text);
    ag_free(text);
    return false;
}

/* Reads the value of a setting: a whole number, or any finite one. */
static bool read_number(const char *what, const NnSettings *s, const char *key, const void *value, bool whole, Number *number)
{
    ag_check_object(what, "s", s);
    ag_check_pointer(what, "key", key);
    ag_check_pointer(what, "value", value);
    const Setting *setting = find(s, s->n, key);
    if (!setting) return settings_error(s, "the setting %s is missing", QUOTED(key));
    const char *text = setting->value;
    size_t wrong, length = number_scan(text, strlen(text), number, &wrong);
    bool good = length > 0 && !text[length] && (!whole || number->whole || number_is_whole(number->value, &number->integer));
    if (good && !isinf(number->value)) return true;
    return settings_error(s, "the setting %s is %s, %s", QUOTED(key), QUOTED(text),
                          good ? "too large" : whole ? "expected a whole number" : "expected a number");
}

bool nn_settings_int(const NnSettings *s, const char *key, int64_t *value)
{
    Number number;
    if (!read_number(__func__, s, key, value, true, &number)) return false;
    *value = number.integer;
    return true;
}

bool nn_settings_real(const NnSettings *s, const char *key, double *value)
{
    Number number;
    if (!read_number(__func__, s, key, value, false, &number)) return false;
    *value = number.value;
    return true;
}
