/* elsewhere.c: the pieces of C on the page docs/elsewhere.md, one for each word on the command line. */
#include <stdio.h>
#include <string.h>
#include <kaeru/debug.h>
#include <kaeru/kaeru.h>
#include <kaeru/memory.h>
#include <kaeru/recompute.h>

static void first_nan(void)
{
    ag_find_nan(true);
    Tensor *x = tensor_normal(SHAPE(2, 3), 0, 1);
    Tensor *share = ag_softmax(ag_scale(x, 100), -1);
    Tensor *loss = ag_mean(ag_log(share));              /* a share is 0: log 0 is -inf */
    ag_backward(loss);
}

static void shapes(void)
{
    Linear *layer = nn_linear_new(512, 64);
    Tensor *y = nn_linear(layer, tensor_zeros(SHAPE(32, 256)));
    printf("%g\n", tensor_item(ag_sum(y)));
}

static Tensor *gate(Tensor **in, void *arg)
{
    (void)arg;
    return ag_mul(ag_sigmoid(in[0]), ag_tanh(in[1]));
}

static void check(void)
{
    Tensor *in[2] = { tensor_normal(SHAPE(4, 3), 0, 1), tensor_normal(SHAPE(3), 0, 1) };
    tensor_set_requires_grad(in[0], true);
    tensor_set_requires_grad(in[1], true);
    bool right = ag_gradcheck(gate, NULL, in, 2, stdout);
    printf("gradients are %s\n", right ? "right" : "wrong");
}

enum { LAYERS = 12, WIDTH = 128, ROWS = 500 };

/* Returns the gradient of an item of the first weights; *bytes: the most memory. */
static double train_step(Linear *up[], Linear *down[], bool again, size_t *bytes)
{
    ag_memory_reset_peak();
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(ROWS, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        AgMark begin = ag_mark();
        Tensor *y = ag_add(x, nn_linear(down[i], ag_gelu(nn_linear(up[i], x))));
        if (again) {
            y = ag_recompute(begin, y, AG_PRODUCTS);
        }
        x = y;
    }
    ag_backward(ag_mean(ag_mul(x, x)));
    *bytes = ag_memory().peak;
    double gradient = (double)tensor_grad_data(up[0]->weight)[0];
    ag_end(scope);
    nn_zero_grad(up[0]);
    return gradient;
}

static void recompute(void)
{
    Linear *up[LAYERS], *down[LAYERS];
    size_t kept, less;
    for (int i = 0; i < LAYERS; i++) {
        up[i] = nn_linear_new(WIDTH, 4 * WIDTH);
        down[i] = nn_linear_new(4 * WIDTH, WIDTH);
    }
    bool same = train_step(up, down, false, &kept) == train_step(up, down, true, &less);
    printf("%s gradient with %.0f %% of the memory\n", same ? "same" : "other", 100.0 * (double)less / (double)kept);
    for (int i = 0; i < LAYERS; i++) {
        ag_free(up[i]);
        ag_free(down[i]);
    }
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    AgScope scope = ag_begin(AG_RECORD);
    if (strcmp(word, "first_nan") == 0) {
        first_nan();
    } else if (strcmp(word, "shapes") == 0) {
        shapes();
    } else {
        check();
        recompute();
    }
    ag_end(scope);
    return 0;
}
