/* recurrent.h: layers that read a sequence one step after another and carry a state along: the gated recurrent unit
 * (Cho et al. 2014) and the long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et
 * al. 2000). Formulas, names and layouts of the parameters and their first values are those of PyTorch's nn.GRU and
 * nn.LSTM with one layer and batch_first=True, so each reads the other's files.
 *
 *     Recurrent *r = nn_gru_new(embedding_width, hidden);
 *     RecurrentState state = { 0 };                           from zeros
 *     Tensor *y = nn_recurrent(r, x, mask, &state);           every h (B,T,H); state.h: the last of each row
 *
 * Shapes: B batch, T time, H width of the state, G gates: 3 of the GRU, 4 of the LSTM. */
#ifndef KAERU_RECURRENT_H
#define KAERU_RECURRENT_H

#include "kaeru/nn.h"

#pragma GCC visibility push(default)

/* s is the logistic sigmoid; products of gates are elementwise.
 *     NN_GRU     r = s(W_r x + b_r + U_r h + d_r)              reset: how much of h the new candidate sees
 *                z = s(W_z x + b_z + U_z h + d_z)              update: how much of h stays
 *                n = tanh(W_n x + b_n + r (U_n h + d_n))       candidate
 *                h' = (1 - z) n + z h
 *     NN_LSTM    i, f, o = s(W x + b + U h + d), each with its own W, b, U, d: input, forget and output gate
 *                g = tanh(W_g x + b_g + U_g h + d_g)           candidate
 *                c' = f c + i g,   h' = o tanh(c') */
typedef enum { NN_GRU, NN_LSTM } RecurrentKind;

/* weight_ih_l0 (G H,in) holds the W, weight_hh_l0 (G H,H) the U, bias_ih_l0 and bias_hh_l0 (G H) the b and d, one gate
 * below the other: r, z, n of the GRU; i, f, g, o of the LSTM. All are uniform in +-1/sqrt(H) at first. */
typedef struct {
    Module module;
    RecurrentKind kind;
    int64_t hidden;             /* H */
    Tensor *weight_ih_l0, *weight_hh_l0, *bias_ih_l0, *bias_hh_l0;
} Recurrent;
Recurrent *nn_recurrent_new_at(Site at, RecurrentKind kind, int64_t in, int64_t hidden);
#define nn_gru_new(in, hidden)  nn_recurrent_new(NN_GRU, in, hidden)
#define nn_lstm_new(in, hidden) nn_recurrent_new(NN_LSTM, in, hidden)

/* What is carried from step to step: h (B,H), and c (B,H) of an LSTM. NULL stands for zeros. */
typedef struct { Tensor *h, *c; } RecurrentState;

/* One step: x (B,in) -> the new h (B,H); *state is replaced. This is PyTorch's GRUCell and LSTMCell. */
Tensor *nn_recurrent_step_at(Site at, Recurrent *r, Tensor *x, RecurrentState *state);
/* All steps: x (B,T,in), T of 1 or more -> the h after each step (B,T,H). *state is where it begins and becomes where
 * it ends; NULL: from zeros, and the end is not asked for.
 *
 * mask (B,1,T), as nn_padding_mask gives it, or NULL: where it is false a row stands still, its state as it was. So
 * with padding behind the sentences, the last state is that of each sentence's own last word, and y repeats it there.
 * (PyTorch gives the same state for packed sequences, and zeros in y.) */
Tensor *nn_recurrent_at(Site at, Recurrent *r, Tensor *x, Tensor *mask, RecurrentState *state);

#pragma GCC visibility pop

#endif
