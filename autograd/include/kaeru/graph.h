/* graph.h: includes the headers of the graph that operations record: gradients, and what else a
 * program does with the graph. The operations are in autograd.h, which includes this file. */
#ifndef KAERU_GRAPH_H
#define KAERU_GRAPH_H

#include "kaeru/tensor.h"
#include "kaeru/gradients.h"
#include "kaeru/grad.h"
#include "kaeru/higher.h"
#include "kaeru/watch.h"
#include "kaeru/bf16.h"
#include "kaeru/debug.h"
#include "kaeru/updates.h"
#include "kaeru/custom.h"
#include "kaeru/recompute.h"

#endif
