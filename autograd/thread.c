/* thread.c: the list of a thread's states, and who observes its graph. */
#include "internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

_Thread_local Observer *observer[OBSERVERS];

typedef struct State {
    struct State *older;
    void **place;
} State;
enum { STATE_HEADER = (sizeof(State) + 15) / 16 * 16 };

static _Thread_local State *newest;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void thread_trim(void)
{
    scopes_trim();
    blocks_trim();
    bins_trim();
}

void thread_failed(void)
{
    scratch_end();
    gradients_failed();
    scopes_failed();
}

static void end_thread(void *unused)
{
    (void)unused;
    scopes_end();
    thread_trim();
    while (newest) {
        State *s = newest;
        newest = s->older;
        *s->place = NULL;
        free(s);
    }
}

static void at_exit(void)
{
    end_thread(NULL);
    large_trim();
}

static void make_key(void)
{
    pthread_key_create(&key, end_thread);
    atexit(at_exit);                        /* key destructors do not run when main returns */
}

void *thread_state(void **place, size_t size)
{
    pthread_once(&once, make_key);
    State *s = calloc(1, STATE_HEADER + size);
    if (!s) {
        fputs("kaeru: no memory to start\n", stderr);
        abort();
    }
    *s = (State){ newest, place };
    newest = s;
    pthread_setspecific(key, s);            /* any value but NULL: end_thread runs when the thread ends */
    return *place = (char *)s + STATE_HEADER;
}

static _Thread_local uint64_t serial;

uint64_t thread_serial(void)
{
    static atomic_uint_fast64_t threads;
    if (!serial) serial = atomic_fetch_add(&threads, 1) << SERIAL_BITS | 1;
    return ++serial;
}
