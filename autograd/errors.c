/* errors.c: error messages and the stack of layer calls that they show. */
#include "internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- layer calls ------------------------------------------------------------------------------------------------- */

int ag_layer_begin(AgSite at, const char *function)
{
    Context *c = context();
    if (c->calls < MAX_CALLS) {
        c->call[c->calls].site = at;
        c->call[c->calls].function = function;
    }
    return c->calls++;
}

void ag_layer_end(const int *unused)
{
    (void)unused;
    Context *c = context();
    if (c->calls > 0) c->calls--;
}

AgSite user_site_now(const Context *c)
{
    return c->calls > 0 ? c->call[0].site : (AgSite){ NULL, 0 };
}

int name_length(const char *function)
{
    size_t n = strlen(function);
    return (int)(n > 3 && strcmp(function + n - 3, "_at") == 0 ? n - 3 : n);
}

static bool same_place(AgSite a, AgSite b)
{
    return a.line == b.line && strcmp(a.file, b.file) == 0;
}

const char *place_text(AgSite made, AgSite user_site, char text[PLACE_TEXT])
{
    int n = snprintf(text, PLACE_TEXT, "%s:%d", made.file, made.line);
    if (user_site.file && !same_place(made, user_site) && n >= 0 && n < PLACE_TEXT)
        snprintf(text + n, (size_t)(PLACE_TEXT - n), ", called from %s:%d", user_site.file, user_site.line);
    return text;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Appends to a text of `size` bytes of which n are used; cuts what does not fit. Returns the new n. */
static size_t append(char *text, size_t size, size_t n, const char *format, ...) AG_PRINTF(4, 5);
static size_t append(char *text, size_t size, size_t n, const char *format, ...)
{
    if (n + 1 >= size) return n;
    va_list list;
    va_start(list, format);
    int added = vsnprintf(text + n, size - n, format, list);
    va_end(list);
    return added < 0 ? n : n + (size_t)added < size ? n + (size_t)added : size - 1;
}

/* Appends the layers that are being called, the innermost first. Functions that pass their caller's place on share one line
 * with what they call: the message shows the line once, with the outermost of them. */
static size_t append_layers(Context *c, size_t n, AgSite inside)
{
    for (int i = (c->calls < MAX_CALLS ? c->calls : MAX_CALLS) - 1; i >= 0; i--) {
        AgSite around = c->call[i].site;
        if (same_place(inside, around) || (i > 0 && same_place(c->call[i - 1].site, around))) continue;
        const char *function = c->call[i].function;
        n = append(c->message, sizeof c->message, n, ", in %.*s called at %s:%d", name_length(function), function,
                   around.file, around.line);
        inside = around;
    }
    return n;
}

AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler)
{
    Context *c = context();
    AgErrorHandler *former = c->handler;
    c->handler = handler;
    return former;
}

_Noreturn void ag_usage_error(AgSite at, const char *what, const char *format, ...)
{
    Context *c = context();
    if (!what) what = "ag_usage_error";
    if (!format) format = "the format is NULL";
    char details[sizeof c->message];
    va_list list;
    va_start(list, format);
    vsnprintf(details, sizeof details, format, list);
    va_end(list);
    size_t n = append(c->message, sizeof c->message, 0, "%.*s: %s (at %s:%d", name_length(what), what, details, at.file,
                      at.line);
    n = append_layers(c, n, at);
    append(c->message, sizeof c->message, n, ")");
    ScopeState *innermost = c->depth > 0 ? &c->scope[c->depth - 1] : NULL;
    if (innermost) innermost->failed = ++c->serial;         /* the next ag_end of this or an outer scope unwinds */
    c->calls = innermost ? innermost->calls : 0;
    c->keep_graph = c->mark_unwritten = false;
    c->rule = c->forward = NULL;
    if (c->pass) guard_backward_ends();
    release_pending_gradients();
    scratch_end();
    if (c->handler) c->handler(c->message);
    else {
        fflush(stdout);                     /* abort would lose the program's output */
        fprintf(stderr, "kaeru: %s\n", c->message);
    }
    abort();
}

void ag_check_pointer_at(AgSite at, const char *what, const char *name, const void *p)
{
    if (!p) ag_usage_error(at, what, "%s is NULL", name);
}

bool ag_set_error(const char *format, ...)
{
    char error[sizeof context()->error];        /* a copy first: the arguments may include ag_error() */
    if (!format) format = "an error without a message";
    va_list list;
    va_start(list, format);
    vsnprintf(error, sizeof error, format, list);
    va_end(list);
    memcpy(context()->error, error, strlen(error) + 1);
    return false;
}

const char *ag_error(void)
{
    return context()->error;
}
