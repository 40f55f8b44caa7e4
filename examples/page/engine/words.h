/* words.h: the small text of the page, and the byte pairs that are learned from it, for the sections tokens and next. */
#ifndef KAERU_PAGE_WORDS_H
#define KAERU_PAGE_WORDS_H

#include "kaeru/text.h"

enum { MOST_MERGES = 352 };
/* The text: sentences about animals in English and in Japanese, one a line, the same ones each time. *size is its size. */
const char *words_text(int language, size_t *size);
/* Byte pairs with at most that many merges, learned from the text with each Japanese word in a line of its own. With
 * MOST_MERGES, all that the text gives, each of its words is one token. The caller frees them. */
KaeruVocab *words_vocab(int merges);
/* Prints the bytes of a token as an array of numbers. */
void json_token(const KaeruVocab *v, int32_t id);

#endif
