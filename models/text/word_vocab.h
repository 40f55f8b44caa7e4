/* word_vocab.h: the texts of the special tokens, which vocabularies of words and of sentences have as their first ids. */
#ifndef KAERU_WORD_VOCAB_H
#define KAERU_WORD_VOCAB_H

#include "kaeru/text.h"

enum { N_SPECIAL_TOKENS = KAERU_WORD_UNKNOWN + 1 };
extern const char *const special_tokens[N_SPECIAL_TOKENS];         /* by id: KAERU_WORD_START, ... */

#endif
