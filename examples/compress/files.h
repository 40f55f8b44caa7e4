/* files.h: the files that compress reads and writes. An error ends the program with a line. */
#ifndef KAERU_EXAMPLES_FILES_H
#define KAERU_EXAMPLES_FILES_H

#include "coder.h"

Bytes read_file(const char *path);
/* Two texts in a row; free them with ag_free. */
char *joined(const char *path, const char *ending);
/* Before the work: whether a file can be written at its end, when `input` was read. */
void check_output(const char *path, const char *input, bool overwrite);
/* The file is the old one, or none, until the new one is complete and on the disk. It gets the permissions of the input (NULL:
 * of any new file), which has the same text. If it must be new and there is one by now, the result is written beside it. */
void write_file(const char *path, const char *input, const Bytes *b, bool must_be_new);

#endif
