/* watch.h: watches a backward pass while it goes on. */
#ifndef KAERU_PUBLIC_WATCH_H
#define KAERU_PUBLIC_WATCH_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Watches the backward passes of this thread: `begun` is called with the loss before the first rule runs, `complete` with each
 * leaf that has got a gradient, as soon as no other rule will add to it. So a program can use or send a gradient while the
 * pass goes on. Both functions NULL: no more calls. NnParallel replaces the watch in each step, then removes it. */
typedef struct {
    void (*begun)(void *arg, Tensor *loss);
    void (*complete)(void *arg, Tensor *leaf);
    void *arg;
} AgWatch;
void ag_watch_backward(AgWatch watch);

#include "kaeru/calls/watch.h"

AG_PUBLIC_END

#endif
