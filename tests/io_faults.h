/* io_faults.h: files that cannot be opened, read, written or replaced, on demand.
 *
 * The linker sends the program's own calls through here (where it can: HAVE_FAULTS): open, read, pread, write, fsync,
 * rename, close, dup, ftruncate and mmap. */
#ifndef KAERU_TESTS_IO_FAULTS_H
#define KAERU_TESTS_IO_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

bool io_faults_work(void);
/* From now on the n-th call (from 0) fails, and with `all_after` every later one, too; close closes, and then says that
 * it failed. -1: none. */
void io_faults_at(int64_t n, bool all_after);
/* Whether that call has come. */
bool io_faults_hit(void);
/* How many files are open that were opened through here. */
int io_faults_open(void);

#endif
