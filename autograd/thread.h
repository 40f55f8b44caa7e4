/* thread.h: what a thread keeps between calls, and what an error undoes. Almost all state belongs
 * to a thread, so two threads can each train a model. They share released memory that waits for its
 * next use, the table of kernels in use, and the thread pool.
 *
 * A file that keeps something which must be freed or undone has a struct for it, which no other
 * file sees, and a StateKind with the functions that the rest of the library calls at certain
 * events. For example scope.c has the open scopes, and errors.c the stack of layers. */
#ifndef KAERU_THREAD_H
#define KAERU_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each function may be NULL. */
typedef struct {
    size_t size;                /* the size of the struct, which starts as zeros */
    void (*failed)(void);       /* undoes what was going on, after a usage error of this thread */
    void (*trim)(void);         /* frees what is kept for later: for ag_memory_trim, and at the end
                                   of the thread */
    void (*end)(void);          /* ends what is open at the end of the thread, before `trim` */
    /* Ends the backward passes that have begun in this scope or in one inside it, because the scope
     * ends. in_pass: one still runs, which the program has left by longjmp, by an exception of its
     * own or by ag_end in a rule. */
    void (*scope_ends)(int depth, bool in_pass);
} StateKind;
/* Makes the state at its first use in a thread, returns it, and sets *place, a thread-local
 * pointer, to it. *place becomes NULL at the end of the thread. */
void *thread_state(void **place, const StateKind *kind);
/* These call the function of that name of all states. */
void thread_failed(void);
void thread_trim(void);
void thread_scope_ends(int depth, bool in_pass);
/* Returns the next of this thread's serial numbers, which tell the order of scopes, blocks and
 * errors in time. Two threads never have the same one: the bits above SERIAL_BITS tell the
 * thread. */
uint64_t thread_serial(void);
enum { SERIAL_BITS = 40 };
/* Returns the lowest bits of the thread's number. Two threads that run usually differ in them. */
static inline uint8_t thread_number(void) { return (uint8_t)(thread_serial() >> SERIAL_BITS); }

/* Returns a pointer that differs in each running thread. */
extern _Thread_local char thread_mark;
static inline const void *thread_id(void) { return &thread_mark; }

#endif
