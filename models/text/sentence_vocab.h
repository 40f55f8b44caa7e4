/* sentence_vocab.h: encodes and decodes sentences in memory of a owner. */
#ifndef KAERU_SENTENCE_VOCAB_H
#define KAERU_SENTENCE_VOCAB_H

#include "kaeru/translation.h"

/* As sentence_encode and sentence_decode, with the result owned by `owner`. */
int32_t *sentence_encode_in(void *r, const SentenceVocab *v, Line line, int64_t *count);
Line sentence_decode_in(void *r, const SentenceVocab *v, const int32_t *ids, int64_t count);

#endif
