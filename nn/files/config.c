/* config.c: reads and writes config.json. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "kaeru/checkpoint.h"
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
    bool other = found && found->type == JSON_NUMBER && strstr(expected, "number");
    return ag_set_error("%s: \"%s\": expected %s, found %s", c->path, key, expected,
                        other ? "another number" : json_type_name(found));
}

bool config_read(const Config *c, const NnField *key, void *o)
{
    for (; key->name; key++) {
        const Json *value = json_get(c->root, key->name);
        void *to = (char *)o + key->offset;
        if (key->optional && (!value || value->type == JSON_NULL)) continue;
        if (key->kind == NN_FIELD_INT64 && !json_int(value, to)) return config_error(c, key->name, "a whole number", value);
        if (key->kind == NN_FIELD_REAL && !json_real(value, to)) return config_error(c, key->name, "a number", value);
        if (key->kind == NN_FIELD_BOOL && !json_bool(value, to)) return config_error(c, key->name, "true or false", value);
    }
    return true;
}

bool config_check(const Config *c, const NnField *key, const NnFields *fields, const void *o)
{
    for (; key->name; key++) {
        for (const NnField *f = fields->field; f->name; f++) {
            NnField one[] = { *f, NN_FIELDS_END };
            one->name = key->name;
            const NnFields named = { "", fields->size, one, NULL };
            if (f->offset == key->offset && !nn_fields_check(&named, o)) {
                return add_path(c->path);
            }
        }
    }
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

bool config_is_usual(const Config *c)
{
    static const char *const absent[] = { "per_layer_config", "quantization_config", "transformers_weights" };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        const Json *value = json_get(c->root, absent[i]);
        if (value && value->type != JSON_NULL) return config_error(c, absent[i], "no value, or null", value);
    }
    return config_flag(c, "is_causal", true);           /* to transformers, null is false */
}

bool add_path(const char *path)
{
    return ag_set_error("%s: %s", path, ag_error());
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

bool nn_settings_read_json(const char *path, NnSettings *settings)
{
    enum { MOST_MEMBERS = 1000 };                       /* each is looked for among those before it */
    AG_LAYER;
    ag_check_pointer(__func__, "the path", path);
    ag_check_object(__func__, "settings", settings);
    Config c;
    bool good = config_open(&c, path);
    if (good && c.root->count > MOST_MEMBERS) {
        good = ag_set_error("%s: expected at most %d members, found %u", path, MOST_MEMBERS, (unsigned)c.root->count);
    }
    for (uint32_t i = 0; good && i < c.root->count; i++) {
        const Json *name = &c.root->as.item[2 * i], *value = name + 1;
        const char *key = name->as.text;
        if (strlen(key) != name->count) continue;
        if (value->type == JSON_STRING && strlen(value->as.text) == value->count) {
            nn_settings_set(settings, key, "%s", value->as.text);
        } else if (value->type == JSON_BOOL) {
            nn_settings_set(settings, key, "%d", value->as.truth);
        } else if (value->type == JSON_NUMBER && value->whole) {
            nn_settings_set(settings, key, "%" PRId64, value->as.integer);
        } else if (value->type == JSON_NUMBER) {
            nn_settings_set(settings, key, "%.17g", value->as.number);
        }
    }
    ag_free(c.owner);
    return good;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

void config_put(JsonWriter *w, const NnField *key, const void *o)
{
    for (; key->name; key++) {
        const void *from = (const char *)o + key->offset;
        if (key->kind == NN_FIELD_INT64) json_put_int(w, key->name, *(const int64_t *)from);
        if (key->kind == NN_FIELD_REAL) json_put_real(w, key->name, *(const double *)from);
        if (key->kind == NN_FIELD_BOOL) json_put_bool(w, key->name, *(const bool *)from);
    }
}

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

FileWriter *config_write(void *owner, const char *path, JsonWriter *w)
{
    size_t size;
    json_close(w, '}');
    const char *text = json_written(w, &size);
    FileWriter *config = text ? file_replace(path) : NULL;
    if (!config) return NULL;
    ag_set_owner(config, owner);
    file_write(config, text, size);
    return file_finish(config) ? config : NULL;
}
