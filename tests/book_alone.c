/* book_alone.c: a program that is linked with the book alone, without the parts: it trains x + f(x), and a GPT. */
#include <stdio.h>

#include "kaeru/kaeru.h"

enum { STEPS = 60 };

/* Trains f with a skip connection to compute 2 x. Returns the last loss divided by the first one. */
static double train_skip(void)
{
    Linear *f = nn_linear_new(4, 4);
    Optimizer *adam = nn_adam_new(f, 0.05);
    double first = 0, last = 0;
    for (int step = 0; step < STEPS; step++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_normal(SHAPE(16, 4), 0, 1);
        Tensor *loss = ag_mse_loss(ag_add(x, nn_linear(f, x)), ag_scale(x, 2));
        last = tensor_item(loss);
        first = step == 0 ? last : first;
        ag_backward(loss);
        nn_optimizer_step(adam);
        ag_end(s);
    }
    ag_free(adam);
    ag_free(f);
    return last / first;
}

/* Trains a GPT to count. Returns the last loss divided by the first one. */
static double train_gpt(void)
{
    enum { VOCAB = 8, LENGTH = 12, BATCH = 4 };
    GPTOptions options = gpt_defaults();
    options.layers = 2;
    options.heads = 2;
    options.width = 16;
    options.vocab = VOCAB;
    options.context = LENGTH;
    options.dropout = 0;
    GPT *gpt = gpt_new(options);
    Optimizer *adam = nn_adam_new(gpt, 0.01);
    double first = 0, last = 0;
    for (int step = 0; step < STEPS; step++) {
        int32_t ids[BATCH * LENGTH], targets[BATCH * LENGTH];
        for (int i = 0; i < BATCH * LENGTH; i++) {
            ids[i] = (step + i / LENGTH + i % LENGTH) % VOCAB;
            targets[i] = (ids[i] + 1) % VOCAB;
        }
        AgScope s = ag_begin(AG_RECORD);
        Tensor *loss = lm_loss(gpt, tensor_ints(SHAPE(BATCH, LENGTH), ids), tensor_ints(SHAPE(BATCH, LENGTH), targets));
        last = tensor_item(loss);
        first = step == 0 ? last : first;
        ag_backward(loss);
        nn_optimizer_step(adam);
        ag_end(s);
    }
    ag_free(adam);
    ag_free(gpt);
    return last / first;
}

int main(void)
{
    ag_seed(1);
    const double skip = train_skip(), gpt = train_gpt();
    printf("the loss of x + f(x) falls to %.3f of the first one, that of a GPT to %.3f\n", skip, gpt);
    return skip < 0.1 && gpt < 0.5 ? 0 : 1;
}
