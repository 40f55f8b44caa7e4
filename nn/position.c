/* position.c: positional encoding: adds a vector for each position (Vaswani et al. 2017, 3.5). */
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

static Tensor *positional_encoding_forward(AgSite at, void *self, Tensor *x)
{
    return nn_positional_encoding_at(at, self, x);
}

/* pe(pos, 2i) = sin(pos / 10000^(2i/D)), pe(pos, 2i+1) = cos(pos / 10000^(2i/D)) */
static void fill_sinusoidal(Tensor *pe)
{
    int64_t max_len = tensor_dim(pe, 1), width = tensor_dim(pe, 2);
    ag_real *value = tensor_mutable_data(pe);
    for (int64_t d = 0; d < width; d++) {
        double frequency = ag_math_exp(-(double)(d - d % 2) / (double)width * ag_math_log(10000));
        for (int64_t pos = 0; pos < max_len; pos++) {
            double angle = (double)pos * frequency;
            value[pos * width + d] = (ag_real)(d % 2 == 0 ? ag_math_sin(angle) : ag_math_cos(angle));
        }
    }
}

PositionalEncoding *nn_positional_encoding_new_with_at(AgSite at, int64_t width, double dropout, int64_t max_len, bool learned)
{
    if (width < 1 || max_len < 1)
        ag_usage_error(at, "nn_positional_encoding_new", "width %lld and max_len %lld, expected 1 or more", (long long)width,
                       (long long)max_len);
    PositionalEncoding *p = (PositionalEncoding *)nn_new_sized_at(at, sizeof *p, "PositionalEncoding");
    p->module.forward = positional_encoding_forward;
    nn_child(p, dropout, nn_dropout_new_at(at, dropout));
    nn_add_tensor_at(at, &p->module, "pe", &p->pe, SHAPE(1, max_len, width), learned);
    if (learned) nn_init_normal(p->pe, 0, 0.02);
    else fill_sinusoidal(p->pe);
    return p;
}

Tensor *nn_positional_encoding_from_at(AgSite at, PositionalEncoding *p, Tensor *x, int64_t start)
{
    NN_LAYER(at, p);
    char text[AG_SHAPE_TEXT];
    int64_t max_len = tensor_dim(p->pe, 1), width = tensor_dim(p->pe, 2);
    if (tensor_ndim(x) != 3 || tensor_dim(x, 2) != width)
        ag_usage_error(AG_HERE, "positional_encoding", "x %s, expected (B,T,%lld)", ag_shape_text(tensor_shape(x), text),
                       (long long)width);
    int64_t length = tensor_dim(x, 1);
    if (start < 0 || start > max_len - length)
        ag_usage_error(AG_HERE, "positional_encoding", "x %s from position %lld on: the table has %lld positions",
                       ag_shape_text(tensor_shape(x), text), (long long)start, (long long)max_len);
    return nn_dropout(p->dropout, ag_add(x, ag_slice(p->pe, 1, start, start + length)));
}

Tensor *nn_positional_encoding_at(AgSite at, PositionalEncoding *p, Tensor *x)
{
    NN_LAYER(at, p);
    return nn_positional_encoding_from_at(at, p, x, 0);
}
