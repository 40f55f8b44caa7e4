/* observers.c: a build without observers that the environment can switch on, and without a watch of
 * buffers. */
#include "buffers.h"
#include "observe.h"

const ObserverSwitch observer_switch[OBSERVERS] = { { NULL, NULL } };
const BufferWatch *const buffer_watch = NULL;
