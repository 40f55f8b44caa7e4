/* test_json.c: JSON is read and written, malformed text is refused with its position, and numbers are exact. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "folder.h"
#include "json.h"
#include "kaeru/autograd.h"
#include "kaeru/checkpoint.h"
#include "kaeru/json.h"
#include "numbers.h"
#include "suites.h"
#include "usage_error.h"
#include "utf8.h"

/* ---- reading and writing ----------------------------------------------------------------------------------------- */

static void copy(JsonWriter *w, const Json *value)
{
    switch (value->type) {
    case JSON_NULL: json_write_text(w, "null!", 5); break;
    case JSON_BOOL: json_put_bool(w, NULL, value->as.truth); break;
    case JSON_NUMBER:
        if (value->whole) json_put_int(w, NULL, value->as.integer);
        else json_put_real(w, NULL, value->as.number);
        break;
    case JSON_STRING: json_write_text(w, value->as.text, value->count); break;
    case JSON_ARRAY:
        json_open(w, NULL, '[');
        for (uint32_t i = 0; i < value->count; i++) copy(w, &value->as.item[i]);
        json_close(w, ']');
        break;
    default:
        json_open(w, NULL, '{');
        for (uint32_t i = 0; i < value->count; i++) {
            json_write_name(w, value->as.item[2 * i].as.text, value->as.item[2 * i].count);
            copy(w, &value->as.item[2 * i + 1]);
        }
        json_close(w, '}');
    }
}

/* Reads `size` bytes of JSON and writes them again; the result must be `expected`. */
static void check_copy(const char *text, size_t size, int indent, const char *expected)
{
    void *owner = ag_alloc(1, 1);
    const Json *value = json_parse(owner, "test", text, size);
    ck_assert_msg(value != NULL, "\"%s\": %s", text, ag_error());
    JsonWriter *w = json_writer(owner, indent);
    copy(w, value);
    size_t n;
    const char *written = json_written(w, &n);
    ck_assert_ptr_nonnull(written);
    ck_assert_uint_eq(n, strlen(expected));
    ck_assert_msg(memcmp(written, expected, n) == 0, "\"%s\" became \"%.*s\"", text, (int)n, written);
    ag_free(owner);
}

static const char *const copies[][2] = {
    { "{}", "{}" }, { "[]", "[]" }, { " [ ] ", "[]" }, { "0", "0" }, { "\"\"", "\"\"" },
    { "[true,false,null]", "[true,false,\"null!\"]" },
    { "\t{ \"b\" : 1 ,\r\n \"a\" : [ 2 , { } ] } \n", "{\"b\":1,\"a\":[2,{}]}" },
    { "[-0, 0, -1, 9223372036854775807, -9223372036854775808]", "[-0,0,-1,9223372036854775807,-9223372036854775808]" },
    { "[1.5, 1e3, -2E-2, 1e+2, 0.1, 9223372036854775808]", "[1.5,1000,-0.02,100,0.1,9.223372036854776e+18]" },
    { "[1e-400, -0.0, 1.7976931348623157e308]", "[0,-0,1.7976931348623157e+308]" },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\u0008\\u000c\\n\\u000d\\u0009\"" },
    { "\"\\u0041\\u00e9\\u4E2d\\uD83D\\ude00\\u0000x\"", "\"A\u00e9\u4e2d\U0001f600\\u0000x\"" },
    { "\"A\u00e9\u4e2d\U0001f600\x7f\"", "\"A\u00e9\u4e2d\U0001f600\\u007f\"" },
    { "{\"\":{\"\":{\"\":[]}}}", "{\"\":{\"\":{\"\":[]}}}" },
    { "{\"aa\":1,\"a\":2,\"aaa\":3,\"b\":4}", "{\"aa\":1,\"a\":2,\"aaa\":3,\"b\":4}" },
    { "{\"a\\u0000b\":1,\"a\":2,\"a\\u0000\":3}", "{\"a\\u0000b\":1,\"a\":2,\"a\\u0000\":3}" },
};

START_TEST(values_are_read_and_written)
{
    check_copy(copies[_i][0], strlen(copies[_i][0]), 0, copies[_i][1]);
}
END_TEST

START_TEST(writing_indents)
{
    const char *text = "{\"a\":[1,[],{}],\"b\":{\"c\":true}}";
    check_copy(text, strlen(text), 2,
               "{\n  \"a\": [\n    1,\n    [],\n    {}\n  ],\n  \"b\": {\n    \"c\": true\n  }\n}\n");
}
END_TEST

START_TEST(only_the_given_bytes_are_read)
{
    check_copy("[1]garbage", 3, 0, "[1]");
}
END_TEST

START_TEST(members_are_found)
{
    void *owner = ag_alloc(1, 1);
    const char *text = "{\"z\":1,\"aa\":2.5,\"a\":\"x\",\"m\":{\"z\":-3},\"list\":[null,true],\"big\":1e300}";
    const Json *root = json_parse(owner, "test", text, strlen(text));
    int64_t whole = 0;
    double number = 0;
    ck_assert_ptr_nonnull(root);
    ck_assert(json_int(json_get(root, "z"), &whole) && whole == 1);
    ck_assert(json_int(json_get(json_get(root, "m"), "z"), &whole) && whole == -3);
    ck_assert(json_real(json_get(root, "aa"), &number) && number == 2.5);
    ck_assert(json_real(json_get(root, "z"), &number) && number == 1.0);
    ck_assert(!json_int(json_get(root, "aa"), &whole) && !json_int(json_get(root, "big"), &whole));
    ck_assert(!json_int(json_get(root, "a"), &whole) && !json_real(json_get(root, "a"), &number));
    ck_assert(!json_int(NULL, &whole) && !json_real(NULL, &number));
    ck_assert(json_is(json_get(root, "a"), "x") && !json_is(json_get(root, "a"), "xy") && !json_is(root, "x"));
    ck_assert_ptr_null(json_get(root, "b"));
    ck_assert_ptr_null(json_get(json_get(root, "list"), "a"));
    ck_assert_ptr_null(json_get(NULL, "a"));
    ck_assert_str_eq(json_type_name(json_get(root, "list")), "an array");
    ck_assert_str_eq(json_type_name(json_get(root, "b")), "nothing");
    ag_free(owner);
}
END_TEST

START_TEST(objects_may_be_large)
{
    enum { N = 20000 };
    void *owner = ag_alloc(1, 1);
    JsonWriter *w = json_writer(owner, 0);
    char name[16];
    json_open(w, NULL, '{');
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "k%d", i * 7919 % N);
        json_write_name(w, name, strlen(name));
        json_put_int(w, NULL, i);
    }
    json_close(w, '}');
    size_t n;
    const char *text = json_written(w, &n);
    const Json *root = json_parse(owner, "test", text, n);
    ck_assert_msg(root && root->count == N, "%s", ag_error());
    for (int i = 0; i < N; i++) {
        int64_t value = -1;
        snprintf(name, sizeof name, "k%d", i * 7919 % N);
        ck_assert(json_int(json_get(root, name), &value) && value == i);
    }
    ag_free(owner);
}
END_TEST

START_TEST(invalid_utf8_and_infinity_are_not_written)
{
    void *owner = ag_alloc(1, 1);
    size_t n;
    JsonWriter *w = json_writer(owner, 0);
    json_write_text(w, "a\xff", 2);
    expect_refused(json_written(w, &n) != NULL, "expected UTF-8 to be written as JSON, found byte 0xFF");
    w = json_writer(owner, 0);
    json_put_real(w, NULL, HUGE_VAL);
    expect_refused(json_written(w, &n) != NULL, "expected a finite number to be written as JSON, found infinity");
    ag_free(owner);
}
END_TEST

/* ---- refusing ---------------------------------------------------------------------------------------------------- */

#define DEEP_16  "[[[[[[[[[[[[[[[["
#define DEEP_128 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16 DEEP_16

static const struct { const char *text, *message; size_t size; } refused[] = {
    { "", "line 1, column 1: expected a value, found the end", 0 },
    { " \n ", "line 2, column 2: expected a value, found the end", 0 },
    { "\xef\xbb\xbf\xef\xbb\xbf{}", "line 1, column 1: expected a value, found U+FEFF", 0 },
    { "\xef\xbb\xbf[1,]", "line 1, column 4: expected a value, found ']'", 0 },
    { "\xef\xbb\xbf", "line 1, column 1: expected a value, found the end", 0 },
    { "[1,]", "line 1, column 4: expected a value, found ']'", 0 },
    { "[,1]", "line 1, column 2: expected a value, found ','", 0 },
    { "[1 2]", "line 1, column 4: expected ',' or ']' after an item, found '2'", 0 },
    { "[1", "line 1, column 3: expected ',' or ']' after an item, found the end", 0 },
    { "[1}", "line 1, column 3: expected ',' or ']' after an item, found '}'", 0 },
    { "{\"a\":1,}", "line 1, column 8: expected a name in quotes, found '}'", 0 },
    { "{a:1}", "line 1, column 2: expected a name in quotes or '}', found 'a'", 0 },
    { "{\"a\" 1}", "line 1, column 6: expected ':' after a name, found '1'", 0 },
    { "{\"a\":}", "line 1, column 6: expected a value, found '}'", 0 },
    { "{\"a\":1 \"b\":2}", "line 1, column 8: expected ',' or '}' after a member, found '\"'", 0 },
    { "{\"a\":1", "line 1, column 7: expected ',' or '}' after a member, found the end", 0 },
    { "{\"a\":1,\n\"\\u0061\":2}", "line 2, column 1: expected each name of an object once, found \"a\"", 0 },
    { "[{\"x\":[\"},{\",1],\"y\":{\"y\":3},\n \"y\":2}]",
      "line 2, column 2: expected each name of an object once, found \"y\"", 0 },
    { "{\"\\n\":1,\"\\n\":2}", "line 1, column 9: expected each name of an object once, found \"\\x0A\"", 0 },
    { "tru", "line 1, column 1: expected a value, found 't'", 0 },
    { "nulL", "line 1, column 1: expected a value, found 'n'", 0 },
    { "True", "line 1, column 1: expected a value, found 'T'", 0 },
    { "Nan", "line 1, column 1: expected a value, found 'N'", 0 },
    { "[Inf]", "line 1, column 2: expected a value, found 'I'", 0 },
    { "+Infinity", "line 1, column 1: expected a value, found '+'", 0 },
    { "-NaN", "line 1, column 2: expected a digit, found 'N'", 0 },
    { "[01]", "line 1, column 3: expected no digit after a leading 0, found '1'", 0 },
    { "[-01]", "line 1, column 4: expected no digit after a leading 0, found '1'", 0 },
    { "[1.]", "line 1, column 4: expected a digit, found ']'", 0 },
    { "[.5]", "line 1, column 2: expected a value, found '.'", 0 },
    { "[+1]", "line 1, column 2: expected a value, found '+'", 0 },
    { "[-]", "line 1, column 3: expected a digit, found ']'", 0 },
    { "[1e]", "line 1, column 4: expected a digit, found ']'", 0 },
    { "[1e+", "line 1, column 5: expected a digit, found the end", 0 },
    { "[0x10]", "line 1, column 3: expected ',' or ']' after an item, found 'x'", 0 },
    { "[1e309]", "line 1, column 2: expected a number within the range of a double, found a larger one", 0 },
    { "\"a", "line 1, column 3: expected '\"' at the end of a string, found the end", 0 },
    { "\"a\\", "line 1, column 4: expected one of \"\\/bfnrtu after a backslash, found the end", 0 },
    { "\"a\\\"", "line 1, column 5: expected '\"' at the end of a string, found the end", 0 },
    { "\"\\x41\"", "line 1, column 3: expected one of \"\\/bfnrtu after a backslash, found 'x'", 0 },
    { "\"\\u12g4\"", "line 1, column 6: expected four hexadecimal digits after \\u, found 'g'", 0 },
    { "\"\\u12", "line 1, column 6: expected four hexadecimal digits after \\u, found the end", 0 },
    { "\"\\ud800x\"",
      "line 1, column 8: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one, found 'x'", 0 },
    { "\"\\ud800\\n\"", "line 1, column 8: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one", 0 },
    { "\"\\ud800\\u0041\"",
      "line 1, column 8: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one", 0 },
    { "\"\\ud800\\udbff\"",
      "line 1, column 8: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one", 0 },
    { "\"\\ud800\\ue000\"",
      "line 1, column 8: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one", 0 },
    { "\"\\udc00\"", "line 1, column 8: expected a high surrogate before a low one, found '\"'", 0 },
    { "\"a\nb\"", "line 1, column 3: expected no control character inside a string, found U+000A", 0 },
    { "\"\x1f\"", "line 1, column 2: expected no control character inside a string, found U+001F", 0 },
    { "\"\xff\"", "line 1, column 2: expected UTF-8, found byte 0xFF", 0 },
    { "\"\xc0\x80\"", "line 1, column 2: expected UTF-8, found byte 0xC0", 0 },
    { "\"\xed\xa0\x80\"", "line 1, column 2: expected UTF-8, found byte 0xED", 0 },
    { "\"\xf4\x90\x80\x80\"", "line 1, column 2: expected UTF-8, found byte 0xF4", 0 },
    { "\"\u00e9\u4e2d\x80\"", "line 1, column 4: expected UTF-8, found byte 0x80", 0 },
    { "\"\xe4\xb8", "line 1, column 2: expected UTF-8, found byte 0xE4", 0 },
    { "\xff", "line 1, column 1: expected a value, found byte 0xFF", 0 },
    { "[1] x", "line 1, column 5: expected nothing after the value, found 'x'", 0 },
    { "{}{}", "line 1, column 3: expected nothing after the value, found '{'", 0 },
    { "[1]\0", "line 1, column 4: expected nothing after the value, found U+0000", 4 },
    { "[\0]", "line 1, column 2: expected a value, found U+0000", 3 },
    { "// no\n1", "line 1, column 1: expected a value, found '/'", 0 },
    { DEEP_128 "[", "line 1, column 129: expected at most 128 levels of nesting, found '['", 0 },
    { DEEP_128 "{", "line 1, column 129: expected at most 128 levels of nesting, found '{'", 0 },
};

START_TEST(malformed_text_is_refused)
{
    void *owner = ag_alloc(1, 1);
    size_t size = refused[_i].size ? refused[_i].size : strlen(refused[_i].text);
    char *exact = malloc(size + !size);                         /* so that a sanitizer reports a read past the end */
    memcpy(exact, refused[_i].text, size);
    expect_refused(json_parse(owner, "test", exact, size) != NULL, refused[_i].message);
    ck_assert(strncmp(ag_error(), "test: line ", 11) == 0);
    free(exact);
    ag_free(owner);
}
END_TEST

START_TEST(every_incomplete_text_is_refused)
{
    const char *text = "{\"a\":[true,false,null,-1.5e-3,\"\\u00e9\\ud83d\\ude00x\"],\"b\":{}}";
    for (size_t size = 0; size < strlen(text); size++) {
        void *owner = ag_alloc(1, 1);
        expect_refused(json_parse(owner, "test", text, size) != NULL, "expected");
        ag_free(owner);
    }
}
END_TEST

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static double number_of(const char *text)
{
    Number number = { .value = -1 };
    size_t wrong;
    ck_assert_msg(number_scan(text, strlen(text), &number, &wrong) == strlen(text), "\"%s\" is not read", text);
    return number.value;
}

/* The value must be `expected`, also in the sign of 0. */
static void check_number(const char *text, double expected)
{
    double value = number_of(text);
    bool same = value == expected && !signbit(value) == !signbit(expected);
    ck_assert_msg(same, "%.60s is %a, not %a", text, value, expected);
}

START_TEST(numbers_are_the_nearest_doubles)
{
    check_number("0", 0.0);
    check_number("-0", -0.0);
    check_number("0.1", 0x1.999999999999ap-4);
    check_number("9007199254740993", 0x1p53);                                   /* a tie: rounded to even */
    check_number("9007199254740993.0000000000000000000000000000001", 0x1.0000000000001p53);
    check_number("9007199254740995", 0x1.0000000000002p53);
    check_number("1.7976931348623157e308", DBL_MAX);
    check_number("1.7976931348623158079e308", DBL_MAX);
    check_number("1.7976931348623158080e308", HUGE_VAL);
    check_number("1e400", HUGE_VAL);
    check_number("-1e99999999999999999999", -HUGE_VAL);
    check_number("2.2250738585072014e-308", DBL_MIN);
    check_number("2.2250738585072011e-308", 0x0.fffffffffffffp-1022);
    check_number("4.9406564584124654e-324", 0x1p-1074);
    check_number("2.4703282292062328e-324", 0x1p-1074);                         /* just above half of the smallest double */
    check_number("2.4703282292062327e-324", 0.0);
    check_number("1e-99999999999999999999", 0.0);
    check_number("0e99999999999999999999", 0.0);
    check_number("123456789012345678901234567890e-29", 0x1.3c0ca428c59fbp+0);
}
END_TEST

/* Numbers with many zeros, or with a large exponent. */
START_TEST(long_numbers_are_read)
{
    static char text[5000];
    memset(text, '0', sizeof text);
    memcpy(text, "0.", 2);
    memcpy(text + 1502, "1e1501", 7);
    check_number(text, 1.0);
    memset(text, '0', 1600);
    text[0] = '1';
    memcpy(text + 1600, "e-1599", 7);
    check_number(text, 1.0);
    memset(text, '0', 2000);                                                    /* a tie without its 1990th digit */
    memcpy(text, "9007199254740993.", 17);
    text[1990] = '1';
    text[2000] = '\0';
    check_number(text, 0x1.0000000000001p53);
    for (int n = 100; n > 20; n--) {
        text[n] = '\0';
        check_number(text, strtod(text, NULL));
    }
}
END_TEST

START_TEST(random_numbers_agree_with_the_c_library)
{
    ag_seed(1);
    char text[64], shortest[NUMBER_TEXT];
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = (uint64_t)ag_random_u32() << 32 | ag_random_u32();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        snprintf(text, sizeof text, "%.*e", (int)ag_random_below(25), value);
        check_number(text, strtod(text, NULL));
        check_number(number_text(value, shortest), value);
        ck_assert_uint_lt(strlen(shortest), 25);
    }
}
END_TEST

START_TEST(whole_numbers_are_exact)
{
    static const struct { const char *text; bool whole; int64_t integer; } cases[] = {
        { "0", true, 0 }, { "-0", false, 0 }, { "9007199254740993", true, 9007199254740993 },
        { "9223372036854775807", true, INT64_MAX }, { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 }, { "-9223372036854775809", false, 0 }, { "18446744073709551616", false, 0 },
        { "99999999999999999999999999", false, 0 }, { "1.0", false, 0 }, { "1e2", false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Number number;
        size_t wrong;
        ck_assert_uint_gt(number_scan(cases[i].text, strlen(cases[i].text), &number, &wrong), 0);
        ck_assert_msg(number.whole == cases[i].whole && number.integer == cases[i].integer, "%s", cases[i].text);
    }
}
END_TEST

/* A number has a decimal point even in a locale with a decimal comma. */
START_TEST(numbers_do_not_depend_on_the_locale)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8" };
    char text[NUMBER_TEXT];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_ALL, names[i])) continue;
        check_number("1.5", 1.5);
        ck_assert_str_eq(localeconv()->decimal_point, ",");
        ck_assert_str_eq(number_text(-1.5, text), "-1.5");
        ck_assert_str_eq(number_text(1.25e-30, text), "1.25e-30");
    }
    setlocale(LC_ALL, "C");
    check_number("1.5", 1.5);
    ck_assert_str_eq(number_text(-1.5, text), "-1.5");
}
END_TEST

/* ---- UTF-8 ------------------------------------------------------------------------------------------------------- */

START_TEST(every_code_point_is_encoded_and_decoded)
{
    for (uint32_t code = 0; code < 0x110000; code++) {
        if (code >= 0xd800 && code < 0xe000) continue;
        char bytes[4];
        uint32_t back = 0;
        int length = utf8_encode(code, bytes), cut = 0;
        for (size_t n = 1; n < (size_t)length; n++) cut |= utf8_decode(bytes, n, &back);
        ck_assert(cut == 0 && utf8_decode(bytes, (size_t)length, &back) == length && back == code);
    }
}
END_TEST

/* Of all sequences of three bytes, those that are UTF-8 are as many as there are characters. */
START_TEST(nothing_else_is_utf8)
{
    int found[5] = { 0 };
    for (uint32_t bits = 0; bits < 1 << 24; bits++) {
        char bytes[3] = { (char)(bits >> 16), (char)(bits >> 8), (char)bits };
        uint32_t code;
        int length = utf8_decode(bytes, 3, &code);
        found[length]++;
        if (length) ck_assert(code < 0xd800 || (code >= 0xe000 && code < 0x10000));
    }
    ck_assert_int_eq(found[1], 0x80 * 0x10000);
    ck_assert_int_eq(found[2], (0x800 - 0x80) * 0x100);
    ck_assert_int_eq(found[3], 0x10000 - 0x800 - 0x800);
    ck_assert_int_eq(found[4], 0);
}
END_TEST

START_TEST(messages_quote_on_one_line)
{
    char out[UTF8_QUOTE];
    ck_assert_str_eq(utf8_quote("a b", 3, out), "\"a b\"");
    ck_assert_str_eq(utf8_quote("", 0, out), "\"\"");
    ck_assert_str_eq(utf8_quote("\u2028\u2029\u202f", 9, out), "\"\\xE2\\x80\\xA8\\xE2\\x80\\xA9\u202f\"");
    ck_assert_str_eq(utf8_quote("\u202e\u2069\u206a", 9, out), "\"\\xE2\\x80\\xAE\\xE2\\x81\\xA9\u206a\"");
    ck_assert_str_eq(utf8_quote("\n\0\xff\u00e9\xc2\x85", 7, out), "\"\\x0A\\x00\\xFF\u00e9\\xC2\\x85\"");
    char longer[200];
    memset(longer, '\n', sizeof longer);
    utf8_quote(longer, sizeof longer, out);
    ck_assert_uint_lt(strlen(out), UTF8_QUOTE);
    ck_assert_str_eq(out + strlen(out) - 4, "...\"");
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void parse_and_write(void)
{
    void *owner = ag_alloc(1, 1);
    static char text[60000];
    size_t n = 0;
    text[n++] = '[';
    for (int i = 0; i < 1000; i++) n += (size_t)snprintf(text + n, sizeof text - n, "{\"name %d\":[%d,\"x\"]},", i, i);
    memcpy(text + n, "0]", 2);
    const Json *value = json_parse(owner, "test", text, n + 2);
    JsonWriter *w = json_writer(owner, 1);
    copy(w, value);
    json_written(w, &n);
    ag_free(owner);
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(parse_and_write, _i);
    if (faults_work()) ck_assert_int_gt(requests, 5);
}
END_TEST

START_TEST(large_texts_are_refused)
{
    expect_refused(json_parse(NULL, "test", "", 3000000000U) != NULL,
                   "test: expected at most 2147483647 bytes of JSON, found 3000000000");
}
END_TEST

/* The last character is cut; the bytes behind the end would complete it. */
START_TEST(a_cut_character_is_not_utf8)
{
    ck_assert_uint_eq(utf8_valid("a\xC3\xA9", 3), 3);
    ck_assert_uint_eq(utf8_valid("a\xC3\xA9", 2), 1);
    ck_assert_uint_eq(utf8_valid("\xC3\xA9\xF0\x9F\x98\x80", 5), 2);
}
END_TEST

START_TEST(long_numbers_leave_no_memory)
{
    char text[80] = "0.";
    memset(text + 2, '1', 70);
    int64_t live = 0, after = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 2) live = faults_live();
        void *owner = ag_alloc(1, 1);
        bool good = json_parse(owner, "number", text, strlen(text)) != NULL;
        ag_free(owner);
        after = faults_live();
        ck_assert(good);
    }
    ck_assert_int_eq(after, live);
}
END_TEST

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static const char of_program[] =
    "{\"layers\": 6, \"rope\": {\"base\": 1e4, \"on\": true}, \"a.b\": 1, \"a\": {\"b\": 2, \"b.c\": \"text\"}, "
    "\"sizes\": [3, {\"w\": 5}], \"none\": null, \"nul\": \"a\\u0000b\", \"nan\": NaN, \"12\": 7, "
    "\"half\": 0.5}";

START_TEST(programs_read_values_by_their_place)
{
    NnJson *j = nn_json_parse("config.json", of_program, strlen(of_program));
    ck_assert_msg(j != NULL, "%s", ag_error());
    int64_t whole = 0;
    double real = 0;
    bool truth = false;
    ck_assert(nn_json_int(j, "layers", &whole) && whole == 6);
    ck_assert(nn_json_real(j, "layers", &real) && real == 6);
    ck_assert(nn_json_real(j, "rope.base", &real) && real == 1e4);
    ck_assert(nn_json_bool(j, "rope.on", &truth) && truth);
    ck_assert(nn_json_int(j, "a.b", &whole) && whole == 1);             /* the longest name that fits */
    ck_assert_str_eq(nn_json_text(j, "a.b.c"), "text");
    ck_assert(nn_json_int(j, "sizes.0", &whole) && whole == 3);
    ck_assert(nn_json_int(j, "sizes.1.w", &whole) && whole == 5);
    ck_assert(nn_json_int(j, "12", &whole) && whole == 7);
    ck_assert(nn_json_int(j, "rope.base", &whole) && whole == 10000);
    ck_assert(nn_json_count(j, "") == 10 && nn_json_count(j, "sizes") == 2 && nn_json_count(j, "rope") == 2);
    ck_assert_str_eq(nn_json_name(j, "", 0), "layers");
    ck_assert_str_eq(nn_json_name(j, "rope", 1), "on");
    static const char *const there[] = { "", "layers", "rope.on", "sizes.1", "nul", "nan" };
    static const char *const absent[] = {
        "none", "no", "rope.", ".rope", "rope.base.x", "sizes.2", "sizes.-1", "sizes.00", "sizes.x", "sizes.", "layers.0",
        "a.b.d", "sizes.18446744073709551616", "."
    };
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) ck_assert_msg(nn_json_has(j, there[i]), "%s", there[i]);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) ck_assert_msg(!nn_json_has(j, absent[i]), "%s", absent[i]);
    ag_free(j);
}
END_TEST

#define REFUSED(message, ...) do { \
        ag_set_error("none"); \
        ck_assert(!(__VA_ARGS__)); \
        ck_assert_str_eq(ag_error(), message); \
    } while (0)

START_TEST(programs_are_told_what_was_expected)
{
    NnJson *j = nn_json_parse("config.json", of_program, strlen(of_program));
    int64_t whole = 9;
    double real = 9;
    bool truth = true;
    REFUSED("config.json: \"half\": expected a whole number, found another number", nn_json_int(j, "half", &whole));
    REFUSED("config.json: \"rope.scale\": expected a number, found nothing", nn_json_real(j, "rope.scale", &real));
    REFUSED("config.json: \"nan\": expected a number, found NaN or an infinity", nn_json_real(j, "nan", &real));
    REFUSED("config.json: \"layers\": expected true or false, found a number", nn_json_bool(j, "layers", &truth));
    REFUSED("config.json: the text: expected a string, found an object", nn_json_text(j, ""));
    REFUSED("config.json: \"nul\": expected a string without a NUL character", nn_json_text(j, "nul"));
    REFUSED("config.json: \"layers\": expected an array or an object, found a number", nn_json_count(j, "layers") != -1);
    REFUSED("config.json: \"sizes\": expected an object, found an array", nn_json_name(j, "sizes", 0));
    ck_assert(whole == 9 && real == 9 && truth);
    REPORTS("nn_json_name: member 2 of \"rope\" in config.json, which has 2", nn_json_name(j, "rope", 2));
    REPORTS("nn_json_int: value is NULL", ag_set_error("%s", ""); nn_json_int(j, "layers", NULL));
    REPORTS("nn_json_int: where is NULL", nn_json_int(j, NULL, &whole));
    REPORTS("nn_json_int: json is NULL", nn_json_int(NULL, "layers", &whole));
    ag_free(j);
    REFUSED("x: line 1, column 2: expected a name in quotes or '}', found the end", nn_json_parse("x", "{", 1));
    ck_assert_ptr_null(nn_json_open("/no/such/file.json"));
    ck_assert_msg(strstr(ag_error(), "/no/such/file.json: ") != NULL, "%s", ag_error());
}
END_TEST

/* nn_json_int, and nn_settings_int of the same text, as of nn_settings_read_json. */
START_TEST(whole_numbers_in_other_forms)
{
    static const struct { const char *text; int64_t value; bool good; } number[] = {
        { "-0", 0, true }, { "1.0", 1, true }, { "1E2", 100, true }, { "50e-1", 5, true }, { "-3.0e0", -3, true },
        { "9007199254740991.0", 9007199254740991, true }, { "-9223372036854775808", INT64_MIN, true },
        { "9007199254740993.0", 9007199254740992, true }, { "-123456789012345678e1", -1234567890123456768, true },
        { "-9223372036854775808.0", 0, false }, { "9223372036854775808", 0, false }, { "1e300", 0, false }, { "0.5", 0, false },
        { "-1e-3", 0, false }
    };
    folder_make();
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        char text[64];
        int size = snprintf(text, sizeof text, "{\"a\": %s}", number[i].text);
        folder_write("config.json", text, (size_t)size);
        NnJson *j = nn_json_parse("x", text, (size_t)size);
        NnSettings *s = nn_settings_new(), *read = nn_settings_new();
        nn_settings_set(s, "a", "%s", number[i].text);
        ck_assert(nn_settings_read_json(in_folder("config.json"), read));
        int64_t by_json = 0, by_text = 0, by_file = 0;
        ck_assert_msg(nn_json_int(j, "a", &by_json) == number[i].good, "%s", text);
        ck_assert_msg(nn_settings_int(s, "a", &by_text) == number[i].good, "%s", text);
        ck_assert_msg(nn_settings_int(read, "a", &by_file) == number[i].good, "%s", text);
        ck_assert_msg(by_json == number[i].value && by_text == by_json && by_file == by_json, "%s", text);
        ag_free(j);
        ag_free(s);
        ag_free(read);
    }
    folder_remove();
}
END_TEST

START_TEST(names_with_nul)
{
    static const char text[] = "{\"a\": 2, \"a\\u0000b\": 1, \"c\": {\"\\u0000\": 3}}";
    NnJson *j = nn_json_parse("x", text, sizeof text - 1);
    ck_assert_str_eq(nn_json_name(j, "", 0), "a");
    REFUSED("x: the text: expected names without a NUL character, found \"a\\x00b\"", nn_json_name(j, "", 1));
    REFUSED("x: \"c\": expected names without a NUL character, found \"\\x00\"", nn_json_name(j, "c", 0));
    ag_free(j);
    j = nn_json_parse("x", "\"\\u0000\"", 8);
    REFUSED("x: the text: expected a string without a NUL character", nn_json_text(j, ""));
    ag_free(j);
}
END_TEST

START_TEST(programs_read_files)
{
    folder_make();
    folder_write("config.json", of_program, strlen(of_program));
    NnJson *j = nn_json_open(in_folder("config.json"));
    ck_assert_msg(j != NULL, "%s", ag_error());
    int64_t whole = 0;
    ck_assert(nn_json_int(j, "layers", &whole) && whole == 6);
    ag_free(j);
    folder_remove();
}
END_TEST

Suite *json_suite(void)
{
    Suite *suite = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_loop_test(t, values_are_read_and_written, 0, sizeof copies / sizeof *copies);
    tcase_add_test(t, writing_indents);
    tcase_add_test(t, only_the_given_bytes_are_read);
    tcase_add_test(t, members_are_found);
    tcase_add_test(t, objects_may_be_large);
    tcase_add_test(t, invalid_utf8_and_infinity_are_not_written);
    tcase_add_loop_test(t, malformed_text_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(t, every_incomplete_text_is_refused);
    tcase_add_test(t, numbers_are_the_nearest_doubles);
    tcase_add_test(t, long_numbers_are_read);
    tcase_add_test(t, random_numbers_agree_with_the_c_library);
    tcase_add_test(t, whole_numbers_are_exact);
    tcase_add_test(t, numbers_do_not_depend_on_the_locale);
    tcase_add_test(t, every_code_point_is_encoded_and_decoded);
    tcase_add_test(t, nothing_else_is_utf8);
    tcase_add_test(t, messages_quote_on_one_line);
    tcase_add_loop_test(t, failing_allocations_leak_nothing, 0, 2);
    tcase_add_test(t, large_texts_are_refused);
    tcase_add_test(t, a_cut_character_is_not_utf8);
    tcase_add_test(t, long_numbers_leave_no_memory);
    tcase_add_test(t, programs_read_values_by_their_place);
    tcase_add_test(t, programs_are_told_what_was_expected);
    tcase_add_test(t, whole_numbers_in_other_forms);
    tcase_add_test(t, names_with_nul);
    tcase_add_test(t, programs_read_files);
    suite_add_tcase(suite, t);
    return suite;
}
