/* processes.h: threads that play the processes of kaeru/parallel.h, with messages in memory. */
#ifndef KAERU_TESTS_PROCESSES_H
#define KAERU_TESTS_PROCESSES_H

#include "kaeru/parallel.h"

/* Runs body(p, arg) in n threads, each with its own p; NULL for n = 1. */
void run_processes(int n, void (*body)(Processes *p, void *arg), void *arg);
/* What the line must contain with which the processes end; else their status is 2. NULL: anything. */
extern const char *expected_end;
/* From now on, this process sends and receives nothing. */
void silence(Processes *p);

#endif
