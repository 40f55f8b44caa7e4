/* kaeru.h: everything. */
#ifndef KAERU_H
#define KAERU_H

#include "kaeru/autograd.h"
#include "kaeru/nn.h"

#endif
