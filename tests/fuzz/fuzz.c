/* fuzz.c: the functions of fuzz.h. */
#include "fuzz.h"

#include "utf8.h"

void fuzz_check_refusal(const char *name)
{
    const char *message = ag_error();
    CHECK(strncmp(message, name, strlen(name)) == 0);
    CHECK(utf8_valid(message, strlen(message)) == strlen(message));
    for (; *message; message++) CHECK((unsigned char)*message >= 0x20);
}
