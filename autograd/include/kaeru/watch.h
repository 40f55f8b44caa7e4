/* watch.h: tells a program of each gradient while a backward pass goes on.
 *
 * A program can so use or send the gradient of one parameter while the pass computes others:
 *
 *     static void send(void *arg, Tensor *leaf)
 *     {
 *         ...
 *     }
 *
 *     ag_watch_backward((AgWatch){ .complete = send });
 *     ag_backward(loss);
 */
#ifndef KAERU_PUBLIC_WATCH_H
#define KAERU_PUBLIC_WATCH_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* Calls these functions in the backward passes of this thread from now on. `begun` gets the loss
 * before the first rule runs. `complete` gets each leaf with a gradient, as soon as no other rule
 * will add to that gradient. If both are NULL, there are no more calls. NnParallel replaces the
 * watch in each step, and then removes it. */
typedef struct {
    void (*begun)(void *arg, Tensor *loss);
    void (*complete)(void *arg, Tensor *leaf);
    void *arg;
} AgWatch;
void ag_watch_backward(AgWatch watch);

#include "kaeru/calls/watch.h"

AG_PUBLIC_END

#endif
