/* projector.c: the functions of examples/projector give the bits of the library. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/kaeru.h"
#include "projector/projector.h"

enum { B = 2, S = 5, D = 8, HEADS = 2, HIDDEN = 12, SEEN = 3 };
static int compared, failed;

/* Compares n numbers. They must not be all 0: then nothing would have been compared. */
static void same(const char *what, const float *here, const float *library, int64_t n)
{
    bool zero = true;
    for (int64_t i = 0; here && i < n; i++) {
        zero = zero && here[i] == 0;
    }
    compared++;
    if (!here || !library || zero || memcmp(here, library, (size_t)n * sizeof *here) != 0) {
        printf("%s: expected the bits of the library\n", what);
        failed++;
    }
}

static void same_values(const char *what, Tensor *here, Tensor *library)
{
    same(what, tensor_data(here), tensor_data(library), tensor_numel(library));
}

/* Keeps the gradients of these parameters, and removes them. */
static float *gradients_of(void *module)
{
    NnParameters *list = nn_parameters(module);
    float *all = calloc((size_t)nn_count(module), sizeof *all), *next = all;
    for (int i = 0; i < list->n; i++) {
        size_t n = (size_t)tensor_numel(list->item[i].tensor);
        const float *gradient = tensor_grad_data(list->item[i].tensor);
        if (gradient) {
            memcpy(next, gradient, n * sizeof *next);
        }
        next += n;
        tensor_zero_grad(list->item[i].tensor);
    }
    ag_free(list);
    return all;
}

static void compare_attention(void)
{
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *Q = tensor_normal(SHAPE(B, S, D), 0, 1), *K = tensor_normal(SHAPE(B, S + 1, D), 0, 1);
    Tensor *V = tensor_normal(SHAPE(B, S + 1, D), 0, 1);
    same_values("attention", attention(Q, K, V, NULL), nn_attention(Q, K, V, NULL, NULL, NULL));
    K = tensor_normal(SHAPE(B, S, D), 0, 1);
    V = tensor_normal(SHAPE(B, S, D), 0, 1);
    Tensor *mask = nn_causal_mask(S);
    same_values("attention with a mask", attention(Q, K, V, mask), nn_attention(Q, K, V, mask, NULL, NULL));
    ag_end(scope);
}

/* The layer of the models, and its parts as on the slide. */
static EncoderLayer parts_of(TransformerEncoderLayer *l)
{
    Linear *linear[4];
    for (int i = 0; i < 4; i++) {
        linear[i] = nn_item(Linear, l->self_attn->linears, i);
    }
    return (EncoderLayer){
        linear[0], linear[1], linear[2], linear[3], l->feed_forward->w_1, l->feed_forward->w_2,
        nn_item(SublayerConnection, l->sublayer, 0)->norm, nn_item(SublayerConnection, l->sublayer, 1)->norm,
        l->self_attn->heads,
    };
}

/* Compares the layer's values, and the gradients of all weights by each of the two loops of backward. */
static void compare_layer(void)
{
    TransformerOptions o = transformer_defaults();
    o.d_model = D;
    o.d_ff = HIDDEN;
    o.h = HEADS;
    o.dropout = 0;
    o.norm_place = NN_POST_NORM;
    TransformerEncoderLayer *layer = transformer_encoder_layer_new(&o);
    NnParameters *all = nn_parameters(layer);
    for (int i = 0; i < all->n; i++) {                                  /* also scales and shifts, which begin at 1 and 0 */
        ag_fill_normal(all->item[i].tensor, 0, 0.5);
    }
    ag_free(all);
    const EncoderLayer parts = parts_of(layer);
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x = tensor_normal(SHAPE(B, S, D), 0, 1), *target = tensor_normal(SHAPE(B, S, D), 0, 1);
    Tensor *mask = tensor_bools(SHAPE(1, 1, S), NULL);
    memset(tensor_mutable_bool_data(mask), 1, SEEN);
    Tensor *here = encoder_layer(&parts, x, ag_unsqueeze(mask, 1));
    Tensor *library = transformer_encoder_layer(layer, x, mask);
    same_values("encoder_layer", here, library);

    ag_backward(ag_mse_loss(library, target));
    float *expected = gradients_of(layer);
    backward(ag_mse_loss(transformer_encoder_layer(layer, x, mask), target));
    float *own_loop = gradients_of(layer);
    same("backward", own_loop, expected, nn_count(layer));
    ag_end(scope);
    free(expected);
    free(own_loop);
    ag_free(layer);
}

/* A value that is used twice gets the sum of two gradients; what the loss does not need gets none. */
static void compare_backward(void)
{
    Linear *f = nn_linear_new(D, D);
    float *gradient[2];
    for (int own = 0; own < 2; own++) {
        AgScope scope = ag_begin(AG_RECORD);
        ag_seed(1);
        Tensor *x = tensor_normal(SHAPE(S, D), 0, 1);
        Tensor *u = ag_tanh(nn_linear(f, x));
        Tensor *loss = ag_mean(ag_mul(u, ag_add(u, nn_linear(f, u))));
        ag_exp(u);
        if (own) {
            backward(loss);
        } else {
            ag_backward(loss);
        }
        ag_end(scope);
        gradient[own] = gradients_of(f);
    }
    same("backward of a value that is used twice", gradient[1], gradient[0], nn_count(f));
    free(gradient[0]);
    free(gradient[1]);
    ag_free(f);
}

static Sequential *net_new(void)
{
    ag_seed(2);
    Sequential *net = nn_sequential_new();
    nn_sequential_add(net, nn_linear_new(D, HIDDEN));
    nn_sequential_add(net, nn_layer_norm_new(HIDDEN));
    nn_sequential_add(net, nn_linear_new(HIDDEN, D));
    return net;
}

/* Compares the losses and the weights of three steps with those of ag_backward and nn_sgd_new. */
static void compare_steps(void)
{
    enum { STEPS = 3 };
    const double lr = 0.3;
    Sequential *here = net_new(), *library = net_new();
    Optimizer *sgd = nn_sgd_new(library, lr);
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(S, D), 0, 1), *target = tensor_normal(SHAPE(S, D), 0, 1);
    for (int i = 0; i < STEPS; i++) {
        AgScope step = ag_begin(AG_RECORD);
        Tensor *loss = nn_mse_loss(nn_sequential(library, x), target);
        const float expected = (float)tensor_item(loss);
        ag_backward(loss);
        nn_optimizer_step(sgd);
        ag_end(step);
        same("training_step: the loss", &(float){ (float)training_step(here, x, target, lr) }, &expected, 1);
    }
    NnParameters *own = nn_parameters(here), *theirs = nn_parameters(library);
    for (int i = 0; i < own->n; i++) {
        same_values("training_step: a weight", own->item[i].tensor, theirs->item[i].tensor);
    }
    ag_free(own);
    ag_free(theirs);
    ag_end(scope);
    ag_free(sgd);
    ag_free(here);
    ag_free(library);
}

int main(void)
{
    ag_seed(0);
    compare_attention();
    compare_layer();
    compare_backward();
    compare_steps();
    printf("projector: %d compared, %d differ\n", compared, failed);
    return failed != 0;
}
