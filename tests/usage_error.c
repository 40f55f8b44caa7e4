/* usage_error.c: catches usage errors for usage_error.h, by an error handler that leaves with longjmp. */
#include "usage_error.h"

#include <stdio.h>

_Thread_local jmp_buf usage_escape;
_Thread_local char usage_message[1024];
static _Thread_local AgErrorHandler *former;
static _Thread_local AgScope scope;

static void leave(const char *message)
{
    snprintf(usage_message, sizeof usage_message, "%s", message);
    longjmp(usage_escape, 1);
}

void usage_begin(void)
{
    usage_message[0] = '\0';
    former = ag_on_usage_error(leave);
    scope = ag_begin(AG_RECORD);
}

void usage_end(void)
{
    ag_on_usage_error(former);
    ag_end(scope);
}

void check_usage_message(const char *text, const char *where, const char *file, int line)
{
    char here[sizeof usage_message], next[sizeof usage_message];
    snprintf(here, sizeof here, "%s (%s %s:%d)", text, where, file, line);
    snprintf(next, sizeof next, "%s (%s %s:%d)", text, where, file, line + 1);
    if (strcmp(usage_message, next) != 0) ck_assert_str_eq(usage_message, here);
}
