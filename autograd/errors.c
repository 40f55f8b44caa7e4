/* errors.c: messages of errors and warnings, and the stacks of calls and of layer calls that they
 * show. */
#include "errors.h"
#include "kaeru/errors.h"
#include "left.h"
#include "observe.h"
#include "thread.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 64, MAX_DEEPER = 32 };
typedef struct {
    LayerCall call[MAX_CALLS];              /* the stack of layer calls */
    int calls;
    AgErrorHandler *handler;
    const char *frame;                      /* where the last error was on the stack, */
    int deeper;                             /* and how many before it were each less deep than the
                                               next */
    /* of ag_usage_error, and of ag_set_error */
    char message[MOST_MESSAGE], error[MOST_MESSAGE];
} Errors;
static _Thread_local void *state;

static Errors *errors(void)
{
    static const StateKind kind = { .size = sizeof(Errors) };
    return state ? state : thread_state(&state, &kind);
}

/* ---- places of calls ------------------------------------------------------------------------- */

_Thread_local Running running;
_Thread_local RunningRule running_rule;

void ag_in(const char *file, int line)
{
    uint64_t number = running.n++, i = number % CALL_PLACES;
    running.call[i].file = file;
    running.call[i].line = line;
    running.call[i].number = (uint32_t)number;
}

void ag_out(void)
{
    if (running.n > running.outer) {
        running.n--;
    }
    if (running.lost > running.n) {
        running.lost = running.n;
    }
}

void *ag_out_pointer(const void *p)
{
    ag_out();
    return (void *)p;
}

void running_calls_end(uint64_t n)
{
    if (running.n <= n) return;
    running.n = running.lost = n > running.outer ? n : running.outer;
}

Calls function_begins(void)
{
    Calls before = { running.n, running.lost, running.outer };
    running.outer = running.n;
    return before;
}

Calls program_begins(void)
{
    Calls before = function_begins();
    ag_in(NULL, 0);
    running.outer++;
    return before;
}

void function_ends(Calls before)
{
    running.n = before.n;
    running.lost = before.lost;
    running.outer = before.outer;
}

/* ---- layer calls ----------------------------------------------------------------------------- */

int ag_layer_begin(const char *function, int of_program)
{
    Errors *e = errors();
    /* a call by a pointer is not one of the line that called a layer around this one */
    if (of_program) {
        ag_in(NULL, 0);
    }
    if (e->calls < MAX_CALLS) {
        e->call[e->calls] = (LayerCall){
            .site = call_place(), .function = function, .of_program = of_program,
        };
    }
    e->calls++;
    return of_program;
}

void ag_layer_end(const int *of_program)
{
    Errors *e = errors();
    if (*of_program) {
        ag_out();
    }
    if (e->calls > 0) {
        e->calls--;
    }
}

void layer_owns(void *p)
{
    Errors *e = errors();
    if (e->calls > 0 && e->calls <= MAX_CALLS) {
        e->call[e->calls - 1].owned = p;
    }
}

/* The record may not be the last one: a function of the program may have left others behind. */
void layers_disown(const void *p)
{
    Errors *e = errors();
    for (int i = 0; i < MAX_CALLS; i++) {
        if (e->call[i].owned == p) {
            e->call[i].owned = NULL;
        }
    }
}

bool layer_is_left(int calls, void **owned)
{
    Errors *e = errors();
    if (e->calls <= calls) return false;
    e->calls--;
    *owned = e->calls < MAX_CALLS ? e->call[e->calls].owned : NULL;
    return true;
}

const LayerCall *user_call(void)
{
    static const LayerCall none;
    const Errors *e = errors();
    for (int i = 0; i < e->calls && i < MAX_CALLS; i++) {
        if (!e->call[i].of_program) return &e->call[i];
    }
    return &none;
}

Place user_place(void)
{
    Place place = user_call()->site;
    return place.file ? place : call_place();
}

int layer_calls(void)
{
    return errors()->calls;
}

void layer_calls_end(int calls)
{
    errors()->calls = calls;
}

bool same_place(Place a, Place b)
{
    return a.line == b.line &&
           (a.file == b.file || (a.file && b.file && strcmp(a.file, b.file) == 0));
}

/* Writes "FILE:LINE" and returns its length. */
static int write_line(Place p, char *text, size_t size)
{
    return p.file ? snprintf(text, size, "%s:%d", p.file, p.line)
                  : snprintf(text, size, "a line that is not known");
}

const char *write_place(Place made, Place user_site, char text[PLACE_TEXT])
{
    int n = write_line(made, text, PLACE_TEXT);
    if (user_site.file && !same_place(made, user_site) && n >= 0 && n < PLACE_TEXT) {
        snprintf(text + n, (size_t)(PLACE_TEXT - n), ", called from %s:%d", user_site.file,
                 user_site.line);
    }
    return text;
}

/* ---- messages -------------------------------------------------------------------------------- */

void write_message(char *text, size_t size, const char *format, va_list list)
{
    char raw[MOST_MESSAGE];
    vsnprintf(raw, sizeof raw, format, list);
    utf8_printable(raw, strlen(raw), text, size);
}

/* Appends to a text of `size` bytes of which n are used; cuts what does not fit. Returns the new
 * n. */
AG_PRINTF(4, 5) static size_t append(char *text, size_t size, size_t n, const char *format, ...)
{
    if (n + 1 >= size) return n;
    va_list list;
    va_start(list, format);
    int added = vsnprintf(text + n, size - n, format, list);
    va_end(list);
    return added < 0 ? n : n + (size_t)added < size ? n + (size_t)added : size - 1;
}

static size_t append_place(Errors *e, size_t n, const char *before, Place p)
{
    n = append(e->message, sizeof e->message, n, "%s", before);
    if (!p.file) return append(e->message, sizeof e->message, n, "a line that is not known");
    return append(e->message, sizeof e->message, n, "%s:%d", p.file, p.line);
}

/* Appends the place of `what` and the layers that are being called, the innermost first: " (in
 * LAYER, in LAYER called at PLACE, in LAYER called at PLACE)". Layers of the library have the place
 * of the program's call. A layer of the program has none: its own calls come before it. */
static size_t append_places(Errors *e, size_t n, const char *what, Place at)
{
    const char *before = " (";
    bool known = true, named = false;  /* `at` is to be written; a layer with this place has been */
    for (int i = (e->calls < MAX_CALLS ? e->calls : MAX_CALLS) - 1; i >= 0; i--) {
        const LayerCall *call = &e->call[i];
        bool goes_on = known && !call->of_program && same_place(at, call->site);
        if (strcmp(what, call->function) == 0 && (goes_on || call->of_program) && !named && known) {
            what = "";
            continue;
        }
        if (known && !goes_on) {
            n = append(e->message, sizeof e->message, n, "%s", named ? "" : before);
            n = append_place(e, n, named ? " called at " : "at ", at);
            before = ", ";
        }
        n = append(e->message, sizeof e->message, n, "%sin %s", before, call->function);
        before = ", ";
        known = named = !call->of_program;
        at = call->site;
        what = "";
    }
    if (known) {
        n = append(e->message, sizeof e->message, n, "%s", named ? "" : before);
        n = append_place(e, n, named ? " called at " : "at ", at);
    }
    return append(e->message, sizeof e->message, n, ")");
}

AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler)
{
    Errors *e = errors();
    AgErrorHandler *former = e->handler;
    e->handler = handler;
    return former;
}

/* Whether the handler seems to call itself without end: it makes an error, or what it calls does.
 * One that leaves by longjmp cannot be told from one that still runs, but its next error is not
 * always deeper in the stack. */
static bool handler_recurs(Errors *e, const char *frame)
{
    e->deeper = e->frame && frame < e->frame ? e->deeper + 1 : 0;
    e->frame = frame;
    return e->deeper >= MAX_DEEPER;
}

_Noreturn void usage_error_at(Place at, const char *what, const char *format, va_list list)
{
    Errors *e = errors();
    if (!what) {
        what = "ag_usage_error";
    }
    if (!format) {
        format = "the format is NULL";
    }
    char details[sizeof e->message], raw[sizeof e->message];
    vsnprintf(details, sizeof details, format, list);
    size_t n = append(e->message, sizeof e->message, 0, "%s: %s", what, details);
    append_places(e, n, what, at);
    memcpy(raw, e->message, sizeof raw);
    utf8_printable(raw, strlen(raw), e->message, sizeof e->message);
    e->calls = 0;
    running.lost = running.n;
    thread_failed();
    bool recurs = handler_recurs(e, details);
    if (e->handler && !recurs) {
        e->handler(e->message);
    } else {
        fflush(stdout);                     /* abort would lose the program's output */
        fprintf(stderr, "kaeru: %s%s\n", recurs ? "the error handler makes errors itself: " : "",
                e->message);
    }
    abort();
}

AG_NORETURN void ag_usage_error(const char *what, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    usage_error_at(call_place(), what, format, list);
}

void ag_check_pointer(const char *what, const char *name, const void *p)
{
    if (!p) {
        ag_usage_error(what, "%s is NULL", name);
    }
}

bool ag_set_error(const char *format, ...)
{
    char error[sizeof errors()->error];     /* a copy first: the arguments may include ag_error() */
    if (!format) {
        format = "an error without a message";
    }
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

/* ---- warnings -------------------------------------------------------------------------------- */

void write_warning(Place place, const char *what, const char *format, va_list list)
{
    enum { MAX_KINDS = 32 };
    static _Atomic(const char *) told[MAX_KINDS];
    if (!what) {
        what = "ag_warning";
    }
    if (!format) {
        format = "the format is NULL";
    }
    const char *former = format;
    for (int kind = 0; (observers_need & TELL_WARNINGS) && kind < MAX_KINDS && former; kind++) {
        former = NULL;
        if (!atomic_compare_exchange_strong(&told[kind], &former, format) && former == format) {
            return;
        }
    }
    if (former) return;
    char text[512];
    write_message(text, sizeof text, format, list);
    fprintf(stderr, "kaeru: warning: %s: %s (at %s)\n", what, text,
            place_text(place, (Place){ 0 }));
}

void ag_warning(const char *what, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    write_warning(user_place(), what, format, list);
    va_end(list);
}

bool ag_warn_of_step(void)
{
    notify(STEPPED, NULL);
    return observers_need & TELL_WARNINGS;
}
