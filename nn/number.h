/* number.h: numbers as text, exact and the same in every locale. */
#ifndef KAERU_NUMBER_H
#define KAERU_NUMBER_H

#include "kaeru/tensor.h"

/* Sets the locale of this thread to the C locale. Returns the former one, for
 * system_restore_locale. */
void *use_c_locale(void);

#define NUMBER_TEXT 32
/* Writes a finite double with the fewest digits from 15 to 17 that give the same double when they
 * are read. Returns text. */
char *number_text(double value, char text[NUMBER_TEXT]);

#endif
