/* settings.h: texts by name, for the files of this floor. */
#ifndef KAERU_SETTINGS_H
#define KAERU_SETTINGS_H

#include "kaeru/module.h"

typedef struct { char *key, *value; } Setting;     /* in one block of memory, the key's */

struct Settings {
    Setting *item;
    int n, room;
};

#endif
