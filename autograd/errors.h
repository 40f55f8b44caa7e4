/* errors.h: messages of errors and warnings, and the places in them.
 *
 * A message names the line of the program that called the function. Two stacks of each thread tell
 * it: that of the calls that run, which the macros of kaeru/places.h fill, and that of the layers
 * that are being called (AG_LAYER), for functions that call others of the library. */
#ifndef KAERU_ERRORS_H
#define KAERU_ERRORS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kaeru/tensor.h"

/* A line of the program. Without a file it is not known. */
typedef struct { const char *file; int line; } Place;

/* ---- calls ----------------------------------------------------------------------------------- */

/* The calls that run in this thread (ag_in), call number i in item i % CALL_PLACES. An inner call
 * may have taken the item of an outer one; `number` tells whose item it is.
 *
 * If an error handler leaves by longjmp, some calls are over, but nobody knows which: the function
 * that has caught the error may be inside others. So all calls that ran then lose their places,
 * until function_ends (program_calls.h) knows their number again. */
enum { CALL_PLACES = 64 };
typedef struct {
    uint64_t n;                 /* the number of calls that run, with those that were left */
    uint64_t lost;              /* the number of outermost calls that have lost their places */
    uint64_t outer;             /* the number of calls around the innermost function of the program
                                   that the library has called */
    uint64_t functions;         /* the number of those functions that run, with those that were
                                   left */
    struct { const char *file; int line; uint32_t number; } call[CALL_PLACES];
} Running;
extern _Thread_local Running running;
/* Ends the calls after the first n, which the program may have left by longjmp or throw. The end of
 * a scope calls it. */
void running_calls_end(uint64_t n);

/* The backward rule that runs. */
typedef struct {
    const Tensor *y;            /* the result of its operation; NULL: no rule runs */
    Place site;                 /* the place of that operation */
    uint64_t calls;             /* the number of calls that ran when the rule began */
} RunningRule;
extern _Thread_local RunningRule running_rule;

/* Returns the place of the innermost call. A backward rule has the place of its operation. */
static inline Place call_place(void)
{
    if (running_rule.y && running.n == running_rule.calls) return running_rule.site;
    uint64_t last = running.n - 1, i = last % CALL_PLACES;
    bool known = running.n > running.lost && running.call[i].number == (uint32_t)last;
    return known ? (Place){ running.call[i].file, running.call[i].line } : (Place){ 0 };
}

/* ---- layers ---------------------------------------------------------------------------------- */

typedef struct {
    Place site;                 /* the place of the call */
    const char *function;
    void *owned;                /* the object that layer_owns has named (program_calls.h), or
                                   NULL */
    bool of_program;            /* a layer that the program has defined; it has no place */
} LayerCall;
/* Returns the outermost call of a layer of the library. It has no `function` if there is none. */
const LayerCall *outermost_layer(void);
/* Returns the number of layers that are being called. */
int  layer_calls(void);
/* Sets that number: the program has left the other layers after an error. */
void layer_calls_end(int calls);
/* Ends the innermost layer, which the program has left by longjmp or throw, and sets *owned to the
 * object that it owns, or to NULL. Returns false if no more than `calls` layers are left. */
bool layer_is_left(int calls, void **owned);
/* Notes that no layer that is being called owns p any more. */
void layers_disown(const void *p);

/* ---- messages -------------------------------------------------------------------------------- */

bool same_place(Place a, Place b);
/* Reports a usage error of the call at this place. */
_Noreturn void usage_error_at(Place at, const char *what, const char *format, va_list list)
    AG_PRINTF(3, 0);
/* Returns "FILE:LINE" of the line that made something. If that line is in a layer, the program's
 * own line follows. The text of place_text lives to the end of the block that calls it. */
enum { PLACE_TEXT = 400 };
#define place_text(made, user_site) write_place(made, user_site, (char[PLACE_TEXT]){ 0 })
const char *write_place(Place made, Place user_site, char text[PLACE_TEXT]);
/* Writes the text of a message, which has at most MOST_MESSAGE bytes with the NUL: one line of
 * printable characters, whatever it quotes (utf8.h). */
enum { MOST_MESSAGE = 1024 };
void write_message(char *text, size_t size, const char *format, va_list list) AG_PRINTF(3, 0);
/* Writes a warning, which an observer needs by TELL_WARNINGS. NULL: a build without debugging tools
 * (observe.h). */
typedef void WarningWriter(Place at, const char *what, const char *format, va_list list);
extern WarningWriter *const warning_writer;

#endif
