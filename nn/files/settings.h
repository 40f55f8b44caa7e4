/* settings.h: texts by name, for the files of this floor. */
#ifndef KAERU_SETTINGS_H
#define KAERU_SETTINGS_H

#include "kaeru/nn.h"

typedef struct { char *key, *value; } Setting;     /* one piece of memory, the key's */

struct Settings {
    AgOwned owned;
    Setting *item;
    int n, room;
};

#endif
