/* embedding.c: the embedding layer: rows of a table, selected by ids. */
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

static Tensor *embedding_forward(AgSite at, void *self, Tensor *ids)
{
    return nn_embedding_at(at, self, ids);
}

Embedding *nn_embedding_new_at(AgSite at, int64_t count, int64_t width)
{
    if (count < 1 || width < 1)
        ag_usage_error(at, "nn_embedding_new", "%lld rows of width %lld, expected 1 or more", (long long)count,
                       (long long)width);
    Embedding *e = (Embedding *)nn_new_sized_at(at, sizeof *e, "Embedding");
    e->module.forward = embedding_forward;
    nn_add_tensor_at(at, &e->module, "weight", &e->weight, SHAPE(count, width), true);
    nn_init_normal(e->weight, 0, 1);
    return e;
}

Tensor *nn_embedding_at(AgSite at, Embedding *e, Tensor *ids)                             /* ids (..) -> (..,width) */
{
    NN_LAYER(at, e);
    return ag_embedding(e->weight, ids);
}
