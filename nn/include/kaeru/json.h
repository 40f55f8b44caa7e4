/* json.h: reads JSON (RFC 8259), such as a program's own config.json.
 *
 *     NnJson *config = nn_json_open("config.json");           {"layers": 6, "rope": {"base": 1e4}}
 *     int64_t layers;
 *     double base;
 *     if (!config || !nn_json_int(config, "layers", &layers) ||
 *         !nn_json_real(config, "rope.base", &base)) {
 *         fprintf(stderr, "%s\n", ag_error());
 *     }
 *     ag_free(config);
 */
#ifndef KAERU_PUBLIC_JSON_H
#define KAERU_PUBLIC_JSON_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* A text in JSON. Free it with ag_free. */
typedef struct NnJson NnJson;

/* Read a file of at most 1 GiB, or a text of `size` bytes with a name for messages. If that is not
 * JSON, return NULL with ag_error(): "config.json: line 3, column 7: expected ':' after a name,
 * found '='". A byte order mark is skipped; NaN and Infinity, which Python writes, are values that no
 * function below reads. A name twice in an object and more than 128 levels are errors. */
NnJson *nn_json_open(const char *path);
NnJson *nn_json_parse(const char *name, const char *text, size_t size);

/* Each of these reads one value. `where` says which: names of members and numbers of items from 0,
 * with points between them, as in "layers.0.width"; "" is the whole text. A name may have points
 * itself: if several places fit, that with the longest first name counts.
 *
 * If there is no such value, or it is of another type, they return false, NULL or -1 with
 * ag_error(), "config.json: "rope.base": expected a number, found a string", and *value is as before. */

/* Return whether there is a value, with null as no value. Never an error. */
bool nn_json_has(const NnJson *json, const char *where);
/* Read a whole number, any number, true or false. -0, 1.0 and 1e2 are whole numbers, too: the
 * nearest double counts. nn_settings_int (settings.h) reads the same numbers. */
bool nn_json_int(const NnJson *json, const char *where, int64_t *value) AG_MUST_CHECK;
bool nn_json_real(const NnJson *json, const char *where, double *value) AG_MUST_CHECK;
bool nn_json_bool(const NnJson *json, const char *where, bool *value) AG_MUST_CHECK;
/* Returns a string, which lives as long as json. One with a NUL character is an error. */
const char *nn_json_text(const NnJson *json, const char *where);
/* Returns the number of items of an array or of members of an object. */
int64_t nn_json_count(const NnJson *json, const char *where);
/* Returns the name of member i of an object, in the order of the text. It lives as long as json. One
 * with a NUL character is an error, for which NULL is returned; i out of range is a usage error. */
const char *nn_json_name(const NnJson *json, const char *where, int64_t i);

#include "kaeru/calls/json.h"

AG_PUBLIC_END
#endif
