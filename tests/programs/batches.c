/* batches.c: trains a network on arrays of a NumPy file, in shuffled mini-batches.
 *
 *     np.savez("points.npz", points=x, labels=y)           x (N,2) of floats, y (N) of ints */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { BATCH = 50 };

int main(int argc, char **argv)
{
    AgScope data = ag_begin(AG_NO_GRAD);
    const char *path = argc > 1 ? argv[1] : "points.npz";
    Tensor *x = tensor_load(path, "points"), *y = tensor_load(path, "labels");
    if (!x || !y) {
        fprintf(stderr, "%s\n", ag_error());
        return 1;
    }
    int64_t n = tensor_dim(x, 0), batches = n / BATCH;
    Sequential *model = nn_sequential_new();
    nn_sequential_add(model, nn_linear_new(tensor_dim(x, 1), 64));
    nn_sequential_activation(model, AG_TANH);
    nn_sequential_add(model, nn_linear_new(64, 2));
    Optimizer *adam = nn_adam_new(model, 0.01);
    double sum = 0;
    for (int64_t step = 0; step < 40 * batches; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *ids = ag_batch_ids(n, BATCH, step, 0);
        Tensor *rows = ag_index_select(x, 0, ids), *labels = ag_index_select(y, 0, ids);
        Tensor *loss = nn_cross_entropy(nn_sequential(model, rows), labels);
        ag_backward(loss);
        nn_optimizer_step(adam);
        sum = step % batches == 0 ? tensor_item(loss) : sum + tensor_item(loss);
        ag_end(scope);
        if ((step + 1) % (10 * batches) == 0)
            printf("epoch %d: loss %.4f\n", (int)((step + 1) / batches), sum / (double)batches);
    }
    ag_free(adam);
    ag_free(model);
    ag_end(data);
    return 0;
}
