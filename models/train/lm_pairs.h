/* lm_pairs.h: texts and pairs of a question and its answer, one JSON object a line, as ids. */
#ifndef KAERU_LM_PAIRS_H
#define KAERU_LM_PAIRS_H

#include "kaeru/lm.h"

/* An example: ids from `start` on, up to the start of the next one. The loss counts those from `answer` on. */
typedef struct { int64_t start, answer; } Example;
typedef struct { int32_t *ids; Example *example; int64_t n; } Examples;     /* example[n].start: the number of ids */
/* Reads `size` bytes of lines; `owner` owns the result. False with ag_error() if a line is not an object with the texts
 * "prompt" and "completion", or with a "text". begin and end: the tokens before and after each example, -1: none. */
bool examples_read(void *owner, const char *path, const char *text, size_t size, const KaeruVocab *v, int32_t begin,
                   int32_t end, Examples *out);

#endif
