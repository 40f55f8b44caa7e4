/* engine.c: the border between the page's scripts and C. */
#include "engine.h"

#include <math.h>

enum { TEXT_BYTES = 1 << 16, MOST_NUMBERS = 1 << 16 };
static char text[TEXT_BYTES];
static float numbers[MOST_NUMBERS];

/* Throws an exception in the script. */
_Noreturn void IMPORT(page_fail)(const char *message);

static void fail(const char *message)
{
    fflush(stdout);
    page_fail(message);
}

void EXPORT(engine_begin)(void)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    ag_on_usage_error(fail);
}

/* Where the script writes a text of up to 65535 bytes and a NUL. */
char *EXPORT(engine_text)(void)   { return text; }

/* Around each call: the scope of what the call makes. If an error has left the call, its end frees all of that. A call that
 * needs another precision sets it. */
static AgScope scope;
void EXPORT(call_begin)(void)
{
    ag_precision(AG_FLOAT32);
    scope = ag_begin(AG_NO_GRAD);
}
void EXPORT(call_end)(void)
{
    ag_end(scope);
    fflush(stdout);
}

const char *the_text(void)        { return text; }

float *the_numbers(int64_t n)
{
    if (n > MOST_NUMBERS) ag_usage_error("engine", "%lld numbers are too many", (long long)n);
    return numbers;
}
float *EXPORT(engine_numbers)(void) { return numbers; }

void json_number(double x)
{
    if (isnan(x))
        printf("null");
    else
        printf(isinf(x) ? "%s1e999" : "%s%.6g", x < 0 ? "-" : "", fabs(x));
}

void json_reals(const char *key, const ag_real *x, int64_t n)
{
    printf("\"%s\":", key);
    if (!x) {
        printf("null");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        putchar(i ? ',' : '[');
        json_number((double)x[i]);
    }
    printf(n > 0 ? "]" : "[]");
}
