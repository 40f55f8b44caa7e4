/* lm_inputs.h: reads the files of a language model's data whose formats lm.h describes: token files, and files of pairs. */
#ifndef KAERU_LM_INPUTS_H
#define KAERU_LM_INPUTS_H

#include "file.h"
#include "kaeru/lm.h"

typedef struct { const char *bytes; int64_t count; int width; } Tokens;     /* `count` ids of `width` bytes each */

/* Whether a file begins with the first eight bytes of a token file. */
bool is_token_file(const File *map);
/* Finds the ids in a mapped file. Checks that the file is complete, that it was made with this vocabulary, and that all
 * ids are in range. `path` is for messages. */
bool token_file_read(const File *map, const char *path, const KaeruVocab *v, Tokens *tokens);
/* Copies ids at..at+n-1 to `out`. */
void tokens_copy(const Tokens *tokens, int64_t at, int64_t n, int32_t *out);

/* An example: ids from `start` on, up to the start of the next one. The loss counts those from `answer` on. */
typedef struct { int64_t start, answer; } Example;
typedef struct { int32_t *ids; Example *example; int64_t n; } Examples;     /* example[n].start: the number of ids */
/* Reads `size` bytes of lines; `owner` owns the result. False with ag_error() if a line is not an object with the texts
 * "prompt" and "completion", or with a "text". begin and end: the tokens before and after each example, -1: none. */
bool examples_read(void *owner, const char *path, const char *text, size_t size, const KaeruVocab *v, int32_t begin,
                   int32_t end, Examples *out);

#endif
