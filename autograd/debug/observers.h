/* observers.h: the numbers of the observers of this folder, in the order in which they are told. Number 2 is more/watch.c. */
#ifndef KAERU_DEBUG_OBSERVERS_H
#define KAERU_DEBUG_OBSERVERS_H

#include "observe.h"

enum { GUARD = 0, FIND_NAN = 1, WARN = 3 };
_Static_assert((int)WARN < (int)OBSERVERS, "each observer has a number");

#endif
