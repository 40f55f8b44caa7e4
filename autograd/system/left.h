/* left.h: what a function of the library has to free if the program leaves it by longjmp or throw. */
#ifndef KAERU_LEFT_H
#define KAERU_LEFT_H

#include "kaeru/tensor.h"

/* p is an object of ag_alloc. If a function of the program leaves the layer that is being called now
 * (AG_LAYER), the end of the scope around the layer frees p. A function that ends that scope and returns has freed p, too:
 * the layer checks p after it (ag_check_object). Returns the place of the outermost layer call, which such an error names. */
AgSite layer_owns(void *p);
/* Frees p when the layer no longer needs it. */
void layer_frees(void *p);

#endif
