/* sentences.h: lines of a text as ids, alone and as the rows of a batch. */
#ifndef KAERU_SENTENCES_H
#define KAERU_SENTENCES_H

#include "kaeru/translation.h"

typedef struct { int32_t *ids; int64_t size, line; } Sentence;         /* line: its index in the text */
/* The ids of a line, with start and end, owned by `owner`. */
Sentence sentence_of(void *owner, const KaeruVocab *v, const KaeruLines *lines, int64_t line);
/* (n, size of the longest) ids of n sentences, padded with KAERU_BLANK. */
Tensor *sentences_pad(const Sentence *s, int64_t n);

#endif
