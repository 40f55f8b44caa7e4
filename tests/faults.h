/* faults.h: makes allocations fail on demand, and counts blocks of memory that were not freed.
 *
 * The linker redirects the program's own calls of malloc and the like to faults.c (where it can: HAVE_FAULTS), so both work
 * under every tool and without one. */
#ifndef KAERU_TESTS_FAULTS_H
#define KAERU_TESTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the linker redirects the calls. */
bool faults_work(void);
/* From now on the n-th request (from 0) fails, and with `all_after` every later one, too. -1: none. */
void faults_at(int64_t n, bool all_after);
/* Whether that request was made. */
bool faults_hit(void);
/* The number of requests for memory, and their bytes together. */
int64_t faults_requests(void);
int64_t faults_bytes(void);
/* The number of blocks that were allocated and not freed. */
int64_t faults_live(void);

/* Runs the job in a scope again and again: the first request for memory fails, then the second, and so on, until the job
 * ends without a failure. Each time no block may be left. Returns how many requests the job makes (0: faults do not work). */
int64_t faults_everywhere(void (*job)(void), bool all_after);

#endif
