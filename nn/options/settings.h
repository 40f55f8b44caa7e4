/* settings.h: the settings of a run or a model: a text for each key. */
#ifndef KAERU_SETTINGS_STRUCT_H
#define KAERU_SETTINGS_STRUCT_H

#include "kaeru/settings.h"

typedef struct { char *key, *value; } Setting;

struct NnSettings {
    Setting *item;
    int n;
    size_t capacity;
};
/* Sets a setting to a text that `s` owns. Only the first n can have the key: with the number before a file, whose keys differ,
 * many settings are added in a time that is not the square of their number. */
void settings_set(NnSettings *s, int n, const char *key, char *value);

#endif
