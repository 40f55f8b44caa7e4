/* errors.c: error messages and the stack of layer calls that they show. */
#include "thread.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 64 };
typedef struct {
    LayerCall call[MAX_CALLS];              /* the stack of layer calls: the outermost ones, layer_calls or fewer */
    AgErrorHandler *handler;
    char message[1024], error[1024];        /* of ag_usage_error, and of ag_set_error */
} Errors;
static _Thread_local void *state;
_Thread_local int layer_calls;

static Errors *errors(void)
{
    return state ? state : thread_state(&state, sizeof(Errors));
}

/* ---- layer calls ------------------------------------------------------------------------------------------------- */

int ag_layer_begin(AgSite at, const char *function)
{
    if (layer_calls < MAX_CALLS) errors()->call[layer_calls] = (LayerCall){ at, function };
    return layer_calls++;
}

void ag_layer_end(const int *unused)
{
    (void)unused;
    if (layer_calls > 0) layer_calls--;
}

const LayerCall *user_call(void)
{
    static const LayerCall none;
    return layer_calls > 0 ? errors()->call : &none;
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

/* Appends to the message; cuts what does not fit. */
static void append(Errors *e, const char *format, ...) AG_PRINTF(2, 3);
static void append(Errors *e, const char *format, ...)
{
    size_t n = strlen(e->message);
    va_list list;
    va_start(list, format);
    vsnprintf(e->message + n, sizeof e->message - n, format, list);
    va_end(list);
}

/* Appends the layers that are being called, the innermost first. Functions that pass their caller's place on share one line
 * with what they call: the message shows the line once, with the outermost of them. */
static void append_layers(Errors *e, AgSite inside)
{
    for (int i = (layer_calls < MAX_CALLS ? layer_calls : MAX_CALLS) - 1; i >= 0; i--) {
        AgSite around = e->call[i].site;
        if (same_place(inside, around) || (i > 0 && same_place(e->call[i - 1].site, around))) continue;
        const char *function = e->call[i].function;
        append(e, ", in %.*s called at %s:%d", name_length(function), function, around.file, around.line);
        inside = around;
    }
}

AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler)
{
    Errors *e = errors();
    AgErrorHandler *former = e->handler;
    e->handler = handler;
    return former;
}

_Noreturn void ag_usage_error(AgSite at, const char *what, const char *format, ...)
{
    Errors *e = errors();
    if (!what) what = __func__;
    if (!format) format = "the format is NULL";
    char details[sizeof e->message];
    va_list list;
    va_start(list, format);
    vsnprintf(details, sizeof details, format, list);
    va_end(list);
    *e->message = '\0';
    append(e, "%.*s: %s (at %s:%d", name_length(what), what, details, at.file, at.line);
    append_layers(e, at);
    append(e, ")");
    layer_calls = 0;
    thread_failed();
    if (e->handler) e->handler(e->message);
    else {
        fflush(stdout);                     /* abort would lose the program's output */
        fprintf(stderr, "kaeru: %s\n", e->message);
    }
    abort();
}

void ag_check_pointer_at(AgSite at, const char *what, const char *name, const void *p)
{
    if (!p) ag_usage_error(at, what, "%s is NULL", name);
}

bool ag_set_error(const char *format, ...)
{
    char error[sizeof errors()->error];         /* a copy first: the arguments may include ag_error() */
    if (!format) format = "an error without a message";
    va_list list;
    va_start(list, format);
    vsnprintf(error, sizeof error, format, list);
    va_end(list);
    memcpy(errors()->error, error, strlen(error) + 1);
    return false;
}

const char *ag_error(void)
{
    return errors()->error;
}
