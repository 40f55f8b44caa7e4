/* fuzz_number.c: the value of a number equals that of the C library's strtod, and its text has the same value. */
#include <math.h>

#include "fuzz.h"
#include "numbers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Number number, again;
    size_t wrong, n = number_scan((const char *)data, size, &number, &wrong);
    if (n == 0) {
        CHECK(wrong <= size);
        return 0;
    }
    CHECK(n <= size);
    char *copy = malloc(n + 1), *end, text[NUMBER_TEXT];
    memcpy(copy, data, n);
    copy[n] = '\0';
    double expected = strtod(copy, &end);
    CHECK(end == copy + n);
    CHECK(number.value == expected && !signbit(number.value) == !signbit(expected));
    if (number.whole) CHECK(number.integer == strtoll(copy, NULL, 10));
    if (isfinite(expected)) {
        number_text(expected, text);
        CHECK(number_scan(text, strlen(text), &again, &wrong) == strlen(text) && again.value == expected);
    }
    free(copy);
    return 0;
}
