/* lstm.c: an LSTM of two layers reads a text of 2,000 characters in parts; its state goes on from part to part. */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { LENGTH = 2000, PART = 20, CHARS = 27, WIDTH = 64 };

typedef struct { Module module; Embedding *embed; Recurrent *lstm; Linear *out; } Net;

static Net *net_new(void)
{
    Net *n = nn_new(Net);
    nn_child(n, embed, nn_embedding_new(CHARS, WIDTH));
    nn_child(n, lstm, nn_recurrent_new_with(NN_LSTM, WIDTH, WIDTH, 2, false, 0));
    nn_child(n, out, nn_linear_new(WIDTH, CHARS));
    return n;
}

static Tensor *net(Net *n, Tensor *ids, RecurrentState *state)                          /* (B,T) -> (B,T,CHARS) */
{
    return nn_linear(n->out, nn_recurrent(n->lstm, nn_embedding(n->embed, ids), NULL, state));
}

int main(void)
{
    static const char words[] = "the cat sat on the mat and the dog lay by the door while it rained all day ";
    AgScope data = ag_begin(AG_NO_GRAD);
    Tensor *text = tensor_ints(SHAPE(1, LENGTH + 1), NULL);
    for (int i = 0; i <= LENGTH; i++) {
        char c = words[i % (int)(sizeof words - 1)];
        tensor_mutable_int_data(text)[i] = c == ' ' ? 26 : c - 'a';
    }
    Net *n = net_new();
    Optimizer *adam = nn_adam_new(n, 0.005);
    RecurrentState kept = { 0 };
    double sum = 0;
    for (int step = 0; step < 3 * LENGTH / PART; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        int first = step % (LENGTH / PART) * PART;
        RecurrentState state = kept;
        Tensor *y = net(n, ag_slice(text, 1, first, first + PART), &state);
        Tensor *loss = nn_cross_entropy(y, ag_slice(text, 1, first + 1, first + PART + 1));
        nn_recurrent_keep(&kept, &state);
        ag_backward(loss);
        nn_optimizer_step(adam);
        sum += tensor_item(loss);
        if (step % 100 == 99) printf("loss of part %d: %.4f\n", step + 1, sum / 100), sum = 0;
        ag_end(scope);
    }
    nn_recurrent_keep(&kept, NULL);
    ag_free(adam);
    ag_free(n);
    ag_end(data);
    return 0;
}
