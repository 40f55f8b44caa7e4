/* sublayer.c: the position-wise feed-forward network (Vaswani et al. 2017, 3.3), and the skip connection around each sublayer
 * (3.1). */
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

static Tensor *feed_forward_forward(AgSite at, void *self, Tensor *x)
{
    return nn_positionwise_feed_forward_at(at, self, x);
}

PositionwiseFeedForward *nn_positionwise_feed_forward_new_at(AgSite at, int64_t width, int64_t hidden, double dropout,
                                                             AgActivation activation)
{
    if ((int)activation < AG_IDENTITY || activation > AG_SILU)
        ag_usage_error(at, "nn_positionwise_feed_forward_new", "%d is not an AgActivation", (int)activation);
    PositionwiseFeedForward *f = (PositionwiseFeedForward *)nn_new_sized_at(at, sizeof *f, "PositionwiseFeedForward");
    f->module.forward = feed_forward_forward;
    f->activation = activation;
    nn_child(f, w_1, nn_linear_new_with_at(at, width, hidden, true));
    nn_child(f, w_2, nn_linear_new_with_at(at, hidden, width, true));
    nn_child(f, dropout, nn_dropout_new_at(at, dropout));
    return f;
}

Tensor *nn_positionwise_feed_forward_at(AgSite at, PositionwiseFeedForward *f, Tensor *x)
{
    NN_LAYER(at, f);
    Tensor *hidden = nn_linear_activate(f->w_1, x, f->activation);
    return nn_linear(f->w_2, nn_dropout(f->dropout, hidden));
}

SublayerConnection *nn_sublayer_connection_new_at(AgSite at, int64_t width, double dropout, NnNormPlace place, AgNorm kind)
{
    if (place != NN_PRE_NORM && place != NN_POST_NORM)
        ag_usage_error(at, "nn_sublayer_connection_new", "%d is not a NnNormPlace", (int)place);
    SublayerConnection *s = (SublayerConnection *)nn_new_sized_at(at, sizeof *s, "SublayerConnection");
    s->place = place;
    nn_child(s, norm, nn_layer_norm_new_with_at(at, width, kind, true));
    nn_child(s, dropout, nn_dropout_new_at(at, dropout));
    return s;
}

Tensor *nn_sublayer_in_at(AgSite at, SublayerConnection *s, Tensor *x)
{
    NN_LAYER(at, s);
    return s->place == NN_PRE_NORM ? nn_layer_norm(s->norm, x) : x;
}

Tensor *nn_sublayer_out_at(AgSite at, SublayerConnection *s, Tensor *x, Tensor *h)
{
    NN_LAYER(at, s);
    Tensor *y = ag_add(x, nn_dropout(s->dropout, h));
    return s->place == NN_POST_NORM ? nn_layer_norm(s->norm, y) : y;
}
