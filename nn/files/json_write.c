/* json_write.c: writes JSON, one value after another, into one growing text. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "array.h"
#include "json.h"
#include "number.h"
#include "utf8.h"

struct JsonWriter {
    void *owner;
    char *text;
    size_t n, capacity;
    int indent, depth;
    bool first, after_name;             /* the array or object is empty so far; the next value belongs to a name */
    bool failed;
};

static void put(JsonWriter *w, const char *text, size_t n)
{
    w->text = array_for(w->owner, w->text, w->n + n, &w->capacity, 1);
    memcpy(w->text + w->n, text, n);
    w->n += n;
}

static void new_line(JsonWriter *w)
{
    if (!w->indent) return;
    put(w, "\n", 1);
    for (int i = 0; i < w->indent * w->depth; i++) put(w, " ", 1);
}

static void put_separator(JsonWriter *w)
{
    if (w->depth > 0 && !w->after_name) {
        if (!w->first) put(w, ",", 1);
        new_line(w);
    }
    w->first = w->after_name = false;
}

static void put_quoted(JsonWriter *w, const char *text, size_t n)
{
    if (utf8_valid(text, n) < n && !w->failed) {
        ag_set_error("expected UTF-8 to be written as JSON, found byte 0x%02X", (unsigned char)text[utf8_valid(text, n)]);
        w->failed = true;
    }
    put(w, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        char out[8] = { text[i] };
        if (c == '"' || c == '\\') snprintf(out, sizeof out, "\\%c", c);
        else if (c == '\n') snprintf(out, sizeof out, "\\n");
        else if (c < 0x20 || c == 0x7f) snprintf(out, sizeof out, "\\u%04x", c);
        put(w, out, strlen(out));
    }
    put(w, "\"", 1);
}

JsonWriter *json_writer(void *owner, int indent)
{
    JsonWriter *w = ag_alloc_in(owner, 1, sizeof *w);
    *w = (JsonWriter){ .owner = owner, .indent = indent, .first = true };
    return w;
}

void json_write_name(JsonWriter *w, const char *name, size_t n)
{
    put_separator(w);
    put_quoted(w, name, n);
    put(w, w->indent ? ": " : ":", w->indent ? 2 : 1);
    w->after_name = true;
}

void json_write_text(JsonWriter *w, const char *text, size_t n)
{
    put_separator(w);
    put_quoted(w, text, n);
}

/* Writes a value that is text without quotes, after the key if there is one. */
static void put_unquoted(JsonWriter *w, const char *key, const char *text)
{
    if (key) json_write_name(w, key, strlen(key));
    put_separator(w);
    put(w, text, strlen(text));
}

void json_open(JsonWriter *w, const char *key, char bracket)
{
    put_unquoted(w, key, (char[]){ bracket, '\0' });
    w->depth++;
    w->first = true;
}

void json_close(JsonWriter *w, char bracket)
{
    w->depth--;
    if (!w->first) new_line(w);
    put(w, &bracket, 1);
    w->first = false;
}

void json_put_text(JsonWriter *w, const char *key, const char *text)
{
    if (key) json_write_name(w, key, strlen(key));
    if (text) json_write_text(w, text, strlen(text));
    else put_unquoted(w, NULL, "null");
}

void json_put_int(JsonWriter *w, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_unquoted(w, key, text);
}

void json_put_real(JsonWriter *w, const char *key, double value)
{
    char text[NUMBER_TEXT];
    if (!isfinite(value) && !w->failed) {
        ag_set_error("expected a finite number to be written as JSON, found %s", isnan(value) ? "NaN" : "infinity");
        w->failed = true;
    }
    put_unquoted(w, key, isfinite(value) ? number_text(value, text) : "null");
}

void json_put_bool(JsonWriter *w, const char *key, bool value)
{
    put_unquoted(w, key, value ? "true" : "false");
}

const char *json_written(JsonWriter *w, size_t *size)
{
    if (w->indent && w->depth == 0) put(w, "\n", 1);
    *size = w->n;
    return w->failed ? NULL : w->text;
}
