/* fuzz_json.c: a value that was read can be written, and the written text has the same value. */
#include "fuzz.h"
#include "json.h"

static void copy(JsonWriter *w, const Json *value)
{
    switch (value->type) {
    case JSON_NULL: case JSON_NOT_FINITE: json_put_bool(w, NULL, false); break;
    case JSON_BOOL: json_put_bool(w, NULL, value->as.truth); break;
    case JSON_STRING: json_write_text(w, value->as.text, value->count); break;
    case JSON_NUMBER:
        if (value->whole) json_put_int(w, NULL, value->as.integer);
        else json_put_real(w, NULL, value->as.number);
        break;
    case JSON_ARRAY:
        json_open(w, NULL, '[');
        for (uint32_t i = 0; i < value->count; i++) copy(w, &value->as.item[i]);
        json_close(w, ']');
        break;
    default:
        json_open(w, NULL, '{');
        for (uint32_t i = 0; i < value->count; i++) {
            const Json *name = &value->as.item[2 * i];
            if (strlen(name->as.text) == name->count) CHECK(json_get(value, name->as.text) == name + 1);
            json_write_name(w, name->as.text, name->count);
            copy(w, name + 1);
        }
        json_close(w, '}');
    }
}

static const char *write(void *owner, const Json *value, size_t *size)
{
    JsonWriter *w = json_writer(owner, 0);
    copy(w, value);
    const char *text = json_written(w, size);
    CHECK(text);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *owner = ag_alloc(1, 1);
    const Json *value = json_parse(owner, "fuzz", (const char *)data, size);
    if (!value) fuzz_check_refusal("fuzz: line ");
    else {
        size_t n, n_again;
        const char *text = write(owner, value, &n);
        const Json *again = json_parse(owner, "again", text, n);
        CHECK(again);
        const char *text_again = write(owner, again, &n_again);
        CHECK(n == n_again && memcmp(text, text_again, n) == 0);
    }
    ag_free(owner);
    return 0;
}
