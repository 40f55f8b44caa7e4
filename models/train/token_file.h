/* token_file.h: reads token files, whose format lm.h describes. */
#ifndef KAERU_TOKEN_FILE_H
#define KAERU_TOKEN_FILE_H

#include "file.h"
#include "kaeru/lm.h"

typedef struct { const char *bytes; int64_t count; int width; } Tokens;     /* `count` ids of `width` bytes each */

/* Whether a file begins with the first eight bytes of a token file. */
bool is_token_file(const File *map);
/* Finds the ids in a mapped file. Checks that the file is complete, that it was made with this vocabulary, and that all
 * ids are in range. `path` is for messages. */
bool token_file_read(const File *map, const char *path, const KaeruTokenizer *t, Tokens *tokens);
/* Copies ids at..at+n-1 to `out`. */
void tokens_copy(const Tokens *tokens, int64_t at, int64_t n, int32_t *out);

#endif
