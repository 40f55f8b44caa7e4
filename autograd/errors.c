/* errors.c: messages of errors and warnings, and the two stacks that they show (errors.h).
 *
 * The stack of calls has the lines at which the program has called functions of the library. The
 * macros of kaeru/places.h put a call on it (ag_in) and take it off (ag_out). Some functions of the
 * library call a function of the program, which may leave calls on the stack: function_begins and
 * function_ends stand around it (program_calls.h). The stack of layers has the functions that begin
 * with AG_LAYER.
 *
 * A usage error does not return: it calls the program's handler, which may leave by longjmp or by
 * an exception, or it prints its message and calls abort. Before that, each file of the library
 * undoes what it has begun (thread_failed). */
#include "errors.h"
#include "kaeru/errors.h"
#include "program_calls.h"
#include "observe.h"
#include "thread.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CALLS = 64, MAX_DEEPER = 32 };
typedef struct {
    LayerCall call[MAX_CALLS];      /* the stack of layers; deeper ones are only counted */
    int calls;                      /* the number of layers that are being called */
    AgErrorHandler *handler;
    const char *frame;              /* the address of the last usage error on the stack */
    int deeper;                     /* the number of errors in a row that were each deeper in the
                                       stack than the one before */
    char message[MOST_MESSAGE];     /* the text of the last usage error */
    char error[MOST_MESSAGE];       /* the text of ag_error */
} Errors;
static _Thread_local void *state;

static Errors *errors(void)
{
    static const StateKind kind = { .size = sizeof(Errors) };
    return state ? state : thread_state(&state, &kind);
}

/* ---- the stack of calls ---------------------------------------------------------------------- */

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
    Calls before = { running.n, running.lost, running.outer, running.functions };
    running.outer = running.n;
    running.functions++;
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
    running.functions = before.functions;
}

/* ---- the stack of layers --------------------------------------------------------------------- */

int ag_layer_begin(const char *function, int of_program)
{
    Errors *e = errors();
    if (of_program) {
        ag_in(NULL, 0);     /* what it calls by a pointer is not at the line of an outer call */
    }
    if (e->calls < MAX_CALLS) {
        e->call[e->calls] = (LayerCall){ .site = call_place(), .function = function,
                                         .of_program = of_program };
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

void layers_disown(const void *p)
{
    Errors *e = errors();
    for (int i = 0; i < MAX_CALLS; i++) {   /* all: a longjmp may have left layers above it */
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

const LayerCall *outermost_layer(void)
{
    static const LayerCall none;
    const Errors *e = errors();
    for (int i = 0; i < e->calls && i < MAX_CALLS; i++) {
        if (!e->call[i].of_program) return &e->call[i];
    }
    return &none;
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

/* ---- messages -------------------------------------------------------------------------------- */

void write_message(char *text, size_t size, const char *format, va_list list)
{
    char raw[MOST_MESSAGE];
    vsnprintf(raw, sizeof raw, format, list);
    utf8_printable(raw, strlen(raw), text, size);
}

/* A text that is being put together in `size` bytes. What does not fit is cut off. */
typedef struct { char *text; size_t size, n; } Message;

AG_PRINTF(2, 3) static void append(Message *m, const char *format, ...)
{
    size_t space = m->size - m->n;
    va_list list;
    va_start(list, format);
    int added = vsnprintf(m->text + m->n, space, format, list);
    va_end(list);
    if (added > 0) {
        m->n += (size_t)added < space ? (size_t)added : space - 1;
    }
}

static void append_place(Message *m, Place p)
{
    if (p.file) {
        append(m, "%s:%d", p.file, p.line);
    } else {
        append(m, "a line that is not known");
    }
}

const char *write_place(Place made, Place user_site, char text[PLACE_TEXT])
{
    Message m = { text, PLACE_TEXT, 0 };
    append_place(&m, made);
    if (user_site.file && !same_place(made, user_site)) {
        append(&m, ", called from ");
        append_place(&m, user_site);
    }
    return text;
}

/* Appends the place of `what` and the layers that are being called, the innermost first, such as
 * " (in LAYER, in LAYER called at PLACE, in LAYER called at PLACE)". Layers that were called at the
 * same place share it. A layer of the program has no place, so that of its own call comes before
 * it. */
static void append_places(Message *m, const Errors *e, const char *what, Place at)
{
    const char *before = " (";
    bool pending = true;        /* `at` is still to be written */
    bool named = false;         /* the last layer that was written was called there */
    for (int i = (e->calls < MAX_CALLS ? e->calls : MAX_CALLS) - 1; i >= 0; i--) {
        const LayerCall *call = &e->call[i];
        bool same = pending && !call->of_program && same_place(at, call->site);
        bool may_be_what = pending && !named && (same || call->of_program);
        if (may_be_what && strcmp(what, call->function) == 0) {
            what = "";
            continue;
        }
        if (pending && !same) {
            append(m, "%sat ", named ? " called " : before);
            append_place(m, at);
            before = ", ";
        }
        append(m, "%sin %s", before, call->function);
        before = ", ";
        pending = named = !call->of_program;
        at = call->site;
        what = "";
    }
    if (pending) {
        append(m, "%sat ", named ? " called " : before);
        append_place(m, at);
    }
    append(m, ")");
}

AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler)
{
    Errors *e = errors();
    AgErrorHandler *former = e->handler;
    e->handler = handler;
    return former;
}

/* Returns whether the error handler seems to make errors itself, and so to call itself without end.
 * Nothing tells whether a handler still runs or has left by longjmp. But if it runs, each error is
 * deeper in the stack than the one before. */
static bool handler_recurs(Errors *e, const char *frame)
{
    e->deeper = e->frame && frame < e->frame ? e->deeper + 1 : 0;
    e->frame = frame;
    return e->deeper >= MAX_DEEPER;
}

_Noreturn void usage_error_at(Place at, const char *what, const char *format, va_list list)
{
    Errors *e = errors();
    what = what ? what : "ag_usage_error";
    char details[MOST_MESSAGE], text[MOST_MESSAGE];
    vsnprintf(details, sizeof details, format ? format : "the format is NULL", list);
    Message message = { text, sizeof text, 0 };
    append(&message, "%s: %s", what, details);
    append_places(&message, e, what, at);
    utf8_printable(text, message.n, e->message, sizeof e->message);
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
    if (p) return;
    const char *last = ag_error();
    ag_usage_error(what, "%s is NULL%s%.600s%s", name, *last ? " (the last error: " : "", last,
                   *last ? ")" : "");
}

bool ag_set_error(const char *format, ...)
{
    char error[MOST_MESSAGE];       /* a copy: the arguments may include the text of ag_error */
    va_list list;
    va_start(list, format);
    write_message(error, sizeof error, format ? format : "an error without a message", list);
    va_end(list);
    memcpy(errors()->error, error, strlen(error) + 1);
    return false;
}

const char *ag_error(void)
{
    return errors()->error;
}

/* ---- warnings -------------------------------------------------------------------------------- */

void ag_warning(const char *what, const char *format, ...)
{
    if (!(observers_need & TELL_WARNINGS)) return;
    const Place layer = outermost_layer()->site;
    va_list list;
    va_start(list, format);
    warning_writer(layer.file ? layer : call_place(), what, format, list);
    va_end(list);
}

bool ag_warn_of_step(void)
{
    notify(STEP_BEGINS, NULL);
    return observers_need & TELL_WARNINGS;
}
