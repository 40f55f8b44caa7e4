/* sentence_vocab.h: encodes and decodes sentences in memory of a region. */
#ifndef KAERU_SENTENCE_VOCAB_H
#define KAERU_SENTENCE_VOCAB_H

#include "kaeru/translation.h"
#include "region.h"

/* As sentence_encode and sentence_decode, with the result in memory of the region. */
int32_t *sentence_encode_in(Region *r, const SentenceVocab *v, Line line, int64_t *count);
Line sentence_decode_in(Region *r, const SentenceVocab *v, const int32_t *ids, int64_t count);

#endif
