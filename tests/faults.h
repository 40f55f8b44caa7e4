/* faults.h: memory that cannot be had, on demand, and a count of what was not given back.
 *
 * The linker sends the program's own calls for memory through here (where it can: HAVE_FAULTS), so both work under
 * every tool and without one. */
#ifndef KAERU_TESTS_FAULTS_H
#define KAERU_TESTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

bool faults_work(void);
/* From now on the n-th request (from 0) fails, and with `all_after` every later one, too. -1: none. */
void faults_at(int64_t n, bool all_after);
/* Whether that request has come. */
bool faults_hit(void);
/* How often memory was asked for. */
int64_t faults_requests(void);
/* Pieces of memory that were handed out and not given back. */
int64_t faults_live(void);

/* Does the job again and again, in a scope, with the first request for memory failing, then the second, and so on,
 * until no failing one is reached. Each time nothing may be left. Returns how many requests the job makes (0: cannot
 * work). */
int64_t faults_everywhere(void (*job)(void), bool all_after);

#endif
