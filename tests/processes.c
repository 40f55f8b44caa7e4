/* processes.c: see processes.h. */
#include "processes.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16 };

typedef struct Message { struct Message *next; int from, to, tag; size_t n; char bytes[]; } Message;
typedef struct Request { struct Request *next; int from, tag; void *bytes; size_t n; int *pending; } Request;
typedef struct {
    NnProcesses processes;
    Request *requests;
    int silent_after;                           /* so many messages more; -1: never silent */
    double pause;                               /* seconds, when it waits for the next time */
    bool ended;
} Thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Message *mail;                           /* in the order in which it was sent */
static double heard[MOST];                      /* when each process last told that it waits */
static const char *expected;                    /* in the line by which a process ends all */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void send_message(NnProcesses *p, int to, int tag, const void *bytes, size_t n, int *pending)
{
    Thread *t = (Thread *)p;
    ck_assert(!t->ended);
    if (t->silent_after == 0) {
        ++*pending;
        return;
    }
    if (t->silent_after > 0) t->silent_after--;
    Message *m = malloc(sizeof *m + n);
    *m = (Message){ .from = p->rank, .to = to, .tag = tag, .n = n };
    if (n) memcpy(m->bytes, bytes, n);
    pthread_mutex_lock(&lock);
    Message **end = &mail;
    while (*end) end = &(*end)->next;
    *end = m;
    pthread_mutex_unlock(&lock);
}

static void receive_message(NnProcesses *p, int from, int tag, void *bytes, size_t n, int *pending)
{
    Request *r = malloc(sizeof *r), **end = &((Thread *)p)->requests;
    *r = (Request){ .from = from, .tag = tag, .bytes = bytes, .n = n, .pending = pending };
    while (*end) end = &(*end)->next;
    *end = r;
    ++*pending;
}

/* Takes the message for a request out of the mail; NULL if it is not there yet. */
static Message *message_for(const Thread *t, const Request *r)
{
    Message **at = &mail;
    while (*at && !((*at)->from == r->from && (*at)->to == t->processes.rank && (*at)->tag == r->tag)) at = &(*at)->next;
    Message *m = *at;
    if (m) *at = m->next;
    return m;
}

static bool progress(NnProcesses *p, bool waits)
{
    Thread *t = (Thread *)p;
    bool done = false;
    if (waits && t->pause > 0) {
        nanosleep(&(struct timespec){ .tv_sec = (time_t)t->pause }, NULL);
        t->pause = 0;
        return false;
    }
    pthread_mutex_lock(&lock);
    if (waits && t->silent_after != 0) heard[p->rank] = seconds();
    for (Request **at = &t->requests; *at && t->silent_after != 0; ) {
        Request *r = *at;
        Message *m = message_for(t, r);
        if (!m) {
            at = &r->next;
            continue;
        }
        ck_assert_uint_eq(m->n, r->n);
        if (m->n) memcpy(r->bytes, m->bytes, m->n);
        --*r->pending;
        *at = r->next;
        free(m);
        free(r);
        done = true;
    }
    pthread_mutex_unlock(&lock);
    if (!done && waits) sched_yield();
    return done;
}

static int peer(NnProcesses *p, const int *pending, double *silent)
{
    int from = -1;
    pthread_mutex_lock(&lock);
    for (const Request *r = ((Thread *)p)->requests; r; r = r->next)
        if (r->pending == pending && (from < 0 || heard[r->from] < heard[from])) from = r->from;
    *silent = seconds() - heard[from];
    pthread_mutex_unlock(&lock);
    return from;
}

static void fail_all(NnProcesses *p, const char *line)
{
    (void)p;
    fprintf(stderr, "%s\n", line);
    _Exit(!expected || strstr(line, expected) ? 1 : 2);
}

static void end(NnProcesses *p)
{
    Thread *t = (Thread *)p;
    ck_assert_ptr_null(t->requests);
    ck_assert(!t->ended);
    t->ended = true;
}

void silence_after(NnProcesses *p, int messages)
{
    ((Thread *)p)->silent_after = messages;
}

void pause_once(NnProcesses *p, double seconds)
{
    ((Thread *)p)->pause = seconds;
}

void expect_line(const char *part)
{
    expected = part;
}

static void (*run_body)(NnProcesses *p, void *arg);
static void *run_arg;

static void *run_thread(void *t)
{
    run_body(t, run_arg);
    return NULL;
}

void run_processes(int n, void (*body)(NnProcesses *p, void *arg), void *arg)
{
    Thread thread[MOST];
    pthread_t id[MOST];
    ck_assert_int_le(n, MOST);
    if (n == 1) {
        body(NULL, arg);
        return;
    }
    run_body = body;
    run_arg = arg;
    for (int i = 0; i < n; i++) {
        thread[i] = (Thread){ .processes = { i, n, 60, 1, send_message, receive_message, progress, peer, fail_all, end },
                              .silent_after = -1 };
        ck_assert_int_eq(pthread_create(&id[i], NULL, run_thread, &thread[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(id[i], NULL);
    ck_assert_ptr_null(mail);
}
