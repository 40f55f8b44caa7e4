/* json.h: reads and writes JSON (RFC 8259). Reading is strict: UTF-8, no name twice in an object, 128 levels at most. A byte
 * order mark before the text is skipped, and NaN, Infinity and -Infinity, which Python writes, are values. */
#ifndef KAERU_JSON_H
#define KAERU_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT,
               JSON_NOT_FINITE          /* NaN or an infinity: no number that a function below reads */
} JsonType;

/* A value. Its type says which member of the union is valid. */
typedef struct Json {
    uint8_t type;
    bool whole;                     /* a number written without fraction and exponent, that fits an int64_t and is not -0 */
    uint32_t count;                 /* string: bytes; array: items; object: members */
    union {
        bool truth;
        double number;              /* if not `whole` */
        int64_t integer;            /* if `whole` */
        const char *text;           /* string: UTF-8, which may contain NUL characters; a NUL follows */
        const struct Json *item;    /* array: [count]; object: [2 count], name, value, name, ... in the order of the file */
    } as;
} Json;

/* Parses `size` bytes of text into memory that `owner` owns. NULL with ag_error() if they are not JSON: "NAME: line 3,
 * column 7: expected ':' after a name, found '='" */
const Json *json_parse(void *owner, const char *name, const char *text, size_t size);
/* The same for a part of a text that begins with line `first`, for the message. It has no byte order mark. */
const Json *json_parse_from(void *owner, const char *name, int64_t first, const char *text, size_t size);
/* Parses a file of at most `limit` bytes. */
const Json *json_read(void *owner, const char *path, size_t limit);

/* The member of that name; NULL if there is none, or if the value is not an object. */
const Json *json_get(const Json *object, const char *name);
/* The same for a name of n bytes. */
const Json *json_get_bytes(const Json *object, const char *name, size_t n);
/* False if the value is NULL or of another type. A real is any number; an int is a `whole` one. */
bool json_real(const Json *value, double *out);
bool json_int(const Json *value, int64_t *out);
bool json_bool(const Json *value, bool *out);
/* Whether the value is a string equal to text. */
bool json_is(const Json *value, const char *text);
/* A member of an object and the type of its values. */
typedef enum { JSON_REQUIRED, JSON_OPTIONAL, JSON_NULLABLE /* absent or null, too */ } JsonPresence;
typedef struct { const char *name; JsonType type; JsonPresence presence; } JsonMember;
/* Checks these members, which end with a name that is NULL; the object may have others. False with ag_error() for the first
 * one that is not as expected: "FILE: WHAT: MEMBER: expected a string, found a number"; what NULL: without "WHAT: ". */
bool json_check(const char *file, const char *what, const Json *object, const JsonMember *member);
/* The name of its type for messages: "a string", "an array", ...; for NULL, "nothing". */
const char *json_type_name(const Json *value);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Call the functions in the order of the text; they add commas, colons and line breaks. A value that JSON does not have
 * (text that is not UTF-8, an infinite number) makes json_written fail. */
typedef struct JsonWriter JsonWriter;
/* indent: number of spaces per level; 0 writes everything in one line. */
JsonWriter *json_writer(void *owner, int indent);
void json_open(JsonWriter *w, const char *key, char bracket);   /* '{' or '['; key: as below */
void json_close(JsonWriter *w, char bracket);                   /* '}' or ']' */
/* A member of an object; key NULL: an item of an array, or a value whose name json_write_name has written. text NULL: null. */
void json_put_text(JsonWriter *w, const char *key, const char *text);
void json_put_int(JsonWriter *w, const char *key, int64_t value);
void json_put_real(JsonWriter *w, const char *key, double value);
void json_put_bool(JsonWriter *w, const char *key, bool value);
/* A name, and a text, of n bytes, which may contain NUL characters. */
void json_write_name(JsonWriter *w, const char *name, size_t n);
void json_write_text(JsonWriter *w, const char *text, size_t n);
/* The text, owned by `owner`, and its size; NULL with ag_error() if a value could not be written. */
const char *json_written(JsonWriter *w, size_t *size);

#endif
