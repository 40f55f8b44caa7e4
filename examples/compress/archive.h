/* archive.h: files of compress. An error ends the program with a line. */
#ifndef KAERU_EXAMPLES_ARCHIVE_H
#define KAERU_EXAMPLES_ARCHIVE_H

#include "coder.h"
#include "predictor.h"

Bytes read_file(const char *path);
/* Two texts in a row; free them with ag_free. */
char *joined(const char *path, const char *ending);
/* Before the work: whether a file can be written at its end, when `input` was read. */
void check_output(const char *path, const char *input, bool overwrite);
/* The file is the old one, or none, until the new one is complete and on the disk. */
void write_file(const char *path, const Bytes *b);

/* The head of a compressed file: hashes of the weights and of the text, the number of tokens, the settings. `coded` is the
 * place behind it. */
typedef struct { uint64_t weights, text; int64_t count; Settings how; size_t coded; } Head;
Bytes archive_make(Head head, const Bytes *coded);
/* Ends the program if the file does not have its checksum. */
Head archive_read(const char *path, const Bytes *file);

#endif
