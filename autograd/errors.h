/* errors.h: messages of errors and warnings, and the places in them: which calls run, which layers
 * are being called. */
#ifndef KAERU_ERRORS_H
#define KAERU_ERRORS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kaeru/tensor.h"

/* A line of the program. No file: it is not known. */
typedef struct { const char *file; int line; } Place;

/* The calls that run in this thread (ag_in). Their places are a ring: a call with CALL_PLACES
 * others around it takes the item of the outermost of them. `number` tells whose item it is.
 * If an error handler leaves by longjmp, calls are over, but nobody knows which: some may go on
 * around a function of the program that has caught the error. So no call that ran then has a place
 * any more, until function_ends (left.h) knows the number again. New calls are above them. */
enum { CALL_PLACES = 64 };
typedef struct {
    uint64_t n;                 /* calls that run, with those that were left */
    uint64_t lost;              /* so many of them, the outermost, have no place any more */
    uint64_t outer;             /* so many are around the function of the program that runs now */
    struct { const char *file; int line; uint32_t number; } call[CALL_PLACES];
} Running;
extern _Thread_local Running running;
/* The end of a scope that began when so many calls ran: the program may have left others by longjmp
 * or throw. */
void running_calls_end(uint64_t n);

/* The operation whose backward rule is running, its place, and how many calls ran when the rule
 * began. y NULL: none is. */
typedef struct { const Tensor *y; Place site; uint64_t calls; } RunningRule;
extern _Thread_local RunningRule running_rule;

/* The place of the call that runs; in a backward rule, that of the operation that the rule belongs
 * to. */
static inline Place call_place(void)
{
    if (running_rule.y && running.n == running_rule.calls) return running_rule.site;
    uint64_t last = running.n - 1, i = last % CALL_PLACES;
    bool known = running.n > running.lost && running.call[i].number == (uint32_t)last;
    return known ? (Place){ running.call[i].file, running.call[i].line } : (Place){ 0 };
}

/* owned: see left.h. of_program: a layer of the program's own, which has no place. */
typedef struct { Place site; const char *function; void *owned; bool of_program; } LayerCall;
/* The outermost call of a layer of the library; without a function if no layer is being called. */
const LayerCall *user_call(void);
/* Its place, or that of the call that runs if there is none. */
Place user_place(void);
/* How many layers are being called. An error or the end of a scope after an error sets the number
 * to that of the scope. */
int  layer_calls(void);
void layer_calls_end(int calls);
/* The program has left the layers after the first `calls` ones by longjmp or throw: ends the
 * innermost. *owned: what it owns, or NULL. False if only `calls` are left. */
bool layer_is_left(int calls, void **owned);
/* No layer that is being called owns p any more. */
void layers_disown(const void *p);

bool same_place(Place a, Place b);
/* A usage error of the call at this place. */
_Noreturn void usage_error_at(Place at, const char *what, const char *format, va_list list)
    AG_PRINTF(3, 0);
/* "FILE:LINE", followed by the user's own line if layers were in between: where something was made.
 * Valid in the block of the call. */
enum { PLACE_TEXT = 400 };
#define place_text(made, user_site) write_place(made, user_site, (char[PLACE_TEXT]){ 0 })
const char *write_place(Place made, Place user_site, char text[PLACE_TEXT]);
enum { MOST_MESSAGE = 1024 };                       /* bytes of an error's message, with the NUL */
/* Writes the text of a message, of at most MOST_MESSAGE bytes. What it quotes may come from a file:
 * it is one line of printable characters, see utf8.h. */
void write_message(char *text, size_t size, const char *format, va_list list) AG_PRINTF(3, 0);
/* Writes a warning to stderr if an observer needs that, once for each format. */
void write_warning(Place place, const char *what, const char *format, va_list list) AG_PRINTF(3, 0);

#endif
