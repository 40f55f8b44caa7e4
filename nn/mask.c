/* mask.c: masks for attention, and how to print one. In every mask, true means visible. */
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

Tensor *nn_causal_mask_at(AgSite at, int64_t n)
{
    if (n < 0) ag_usage_error(at, "nn_causal_mask", "n is %lld, expected 0 or more", (long long)n);
    Tensor *mask = tensor_bools_at(at, SHAPE(1, n, n), NULL);
    uint8_t *visible = tensor_mutable_bool_data(mask);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) visible[i * n + j] = 1;
    return mask;
}

Tensor *nn_padding_mask_at(AgSite at, Tensor *ids, int32_t padding)
{
    AG_LAYER(at);
    char text[AG_SHAPE_TEXT];
    tensor_int_data(ids);                   /* a usage error unless they are ids */
    if (tensor_ndim(ids) != 2)
        ag_usage_error(at, "nn_padding_mask", "ids %s, expected (B,T)", ag_shape_text(tensor_shape(ids), text));
    return ag_unsqueeze_at(at, ag_compare_scalar_at(at, AG_NE, ids, padding), 1);
}

Tensor *nn_causal_padding_mask_at(AgSite at, Tensor *ids, int32_t padding)
{
    AG_LAYER(at);
    Tensor *own = nn_padding_mask_at(at, ids, padding);
    return ag_and_at(at, own, nn_causal_mask_at(at, tensor_dim(ids, 1)));
}

void nn_mask_print_at(AgSite at, FILE *out, Tensor *mask)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "out", out);
    const uint8_t *visible = tensor_bool_data(mask);
    AgShape shape = tensor_shape(mask);
    int64_t columns = shape.ndim > 0 ? shape.dim[shape.ndim - 1] : 1,
        rows = shape.ndim > 1 ? shape.dim[shape.ndim - 2] : 1;
    for (int64_t i = 0; i < tensor_numel(mask); i++) {
        if (i > 0 && i % (rows * columns) == 0) fputc('\n', out);
        fputs(visible[i] ? "#" : ".", out);
        fputs((i + 1) % columns == 0 ? "\n" : " ", out);
    }
}
