/* observe.c: the observers of this thread. */
#include "kernels.h"
#include "observe.h"

#include <stdlib.h>
#include <string.h>

_Thread_local Observer *observer[OBSERVERS];
_Thread_local bool observed;
_Thread_local unsigned observers_need;
static _Thread_local unsigned needed_by[OBSERVERS];
static _Thread_local bool decided[OBSERVERS];           /* `observe` was called */

void observe(int number, Observer *o, unsigned needs)
{
    observer[number] = o;
    needed_by[number] = o ? needs : 0;
    decided[number] = true;
    observed = false;
    observers_need = 0;
    for (int i = 0; i < OBSERVERS; i++) {
        observed = observed || observer[i];
        observers_need |= needed_by[i];
    }
}

void observe_from_environment(void)
{
    for (int i = 0; i < OBSERVERS; i++) {
        const ObserverSwitch *s = &observer_switch[i];
        const char *value = s->variable ? getenv(s->variable) : NULL;
        if (!decided[i] && value && strcmp(value, "1") == 0) {
            s->switch_it(true);
        }
    }
}
