/* settings.c: the settings of a run or a model: a text for each key, and its conversion to numbers. */
#include "settings.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "number.h"
#include "utf8.h"

NnSettings *nn_settings_new_at(AgSite at)
{
    return ag_object_new_at(at, sizeof(NnSettings));
}

static Setting *find(const NnSettings *s, const char *key)
{
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->item[i].key, key) == 0) return &s->item[i];
    }
    return NULL;
}

void settings_add(NnSettings *s, const char *key, const char *value)
{
    if (s->n == s->capacity) {
        int capacity = s->capacity ? 2 * s->capacity : 8;
        s->item = ag_resize_in(s, s->item, (size_t)s->n, (size_t)capacity, sizeof *s->item);
        s->capacity = capacity;
    }
    Setting added = { ag_strndup_in(s, key, strlen(key)), ag_strndup_in(s, value, strlen(value)) };
    s->item[s->n++] = added;
}

void nn_settings_set_at(AgSite at, NnSettings *s, const char *key, const char *format, ...)
{
    ag_check_object_at(at, __func__, "s", s);
    ag_check_pointer_at(at, __func__, "key", key);
    ag_check_pointer_at(at, __func__, "format", format);
    va_list list;
    va_start(list, format);
    char *value = text_vprintf(s, format, list);
    va_end(list);
    if (!value) ag_usage_error(at, __func__, "\"%s\" cannot be written as \"%s\"", key, format);
    Setting *old = find(s, key);
    if (old) {
        ag_free(old->value);
        old->value = value;
    } else {
        settings_add(s, key, value);
        ag_free(value);
    }
}

const char *nn_settings_get_at(AgSite at, const NnSettings *s, const char *key)
{
    ag_check_object_at(at, __func__, "s", s);
    ag_check_pointer_at(at, __func__, "key", key);
    const Setting *setting = find(s, key);
    return setting ? setting->value : NULL;
}

/* Sets the error 'the setting "KEY" is "TEXT", ' and what is wrong with it. */
static bool setting_error(const char *key, const char *text, const char *wrong)
{
    char quoted[2][UTF8_QUOTE];
    return ag_set_error("the setting %s is %s, %s", utf8_quote(key, strlen(key), quoted[0]),
                        utf8_quote(text, strlen(text), quoted[1]), wrong);
}

static bool number_of(const NnSettings *s, const char *key, const char *expected, const char **text, Number *number)
{
    char quoted[UTF8_QUOTE];
    size_t wrong;
    *text = nn_settings_get(s, key);
    if (!*text) return ag_set_error("the setting %s is missing", utf8_quote(key, strlen(key), quoted));
    size_t length = strlen(*text);
    return (length > 0 && number_scan(*text, length, number, &wrong) == length) || setting_error(key, *text, expected);
}

bool nn_settings_int_at(AgSite at, const NnSettings *s, const char *key, int64_t *value)
{
    ag_check_object_at(at, __func__, "s", s);
    ag_check_pointer_at(at, __func__, "key", key);
    ag_check_pointer_at(at, __func__, "value", value);
    const char *expected = "expected a whole number", *text;
    Number number;
    if (!number_of(s, key, expected, &text, &number)) return false;
    if (!number.whole) return setting_error(key, text, expected);
    *value = number.integer;
    return true;
}

bool nn_settings_real_at(AgSite at, const NnSettings *s, const char *key, double *value)
{
    ag_check_object_at(at, __func__, "s", s);
    ag_check_pointer_at(at, __func__, "key", key);
    ag_check_pointer_at(at, __func__, "value", value);
    const char *text;
    Number number;
    if (!number_of(s, key, "expected a number", &text, &number)) return false;
    if (isinf(number.value)) return setting_error(key, text, "too large");
    *value = number.value;
    return true;
}
