/* numbers.c: text to numbers, and text with numbers, by the C library in the C locale. */
#include "numbers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

/* Moves *at past the digits there; false if there are none. */
static bool skip_digits(const char *s, size_t n, size_t *at)
{
    size_t first = *at;
    while (*at < n && s[*at] >= '0' && s[*at] <= '9') ++*at;
    return *at > first;
}

/* Sets *at to the end of the number; false, with *at where a digit is missing, if there is no number. */
static bool find_end(const char *s, size_t n, size_t *at, bool *has_integer_form)
{
    *at = n > 0 && s[0] == '-';
    *has_integer_form = true;
    if (*at < n && s[*at] == '0') ++*at;
    else if (!skip_digits(s, n, at)) return false;
    if (*at < n && s[*at] == '.') {
        *has_integer_form = false;
        ++*at;
        if (!skip_digits(s, n, at)) return false;
    }
    if (*at < n && (s[*at] == 'e' || s[*at] == 'E')) {
        *has_integer_form = false;
        ++*at;
        if (*at < n && (s[*at] == '-' || s[*at] == '+')) ++*at;
        if (!skip_digits(s, n, at)) return false;
    }
    return true;
}

size_t number_scan(const char *s, size_t n, Number *number, size_t *wrong)
{
    size_t length;
    bool has_integer_form;
    if (!find_end(s, n, &length, &has_integer_form)) {
        *wrong = length;
        return 0;
    }
    char buffer[64], *text = length < sizeof buffer ? buffer : ag_alloc(length + 1, 1);
    memcpy(text, s, length);
    text[length] = '\0';
    errno = 0;
    int64_t integer = has_integer_form ? strtoll(text, NULL, 10) : 0;
    number->whole = has_integer_form && errno == 0 && !(integer == 0 && text[0] == '-');
    number->integer = number->whole ? integer : 0;
    if (number->whole) {
        number->value = (double)integer;
    } else {
        void *former = use_c_locale();
        number->value = strtod(text, NULL);
        system_restore_locale(former);
    }
    if (text != buffer) ag_free(text);
    return length;
}

bool number_is_whole(double value, int64_t *whole)
{
    if (!(fabs(value) < 0x1p63 && value == trunc(value))) return false;
    *whole = (int64_t)value;
    return true;
}

bool number_read(const char *text, bool whole, double *value)
{
    static const int64_t most = INT64_C(1) << 53;
    if (!*text || text[strspn(text, whole ? "+-0123456789" : "+-.0123456789eE")]) return false;
    char *end;
    void *former = use_c_locale();
    int64_t integer = whole ? strtoll(text, &end, 10) : 0;
    *value = whole ? (double)integer : strtod(text, &end);
    system_restore_locale(former);
    if (integer < -most || integer > most) *value = integer < 0 ? -HUGE_VAL : HUGE_VAL;
    return !*end;
}

AG_PRINTF(3, 0) static int print(char *text, size_t size, const char *format, va_list list)
{
    void *former = use_c_locale();
    int length = vsnprintf(text, size, format, list);
    system_restore_locale(former);
    return length;
}

char *text_vprintf(void *owner, const char *format, va_list list)
{
    va_list copy;
    va_copy(copy, list);
    int length = print(NULL, 0, format, copy);
    va_end(copy);
    if (length < 0) return NULL;
    char *text = ag_alloc_in(owner, (size_t)length + 1, 1);
    print(text, (size_t)length + 1, format, list);
    return text;
}

char *text_printf(void *owner, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = text_vprintf(owner, format, list);
    va_end(list);
    return text;
}
