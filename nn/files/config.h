/* config.h: reads and writes config.json, the description of a model in Hugging Face's layout. */
#ifndef KAERU_CONFIG_H
#define KAERU_CONFIG_H

#include "file.h"
#include "json.h"
#include "kaeru/fields.h"

/* ---- reading: false with ag_error(), which names the file, the key and what was expected -------------------------- */

/* An object of the file, and what owns it. */
typedef struct { void *owner; const char *path; const Json *root; } Config;
/* Free `owner` with ag_free, also after an error. */
bool config_open(Config *c, const char *path);
bool config_error(const Config *c, const char *key, const char *expected, const Json *found);
/* Reads the values of a table of keys into a struct. An optional key may be missing or null: then its member is not changed. */
bool config_read(const Config *c, const NnField *key, void *o);
/* An entry of such a table, which ends with NN_FIELDS_END: an int64_t, a double or a bool. Behind them: .optional = true. */
#define CONFIG_KEY(key, type, member, ...) \
    { .name = (key), .kind = NN_FIELD_KIND(((type *)0)->member), .offset = offsetof(type, member), __VA_ARGS__ }
/* Checks the range of each value in a struct by the field of the same member. The message has the key. */
bool config_check(const Config *c, const NnField *key, const NnFields *fields, const void *o);
/* Checks a bool, or a text, that may be missing. Only the value `expected` is supported, or for a text also `other`, if it is
 * not NULL. */
bool config_flag(const Config *c, const char *key, bool expected);
bool config_text(const Config *c, const char *key, const char *expected, const char *other);
/* Checks what transformers reads from the config of every language model: attention to earlier places only, the same
 * settings in all layers, and weights that are numbers, in the usual file. */
bool config_is_usual(const Config *c);
/* Puts the path before the error message. */
bool add_path(const char *path);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A description that begins with these entries. */
JsonWriter *config_writer(void *owner, const char *architecture, const char *model_type);
/* Writes the members of a struct for all keys of a table. */
void config_put(JsonWriter *w, const NnField *key, const void *o);
/* Closes the description and writes it to the disk beside `path`; NULL with ag_error() if that fails. st_write then
 * replaces the weights and the description together. `owner` owns the writer: freed without that, it leaves the old
 * file. */
FileWriter *config_write(void *owner, const char *path, JsonWriter *w);

#endif
