/* course.h: stands at the top of each assignment, after the headers of C: what check.h must see of the file's own calls. */
#include <stdarg.h>

/* What is printed while a check trains is kept, so that it can read the hash; a full log starts again. */
static bool course_quiet;
static char course_log[1 << 16];
static size_t course_used;

static int course_printf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (!course_quiet) {
        vprintf(format, list);
    } else {
        if (course_used > sizeof course_log / 2) {
            course_used = 0;
        }
        int n = vsnprintf(course_log + course_used, sizeof course_log / 2, format, list);
        course_used += n < 0 ? 0 : (size_t)n < sizeof course_log / 2 ? (size_t)n : sizeof course_log / 2 - 1;
    }
    va_end(list);
    return 0;
}

/* The arrays that were freed. A check of free() keeps their memory, so that a second free is no crash. */
static void *course_freed[16];
static int course_frees;
static bool course_keeps;

static void course_free(void *x)
{
    if (!x) {
        return;
    }
    course_freed[course_frees++ % 16] = x;
    if (!course_keeps) {
        free(x);
    }
}

static const char *course_language = "";            /* "ja" or "en": only this one */

/* Prints a text in Japanese and in English. */
static void course_say(const char *japanese, const char *english, ...)
{
    va_list list;
    if (strcmp(course_language, "en") != 0) {
        va_start(list, english);
        vprintf(japanese, list);
        va_end(list);
    }
    if (strcmp(course_language, "ja") != 0) {
        va_start(list, english);
        vprintf(english, list);
        va_end(list);
    }
}

/* Prints the name of the mistake and ends the check. */
static void course_wrong(const char *mistake)
{
    course_quiet = false;
    printf("[%s.%s]\n", COURSE_NAME, mistake);
    fflush(stdout);
    exit(1);
}

/* Each product() asks whether its matrices have shapes that fit. */
static void course_shapes(int rows, int columns, int a_rows, int a_columns, int b_rows, int b_columns)
{
    if (rows != a_rows || a_columns != b_rows || columns != b_columns) {
        course_say("product(C, A, B): Cは (%d, %d)、Aは (%d, %d)、Bは (%d, %d)。C += A B では、Aの列の数とBの行の数が等しく、Cは\n"
                   "Aの行の数とBの列の数をもつ。transposed() が足りないか、多いか、順番が逆ではないか？ y->in[0] と y->in[1]\n"
                   "を取り違えていないか？\n",
                   "product(C, A, B): C is (%d, %d), A (%d, %d), B (%d, %d). In C += A B, A has as many columns as B rows,\n"
                   "and C has the rows of A and the columns of B. Is a transposed() missing, or one too many, or the order\n"
                   "wrong, or y->in[0] taken for y->in[1]?\n",
                   rows, columns, a_rows, a_columns, b_rows, b_columns);
        course_wrong("shapes");
    }
}

/* A hash of what Adam keeps, in which a gradient shows that the rounding of a weight hides. */
#define COURSE_BITS 0xcbf29ce484222325
static uint64_t course_bits = COURSE_BITS;

static void course_add(const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        course_bits = (course_bits ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    }
}

/* A new parameter has a mark in each number that is not its own value, if a check looks for writes beyond the values. */
enum { MARK = 7 };
static bool course_marks;

static void course_parameter(float *rest, int n)
{
    for (int i = 0; i < n && course_marks; i++) {
        rest[i] = MARK;
    }
}

#define printf course_printf
#define free course_free
