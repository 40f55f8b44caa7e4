/* settings.h: the members of NnSettings, for the files of this folder. */
#ifndef KAERU_SETTINGS_H
#define KAERU_SETTINGS_H

#include "kaeru/module.h"

typedef struct { char *key, *value; } Setting;

struct NnSettings {
    Setting *item;
    int n, capacity;
};

#endif
