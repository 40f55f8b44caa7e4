/* observers.h: the numbers of the observers of this folder, in the order in which they are told. */
#ifndef KAERU_DEBUG_OBSERVERS_H
#define KAERU_DEBUG_OBSERVERS_H

#include "observe.h"

enum { GUARD, FIND_NAN, WATCH, WARN };
_Static_assert((int)WARN < (int)OBSERVERS, "each observer has a number");

#endif
