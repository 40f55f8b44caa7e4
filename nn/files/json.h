/* json.h: reads and writes JSON (RFC 8259), strictly: UTF-8 only, each name of an object once, at most 128 levels. */
#ifndef KAERU_JSON_H
#define KAERU_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonType;

/* A value. Look at `type` before anything else. */
typedef struct Json {
    uint8_t type;
    bool whole;                     /* a number written without fraction and exponent, within int64_t, not -0 */
    uint32_t count;                 /* string: bytes; array: items; object: members */
    union {
        bool truth;
        double number;              /* see json_number */
        int64_t integer;            /* if `whole` */
        const char *text;           /* string: UTF-8, may hold NUL characters; a NUL follows */
        const struct Json *item;    /* array: [count]; object: [2 count], names and values in turn, as in the file */
    } as;
} Json;

/* The value that `size` bytes of text hold, in memory of the region. NULL with ag_error() if they are not JSON:
 * "NAME: line 3, column 7: expected ':' after a name, found '='" */
const Json *json_parse(Region *region, const char *name, const char *text, size_t size);
/* The same of a file of at most `limit` bytes. */
const Json *json_read(Region *region, const char *path, size_t limit);

/* The member of that name; NULL if there is none or this is no object. */
const Json *json_get(const Json *object, const char *name);
/* False if the value is NULL or of another type. A real is any number; an int one written as a whole number. */
bool json_real(const Json *value, double *out);
bool json_int(const Json *value, int64_t *out);
/* True if it is a string equal to text. */
bool json_is(const Json *value, const char *text);
/* "a string", "an array", ... for messages; NULL: "nothing". */
const char *json_type_name(const Json *value);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Call in the order of the text; commas, colons and line breaks come by themselves. What JSON cannot hold (text that is
 * not UTF-8, an infinite number) is remembered and makes json_written fail. */
typedef struct JsonWriter JsonWriter;
/* indent: spaces a level; 0 writes all in one line. */
JsonWriter *json_writer(Region *region, int indent);
void json_open(JsonWriter *w, char bracket);                    /* '{' or '[' */
void json_close(JsonWriter *w, char bracket);                   /* '}' or ']' */
void json_write_name(JsonWriter *w, const char *name, size_t n);
void json_write_text(JsonWriter *w, const char *text, size_t n);
void json_write_int(JsonWriter *w, int64_t value);
void json_write_real(JsonWriter *w, double value);
void json_write_bool(JsonWriter *w, bool value);
/* The text and its size; NULL with ag_error() if something could not be written. It lies in the region. */
const char *json_written(JsonWriter *w, size_t *size);

#endif
