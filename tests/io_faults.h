/* io_faults.h: makes calls that open, read, write or replace files fail on demand, and counts open files.
 *
 * The linker redirects the program's own calls to io_faults.c (where it can: HAVE_FAULTS): open, read, pread, write, pwrite,
 * fsync, rename, close, dup and mmap, without which nothing can be read or written; and stat, fstat, flock, fchmod, readlink,
 * unlink and poll, of which only io_faults_refuse knows. */
#ifndef KAERU_TESTS_IO_FAULTS_H
#define KAERU_TESTS_IO_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the linker redirects the calls. */
bool io_faults_work(void);
/* From now on the n-th call (from 0) fails, and with `all_after` every later one, too; a close that fails does close the
 * file. -1: none. */
void io_faults_at(int64_t n, bool all_after);
/* The n-th call kills this program before it does anything. */
void io_faults_kill_at(int64_t n);
/* Whether that call was made. */
bool io_faults_hit(void);
/* Ends what io_faults_at began, and returns whether that call was made. `done` is what the tried function returned: true if no
 * call has failed, false if one has, except that a file that was read may fail to close. */
bool io_faults_end(bool done);
/* The errno of calls that fail; 0: a usual one of each function. */
void io_faults_error(int error);
/* The next n calls of a function (-1: all) fail with that errno; function NULL: none. "fsync of a folder" is one of its own.
 * `late`: rename does its work, and fails nonetheless. io_faults_hit tells whether a call has failed. */
void io_faults_refuse(const char *function, int error, int64_t n, bool late);
/* The most bytes that one call reads or writes; -1: no limit. */
void io_faults_most(int64_t n);
/* Called inside every fsync, before anything else; NULL: nothing. */
void io_faults_inside_fsync(void (*f)(void));
/* The calls since io_faults_at: their number, the function of call i ("open" for open64), and how many of a function came
 * before the first one of another function. */
int io_faults_calls(void);
const char *io_faults_call(int i);
int io_faults_before(const char *function, const char *first);
/* The number of open files. */
int io_faults_open(void);

#endif
