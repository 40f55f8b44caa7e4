/* switches.c: the observers that the environment can switch on, and who watches buffers. */
#include "guard.h"
#include "kaeru/debug.h"
#include "observers.h"

const ObserverSwitch observer_switch[OBSERVERS] = {
    [GUARD] = { "KAERU_GUARD", ag_guard },
    [WARN] = { "KAERU_WARN", ag_warn },
};
const BufferWatch *const buffer_watch = &guard_watch;
