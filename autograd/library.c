/* library.c: the library's version and threads. */
#include "kaeru/tensor.h"
#include "kaeru/version.h"
#include "threads.h"

const char *kaeru_version(void)
{
    return KAERU_VERSION;
}

void ag_set_threads(int n)
{
    if (n < 0 || n > 256) ag_usage_error(__func__, "%d threads, expected 1 to 256, or 0 for the default", n);
    k_set_threads(n);
}

int ag_threads(void)
{
    return k_threads();
}
