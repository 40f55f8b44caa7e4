/* batch.c: a batch of sentence pairs with its masks. */
#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/training.h"
#include "losses.h"

TransformerBatch transformer_batch_new(Tensor *src, Tensor *tgt, int32_t pad)
{
    AG_LAYER;
    check_tensor(__func__, "src", src, AG_INT);
    check_tensor(__func__, "tgt", tgt, AG_INT);
    if (tensor_ndim(src) != 2 || tensor_ndim(tgt) != 2 || tensor_dim(src, 0) != tensor_dim(tgt, 0) || tensor_dim(tgt, 1) < 1)
        ag_usage_error(__func__, "src %s and tgt %s, expected (B,S) and (B,T+1)", ag_shape_string(tensor_shape(src)),
                       ag_shape_string(tensor_shape(tgt)));
    int64_t length = tensor_dim(tgt, 1);
    TransformerBatch batch = { .src = src, .src_mask = nn_padding_mask(src, pad) };
    batch.tgt = ag_slice(tgt, 1, 0, length - 1);
    batch.tgt_y = ag_slice(tgt, 1, 1, length);
    batch.tgt_mask = nn_causal_padding_mask(batch.tgt, pad);
    batch.ntokens = losses_count(batch.tgt_y, pad);
    return batch;
}
