/* observers.c: a build without debugging tools: without observers that the environment can switch
 * on, a watch of buffers, and warnings. */
#include "buffers.h"
#include "errors.h"
#include "observe.h"

const ObserverSwitch observer_switch[OBSERVERS] = { { NULL, NULL } };
const BufferWatch *const buffer_watch = NULL;
WarningWriter *const warning_writer = NULL;
