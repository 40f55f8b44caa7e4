/* batches.c: trains a network on arrays of a NumPy file, in shuffled mini-batches. A fifth of the items is held out: the loss
 * of these shows what the network can do on items that it has not learned from. Writes losses.csv and points.safetensors.
 *
 *     np.savez("points.npz", points=x, labels=y)           x (N,2) of floats, y (N) of ints */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { BATCH = 40, EPOCHS = 40 };

/* The loss of the held-out items, and in *right the share that the model classifies correctly. */
static double validate(Sequential *model, Tensor *x, Tensor *y, double *right)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    nn_eval(model);
    Tensor *scores = nn_sequential(model, x);
    Tensor *hit = ag_compare(AG_EQ, ag_argmax(scores, -1, false), y);
    double loss = tensor_item(nn_cross_entropy(scores, y));
    *right = tensor_item(ag_mean(ag_cast(hit, AG_REAL)));
    nn_train(model);
    ag_end(scope);
    return loss;
}

int main(int argc, char **argv)
{
    AgScope data = ag_begin(AG_NO_GRAD);
    const char *path = argc > 1 ? argv[1] : "points.npz";
    Tensor *x = tensor_load(path, "points"), *y = tensor_load(path, "labels");
    FILE *csv = fopen("losses.csv", "w");
    if (!x || !y || !csv) {
        fprintf(stderr, "%s\n", csv ? ag_error() : "losses.csv cannot be written");
        return 1;
    }
    int64_t n = tensor_dim(x, 0), held_out = n / 5, batches = (n - held_out) / BATCH;
    Tensor *order = ag_batch_ids(n, n, 0, 1);
    Tensor *valid = ag_slice(order, 0, 0, held_out), *train = ag_slice(order, 0, held_out, n);
    Tensor *valid_x = ag_index_select(x, 0, valid), *valid_y = ag_index_select(y, 0, valid);
    Sequential *model = nn_sequential_new();
    nn_sequential_add(model, nn_linear_new(tensor_dim(x, 1), 64));
    nn_sequential_activation(model, AG_TANH);
    nn_sequential_add(model, nn_linear_new(64, 2));
    Optimizer *adam = nn_adam_new(model, 0.01);
    double sum = 0, right = 0;
    for (int64_t step = 0; step < EPOCHS * batches; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *ids = ag_index_select(train, 0, ag_batch_ids(n - held_out, BATCH, step, 0));
        Tensor *rows = ag_index_select(x, 0, ids), *labels = ag_index_select(y, 0, ids);
        Tensor *loss = nn_cross_entropy(nn_sequential(model, rows), labels);
        ag_backward(loss);
        nn_optimizer_step(adam);
        sum += tensor_item(loss);
        ag_end(scope);
        if ((step + 1) % batches == 0) {
            int epoch = (int)((step + 1) / batches);
            double held_out_loss = validate(model, valid_x, valid_y, &right);
            fprintf(csv, "%d,%g,%g\n", epoch, sum / (double)batches, held_out_loss);
            if (epoch % 10 == 0)
                printf("epoch %d: loss %.4f, held out %.4f\n", epoch, sum / (double)batches, held_out_loss);
            sum = 0;
        }
    }
    printf("held-out items right: %.0f %%\n", 100 * right);
    bool saved = fclose(csv) == 0 && nn_save("points.safetensors", model);
    ag_free(adam);
    ag_free(model);
    ag_end(data);
    return saved ? 0 : 1;
}
