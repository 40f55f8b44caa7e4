/* option_settings.c: options as settings of a checkpoint, so that a run can be gone on with as it was begun. */
#include <inttypes.h>
#include <string.h>

#include "common.h"

static void name_of(const Option *o, char key[80])
{
    snprintf(key, 80, "option.%s", o->name);
}

void options_to_settings(const Option *o, Settings *s)
{
    for (char key[80]; o->kind != OPTION_END; o++) {
        name_of(o, key);
        switch (o->kind) {
        case OPTION_INT:  nn_settings_set(s, key, "%" PRId64, *(int64_t *)o->value); break;
        case OPTION_REAL: nn_settings_set(s, key, "%.17g", *(double *)o->value); break;
        case OPTION_FLAG: nn_settings_set(s, key, "%d", *(bool *)o->value); break;
        default:
            if (*(const char **)o->value) {
                nn_settings_set(s, key, "%s", *(const char **)o->value);
            }
            break;
        }
    }
}

/* One of them; those that a text option was not given for are not there. */
static bool restore(const Option *o, const Settings *s)
{
    char key[80];
    int64_t whole = 0;
    double value = 0;
    name_of(o, key);
    if (o->kind == OPTION_TEXT) {
        *(const char **)o->value = nn_settings_get(s, key);
        return true;
    }
    if (o->kind == OPTION_REAL) {
        if (!nn_settings_real(s, key, &value)) {
            return false;
        }
    } else if (!nn_settings_int(s, key, &whole)) {
        return false;
    } else {
        value = (double)whole;
    }
    if (o->kind != OPTION_FLAG && !(value >= o->low && value <= o->high)) {
        return ag_set_error("%s is %g, expected %g to %g", key, value, o->low, o->high);
    }
    switch (o->kind) {
    case OPTION_INT:  *(int64_t *)o->value = whole; break;
    case OPTION_FLAG: *(bool *)o->value = whole != 0; break;
    default:          *(double *)o->value = value; break;
    }
    return true;
}

bool options_from_settings(const Option *o, const Settings *s)
{
    for (; o->kind != OPTION_END; o++) {
        if (!restore(o, s)) {
            return false;
        }
    }
    return true;
}

void options_must_stay(const char *prefix, const char *const *name, int n, const Settings *before, const Settings *now)
{
    for (int i = 0; i < n; i++) {
        char key[80];
        snprintf(key, sizeof key, "%s.%s", prefix, name[i]);
        const char *was = nn_settings_get(before, key), *is = nn_settings_get(now, key);
        if (strcmp(was ? was : "", is ? is : "") != 0) {
            example_usage_error("--%s: the run in this folder was begun with %s, and goes on only with that", name[i],
                            was ? was : "none");
        }
    }
}
