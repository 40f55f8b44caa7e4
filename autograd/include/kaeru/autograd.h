/* autograd.h: tensors, the graph and the operations on them: everything of this floor.
 *
 * The differentiable operations are in ops.h, which the build writes from the list autograd/ops/ops.def. As in tensor.h,
 * NAME_at(Site at, ...) is called as NAME(...). */
#ifndef KAERU_AUTOGRAD_H
#define KAERU_AUTOGRAD_H

#include "kaeru/graph.h"
#include "kaeru/ops.h"

#pragma GCC visibility push(default)

/* Compositions of the operations above. */
Tensor *ag_sum_at(Site at, Tensor *x);                                                  /* of all items -> scalar */
Tensor *ag_mean_at(Site at, Tensor *x);
Tensor *ag_max_at(Site at, Tensor *x);
Tensor *ag_transpose_at(Site at, Tensor *x, int dim0, int dim1);                        /* swaps two dimensions */
Tensor *ag_split_at(Site at, Tensor *x, int parts, int dim, Tensor **out);              /* equal parts; returns out[0] */
Tensor *ag_squeeze_at(Site at, Tensor *x, int dim);
Tensor *ag_unsqueeze_at(Site at, Tensor *x, int dim);
/* kind(x); AG_IDENTITY returns x. */
Tensor *ag_activate_at(Site at, AgActivation kind, Tensor *x);
/* ag_activate(kind, ag_linear(x, weight, bias)), with the same results and the same graph. ReLU and the GELUs are computed in
 * the same pass as the linear layer. For ReLU its output is then not stored, so ag_explain and drawings do not show it. */
Tensor *ag_linear_activate_at(Site at, Tensor *x, Tensor *weight, Tensor *bias, AgActivation kind);

/* These have no gradients. */
Tensor *ag_argmax_at(Site at, Tensor *x, int dim, bool keep);                   /* -> AG_INT, the first largest */
Tensor *ag_compare_at(Site at, AgCompare how, Tensor *a, Tensor *b);            /* -> AG_BOOL, broadcast; any one type */
Tensor *ag_compare_scalar_at(Site at, AgCompare how, Tensor *a, double b);
Tensor *ag_one_hot_at(Site at, Tensor *ids, int64_t classes);                   /* (..) -> (..,classes) reals */
Tensor *ag_and_at(Site at, Tensor *a, Tensor *b);                               /* masks, broadcast */
Tensor *ag_not_at(Site at, Tensor *a);

#pragma GCC visibility pop
#endif
