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

/* A process that waits for another is not silent, so the process that is named is the one that is stopped or gone. */
void wait_for(const NnParallel *p, const int *pending, double more)
{
    if (*pending == 0) return;
    double most = p->processes->deadline + more, begun = seconds(), last = begun;
    while (*pending > 0) {
        bool progress = p->processes->progress(p->processes, true);
        double now = seconds(), silent = 0;
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

/* A million items are 12 MB with the state of Adam, which a slow disk writes in a second. */
double seconds_for_file(const NnParallel *p)
{
    Module *m = p->optimizer->module;
    return 1e-6 * (double)(count_below(m, m, true) + count_below(m, m, false));
}

void *exchange(const NnParallel *p, const void *mine, size_t n, double more)
{
    char *all = ag_alloc((size_t)p->size, n);
    int pending = 0;
    if (n > 0) memcpy(all + (size_t)p->rank * n, mine, n);
    for (int rank = 0; rank < p->size; rank++) {
        if (rank == p->rank) continue;
        p->processes->receive(p->processes, rank, TAG_SMALL, all + (size_t)rank * n, n, &pending);
        p->processes->send(p->processes, rank, TAG_SMALL, mine, n, &pending);
    }
    wait_for(p, &pending, more);
    return all;
}
