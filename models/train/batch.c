/* batch.c: a batch of sentence pairs with its masks, and label smoothing. */
#include "kaeru/autograd.h"
#include "train.h"

int64_t batch_count_tokens(const Tensor *ids, int32_t pad)
{
    const int32_t *id = tensor_int_data(ids);
    int64_t n = 0;
    for (int64_t i = 0; i < tensor_numel(ids); i++) n += id[i] != pad;
    return n;
}

TransformerBatch transformer_batch_new_at(AgSite at, Tensor *src, Tensor *tgt, int32_t pad)
{
    AG_LAYER(at);
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    tensor_int_data(src);                   /* a usage error unless they are ids */
    tensor_int_data(tgt);
    if (tensor_ndim(src) != 2 || tensor_ndim(tgt) != 2 || tensor_dim(src, 0) != tensor_dim(tgt, 0) ||
        tensor_dim(tgt, 1) < 1)
        ag_usage_error(at, __func__, "src %s and tgt %s, expected (B,S) and (B,T+1)",
                       ag_shape_text(tensor_shape(src), a), ag_shape_text(tensor_shape(tgt), b));
    int64_t length = tensor_dim(tgt, 1);
    TransformerBatch batch = { .src = src, .src_mask = nn_padding_mask_at(at, src, pad) };
    batch.tgt = ag_slice_at(at, tgt, 1, 0, length - 1);
    batch.tgt_y = ag_slice_at(at, tgt, 1, 1, length);
    batch.tgt_mask = nn_causal_padding_mask_at(at, batch.tgt, pad);
    batch.ntokens = batch_count_tokens(batch.tgt_y, pad);
    return batch;
}

Tensor *transformer_label_smoothing_targets_at(AgSite at, KaeruLabelSmoothing criterion, Tensor *target, int64_t vocab)
{
    if (vocab < 3 || criterion.padding_idx < 0 || criterion.padding_idx >= vocab)
        ag_usage_error(at, __func__,
                       "padding_idx %d and %lld words: expected an id of at least 3 words", (int)criterion.padding_idx,
                       (long long)vocab);
    if (!(criterion.smoothing >= 0 && criterion.smoothing <= 1))
        ag_usage_error(at, __func__, "smoothing %g is not in 0..1", criterion.smoothing);
    int64_t rows = tensor_numel_at(at, target);
    Tensor *dist = tensor_full_at(at, SHAPE(rows, vocab), criterion.smoothing / (double)(vocab - 2));
    ag_real *value = tensor_mutable_data(dist);
    const int32_t *id = tensor_int_data_at(at, target);
    for (int64_t i = 0; i < rows; i++) {
        if (id[i] < 0 || id[i] >= vocab)
            ag_usage_error(at, __func__, "target %d at %lld, expected 0 to %lld", (int)id[i],
                           (long long)i, (long long)vocab - 1);
        ag_real *row = value + i * vocab;
        row[id[i]] = (ag_real)(1 - criterion.smoothing);
        row[criterion.padding_idx] = 0;
        for (int64_t j = 0; id[i] == criterion.padding_idx && j < vocab; j++) row[j] = 0;
    }
    return dist;
}
