/* usage_error.c: catches usage errors for usage_error.h, by an error handler that leaves with longjmp. */
#include "usage_error.h"

#include <stdio.h>

jmp_buf usage_escape;
char usage_message[1024];
static AgErrorHandler *former;
static Scope scope;

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
