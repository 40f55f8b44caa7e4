/* settings.h: the settings of a run or a model: a text for each key. */
#ifndef KAERU_SETTINGS_STRUCT_H
#define KAERU_SETTINGS_STRUCT_H

#include "kaeru/settings.h"

typedef struct { char *key, *value; } Setting;

struct NnSettings {
    Setting *item;
    int n;
    size_t capacity;
    char *file;                 /* the file that was read last, for messages; NULL: none */
};
/* Sets `file`. */
void settings_of_file(NnSettings *s, const char *file);
/* Sets ag_error() to the message, with the file before it if there is one. Returns false. */
bool settings_error(const NnSettings *s, const char *format, ...) AG_PRINTF(2, 3);
/* Sets a setting to a text that `s` owns. Only the first n can have the key: with the number before a file, whose keys differ,
 * many settings are added in a time that is not the square of their number. */
void settings_set(NnSettings *s, int n, const char *key, char *value);

#endif
