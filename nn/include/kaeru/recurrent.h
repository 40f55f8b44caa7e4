/* recurrent.h: recurrent layers: the gated recurrent unit (GRU, Cho et al. 2014) and the long short-term memory (LSTM,
 * Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). Formulas, initialization, names and layouts of
 * the parameters are those of PyTorch's nn.GRU and nn.LSTM with batch_first=True, so each library can read the other's files.
 *
 *     Recurrent *r = nn_gru_new(embedding_width, hidden);
 *     RecurrentState state = { 0 };                           starts from zeros
 *     Tensor *y = nn_recurrent(r, x, mask, &state);           h of all steps (B,T,H); state.h: the last h of each row
 *
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

/* One layer in one direction: weight_ih (G H,in) is all W, weight_hh (G H,H) all U, bias_ih and bias_hh (G H) all b and d, in
 * this order of gates: r, z, n (GRU) or i, f, g, o (LSTM). All start uniform in +-1/sqrt(H). Their names are weight_ih_l0, ...,
 * those of the backward direction weight_ih_l0_reverse, ... */
typedef struct { Tensor *weight_ih, *weight_hh, *bias_ih, *bias_hh; } RecurrentPass;
#define NN_RECURRENT_PASSES 16
typedef struct {
    Module module;
    RecurrentKind kind;
    int64_t hidden;             /* H */
    int layers, directions;
    Dropout *dropout;           /* of what a layer gives to the next; NULL: none */
    RecurrentPass pass[NN_RECURRENT_PASSES];    /* of layer l: numbers l * directions and, backward, l * directions + 1 */
} Recurrent;
/* `layers` layers, up to 16, or 8 if `both`: each reads in both directions, and its y is (B,T,2 H). */
Recurrent *nn_recurrent_new_with(RecurrentKind kind, int64_t in, int64_t hidden, int layers, bool both, double dropout);
#define nn_recurrent_new(kind, in, hidden) nn_recurrent_new_with(kind, in, hidden, 1, false, 0)
#define nn_gru_new(in, hidden)  nn_recurrent_new(NN_GRU, in, hidden)
#define nn_lstm_new(in, hidden) nn_recurrent_new(NN_LSTM, in, hidden)

/* The state between steps: h (B,H), and for an LSTM c (B,H); if there are N > 1 passes, that is layers times directions,
 * (N,B,H). NULL means zeros. */
typedef struct { Tensor *h, *c; } RecurrentState;

/* For a state that lives longer than a scope, as in training on parts of one long sequence: *kept, zeros at first, becomes a
 * copy of *state that no scope owns, without a graph, and its former copy is freed. With NULL for state it is only freed. Call
 * it before ag_backward, which releases the state. */
void nn_recurrent_keep(RecurrentState *kept, const RecurrentState *state);

/* One step, as PyTorch's GRUCell and LSTMCell: x (B,in) -> the new h (B,H) of the last layer. Updates *state. Not for both
 * directions. */
Tensor *nn_recurrent_step(Recurrent *r, Tensor *x, RecurrentState *state);

/* All steps: x (B,T,in), T >= 1 -> h of the last layer after each step (B,T,H), or (B,T,2 H). Starts from *state and updates
 * it. If `state` is NULL, starts from zeros.
 *
 * mask (B,1,T), as from nn_padding_mask, or NULL. Where it is false, the state of the row does not change, and x is not
 * read: not even NaN there changes a result or a gradient. So if padding follows the sentences, the last state is that of the
 * last word of each sentence, and y repeats it in the padding. (For packed sequences, PyTorch returns the same state, and zeros
 * in y.) */
Tensor *nn_recurrent(Recurrent *r, Tensor *x, Tensor *mask, RecurrentState *state);

#include "kaeru/calls/recurrent.h"

AG_PUBLIC_END

#endif
