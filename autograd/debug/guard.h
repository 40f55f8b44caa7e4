/* guard.h: the watch of buffers that ag_guard switches on. */
#ifndef KAERU_DEBUG_GUARD_H
#define KAERU_DEBUG_GUARD_H

#include "buffers.h"

extern const BufferWatch guard_watch;

#endif
