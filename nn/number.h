/* number.h: numbers as text, exact and the same in every locale. */
#ifndef KAERU_NUMBER_H
#define KAERU_NUMBER_H

#include "kaeru/tensor.h"

/* Makes the C locale that of this thread. Returns the former one, for system_restore_locale. */
void *use_c_locale(void);

#define NUMBER_TEXT 32
/* Writes a finite double with 15 digits or, if these do not give this double when read, 16 or 17.
 * Returns text. */
char *number_text(double value, char text[NUMBER_TEXT]);

#endif
