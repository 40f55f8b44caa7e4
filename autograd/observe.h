/* observe.h: functions that are told what happens to the graph of this thread. Without them, the
 * graph is the same. */
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
    STEPPED                     /* an optimizer has updated parameters; t is NULL */
} Event;
typedef void Observer(Event event, Tensor *t);
/* What is done for an observer, beside telling it. */
enum {
    KEEP_INPUTS = 1,            /* an operation stores its inputs also if none requires a gradient,
                                   to the end of its rule */
    NO_FUSION = 2,              /* each operation has a value of its own */
    CHECK_MEMORY = 4,           /* buffers are watched (BufferWatch), and there is room for hashes
                                   of what a rule reads */
    TELL_WARNINGS = 8           /* ag_warning writes */
};
enum { OBSERVERS = 4 };         /* how many there may be, each with a number of its own */
extern _Thread_local Observer *observer[OBSERVERS];     /* NULL: none of this number */
extern _Thread_local bool observed;                     /* one of them is not NULL */
extern _Thread_local unsigned observers_need;           /* what is done for one of them */
/* Sets the observer of that number, and what it needs; NULL: none. */
void observe(int number, Observer *o, unsigned needs);
/* What the environment switches on by VARIABLE=1. A build has one file that defines these switches
 * and buffer_watch (buffers.h): plain/observers.c, which has none, or another one. */
typedef struct { const char *variable; void (*switch_it)(bool on); } ObserverSwitch;
extern const ObserverSwitch observer_switch[OBSERVERS];
/* Switches them on in this thread, except those for which `observe` was called: there the program
 * has decided. */
void observe_from_environment(void);

static inline void notify(Event event, Tensor *t)
{
    for (int i = 0; observed && i < OBSERVERS; i++) {
        if (observer[i]) {
            observer[i](event, t);
        }
    }
}

#endif
