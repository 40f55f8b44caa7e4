/* number.c: numbers as text, by the C library in the C locale. The thread's own locale may write a
 * decimal comma. number_text restores it before it returns. A caller of use_c_locale does so by
 * system_restore_locale. */
#include "number.h"

#include <stdio.h>
#include <stdlib.h>

#include "system.h"

void *use_c_locale(void)
{
    void *former = system_use_c_locale();
    if (!former) {
        ag_usage_error("number", "no memory for the C locale");
    }
    return former;
}

char *number_text(double value, char text[NUMBER_TEXT])
{
    void *former = use_c_locale();
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, NUMBER_TEXT, "%.*g", precision, value);
        if (strtod(text, NULL) == value) break;
    }
    system_restore_locale(former);
    return text;
}
