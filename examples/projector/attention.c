/* attention.c: softmax(Q K^T / sqrt(d_k)) V */
#include <math.h>

#include "projector.h"

/* Q (..,T,K)  K (..,S,K)  V (..,S,K)  ->  (..,T,K) */
Tensor *attention(Tensor *Q, Tensor *K, Tensor *V, Tensor *mask)
{
    double d_k = (double)tensor_dim(K, -1);
    Tensor *scores = ag_matmul(Q, ag_transpose(K, -2, -1));     /* q_i . k_j */
    Tensor *weights = ag_masked_softmax(scores, mask, 1 / sqrt(d_k));
    return ag_matmul(weights, V);                   /* means of the values */
}
