/* thread.c: the list of a thread's states, how many threads compute, and the version. */
#include "kaeru/tensor.h"
#include "kaeru/version.h"
#include "thread.h"
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local char thread_mark;

/* What stands before the struct of a file. */
typedef struct State {
    struct State *older;
    const StateKind *kind;
    void **place;               /* the file's thread-local pointer to its struct */
} State;
enum { STATE_HEADER = (sizeof(State) + 15) / 16 * 16 };

static _Thread_local State *newest;
static pthread_key_t key;
static bool have_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Ends the states of this thread, the newest first. */
static void end_states(void *unused)
{
    (void)unused;
    while (newest) {
        State *s = newest;
        if (s->kind->end) {
            s->kind->end();
        }
        if (s->kind->trim) {
            s->kind->trim();
        }
        /* these may have begun newer states: freeing tensors takes that of buffers.c */
        State **link = &newest;
        while (*link != s) {
            link = &(*link)->older;
        }
        *link = s->older;
        *s->place = NULL;
        free(s);
    }
}

static void at_exit(void)
{
    end_states(NULL);
}

static void make_key(void)
{
    have_key = pthread_key_create(&key, end_states) == 0;
    atexit(at_exit);                        /* key destructors do not run when main returns */
}

void *thread_state(void **place, const StateKind *kind)
{
    pthread_once(&once, make_key);
    State *s = calloc(1, STATE_HEADER + kind->size);
    if (!s) {
        fputs("kaeru: no memory to start\n", stderr);
        abort();
    }
    *s = (State){ newest, kind, place };
    newest = s;
    if (have_key) {
        pthread_setspecific(key, s);        /* any value but NULL: end_states runs at the end */
    }
    *place = (char *)s + STATE_HEADER;
    return *place;
}

void thread_failed(void)
{
    for (const State *s = newest; s; s = s->older) {
        if (s->kind->failed) {
            s->kind->failed();
        }
    }
}

void thread_trim(void)
{
    for (const State *s = newest; s; s = s->older) {
        if (s->kind->trim) {
            s->kind->trim();
        }
    }
}

void thread_scope_ends(int depth, bool in_pass)
{
    for (const State *s = newest; s; s = s->older) {
        if (s->kind->scope_ends) {
            s->kind->scope_ends(depth, in_pass);
        }
    }
}

uint64_t thread_serial(void)
{
    static _Thread_local uint64_t serial;
    static atomic_uint_fast64_t threads;
    if (!serial) {
        serial = atomic_fetch_add(&threads, 1) << SERIAL_BITS | 1;
    }
    return ++serial;
}

/* ---- for programs ---------------------------------------------------------------------------- */

void ag_set_threads(int n)
{
    if (n < 0 || n > 256) {
        ag_usage_error(__func__, "%d threads, expected 1 to 256, or 0 for the default", n);
    }
    k_set_threads(n);
}

int ag_threads(void)
{
    return k_threads();
}

const char *kaeru_version(void)
{
    return KAERU_VERSION;
}
