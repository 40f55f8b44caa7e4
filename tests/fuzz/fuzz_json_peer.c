/* fuzz_json_peer.c: our JSON reader and the strict reader Jansson accept the same texts and read the same values. There are
 * five allowed differences: ours reads at most 128 levels, Jansson more; Jansson refuses names with a NUL character; a NUL byte
 * after the value, which ours refuses, ends the text for Jansson; and ours reads NaN and infinities, and skips a byte order
 * mark. */
#define JSON_NULL   OURS_NULL                   /* names in both libraries */
#define JSON_STRING OURS_STRING
#define JSON_ARRAY  OURS_ARRAY
#define JSON_OBJECT OURS_OBJECT
#define json_real   ours_real
#include "../../nn/files/json.c"
#undef JSON_NULL
#undef JSON_STRING
#undef JSON_ARRAY
#undef JSON_OBJECT
#undef json_real

#include <jansson.h>

#include "fuzz.h"

static void compare(const Json *ours, const json_t *theirs)
{
    switch (ours->type) {
    case OURS_NULL: CHECK(json_is_null(theirs)); break;
    case JSON_BOOL: CHECK(json_is_boolean(theirs) && ours->as.truth == json_is_true(theirs)); break;
    case OURS_STRING:
        CHECK(json_is_string(theirs) && json_string_length(theirs) == ours->count);
        CHECK(memcmp(json_string_value(theirs), ours->as.text, ours->count) == 0);
        break;
    case JSON_NUMBER: {
        double value = ours->whole ? (double)ours->as.integer : ours->as.number;
        CHECK(json_is_number(theirs) && json_number_value(theirs) == value);
        break;
    }
    case OURS_ARRAY:
        CHECK(json_is_array(theirs) && json_array_size(theirs) == ours->count);
        for (uint32_t i = 0; i < ours->count; i++) compare(&ours->as.item[i], json_array_get(theirs, i));
        break;
    default:
        CHECK(json_is_object(theirs) && json_object_size(theirs) == ours->count);
        for (uint32_t i = 0; i < ours->count; i++) {
            const json_t *member = json_object_get(theirs, ours->as.item[2 * i].as.text);
            CHECK(member);
            compare(&ours->as.item[2 * i + 1], member);
        }
    }
}

static bool has_not_finite(const Json *ours)
{
    size_t n = ours->type == OURS_ARRAY ? ours->count : ours->type == OURS_OBJECT ? 2 * (size_t)ours->count : 0;
    for (size_t i = 0; i < n; i++)
        if (has_not_finite(&ours->as.item[i])) return true;
    return ours->type == JSON_NOT_FINITE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *owner = ag_alloc(1, 1);
    json_error_t error;
    const Json *ours = json_parse(owner, "fuzz", (const char *)data, size);
    const size_t strict = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_t *theirs = json_loadb((const char *)data, size, strict, &error);
    if (ours && theirs) compare(ours, theirs);
    else if (ours) CHECK(strstr(error.text, "NUL byte in object key") || has_not_finite(ours) ||
                         utf8_mark((const char *)data, size));
    else if (theirs) CHECK(strstr(ag_error(), "levels") || memchr(data, '\0', size));
    json_decref(theirs);
    ag_free(owner);
    return 0;
}
