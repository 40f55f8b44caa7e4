#include "misuse.h"

#include <stdio.h>

jmp_buf misuse_escape;
char misuse_message[1024];
static AgErrorHandler *former;
static Scope scope;

static void leave(const char *message)
{
    snprintf(misuse_message, sizeof misuse_message, "%s", message);
    longjmp(misuse_escape, 1);
}

void misuse_begin(void)
{
    misuse_message[0] = '\0';
    former = ag_on_usage_error(leave);
    scope = ag_begin(AG_RECORD);
}

void misuse_end(void)
{
    ag_on_usage_error(former);
    ag_end(scope);
}
