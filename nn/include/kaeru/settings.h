/* settings.h: settings of a model or of a run, for checkpoints: texts by name. */
#ifndef KAERU_SETTINGS_H
#define KAERU_SETTINGS_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* Settings of a model or a run: texts by name, in order. Free them with ag_free. */
typedef struct NnSettings NnSettings;
NnSettings *nn_settings_new(void);
void nn_settings_set(NnSettings *s, const char *key, const char *format, ...) AG_PRINTF(3, 4);
const char *nn_settings_get(const NnSettings *s, const char *key); /* NULL if absent */
/* A setting as an integer (also 1.0, 1e2: the nearest double) or a real number; false with ag_error() if absent or malformed.
 * The message names the file from which the settings were read. */
bool nn_settings_int(const NnSettings *s, const char *key, int64_t *value);
bool nn_settings_real(const NnSettings *s, const char *key, double *value);

#include "kaeru/calls/settings.h"

AG_PUBLIC_END
#endif
