/* json_values.c: values of a JSON text by their place, for programs. */
#include "kaeru/json.h"

#include <string.h>

#include "json.h"
#include "numbers.h"
#include "utf8.h"

struct NnJson {
    const char *name;               /* for messages */
    const Json *root;
};

enum { MOST_BYTES = 1 << 30 };

/* Completes json; frees it if the text could not be read. */
static NnJson *with_root(NnJson *json, const char *name, const Json *root)
{
    if (!root) {
        ag_free(json);
        return NULL;
    }
    json->name = ag_strndup_in(json, name, strlen(name));
    json->root = root;
    return json;
}

NnJson *nn_json_open(const char *path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "path", path);
    NnJson *json = ag_object_new(sizeof *json);
    return with_root(json, path, json_read(json, path, MOST_BYTES));
}

NnJson *nn_json_parse(const char *name, const char *text, size_t size)
{
    AG_LAYER;
    ag_check_pointer(__func__, "name", name);
    ag_check_pointer(__func__, "text", text);
    NnJson *json = ag_object_new(sizeof *json);
    return with_root(json, name, json_parse(json, name, text, size));
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The item whose number is the n characters of `text`. NULL if they are no number of an item. */
static const Json *item_of(const Json *array, const char *text, size_t n)
{
    uint64_t number = 0;
    if (n > 1 && *text == '0') return NULL;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return NULL;
        number = 10 * number + (uint64_t)(text[i] - '0');
        if (number >= array->count) return NULL;
    }
    return n > 0 ? &array->as.item[number] : NULL;
}

/* The member whose name is the n characters of `text`, or that item; NULL if there is none. */
static const Json *part_of(const Json *value, const char *text, size_t n)
{
    if (value->type == JSON_ARRAY) return item_of(value, text, n);
    return json_get_bytes(value, text, n);
}

/* The value at a place in `value`; NULL if there is none. Tries the longest name first, and the next one if the rest of the
 * place is not in its value. */
static const Json *find(const Json *value, const char *where)
{
    const Json *found = NULL;
    size_t n = strlen(where);
    const Json *part = part_of(value, where, n);
    if (part || n == 0) return part;
    while (!found && --n > 0) {
        part = where[n] == '.' ? part_of(value, where, n) : NULL;
        found = part && where[n + 1] ? find(part, where + n + 1) : NULL;
    }
    return found;
}

static const Json *value_at(const char *what, const NnJson *json, const char *where)
{
    ag_check_object(what, "json", json);
    ag_check_pointer(what, "where", where);
    return *where ? find(json->root, where) : json->root;
}

/* The name of a place in messages. */
#define PLACE(where) (*(where) ? QUOTED(where) : "the text")

static bool refuse(const NnJson *json, const char *where, const char *expected, const Json *found)
{
    const bool other = found && found->type == JSON_NUMBER && strstr(expected, "number");
    return ag_set_error("%s: %s: expected %s, found %s", json->name, PLACE(where), expected,
                        other ? "another number" : json_type_name(found));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

bool nn_json_has(const NnJson *json, const char *where)
{
    const Json *value = value_at(__func__, json, where);
    return value && value->type != JSON_NULL;
}

bool nn_json_int(const NnJson *json, const char *where, int64_t *value)
{
    const Json *found = value_at(__func__, json, where);
    ag_check_pointer(__func__, "value", value);
    return json_int(found, value) ||
           (found && found->type == JSON_NUMBER && !found->whole && number_is_whole(found->as.number, value)) ||
           refuse(json, where, "a whole number", found);
}

bool nn_json_real(const NnJson *json, const char *where, double *value)
{
    const Json *found = value_at(__func__, json, where);
    ag_check_pointer(__func__, "value", value);
    return json_real(found, value) || refuse(json, where, "a number", found);
}

bool nn_json_bool(const NnJson *json, const char *where, bool *value)
{
    const Json *found = value_at(__func__, json, where);
    ag_check_pointer(__func__, "value", value);
    return json_bool(found, value) || refuse(json, where, "true or false", found);
}

const char *nn_json_text(const NnJson *json, const char *where)
{
    const Json *found = value_at(__func__, json, where);
    if (!found || found->type != JSON_STRING) {
        refuse(json, where, "a string", found);
        return NULL;
    }
    if (strlen(found->as.text) == found->count) return found->as.text;
    ag_set_error("%s: %s: expected a string without a NUL character", json->name, PLACE(where));
    return NULL;
}

int64_t nn_json_count(const NnJson *json, const char *where)
{
    const Json *found = value_at(__func__, json, where);
    if (found && (found->type == JSON_ARRAY || found->type == JSON_OBJECT)) return found->count;
    refuse(json, where, "an array or an object", found);
    return -1;
}

const char *nn_json_name(const NnJson *json, const char *where, int64_t i)
{
    const Json *found = value_at(__func__, json, where);
    if (!found || found->type != JSON_OBJECT) {
        refuse(json, where, "an object", found);
        return NULL;
    }
    if (i < 0 || i >= found->count) {
        ag_usage_error(__func__, "member %lld of %s in %s, which has %lld", (long long)i, QUOTED(where), json->name,
                       (long long)found->count);
    }
    const Json *name = &found->as.item[2 * i];
    if (strlen(name->as.text) == name->count) return name->as.text;
    ag_set_error("%s: %s: expected names without a NUL character, found %s", json->name, PLACE(where),
                 QUOTED_BYTES(name->as.text, name->count));
    return NULL;
}
