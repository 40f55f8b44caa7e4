/* encoder_layer.c: attention, then feed-forward, each with "add and norm" */
#include "projector.h"

/* The heads of x: (B,S,D) -> (B,h,S,D/h) */
static Tensor *split(Tensor *x, int h)
{
    int64_t B = tensor_dim(x, 0), S = tensor_dim(x, 1), D = tensor_dim(x, 2);
    return ag_transpose(ag_reshape(x, SHAPE(B, S, h, D / h)), 1, 2);
}

/* (B,S,D) -> (B,S,D) */
Tensor *encoder_layer(const EncoderLayer *l, Tensor *x, Tensor *mask)
{
    Tensor *Q = split(nn_linear(l->W_Q, x), l->h);
    Tensor *K = split(nn_linear(l->W_K, x), l->h);
    Tensor *V = split(nn_linear(l->W_V, x), l->h);
    Tensor *Z = ag_transpose(attention(Q, K, V, mask), 1, 2);  /* (B,S,h,D/h) */
    Tensor *joined = nn_linear(l->W_O, ag_reshape(Z, tensor_shape(x)));
    x = nn_layer_norm(l->norm_1, ag_add(x, joined));

    Tensor *hidden = ag_relu(nn_linear(l->W_1, x));
    return nn_layer_norm(l->norm_2, ag_add(x, nn_linear(l->W_2, hidden)));
}
