/* version.c: the version of the library. */
#include "kaeru/version.h"

const char *kaeru_version(void)
{
    return KAERU_VERSION;
}
