/* token_file.h: files of tokens, as lm.h describes them. */
#ifndef KAERU_TOKEN_FILE_H
#define KAERU_TOKEN_FILE_H

#include "file.h"
#include "kaeru/lm.h"

typedef struct { const char *bytes; int64_t count; int width; } Tokens;     /* ids of `width` bytes, in a map */

/* Whether a file begins as one of tokens. */
bool is_token_file(const FileMap *map);
/* Finds and checks the ids of a mapped file: made with this vocabulary, whole, all ids in range. `path` for
 * messages. */
bool token_file_read(const FileMap *map, const char *path, const Tokenizer *t, Tokens *tokens);
/* Ids at..at+n-1. */
void tokens_copy(const Tokens *tokens, int64_t at, int64_t n, int32_t *out);

#endif
