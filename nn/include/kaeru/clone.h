/* clone.h: a copy of a module. */
#ifndef KAERU_CLONE_H
#define KAERU_CLONE_H

#include "kaeru/module.h"

AG_PUBLIC_BEGIN

/* Returns a copy with parameters of its own, which have the same values, modes and ties. Other
 * members of the struct, numbers and pointers, are copied as they are. */
void *nn_clone(const void *module);

#include "kaeru/calls/clone.h"

AG_PUBLIC_END

#endif
