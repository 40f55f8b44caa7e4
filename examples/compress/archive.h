/* archive.h: the bytes of a compressed file. */
#ifndef KAERU_EXAMPLES_ARCHIVE_H
#define KAERU_EXAMPLES_ARCHIVE_H

#include "coder.h"
#include "predictor.h"

/* The head of a compressed file: hashes of the weights and of the text, the number of tokens, the settings. `coded` is the
 * place behind it. */
typedef struct { uint64_t weights, text; int64_t count; Settings how; size_t coded; } Head;
Bytes archive_make(Head head, const Bytes *coded);
/* False with ag_error() if the file does not have its checksum, has another version of the format, or settings out of range. */
bool archive_read(const Bytes *file, Head *head);

#endif
