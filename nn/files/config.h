/* config.h: reads and writes config.json, the description of a model in Hugging Face's layout. */
#ifndef KAERU_CONFIG_H
#define KAERU_CONFIG_H

#include "json.h"
#include "kaeru/tensor.h"

/* ---- reading: false with ag_error(), which names the file, the key and what was expected -------------------------- */

/* An object of the file, and what owns it. */
typedef struct { void *owner; const char *path; const Json *root; } Config;
/* Free `owner` with ag_free, also after an error. */
bool config_open(Config *c, const char *path);
bool config_error(const Config *c, const char *key, const char *expected, const Json *found);
/* A whole number. */
bool config_int(const Config *c, const char *key, int64_t *n);
/* Numbers that may be missing, or null; then the value stays. */
bool config_int_or(const Config *c, const char *key, int64_t *n);
bool config_real(const Config *c, const char *key, double *x);
bool config_bool(const Config *c, const char *key, bool *value);
/* Checks a bool, or a text, that may be missing. Only the value `expected` is supported, or for a text also `other`, if it is
 * not NULL. */
bool config_flag(const Config *c, const char *key, bool expected);
bool config_text(const Config *c, const char *key, const char *expected, const char *other);
/* Puts the path before the error message. */
bool add_path(const char *path);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A file that begins with these entries; close its '{'. */
JsonWriter *config_writer(void *owner, const char *architecture, const char *model_type);
/* Replaces the file by this text (NULL: returns false) and calls then(arg), which writes the weights. The text is on the disk
 * before, and in place after. */
bool config_replace(const char *path, const char *text, size_t size, bool (*then)(void *arg), void *arg);

#endif
