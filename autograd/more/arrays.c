/* arrays.c: loops over arrays in several threads, and functions of all numbers of an array, for the operations of a program. */
#include "kaeru/custom.h"
#include "kaeru/errors.h"
#include "kernels.h"
#include "program_calls.h"
#include "threads.h"

void ag_parallel(int64_t n, int64_t grain, AgBody *body, void *arg)
{
    if (n < 0 || grain < 1) {
        ag_usage_error(__func__, "%lld items in parts of %lld, expected 0 or more items and parts of 1 or more", (long long)n,
                       (long long)grain);
    }
    ag_check_pointer(__func__, "body", (const void *)(uintptr_t)body);
    const Calls before = program_begins();
    k_parallel(n, grain, body, arg);
    function_ends(before);
}

static void each_number(const char *what, KUnary f, ag_real *y, const ag_real *x, int64_t n)
{
    if (n < 0) {
        ag_usage_error(what, "%lld numbers, expected 0 or more", (long long)n);
    }
    if (n == 0) return;
    ag_check_pointer(what, "y", y);
    ag_check_pointer(what, "x", x);
    k_unary(f, n, y, x, 0, 0);
}

void ag_array_exp(ag_real *y, const ag_real *x, int64_t n)
{
    each_number(__func__, K_EXP, y, x, n);
}

void ag_array_log(ag_real *y, const ag_real *x, int64_t n)
{
    each_number(__func__, K_LOG, y, x, n);
}

void ag_array_tanh(ag_real *y, const ag_real *x, int64_t n)
{
    each_number(__func__, K_TANH, y, x, n);
}

void ag_array_sigmoid(ag_real *y, const ag_real *x, int64_t n)
{
    each_number(__func__, K_SIGMOID, y, x, n);
}
