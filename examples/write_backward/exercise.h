/* exercise.h: the operation of the exercise. */
#ifndef KAERU_EXAMPLES_EXERCISE_H
#define KAERU_EXAMPLES_EXERCISE_H

#include "kaeru/autograd.h"

/* y[i][j] = w[j] x[i][j]^2: x (rows, columns), w (columns) -> y (rows, columns) */
extern const AgCustom weighted_square;

#endif
