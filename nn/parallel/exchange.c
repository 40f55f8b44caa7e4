/* exchange.c: messages between processes that all of them wait for, and what happens if one is silent. */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parallel_parts.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

_Noreturn void parallel_fail(const NnParallel *p, const char *format, ...)
{
    char line[256];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    /* Most errors are those of all: one process tells it and ends the others, by SIGTERM, which the program may handle. */
    signal(SIGTERM, SIG_DFL);
    double end = seconds() + (double)(p->processes->patience * least(p->rank, 3));
    while (seconds() < end) p->processes->progress(p->processes, true);     /* or others would take this process for silent */
    p->processes->fail(p->processes, line);
    abort();                                            /* it does not return */
}

/* Until *pending is 0. A process may be silent for so many seconds. One that waits for another is not silent, so the process
 * that is named is the one that is stopped or gone. */
static void wait_seconds(const NnParallel *p, const int *pending, double most)
{
    double begun = seconds(), last = begun;
    while (*pending > 0) {
        bool progress = p->processes->progress(p->processes, true);
        double now = seconds(), silent;
        if (progress || now - last > most / 2) begun = now;     /* after so long a pause: this process was stopped itself */
        last = now;
        if (now - begun <= most) continue;
        int64_t step = p->optimizer ? nn_optimizer_steps(p->optimizer) : 0;
        int peer = p->processes->peer(p->processes, pending, &silent);
        if (silent > most)
            parallel_fail(p, "process %d has been silent for %g seconds, since step %" PRId64, peer, p->processes->deadline,
                          step);
        if (now - begun > 4 * most + 3 * p->processes->patience)    /* none of them is in parallel_fail */
            parallel_fail(p, "processes wait for each other since step %" PRId64 ": expected the same calls in all", step);
    }
}

void wait_for(const NnParallel *p, const int *pending)
{
    if (*pending > 0) wait_seconds(p, pending, p->processes->deadline);
}

/* A million items are 12 MB with the state of Adam, which a slow disk writes in a second. */
void wait_for_file(const NnParallel *p, const int *pending)
{
    const NnParameters *all = p->optimizer->parameters;
    double items = 0;
    for (int i = 0; i < all->n; i++) items += (double)tensor_numel(all->item[i].tensor);
    if (*pending > 0) wait_seconds(p, pending, p->processes->deadline + 1e-6 * items);
}

void exchange_by(const NnParallel *p, const void *mine, void *all, size_t n, void wait(const NnParallel *p, const int *pending))
{
    int pending = 0;
    for (int rank = 0; rank < p->size; rank++) {
        char *theirs = (char *)all + (size_t)rank * n;
        if (rank == p->rank) {
            memmove(theirs, mine, n);
            continue;
        }
        p->processes->receive(p->processes, rank, TAG_SMALL, theirs, n, &pending);
        p->processes->send(p->processes, rank, TAG_SMALL, mine, n, &pending);
    }
    wait(p, &pending);
}

void exchange(const NnParallel *p, const void *mine, void *all, size_t n)
{
    exchange_by(p, mine, all, n, wait_for);
}

void exchange_parts(const NnParallel *p, void *array, size_t size, int64_t begin(const NnParallel *p, int rank))
{
    int pending = 0;
    for (int rank = 0; rank < p->size; rank++) {
        if (rank == p->rank) continue;
        char *bytes = array;
        int64_t theirs = begin(p, rank), own = begin(p, p->rank);
        p->processes->receive(p->processes, rank, TAG_SMALL, bytes + (size_t)theirs * size,
                              (size_t)(begin(p, rank + 1) - theirs) * size, &pending);
        p->processes->send(p->processes, rank, TAG_SMALL, bytes + (size_t)own * size,
                           (size_t)(begin(p, p->rank + 1) - own) * size, &pending);
    }
    wait_for(p, &pending);
}
