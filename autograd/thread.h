/* thread.h: what a thread keeps between calls, and what an error undoes. All state but the memory
 * of large buffers is per thread, so two threads can each train a model. */
#ifndef KAERU_THREAD_H
#define KAERU_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each file has a state of its own, which no other file sees: a struct that its first use in a
 * thread makes. */
typedef struct {
    size_t size;                /* of the struct, which starts as zeros */
    void (*failed)(void);       /* a usage error of this thread: undoes what was going on; NULL:
                                   nothing */
    void (*trim)(void);         /* ag_memory_trim, and the end of the thread: frees what is kept for
                                   later; NULL: nothing */
    void (*end)(void);          /* the end of the thread, before trim; NULL: nothing */
    /* The end of a scope of that depth, if a backward pass has begun in it or in one inside it;
     * in_pass: one still runs, which the program has left by longjmp, by an exception of its own or
     * by ag_end in a rule. NULL: nothing. */
    void (*scope_ends)(int depth, bool in_pass);
} StateKind;
/* Makes the state and sets *place, a thread-local pointer, to it. *place becomes NULL at the end of
 * the thread. */
void *thread_state(void **place, const StateKind *kind);
/* Call `failed`, `trim` and `scope_ends` of all states. */
void thread_failed(void);
void thread_trim(void);
void thread_scope_ends(int depth, bool in_pass);
/* The next of this thread's serial numbers, which give scopes, blocks and errors their order in
 * time. Two threads never have the same number: the upper bits are the thread's. */
uint64_t thread_serial(void);
enum { SERIAL_BITS = 40 };
/* The lowest bits of the thread's number: two threads that run usually differ in them. */
static inline uint8_t thread_number(void)
{
    return (uint8_t)(thread_serial() >> SERIAL_BITS);
}

/* A pointer that differs in each running thread. */
extern _Thread_local char thread_mark;
static inline const void *thread_id(void)
{
    return &thread_mark;
}

#endif
