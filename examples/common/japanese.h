/* japanese.h: pairs of an English and a Japanese text. */
#ifndef KAERU_EXAMPLES_JAPANESE_H
#define KAERU_EXAMPLES_JAPANESE_H

#include <stdio.h>

typedef struct { const char *english, *japanese; } Pair;                /* NULL, NULL ends an array */

/* Writes the Japanese text for an English one. The English text of a pair can be a pattern, in which %s stands for any text;
 * that text is written as it is, or by a pair of `words`, if that is not NULL. A text without a pair is written as it is. */
void pairs_write(FILE *out, const char *text, const Pair *pair, const Pair *words);

#endif
