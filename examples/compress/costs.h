/* costs.h: what the tokens of a text cost. bits[count] are the costs. */
#ifndef KAERU_EXAMPLES_COSTS_H
#define KAERU_EXAMPLES_COSTS_H

#include "predictor.h"

/* Prints the text; on a terminal, in colors. */
void show_text(const Predictor *p, const float *bits);
/* Writes and draws compress.csv: the costs of pieces of the text, and the mean up to there. */
void draw_curve(const Predictor *p, const float *bits);

#endif
