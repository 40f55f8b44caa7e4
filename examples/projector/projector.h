/* projector.h: the library's functions in the form in which a slide shows them: each file here has at most 25 lines of 80
 * columns. tests/projector.c compares each function with that of the library: they give the same bits. What they leave out:
 * checks, messages, dropout, and the early release of memory. */
#ifndef KAERU_EXAMPLES_PROJECTOR_H
#define KAERU_EXAMPLES_PROJECTOR_H

#include "kaeru/kaeru.h"

/* nn_attention: Q (..,T,K) K (..,S,K) V (..,S,K) -> (..,T,K). mask NULL: each query sees all keys. */
Tensor *attention(Tensor *Q, Tensor *K, Tensor *V, Tensor *mask);

/* transformer_encoder_layer with NN_POST_NORM, as in the paper: (B,S,D) -> (B,S,D). mask (B,1,1,S) or NULL. */
typedef struct {
    Linear *W_Q, *W_K, *W_V, *W_O;          /* attention in h heads */
    Linear *W_1, *W_2;                      /* feed-forward */
    LayerNorm *norm_1, *norm_2;
    int h;
} EncoderLayer;
Tensor *encoder_layer(const EncoderLayer *l, Tensor *x, Tensor *mask);

/* ag_backward */
void backward(Tensor *loss);

/* One step of gradient descent, as with nn_sgd_new. Returns the loss before it. */
double training_step(Sequential *net, Tensor *x, Tensor *target, double lr);

#endif
