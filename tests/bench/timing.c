/* timing.c: measures the time of a step and the memory; reads numbers of the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"
#include "kaeru/autograd.h"

bool processor_time;

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time of `count` steps in seconds. */
static double time_steps(const Workload *w, void *state, int64_t count)
{
    double start = seconds_now();
    for (int64_t i = 0; i < count; i++) w->step(state);
    return seconds_now() - start;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median (returned) and the least of n samples, which it sorts. */
static double median(double *sample, int n, double *least)
{
    qsort(sample, (size_t)n, sizeof *sample, ascending);
    *least = sample[0];
    return sample[n / 2];
}

enum { MOST_SAMPLES = 10000 };
#define SAMPLE_SECONDS 2e-3     /* a sample of short steps has several */

double measure(const Workload *w, void *state, double seconds, int samples, double *least)
{
    static double sample[MOST_SAMPLES];
    double warm = 0, spent = 0;
    int64_t count = 0;
    for (; count < 1 || warm < 0.1 * seconds; count++) warm += time_steps(w, state, 1);
    double one = time_steps(w, state, 1);
    int64_t group = one < SAMPLE_SECONDS ? 1 + (int64_t)(SAMPLE_SECONDS / one) : 1;
    int n = 0;
    while (n < MOST_SAMPLES && (n < samples || spent < seconds)) {
        double time = time_steps(w, state, group);
        spent += time;
        sample[n++] = time / (double)group;
    }
    return median(sample, n, least);
}

double measure_steps(const Workload *w, void *state, int n, double *least)
{
    double *sample = ag_alloc((size_t)n, sizeof *sample);
    time_steps(w, state, 2);
    for (int i = 0; i < n; i++) sample[i] = time_steps(w, state, 1);
    double middle = median(sample, n, least);
    ag_free(sample);
    return middle;
}

double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return (double)usage.ru_maxrss / 1048576;           /* bytes there, KiB elsewhere */
#else
    return (double)usage.ru_maxrss / 1024;
#endif
}

double number(const char *option, const char *text, double most)
{
    char *end = NULL;
    double value = text ? strtod(text, &end) : -1;
    if (!text || end == text || *end || !(value >= 0 && value <= most)) {
        fprintf(stderr, "%s: %s %s: expected a number from 0 to %g\n", program, option, text ? text : "", most);
        exit(2);
    }
    return value;
}
