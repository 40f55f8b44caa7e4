/* hint.h: names what is wrong in a rule of the exercise. */
#ifndef KAERU_EXAMPLES_HINT_H
#define KAERU_EXAMPLES_HINT_H

#include <stdbool.h>

/* Whether the rule writes nothing, to neither dx nor dw. */
bool is_unwritten(void);
/* Whether the rule changes what it reads, or has another result in a second call. Prints it if so. */
bool print_side_effects(void);
/* Prints what the rule of weighted_square computes, if it is a product of powers of dy, w and x, and how it differs from the
 * correct one. */
void print_hints(void);
/* Whether the formula of the rule, in the last field of weighted_square, is a product other than the correct one. A formula
 * that is no plain product is not judged. Prints it if so. */
bool print_formula_mistake(void);

#endif
