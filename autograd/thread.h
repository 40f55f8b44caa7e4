/* thread.h: what a thread keeps between calls, and what an error undoes. All state but the memory of large buffers is per
 * thread, so two threads can each train a model. */
#ifndef KAERU_THREAD_H
#define KAERU_THREAD_H

#include <stdarg.h>

#include "kaeru/tensor.h"

/* ---- the states of files (thread.c) ------------------------------------------------------------------------------- */

/* Each file has a state of its own, which no other file sees: a struct that its first use in a thread makes. */
typedef struct {
    size_t size;                /* of the struct, which starts as zeros */
    void (*failed)(void);       /* a usage error of this thread: undoes what was going on; NULL: nothing */
    void (*trim)(void);         /* ag_memory_trim, and the end of the thread: frees what is kept for later; NULL: nothing */
    void (*end)(void);          /* the end of the thread, before trim; NULL: nothing */
    /* The end of a scope of that depth, if a backward pass has begun in it or in one inside it; in_pass: one still runs, which
     * the program has left by longjmp, by an exception of its own or by ag_end in a rule. NULL: nothing. */
    void (*scope_ends)(int depth, bool in_pass);
} StateKind;
/* Makes the state and sets *place, a thread-local pointer, to it. *place becomes NULL at the end of the thread. */
void *thread_state(void **place, const StateKind *kind);
/* Call `failed`, `trim` and `scope_ends` of all states. */
void thread_failed(void);
void thread_trim(void);
void thread_scope_ends(int depth, bool in_pass);
/* The next of this thread's serial numbers, which give scopes, blocks and errors their order in time. Two threads never have
 * the same number: the upper bits are the thread's. */
uint64_t thread_serial(void);
enum { SERIAL_BITS = 40 };
/* The lowest bits of the thread's number: two threads that run usually differ in them. */
static inline uint8_t thread_number(void)
{
    return (uint8_t)(thread_serial() >> SERIAL_BITS);
}

/* ---- layer calls and places in messages (errors.c) ---------------------------------------------------------------- */

/* A line of the program. No file: it is not known. */
typedef struct { const char *file; int line; } Place;

/* The calls that run in this thread (ag_in). Their places are a ring: a call with CALL_PLACES others around it takes the item
 * of the outermost of them. `number` tells whose item it is.
 * If an error handler leaves by longjmp, calls are over, but nobody knows which: some may go on around a function of the
 * program that has caught the error. So no call that ran then has a place any more, until function_ends (left.h) knows the
 * number again. New calls are above them. */
enum { CALL_PLACES = 64 };
typedef struct {
    uint64_t n;                 /* calls that run, with those that were left */
    uint64_t lost;              /* so many of them, the outermost, have no place any more */
    uint64_t outer;             /* so many are around the function of the program that runs now */
    struct { const char *file; int line; uint32_t number; } call[CALL_PLACES];
} Running;
extern _Thread_local Running running;
/* The end of a scope that began when so many calls ran: the program may have left others by longjmp or throw. */
void running_calls_end(uint64_t n);

/* The operation whose backward rule is running, its place, and how many calls ran when the rule began. y NULL: none is. */
typedef struct { const Tensor *y; Place site; uint64_t calls; } RunningRule;
extern _Thread_local RunningRule running_rule;

/* The place of the call that runs; in a backward rule, that of the operation that the rule belongs to. */
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
/* How many layers are being called. An error or the end of a scope after an error sets the number to that of the scope. */
int  layer_calls(void);
void layer_calls_end(int calls);
/* The program has left the layers after the first `calls` ones by longjmp or throw: ends the innermost. *owned: what it owns,
 * or NULL. False if only `calls` are left. */
bool layer_is_left(int calls, void **owned);
/* No layer that is being called owns p any more. */
void layers_disown(const void *p);

bool same_place(Place a, Place b);
/* A usage error of the call at this place. */
_Noreturn void usage_error_at(Place at, const char *what, const char *format, va_list list) AG_PRINTF(3, 0);
/* "FILE:LINE", followed by the user's own line if layers were in between: where something was made. Valid in the block of the
 * call. */
enum { PLACE_TEXT = 400 };
#define place_text(made, user_site) write_place(made, user_site, (char[PLACE_TEXT]){ 0 })
const char *write_place(Place made, Place user_site, char text[PLACE_TEXT]);
enum { MOST_MESSAGE = 1024 };                       /* bytes of an error's message, with the NUL */
/* Writes the text of a message, of at most MOST_MESSAGE bytes. What it quotes may come from a file: it is one line of printable
 * characters, see utf8.h. */
void write_message(char *text, size_t size, const char *format, va_list list) AG_PRINTF(3, 0);
/* Writes a warning to stderr if an observer needs that, once for each format. */
void write_warning(Place place, const char *what, const char *format, va_list list) AG_PRINTF(3, 0);

/* ---- observers (thread.c) ----------------------------------------------------------------------------------------- */

/* Functions that are told what happens to the graph of this thread. Without them, the graph is the same. */
typedef enum {
    COMPUTED,                   /* an operation has computed t */
    DROPPED,                    /* t was computed with dropout */
    PASS_BEGINS,                /* a backward pass from the loss t */
    RULE_BEGINS, RULE_ENDS,     /* the backward rule of t */
    NODE_PASSED,                /* the pass has left t behind: its rule has run, or t has no gradient */
    STEPPED                     /* an optimizer has updated parameters; t is NULL */
} Event;
typedef void Observer(Event event, Tensor *t);
/* What is done for an observer, beside telling it. */
enum {
    KEEP_INPUTS = 1,            /* an operation stores its inputs also if none requires a gradient, and until its rule has run */
    NO_FUSION = 2,              /* each operation has a value of its own */
    CHECK_MEMORY = 4,           /* buffers are watched (BufferWatch), and there is room for hashes of what a rule reads */
    TELL_WARNINGS = 8           /* ag_warning writes */
};
enum { OBSERVERS = 4 };         /* how many there may be, each with a number of its own */
extern _Thread_local Observer *observer[OBSERVERS];     /* NULL: none of this number */
extern _Thread_local bool observed;                     /* one of them is not NULL */
extern _Thread_local unsigned observers_need;           /* what is done for one of them */
/* Sets the observer of that number, and what it needs; NULL: none. */
void observe(int number, Observer *o, unsigned needs);
/* What the environment switches on by VARIABLE=1. It is set before main. */
typedef struct { const char *variable; void (*switch_it)(bool on); } ObserverSwitch;
extern ObserverSwitch observer_switch[OBSERVERS];
/* Switches them on in this thread, except those for which `observe` was called: there the program has decided. */
void observe_from_environment(void);

/* A pointer that differs in each running thread. */
static inline const void *thread_id(void)
{
    return observer;
}

static inline void notify(Event event, Tensor *t)
{
    for (int i = 0; observed && i < OBSERVERS; i++)
        if (observer[i]) observer[i](event, t);
}

#endif
