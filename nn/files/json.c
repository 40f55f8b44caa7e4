/* json.c: a recursive-descent parser of JSON. The text is scanned once before, to count its values, and all of them are in one
 * block of that size: those of arrays and objects that have not ended are a stack at its start, and when an array or object
 * ends, its items are moved to the end of the block. The bytes of all strings are in one block, too, each string where it is
 * in the text. So a byte of text costs at most about 10 bytes of memory. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "numbers.h"
#include "utf8.h"

enum { MAX_DEPTH = 128 };

typedef struct {
    const char *name, *text;
    size_t size, at;                        /* at: offset of the next byte */
    int64_t first;                          /* number of the first line */
    int depth;
    char *strings;                          /* [size] */
    Json *value;                            /* [n_values]: the stack of `height`, a gap, items that do not move any more */
    size_t n_values, height;
} Parser;

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Sets an error message with the position of the next byte. */
static bool syntax_error(const Parser *p, const char *what, const char *found)
{
    size_t line, column;
    utf8_position(p->text, p->at, &line, &column);
    return ag_set_error("%s: line %" PRId64 ", column %zu: expected %s, found %s", p->name, p->first + (int64_t)line - 1,
                        column, what, found);
}

/* Sets an error message with the next character as what was found. */
static bool expected(const Parser *p, const char *what)
{
    char found[32] = "the end";
    if (p->at < p->size) {
        uint32_t code;
        int length = utf8_decode(p->text + p->at, p->size - p->at, &code);
        unsigned char byte = (unsigned char)p->text[p->at];
        if (!length) snprintf(found, sizeof found, "byte 0x%02X", byte);
        else if (code > 0x20 && code < 0x7f) snprintf(found, sizeof found, "'%c'", byte);
        else snprintf(found, sizeof found, "U+%04X", (unsigned)code);
    }
    return syntax_error(p, what, found);
}

/* ---- scalars ----------------------------------------------------------------------------------------------------- */

static void skip_space(Parser *p)
{
    while (p->at < p->size && strchr(" \t\n\r", p->text[p->at]) && p->text[p->at]) p->at++;
}

static int next(const Parser *p)
{
    return p->at < p->size ? (unsigned char)p->text[p->at] : -1;
}

/* Whether the next bytes are this text. */
static bool follows(const Parser *p, const char *text)
{
    size_t n = strlen(text);
    return p->size - p->at >= n && memcmp(p->text + p->at, text, n) == 0;
}

static bool parse_word(Parser *p, const char *word, Json value, Json *out)
{
    if (!follows(p, word)) return expected(p, "a value");
    p->at += strlen(word);
    *out = value;
    return true;
}

static bool parse_number(Parser *p, Json *out)
{
    Number number;
    size_t wrong, length = number_scan(p->text + p->at, p->size - p->at, &number, &wrong);
    if (!length) {
        p->at += wrong;
        return expected(p, "a digit");
    }
    if (isinf(number.value)) return syntax_error(p, "a number within the range of a double", "a larger one");
    p->at += length;
    if (next(p) >= '0' && next(p) <= '9') return expected(p, "no digit after a leading 0");
    *out = (Json){ .type = JSON_NUMBER, .whole = number.whole };
    if (number.whole) out->as.integer = number.integer;
    else out->as.number = number.value;
    return true;
}

static bool parse_hex(Parser *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        int c = next(p);
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return expected(p, "four hexadecimal digits after \\u");
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

/* Parses what follows a backslash, and appends the character at text[*n]. */
static bool parse_escape(Parser *p, char *text, size_t *n)
{
    static const char letters[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    int c = next(p);
    const char *letter = c > 0 ? strchr(letters, c) : NULL;
    if (letter) {
        text[(*n)++] = meaning[letter - letters];
        p->at++;
        return true;
    }
    if (c != 'u') return expected(p, "one of \"\\/bfnrtu after a backslash");
    p->at++;
    uint32_t code, low;
    if (!parse_hex(p, &code)) return false;
    if (code >= 0xdc00 && code < 0xe000) return expected(p, "a high surrogate before a low one");
    if (code >= 0xd800 && code < 0xdc00) {
        size_t start = p->at;
        bool escaped = follows(p, "\\u");
        p->at += 2;
        if (!escaped || !parse_hex(p, &low) || low < 0xdc00 || low >= 0xe000) {
            p->at = start;
            return expected(p, "a low surrogate, \\uDC00 to \\uDFFF, after a high one");
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *n += (size_t)utf8_encode(code, text + *n);
    return true;
}

/* The text begins behind the place of the opening quote, and the NUL is before or at that of the closing one. */
static bool parse_string(Parser *p, Json *out)
{
    char *text = p->strings + ++p->at;
    size_t n = 0;
    while (next(p) != '"') {
        if (next(p) == -1) return expected(p, "'\"' at the end of a string");
        if (next(p) < 0x20) return expected(p, "no control character inside a string");
        if (next(p) == '\\') {
            p->at++;
            if (!parse_escape(p, text, &n)) return false;
            continue;
        }
        uint32_t code;
        int length = utf8_decode(p->text + p->at, p->size - p->at, &code);
        if (!length) return expected(p, "UTF-8");
        memcpy(text + n, p->text + p->at, (size_t)length);
        n += (size_t)length;
        p->at += (size_t)length;
    }
    p->at++;
    *out = (Json){ .type = JSON_STRING, .count = (uint32_t)n, .as.text = text };
    return true;
}

/* ---- arrays and objects ------------------------------------------------------------------------------------------ */

static bool parse_value(Parser *p, Json *out);

static void push(Parser *p, Json value)
{
    p->value[p->height++] = value;
}

/* Parses what follows an item: a comma, which sets *more, or the closing bracket. False if there is neither. */
static bool parse_comma(Parser *p, char close, const char *what, bool *more)
{
    skip_space(p);
    *more = next(p) == ',';
    if (!*more && next(p) != close) return expected(p, what);
    p->at++;
    skip_space(p);
    return true;
}

static int compare_names(const void *left, const void *right)
{
    const Json *a = *(const Json *const *)left, *b = *(const Json *const *)right;
    int order = memcmp(a->as.text, b->as.text, a->count < b->count ? a->count : b->count);
    return order ? order : (a->count > b->count) - (a->count < b->count);
}

/* Pointers to an object's names in alphabetical order, stored behind its items. */
static const Json **sorted_names(const Json *object)
{
    return (const Json **)(object->as.item + 2 * (size_t)object->count);
}

/* The number of values in whose place they are. */
static size_t values_of_names(size_t members)
{
    return (members * sizeof(Json *) + sizeof(Json) - 1) / sizeof(Json);
}

/* Parses a name and the colon, and pushes the name. */
static bool parse_name(Parser *p, bool first)
{
    Json name;
    if (next(p) != '"') return expected(p, first ? "a name in quotes or '}'" : "a name in quotes");
    if (!parse_string(p, &name)) return false;
    push(p, name);
    skip_space(p);
    if (next(p) != ':') return expected(p, "':' after a name");
    p->at++;
    skip_space(p);
    return true;
}

/* Sorts an object's names, and checks that no two are equal. */
static bool check_names(Parser *p, const Json *object)
{
    const Json **names = sorted_names(object), *items = object->as.item;
    size_t n = object->count;
    for (size_t i = 0; i < n; i++) names[i] = &items[2 * i];
    if (n) qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n; i++) {
        if (compare_names(&names[i - 1], &names[i]) != 0) continue;
        const Json *later = names[i] > names[i - 1] ? names[i] : names[i - 1];
        p->at = (size_t)(later->as.text - p->strings) - 1;
        return syntax_error(p, "each name of an object once", QUOTED_BYTES(later->as.text, later->count));
    }
    return true;
}

/* Parses an array or, if the next byte is '{', an object. */
static bool parse_items(Parser *p, Json *out)
{
    bool object = next(p) == '{';
    char close = object ? '}' : ']';
    size_t base = p->height;
    p->at++;
    skip_space(p);
    bool more = next(p) != close;
    if (!more) p->at++;
    while (more) {
        Json item;
        if (object && !parse_name(p, p->height == base)) return false;
        if (!parse_value(p, &item)) return false;
        push(p, item);
        if (!parse_comma(p, close, object ? "',' or '}' after a member" : "',' or ']' after an item", &more)) return false;
    }
    size_t n = p->height - base, count = object ? n / 2 : n;    /* an object has two items for a member */
    p->n_values -= n + (object ? values_of_names(count) : 0);
    Json *items = p->value + p->n_values;
    memmove(items, p->value + base, n * sizeof *items);
    p->height = base;
    *out = (Json){ .type = object ? JSON_OBJECT : JSON_ARRAY, .count = (uint32_t)count, .as.item = items };
    return !object || check_names(p, out);
}

static bool parse_value(Parser *p, Json *out)
{
    bool done;
    if (p->depth == MAX_DEPTH) return expected(p, "at most 128 levels of nesting");
    p->depth++;
    switch (next(p)) {
    case '{':
    case '[': done = parse_items(p, out); break;
    case '"': done = parse_string(p, out); break;
    case 't': done = parse_word(p, "true", (Json){ .type = JSON_BOOL, .as.truth = true }, out); break;
    case 'f': done = parse_word(p, "false", (Json){ .type = JSON_BOOL, .as.truth = false }, out); break;
    case 'n': done = parse_word(p, "null", (Json){ .type = JSON_NULL }, out); break;
    case 'N': done = parse_word(p, "NaN", (Json){ .type = JSON_NOT_FINITE }, out); break;
    case 'I': done = parse_word(p, "Infinity", (Json){ .type = JSON_NOT_FINITE }, out); break;
    default:
        if (follows(p, "-I")) done = parse_word(p, "-Infinity", (Json){ .type = JSON_NOT_FINITE }, out);
        else if (next(p) == '-' || (next(p) >= '0' && next(p) <= '9')) done = parse_number(p, out);
        else done = expected(p, "a value");
    }
    p->depth--;
    return done;
}

/* An upper limit of the number of values up to the first mistake, with the places of sorted names: each follows the start of
 * an array or object that is not empty, a comma or a name's colon, and a member's sorted name needs at most one more. */
static size_t count_values(const char *text, size_t size)
{
    size_t n = 1;
    char before = '\0';                         /* the last byte that is no white space */
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
        if (c == '[' || c == '{' || c == ',') n++;
        else if (c == ':' && before == '"') n += 2;
        else if ((c == ']' && before == '[') || (c == '}' && before == '{')) n--;
        else if (c == '"') {
            for (i++; i < size && text[i] != '"'; i++) i += text[i] == '\\';
        }
        before = c;
    }
    return n;
}

const Json *json_parse_from(void *owner, const char *name, int64_t first, const char *text, size_t size)
{
    const unsigned most = UINT32_MAX / 2;
    bool good = size <= most || ag_set_error("%s: expected at most %u bytes of JSON, found %zu", name, most, size);
    if (!good) return NULL;
    Parser p = { .name = name, .text = text, .size = size, .first = first, .n_values = count_values(text, size) };
    p.strings = ag_alloc_in(owner, size, 1);
    Json root, *values = p.value = ag_alloc_in(owner, p.n_values, sizeof root);
    skip_space(&p);
    good = parse_value(&p, &root);
    skip_space(&p);
    if (good && p.at < size) good = expected(&p, "nothing after the value");
    if (!good) return NULL;
    *values = root;                             /* the stack is empty, and a value was counted for the root */
    return values;
}

const Json *json_parse(void *owner, const char *name, const char *text, size_t size)
{
    size_t mark = utf8_mark(text, size);
    return json_parse_from(owner, name, 1, text + mark, size - mark);
}

const Json *json_read(void *owner, const char *path, size_t limit)
{
    size_t size;
    const char *text = file_read(owner, path, limit, &size);
    return text ? json_parse(owner, path, text, size) : NULL;
}

/* ---- access to values -------------------------------------------------------------------------------------------- */

const Json *json_get_bytes(const Json *object, const char *name, size_t n)
{
    if (!object || object->type != JSON_OBJECT) return NULL;
    const Json key = { .count = (uint32_t)n, .as.text = name }, *to_find = &key, **found = NULL;
    if (object->count) found = bsearch(&to_find, sorted_names(object), object->count, sizeof *found, compare_names);
    return found ? *found + 1 : NULL;
}

const Json *json_get(const Json *object, const char *name)
{
    return json_get_bytes(object, name, strlen(name));
}

bool json_real(const Json *value, double *out)
{
    if (!value || value->type != JSON_NUMBER) return false;
    *out = value->whole ? (double)value->as.integer : value->as.number;
    return true;
}

bool json_int(const Json *value, int64_t *out)
{
    if (!value || value->type != JSON_NUMBER || !value->whole) return false;
    *out = value->as.integer;
    return true;
}

bool json_bool(const Json *value, bool *out)
{
    if (!value || value->type != JSON_BOOL) return false;
    *out = value->as.truth;
    return true;
}

bool json_is(const Json *value, const char *text)
{
    return value && value->type == JSON_STRING && value->count == strlen(text) &&
           memcmp(value->as.text, text, value->count) == 0;
}

static const char *const type_names[] = {               /* by JsonType */
    "null", "true or false", "a number", "a string", "an array", "an object", "NaN or an infinity"
};

const char *json_type_name(const Json *value)
{
    return value ? type_names[value->type] : "nothing";
}

bool json_check(const char *file, const char *what, const Json *object, const JsonMember *member)
{
    for (; member->name; member++) {
        const Json *value = json_get(object, member->name);
        bool nullable = member->presence == JSON_NULLABLE;
        if (value ? value->type == member->type || (nullable && value->type == JSON_NULL)
                  : member->presence != JSON_REQUIRED) {
            continue;
        }
        return ag_set_error("%s: %s%s%s: expected %s%s, found %s", file, what ? what : "", what ? ": " : "", member->name,
                            type_names[member->type], nullable ? ", or null" : "", json_type_name(value));
    }
    return true;
}
