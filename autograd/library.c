/* library.c: the library's version and threads, and its scalar functions. */
#include "internal.h"
#include "kaeru/version.h"
#include "kernels.h"

const char *kaeru_version(void)
{
    return KAERU_VERSION;
}

void ag_set_threads_at(AgSite at, int n)
{
    if (n < 0 || n > 256) ag_usage_error(at, __func__, "%d threads, expected 1 to 256, or 0 for the default", n);
    k_set_threads(n);
}

int ag_threads(void)
{
    return k_threads();
}

double ag_math_exp(double x)
{
    return k_exp(x);
}

double ag_math_log(double x)
{
    return k_log(x);
}

double ag_math_sin(double x)
{
    return k_sin(x);
}

double ag_math_cos(double x)
{
    return k_cos(x);
}

double ag_math_pow(double x, double y)
{
    return k_pow(x, y);
}
