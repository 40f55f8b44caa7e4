/* batches.c: trains a network on arrays of a NumPy file, in shuffled mini-batches.
 *
 *     np.savez("points.npz", points=x, labels=y)           x (N,2) of floats, y (N) of ints */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { BATCH = 50 };

/* Rows order[0] .. order[BATCH - 1] of x (N,D) and of y (N), as two tensors of the innermost scope. */
static void take_rows(Tensor *x, Tensor *y, const int32_t *order, Tensor **rows, Tensor **labels)
{
    Tensor *ids = tensor_ints(SHAPE(BATCH), order);
    *rows = ag_embedding(x, ids);
    *labels = tensor_ints(SHAPE(BATCH), NULL);
    for (int i = 0; i < BATCH; i++)
        tensor_mutable_int_data(*labels)[i] = tensor_int_data(y)[order[i]];
}

int main(int argc, char **argv)
{
    AgScope data = ag_begin(AG_NO_GRAD);
    const char *path = argc > 1 ? argv[1] : "points.npz";
    Tensor *x = tensor_load(path, "points"), *y = tensor_load(path, "labels");
    if (!x || !y) {
        fprintf(stderr, "%s\n", ag_error());
        return 1;
    }
    int64_t n = tensor_dim(x, 0);
    int32_t *order = ag_alloc((size_t)n, sizeof *order);
    Sequential *model = nn_sequential_new();
    nn_sequential_add(model, nn_linear_new(tensor_dim(x, 1), 64));
    nn_sequential_activation(model, AG_TANH);
    nn_sequential_add(model, nn_linear_new(64, 2));
    Optimizer *adam = nn_adam_new(model, 0.01);
    for (int epoch = 1; epoch <= 40; epoch++) {
        double sum = 0;
        int batches = 0;
        ag_random_permutation(n, order);
        for (int64_t first = 0; first + BATCH <= n; first += BATCH, batches++) {
            AgScope scope = ag_begin(AG_RECORD);
            Tensor *rows, *labels;
            take_rows(x, y, order + first, &rows, &labels);
            Tensor *loss = nn_cross_entropy(nn_sequential(model, rows), labels);
            ag_backward(loss);
            nn_optimizer_step(adam);
            sum += tensor_item(loss);
            ag_end(scope);
        }
        if (epoch % 10 == 0)
            printf("epoch %d: loss %.4f\n", epoch, sum / batches);
    }
    ag_free(order);
    ag_free(adam);
    ag_free(model);
    ag_end(data);
    return 0;
}
