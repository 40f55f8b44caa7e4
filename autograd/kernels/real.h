/* real.h: the short name of ag_real, the type of a number of a tensor, in this floor's own files. */
#ifndef KAERU_REAL_H
#define KAERU_REAL_H

#include "kaeru/types.h"

typedef ag_real real;

#endif
