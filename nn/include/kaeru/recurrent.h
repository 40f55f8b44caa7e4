/* recurrent.h: recurrent layers: the gated recurrent unit (GRU, Cho et al. 2014) and the long short-term memory (LSTM,
 * Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). Formulas, initialization, names and layouts of
 * the parameters are those of PyTorch's nn.GRU and nn.LSTM with one layer and batch_first=True, so each library can read the
 * other's files.
 *
 *     Recurrent *r = nn_gru_new(embedding_width, hidden);
 *     RecurrentState state = { 0 };                           starts from zeros
 *     Tensor *y = nn_recurrent(r, x, mask, &state);           h of all steps (B,T,H); state.h: the last h of each row
 *
 * As in tensor.h, NAME_at(AgSite at, ...) is called as NAME(...).
 * Shapes: B batch, T time, H width of the state, G number of gates: 3 (GRU) or 4 (LSTM). */
#ifndef KAERU_RECURRENT_H
#define KAERU_RECURRENT_H

#include "kaeru/nn.h"

AG_PUBLIC_BEGIN

/* s is the logistic sigmoid; products with gates are elementwise.
 *     NN_GRU     r = s(W_r x + b_r + U_r h + d_r)              reset gate: how much the candidate depends on h
 *                z = s(W_z x + b_z + U_z h + d_z)              update gate: how much of h is kept
 *                n = tanh(W_n x + b_n + r (U_n h + d_n))       candidate
 *                h' = (1 - z) n + z h
 *     NN_LSTM    i, f, o = s(W x + b + U h + d), each with its own W, b, U, d: input, forget and output gate
 *                g = tanh(W_g x + b_g + U_g h + d_g)           candidate
 *                c' = f c + i g,   h' = o tanh(c') */
typedef enum { NN_GRU, NN_LSTM } RecurrentKind;

/* weight_ih_l0 (G H,in) is all W, weight_hh_l0 (G H,H) all U, bias_ih_l0 and bias_hh_l0 (G H) all b and d, in this order of
 * gates: r, z, n (GRU) or i, f, g, o (LSTM). All start uniform in +-1/sqrt(H). */
typedef struct {
    Module module;
    RecurrentKind kind;
    int64_t hidden;             /* H */
    Tensor *weight_ih_l0, *weight_hh_l0, *bias_ih_l0, *bias_hh_l0;
} Recurrent;
Recurrent *nn_recurrent_new_at(AgSite at, RecurrentKind kind, int64_t in, int64_t hidden);
#define nn_gru_new(in, hidden)  nn_recurrent_new(NN_GRU, in, hidden)
#define nn_lstm_new(in, hidden) nn_recurrent_new(NN_LSTM, in, hidden)

/* The state between steps: h (B,H), and for an LSTM c (B,H). NULL means zeros. */
typedef struct { Tensor *h, *c; } RecurrentState;

/* One step, as PyTorch's GRUCell and LSTMCell: x (B,in) -> the new h (B,H). Updates *state. */
Tensor *nn_recurrent_step_at(AgSite at, Recurrent *r, Tensor *x, RecurrentState *state);

/* All steps: x (B,T,in), T >= 1 -> h after each step (B,T,H). Starts from *state and updates it. If `state` is NULL, starts
 * from zeros.
 *
 * mask (B,1,T), as from nn_padding_mask, or NULL. Where it is false, the state of the row does not change. So if padding
 * follows the sentences, the last state is that of the last word of each sentence, and y repeats it in the padding. (For
 * packed sequences, PyTorch returns the same state, and zeros in y.) */
Tensor *nn_recurrent_at(AgSite at, Recurrent *r, Tensor *x, Tensor *mask, RecurrentState *state);

AG_PUBLIC_END

#endif
