/* parallel_state.h: the state of an optimizer that processes share, for files. */
#ifndef KAERU_PARALLEL_STATE_H
#define KAERU_PARALLEL_STATE_H

#include "kaeru/parallel.h"

/* State tensor k of parameter i of a shared optimizer, collected from all processes, in the first process; NULL in the others.
 * All must call it. The values are valid until the next call. */
const ag_real *parallel_state(NnParallel *p, int i, int k);

#endif
