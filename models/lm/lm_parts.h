/* lm_parts.h: what the files of this folder share. */
#ifndef KAERU_LM_PARTS_H
#define KAERU_LM_PARTS_H

#include "file.h"
#include "kaeru/lm.h"

enum { NO_TARGET = -100 };              /* in the place of a target that the loss does not count */

/* As lm_evaluate; the batches are divided among the processes of p, unless it is NULL. The result is the same. */
double lm_evaluate_with(void *m, const LmData *d, int64_t batch, int64_t length, int64_t tokens, int64_t *counted,
                        NnParallel *p);
/* Whether all processes have the same data: compares its size and a sample of it. */
bool data_agrees(const LmData *d, NnParallel *p);

typedef struct { const char *bytes; int64_t count; int width; } Tokens;     /* `count` ids of `width` bytes each */

/* Whether a file begins with the first eight bytes of a token file, whose format lm.h describes. */
bool is_token_file(const File *map);
/* Finds the ids in a mapped token file. Checks that the file is complete, that it was made with this vocabulary, and that
 * all ids are in range. `path` is for messages. */
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
