/* checks.h: checks of arguments for the files of this folder and of train/. */
#ifndef KAERU_CHECKS_H
#define KAERU_CHECKS_H

#include "kaeru/tensor.h"

/* A usage error if a text of n bytes is NULL, or if n is negative as a signed number. */
void check_text(AgSite at, const char *what, const char *name, const char *text, size_t n);

/* The first member of each vocabulary. Without it, a KaeruTokenizer or KaeruSentenceVocab whose kind was not set would read one
 * kind as another. */
typedef enum { VOCAB_CHARS = 0x63686172, VOCAB_WORDS = 0x776f7264, VOCAB_BPE = 0x62706520 } VocabKind;
/* A usage error unless v is a vocabulary of that kind that was not freed. */
void check_vocab(AgSite at, const char *what, const char *name, const void *v, VocabKind kind);

#endif
