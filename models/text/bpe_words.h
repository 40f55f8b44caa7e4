/* bpe_words.h: the rule by which GPT-2 cuts text into words. */
#ifndef KAERU_BPE_WORDS_H
#define KAERU_BPE_WORDS_H

#include <stddef.h>

/* How many of the n >= 1 bytes belong to the first word. */
size_t bpe_word(const char *text, size_t n);

#define BPE_END_OF_TEXT "<|endoftext|>"
/* Where the next <|endoftext|> begins; n if there is none. */
size_t bpe_find_end_of_text(const char *text, size_t n);

#endif
