/* vae.c: a variational autoencoder (Kingma and Welling 2014) learns images of one round spot, and then makes some. */
#include <math.h>
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { SIZE = 12, PIXELS = SIZE * SIZE, LATENT = 2, BATCH = 64 };

typedef struct { Module module; Linear *encode, *mean, *log_variance, *decode, *out; } Vae;

static Vae *vae_new(int width)
{
    Vae *v = nn_new(Vae);
    nn_child(v, encode, nn_linear_new(PIXELS, width));
    nn_child(v, mean, nn_linear_new(width, LATENT));
    nn_child(v, log_variance, nn_linear_new(width, LATENT));
    nn_child(v, decode, nn_linear_new(LATENT, width));
    nn_child(v, out, nn_linear_new(width, PIXELS));
    return v;
}

static Tensor *vae_decode(Vae *v, Tensor *z)                                            /* (B,LATENT) -> (B,PIXELS) logits */
{
    return nn_linear(v->out, nn_linear_activate(v->decode, z, AG_RELU));
}

/* The negative of the evidence lower bound, a mean over the images x (B,PIXELS). */
static Tensor *vae_loss(Vae *v, Tensor *x)
{
    Tensor *h = nn_linear_activate(v->encode, x, AG_RELU);
    Tensor *mean = nn_linear(v->mean, h), *log_variance = nn_linear(v->log_variance, h), *variance = ag_exp(log_variance);
    Tensor *z = ag_add(mean, ag_mul(ag_sqrt(variance), tensor_normal(tensor_shape(mean), 0, 1)));
    Tensor *likelihood = ag_binary_cross_entropy(vae_decode(v, z), x, AG_SUM);
    Tensor *divergence = ag_sum(ag_sub(ag_add(ag_mul(mean, mean), variance), ag_add(log_variance, tensor_ones(AG_SCALAR))));
    return ag_scale(ag_add(likelihood, ag_scale(divergence, 0.5)), 1.0 / (double)tensor_dim(x, 0));
}

static void draw_spot(ag_real *image, double row, double column)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            image[i * SIZE + j] = (ag_real)ag_math_exp(-((i - row) * (i - row) + (j - column) * (j - column)) / 4);
}

static Tensor *draw_spots(int64_t n)
{
    Tensor *x = tensor_zeros(SHAPE(n, PIXELS));
    for (int64_t i = 0; i < n; i++)
        draw_spot(tensor_mutable_data(x) + i * PIXELS, 2 + 7 * ag_random_uniform(), 2 + 7 * ag_random_uniform());
    return x;
}

/* The mean difference between each image and a spot at its center of mass: 0 for a perfect spot. */
static double difference_from_spots(Tensor *x)
{
    Tensor *spots = tensor_zeros(tensor_shape(x));
    for (int64_t n = 0; n < tensor_dim(x, 0); n++) {
        const ag_real *image = tensor_data(x) + n * PIXELS;
        double sum = 0, row = 0, column = 0;
        for (int i = 0; i < PIXELS; i++) {
            sum += (double)image[i];
            row += (double)image[i] * (i / SIZE);
            column += (double)image[i] * (i % SIZE);
        }
        draw_spot(tensor_mutable_data(spots) + n * PIXELS, row / sum, column / sum);
    }
    return tensor_item(ag_mean(ag_abs(ag_sub(x, spots))));
}

int main(void)
{
    Vae *v = vae_new(128);
    Optimizer *adam = nn_adam_new(v, 2e-3);
    for (int step = 1; step <= 2000; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *loss = vae_loss(v, draw_spots(BATCH));
        ag_backward(loss);
        nn_optimizer_step(adam);
        if (step % 500 == 0) printf("step %d: loss %.2f\n", step, tensor_item(loss));
        ag_end(scope);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *made = ag_sigmoid(vae_decode(v, tensor_normal(SHAPE(1000, LATENT), 0, 1)));
    printf("loss for new images %.2f\n", tensor_item(vae_loss(v, draw_spots(1000))));
    printf("difference of made images from spots %.4f\n", difference_from_spots(made));
    ag_end(scope);
    ag_free(adam);
    ag_free(v);
    return 0;
}
