/* fuzz.c: the functions of fuzz.h. */
#include "fuzz.h"

#include "utf8.h"

void fuzz_check_refusal(const char *name)
{
    const char *message = ag_error();
    CHECK(strncmp(message, name, strlen(name)) == 0);
    uint32_t code;
    for (size_t n = strlen(message), length; n > 0; message += length, n -= length) {
        length = (size_t)utf8_decode(message, n, &code);
        CHECK(length > 0 && utf8_is_printable(code));
    }
}
