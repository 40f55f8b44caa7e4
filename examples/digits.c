/* digits.c: a convolutional network reads digits that stand anywhere in a noisy image; a linear layer cannot. */
#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"

enum { SIZE = 16, SHOWN = 2, BATCH = 64 };                              /* of an image; images to print; images in a step */
static int64_t steps = 300;

/* A digit is 7 rows of 5 pixels; bit 4 of a row is its left pixel. */
static const char font[10][8] = {
    "\16\21\23\25\31\21\16", "\4\14\4\4\4\4\16", "\16\21\1\2\4\10\37", "\16\21\1\6\1\21\16", "\2\6\12\22\37\2\2",
    "\37\20\36\1\1\21\16", "\6\10\20\36\21\21\16", "\37\1\2\4\10\10\10", "\16\21\21\16\21\21\16", "\16\21\21\17\1\2\14" };

/* Draws n digits at random places of gray noise: images (n,1,SIZE,SIZE), and in *digit which ones they are (n). */
static Tensor *draw_digits(int64_t n, Tensor **digit)
{
    Tensor *images = tensor_normal(SHAPE(n, 1, SIZE, SIZE), 0, 0.25);
    *digit = tensor_randint(SHAPE(n), 0, 10);
    for (int64_t i = 0; i < n; i++) {
        int64_t corner = (i * SIZE + ag_random_below(SIZE - 6)) * SIZE + ag_random_below(SIZE - 4);
        for (int p = 0; p < 35; p++)
            if (font[tensor_int_data(*digit)[i]][p / 5] >> (4 - p % 5) & 1)
                tensor_mutable_data(images)[corner + p / 5 * SIZE + p % 5] += 1;
    }
    return images;
}

typedef struct { Module module; Conv2d *conv1, *conv2; Linear *out; } Cnn;

static Cnn *cnn_new(void)
{
    Cnn *c = nn_new(Cnn);
    nn_child(c, conv1, nn_conv2d_new(1, 16, 3));
    nn_child(c, conv2, nn_conv2d_new(16, 64, 5));
    nn_child(c, out, nn_linear_new(64, 10));
    return c;
}

static Tensor *cnn(Cnn *c, Tensor *x)                                   /* (B,1,SIZE,SIZE) -> (B,10): a score for each digit */
{
    x = ag_max_pool2d(ag_relu(nn_conv2d(c->conv1, x)), 2, 2, 0);                        /* (B,16,8,8) */
    x = ag_reshape(ag_relu(nn_conv2d(c->conv2, x)), SHAPE(-1, 64, 64));                 /* (B,64 features,64 places) */
    return nn_linear(c->out, ag_max_dim(x, -1, false));
}

static double train(Tensor *logits, Tensor *digit, Optimizer *o)
{
    Tensor *loss = nn_cross_entropy(logits, digit);
    ag_backward(loss);
    nn_optimizer_step(o);
    return tensor_item(loss);
}

static double accuracy(Tensor *logits, Tensor *digit)                   /* in % */
{
    return 100 * tensor_item(ag_mean(ag_cast(ag_compare(AG_EQ, ag_argmax(logits, -1, false), digit), AG_REAL)));
}

static void print_image(const ag_real *pixel, int was, int read)
{
    for (int i = 0; i < SIZE * SIZE; i++)
        say("%c%s", " .:*#"[pixel[i] < 0 ? 0 : pixel[i] < 1 ? (int)(4 * pixel[i]) : 4], i % SIZE < SIZE - 1 ? " " : "\n");
    say("a %d, read as %d\n\n", was, read);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("steps", steps, 1, 1000000, "training steps"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "digits",
        "Shows how a convolutional network reads digits at random places of noisy images: the same small filters look at\n"
        "every place, and the largest answer counts. A linear layer has other weights at every place, and cannot learn it.\n\n"
        "Writes digits.csv (step,convolutional,linear: the losses).", options });
    Cnn *network = cnn_new();
    Linear *layer = nn_linear_new(SIZE * SIZE, 10);
    Optimizer *of_network = nn_adam_new(network, 3e-3), *of_layer = nn_adam_new(layer, 3e-3);
    Csv *csv = csv_open("digits.csv", "step,convolutional,linear");
    for (int64_t step = 1; step <= steps; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *digit, *images = draw_digits(BATCH, &digit);
        double loss = train(cnn(network, images), digit, of_network);
        Tensor *rows = ag_reshape(images, SHAPE(BATCH, SIZE * SIZE));
        csv_row(csv, (double)step, loss, train(nn_linear(layer, rows), digit, of_layer));
        ag_end(scope);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *digit, *images = draw_digits(1000, &digit), *logits = cnn(network, images), *read = ag_argmax(logits, -1, false);
    for (int64_t i = 0; i < SHOWN; i++)
        print_image(tensor_data(images) + i * SIZE * SIZE, tensor_int_data(digit)[i], tensor_int_data(read)[i]);
    chart_print(csv, &(Chart){ "loss", "step", true, { { "convolutional", "convolutional" }, { "linear", "linear" } } });
    say("of 1000 new images the network reads %.1f %%, the linear layer %.1f %%\n", accuracy(logits, digit),
        accuracy(nn_linear(layer, ag_reshape(images, SHAPE(1000, SIZE * SIZE))), digit));
    ag_end(scope);
    ag_free(of_network);
    ag_free(of_layer);
    ag_free(network);
    ag_free(layer);
    csv_close(csv);
    return example_end();
}
