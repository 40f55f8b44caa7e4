/* config.c: reads and writes config.json. */
#include "config.h"

#include "utf8.h"

enum { MAX_CONFIG = 1 << 20 };                  /* bytes */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool config_open(Config *c, const char *path)
{
    *c = (Config){ .owner = ag_alloc(1, 1), .path = path };
    c->root = json_read(c->owner, path, MAX_CONFIG);
    return c->root && (c->root->type == JSON_OBJECT ||
                       ag_set_error("%s: expected an object, found %s", path, json_type_name(c->root)));
}

bool config_error(const Config *c, const char *key, const char *expected, const Json *found)
{
    return ag_set_error("%s: \"%s\": expected %s, found %s", c->path, key, expected,
                        found && found->type == JSON_NUMBER ? "another number" : json_type_name(found));
}

/* Whether the file says nothing of a key. */
static bool is_absent(const Config *c, const char *key)
{
    const Json *value = json_get(c->root, key);
    return !value || value->type == JSON_NULL;
}

bool config_int(const Config *c, const char *key, int64_t *n)
{
    const Json *value = json_get(c->root, key);
    return json_int(value, n) || config_error(c, key, "a whole number", value);
}

bool config_int_or(const Config *c, const char *key, int64_t *n)
{
    return is_absent(c, key) || config_int(c, key, n);
}

bool config_real(const Config *c, const char *key, double *x)
{
    const Json *value = json_get(c->root, key);
    return json_real(value, x) || config_error(c, key, "a number", value);
}

bool config_real_or(const Config *c, const char *key, double *x)
{
    return is_absent(c, key) || config_real(c, key, x);
}

bool config_bool_or(const Config *c, const char *key, bool *x)
{
    const Json *value = json_get(c->root, key);
    if (is_absent(c, key)) return true;
    if (value->type != JSON_BOOL)
        return ag_set_error("%s: \"%s\": expected true or false, found %s", c->path, key, json_type_name(value));
    *x = value->as.truth;
    return true;
}

bool config_flag(const Config *c, const char *key, bool expected)
{
    const Json *value = json_get(c->root, key);
    return !value || (value->type == JSON_BOOL && value->as.truth == expected) ||
           ag_set_error("%s: \"%s\": expected %s", c->path, key, expected ? "true" : "false");
}

bool config_text(const Config *c, const char *key, const char *expected, const char *other)
{
    const Json *value = json_get(c->root, key);
    if (!value || json_is(value, expected) || (other && json_is(value, other))) return true;
    if (value->type != JSON_STRING) return ag_set_error("%s: \"%s\": expected \"%s\"", c->path, key, expected);
    return ag_set_error("%s: \"%s\": expected \"%s\", found %s", c->path, key, expected,
                        QUOTED_BYTES(value->as.text, value->count));
}

bool add_path(const char *path)
{
    return ag_set_error("%s: %s", path, ag_error());
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

JsonWriter *config_writer(void *owner, const char *architecture, const char *model_type)
{
    JsonWriter *w = json_writer(owner, 2);
    json_open(w, NULL, '{');
    json_open(w, "architectures", '[');
    json_put_text(w, NULL, architecture);
    json_close(w, ']');
    json_put_text(w, "model_type", model_type);
    return w;
}

FileWriter *config_write(const char *path, JsonWriter *w)
{
    size_t size;
    json_close(w, '}');
    const char *text = json_written(w, &size);
    FileWriter *config = text ? file_replace(path) : NULL;
    if (!config) return NULL;
    file_write(config, text, size);
    if (file_finish(config)) return config;
    ag_free(config);
    return NULL;
}

bool config_commit(FileWriter *config, bool weights_written)
{
    if (config && weights_written) return file_commit(config);
    ag_free(config);
    return false;
}
