/* errors.c: error messages and the stack of layer calls that they show. */
#include "left.h"
#include "thread.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 64, MAX_DEEPER = 32 };
typedef struct {
    LayerCall call[MAX_CALLS];              /* the stack of layer calls */
    int calls;
    AgErrorHandler *handler;
    const char *frame;                      /* where the last error was on the stack, */
    int deeper;                             /* and how many before it were each less deep than the next */
    char message[MOST_MESSAGE], error[MOST_MESSAGE];        /* of ag_usage_error, and of ag_set_error */
} Errors;
static _Thread_local void *state;

static Errors *errors(void)
{
    static const StateKind kind = { .size = sizeof(Errors) };
    return state ? state : thread_state(&state, &kind);
}

/* ---- layer calls ------------------------------------------------------------------------------------------------- */

int ag_layer_begin(AgSite at, const char *function)
{
    Errors *e = errors();
    if (e->calls < MAX_CALLS) e->call[e->calls] = (LayerCall){ .site = at, .function = function };
    return e->calls++;
}

void ag_layer_end(const int *unused)
{
    (void)unused;
    Errors *e = errors();
    if (e->calls > 0) e->calls--;
}

AgSite layer_owns(void *p)
{
    Errors *e = errors();
    if (e->calls > 0 && e->calls <= MAX_CALLS) e->call[e->calls - 1].owned = p;
    return user_call()->site;
}

/* The record may not be the last one: a function of the program may have left others behind. */
void layer_frees(void *p)
{
    Errors *e = errors();
    for (int i = 0; i < MAX_CALLS; i++)
        if (e->call[i].owned == p) e->call[i].owned = NULL;
    ag_free(p);
}

void layers_are_left(int calls)
{
    Errors *e = errors();
    while (e->calls > calls) {
        e->calls--;
        if (e->calls < MAX_CALLS) ag_free(e->call[e->calls].owned);
    }
}

const LayerCall *user_call(void)
{
    static const LayerCall none;
    const Errors *e = errors();
    return e->calls > 0 ? e->call : &none;
}

int layer_calls(void)
{
    return errors()->calls;
}

void layer_calls_end(int calls)
{
    errors()->calls = calls;
}

int name_length(const char *function)
{
    size_t n = strlen(function);
    return (int)(n > 3 && strcmp(function + n - 3, "_at") == 0 ? n - 3 : n);
}

bool same_place(AgSite a, AgSite b)
{
    return a.line == b.line && strcmp(a.file, b.file) == 0;
}

const char *write_place(AgSite made, AgSite user_site, char text[PLACE_TEXT])
{
    int n = snprintf(text, PLACE_TEXT, "%s:%d", made.file, made.line);
    if (user_site.file && !same_place(made, user_site) && n >= 0 && n < PLACE_TEXT)
        snprintf(text + n, (size_t)(PLACE_TEXT - n), ", called from %s:%d", user_site.file, user_site.line);
    return text;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

void write_message(char *text, size_t size, const char *format, va_list list)
{
    char raw[MOST_MESSAGE];
    vsnprintf(raw, sizeof raw, format, list);
    utf8_printable(raw, strlen(raw), text, size);
}

/* Appends to a text of `size` bytes of which n are used; cuts what does not fit. Returns the new n. */
AG_PRINTF(4, 5) static size_t append(char *text, size_t size, size_t n, const char *format, ...)
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
static size_t append_layers(Errors *e, size_t n, AgSite inside)
{
    for (int i = (e->calls < MAX_CALLS ? e->calls : MAX_CALLS) - 1; i >= 0; i--) {
        AgSite around = e->call[i].site;
        if (same_place(inside, around) || (i > 0 && same_place(e->call[i - 1].site, around))) continue;
        const char *function = e->call[i].function;
        n = append(e->message, sizeof e->message, n, ", in %.*s called at %s:%d", name_length(function), function,
                   around.file, around.line);
        inside = around;
    }
    return n;
}

AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler)
{
    Errors *e = errors();
    AgErrorHandler *former = e->handler;
    e->handler = handler;
    return former;
}

/* Whether the handler seems to call itself without end: it makes an error, or what it calls does. One that leaves by longjmp
 * cannot be told from one that still runs, but its next error is not always deeper in the stack. */
static bool handler_recurs(Errors *e, const char *frame)
{
    e->deeper = e->frame && frame < e->frame ? e->deeper + 1 : 0;
    e->frame = frame;
    return e->deeper >= MAX_DEEPER;
}

_Noreturn void ag_usage_error(AgSite at, const char *what, const char *format, ...)
{
    Errors *e = errors();
    if (!what) what = __func__;
    if (!format) format = "the format is NULL";
    char details[sizeof e->message], raw[sizeof e->message];
    va_list list;
    va_start(list, format);
    vsnprintf(details, sizeof details, format, list);
    va_end(list);
    size_t n = append(e->message, sizeof e->message, 0, "%.*s: %s (at %s:%d", name_length(what), what, details, at.file,
                      at.line);
    n = append_layers(e, n, at);
    append(e->message, sizeof e->message, n, ")");
    memcpy(raw, e->message, sizeof raw);
    utf8_printable(raw, strlen(raw), e->message, sizeof e->message);
    e->calls = 0;
    thread_failed();
    bool recurs = handler_recurs(e, details);
    if (e->handler && !recurs) e->handler(e->message);
    else {
        fflush(stdout);                     /* abort would lose the program's output */
        fprintf(stderr, "kaeru: %s%s\n", recurs ? "the error handler makes errors itself: " : "", e->message);
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
    write_message(error, sizeof error, format, list);
    va_end(list);
    memcpy(errors()->error, error, strlen(error) + 1);
    return false;
}

const char *ag_error(void)
{
    return errors()->error;
}
