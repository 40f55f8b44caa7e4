/* progress.c: the progress line of a long computation. */
#include "common.h"
#include "host.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double example_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Progress progress_begin(const char *what, int64_t total)
{
    bool terminal = example_writes() && host_terminal(stderr);
    return (Progress){ what, total, example_seconds(), 0, terminal };
}

void progress_show(Progress *p, int64_t done, const char *format, ...)
{
    if (!p->terminal || done <= 0) {
        return;
    }
    double t = example_seconds(), spent = t - p->start, left = spent / (double)done * (double)(p->total - done);
    bool short_job = p->shown == 0 && (spent < 0.3 || spent + left < 2.0);
    if (short_job || t - p->shown < 0.1) {
        return;
    }
    p->shown = t;
    char note[128], rest[64];
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, tr(format), args);
    va_end(args);
    if (left < 99.5) {
        snprintf(rest, sizeof rest, tr("%.0f s"), left);
    } else if (left < 5970) {
        snprintf(rest, sizeof rest, tr("%.0f min"), left / 60);
    } else {
        snprintf(rest, sizeof rest, tr("%.1f h"), left / 3600);
    }
    fputs("\033[?7l", stderr);                         /* a narrow terminal cuts the line: a second row would stay */
    say_to(stderr, "\r%s %lld of %lld, %s, %s left\033[K", p->what, (long long)done, (long long)p->total, note, rest);
    fputs("\033[?7h", stderr);
    fflush(stderr);
}

void progress_end(Progress *p)
{
    if (p->shown > 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
