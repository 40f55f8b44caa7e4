/* processes.h: threads that play the processes of kaeru/parallel.h, with messages in memory. */
#ifndef KAERU_TESTS_PROCESSES_H
#define KAERU_TESTS_PROCESSES_H

#include "kaeru/parallel.h"

/* Runs body(p, arg) in n threads, each with its own p; NULL for n = 1. */
void run_processes(int n, void (*body)(NnProcesses *p, void *arg), void *arg);
/* This process sends so many messages more, and then sends and receives nothing. */
void silence_after(NnProcesses *p, int messages);
/* When this process waits for the next time, it does nothing for so many seconds, as if it was stopped. */
void pause_once(NnProcesses *p, double seconds);
/* The exit status of a process that ends all by a line is 1 if this is a part of the line, else 2. */
void expect_line(const char *part);

#endif
