/* gradcheck.h: what the gradient check found out about an input, for its report. */
#ifndef KAERU_GRADCHECK_H
#define KAERU_GRADCHECK_H

#include "internal.h"

/* The gradient that arrived; what small steps say, by both uses of the function together and by each alone. Of wrong
 * ones: how many entries of the result this one reaches, and what the last of these sends back, by use. */
typedef struct { double gradient, numerical, by_use[2]; bool wrong; int64_t reaches; double last[2]; } CheckedEntry;
typedef struct { int input; const Tensor *x; CheckedEntry *entry; int64_t wrong; double largest; } Checked;

/* Are they as near as the check demands? `largest`: of the input's gradient, or of its numerical one, whichever is
 * less. */
bool gradients_agree(double gradient, double numerical, double largest);
/* Says how many entries are wrong, in which way, and by how much each of the first few. */
void check_report(FILE *out, const Checked *c);

#endif
