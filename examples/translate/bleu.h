/* bleu.h: corpus BLEU (Papineni et al. 2002) of plain text, the number that sacrebleu gives by default (Post 2018: the tokens
 * of mteval-v13a, n-grams up to 4, exponential smoothing). Of texts in lower case, it is the number of sacrebleu -lc. */
#ifndef KAERU_EXAMPLES_TRANSLATE_BLEU_H
#define KAERU_EXAMPLES_TRANSLATE_BLEU_H

#include "kaeru/text.h"

enum { BLEU_ORDERS = 4 };
/* What has been counted so far; zero it before the first bleu_add. */
typedef struct {
    int64_t correct[BLEU_ORDERS];       /* n-grams that are also in the reference, for n from 1 on */
    int64_t total[BLEU_ORDERS];         /* all n-grams */
    int64_t length, reference_length;   /* in tokens */
} Bleu;
void bleu_add(Bleu *b, KaeruLine translation, KaeruLine reference);
double bleu_score(const Bleu *b);       /* 0 to 100 */

#endif
