/* settings.h: the members of NnSettings, for the files of this folder. */
#ifndef KAERU_SETTINGS_H
#define KAERU_SETTINGS_H

#include "kaeru/module.h"

typedef struct { char *key, *value; } Setting;

struct NnSettings {
    Setting *item;
    int n, capacity;
};

/* Adds copies of a key that s does not have, and of its value. */
void settings_add(NnSettings *s, const char *key, const char *value);

#endif
