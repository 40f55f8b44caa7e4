/* observe.h: observers: functions that are told what happens to the graph of this thread, for
 * debugging tools. The computed numbers are the same with and without them. */
#ifndef KAERU_OBSERVE_H
#define KAERU_OBSERVE_H

#include "kaeru/tensor.h"

typedef enum {
    COMPUTED,                   /* an operation has computed t */
    DROPPED,                    /* t was computed with dropout */
    PASS_BEGINS,                /* a backward pass from the loss t */
    RULE_BEGINS, RULE_ENDS,     /* the backward rule of t */
    NODE_PASSED,                /* the pass has left t behind: its rule has run, or t has no
                                   gradient */
    STEP_BEGINS                 /* an optimizer begins to update parameters; t is NULL */
} Event;
typedef void Observer(Event event, Tensor *t);
/* What an observer may need beside that: a set of bits. */
enum {
    KEEP_INPUTS = 1,            /* an operation stores its inputs until its rule has run, even if
                                   none of them requires a gradient */
    NO_FUSION = 2,              /* each operation has a value of its own */
    CHECK_MEMORY = 4,           /* buffers are watched (BufferWatch), and tensors have room for
                                   hashes of what a rule reads */
    TELL_WARNINGS = 8           /* ag_warning writes */
};
enum { OBSERVERS = 4 };         /* the most observers; each has a number of its own */
extern _Thread_local Observer *observer[OBSERVERS];     /* by their numbers; NULL: none */
extern _Thread_local bool observed;                     /* there is one */
extern _Thread_local unsigned observers_need;           /* what any of them needs */
/* Sets the observer of that number and what it needs. NULL removes it. */
void observe(int number, Observer *o, unsigned needs);
/* An observer that the environment switches on by VARIABLE=1. A build has one file that defines
 * these switches, buffer_watch (buffers.h) and warning_writer (errors.h): plain/observers.c, which
 * has none, or a part of its own. */
typedef struct { const char *variable; void (*switch_it)(bool on); } ObserverSwitch;
extern const ObserverSwitch observer_switch[OBSERVERS];
/* Switches on the observers of the environment in this thread, except those for which the program
 * has called `observe`. */
void observe_from_environment(void);

/* Tells the observers of an event. */
static inline void notify(Event event, Tensor *t)
{
    if (!observed) return;
    for (int i = 0; i < OBSERVERS; i++) {
        if (observer[i]) {
            observer[i](event, t);
        }
    }
}

#endif
