/* bpe_words.h: the rule by which GPT-2 splits text into words. */
#ifndef KAERU_BPE_WORDS_H
#define KAERU_BPE_WORDS_H

#include <stddef.h>

/* The number of bytes, of n >= 1, in the first word. */
size_t bpe_word(const char *text, size_t n);

#define BPE_END_OF_TEXT "<|endoftext|>"
/* The offset of the first <|endoftext|>; n if there is none. */
size_t bpe_find_end_of_text(const char *text, size_t n);

#endif
