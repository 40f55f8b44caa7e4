/* unet.c: a U-Net (Ronneberger et al. 2015) finds the disc in a noisy image. */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { SIZE = 32, IMAGES = 96, TRAINED = 64, BATCH = 8 };

typedef struct {
    Module module; Sequential *down1, *down2, *bottom, *up2, *up1;
    ConvTranspose2d *grow2, *grow1; Conv2d *out;
} UNet;

static Sequential *block_new(int in, int out)                                           /* (B,in,H,W) -> (B,out,H,W) */
{
    Sequential *s = nn_sequential_new();
    for (int i = 0; i < 2; i++) {
        nn_sequential_add(s, nn_conv2d_new_with(i ? out : in, out, 3, 1, 1, false));
        nn_sequential_add(s, nn_batch_norm_new(out));
        nn_sequential_activation(s, AG_RELU);
    }
    return s;
}

static UNet *unet_new(void)
{
    UNet *u = nn_new(UNet);
    nn_child(u, down1, block_new(1, 8));
    nn_child(u, down2, block_new(8, 16));
    nn_child(u, bottom, block_new(16, 32));
    nn_child(u, grow2, nn_conv_transpose2d_new(32, 16, 2, 2));
    nn_child(u, up2, block_new(32, 16));
    nn_child(u, grow1, nn_conv_transpose2d_new(16, 8, 2, 2));
    nn_child(u, up1, block_new(16, 8));
    nn_child(u, out, nn_conv2d_new(8, 1, 1));
    return u;
}

static Tensor *unet(UNet *u, Tensor *x)                             /* (B,1,SIZE,SIZE) -> as many logits: is it the disc? */
{
    Tensor *a = nn_sequential(u->down1, x), *b = nn_sequential(u->down2, ag_max_pool2d(a, 2, 2, 0));
    Tensor *c = nn_conv_transpose2d(u->grow2, nn_sequential(u->bottom, ag_max_pool2d(b, 2, 2, 0)));
    b = nn_conv_transpose2d(u->grow1, nn_sequential(u->up2, ag_concat((Tensor *[]){ b, c }, 2, 1)));
    return nn_conv2d(u->out, nn_sequential(u->up1, ag_concat((Tensor *[]){ a, b }, 2, 1)));
}

int main(void)
{
    AgScope data = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(IMAGES, 1, SIZE, SIZE), 0, 1), *disc = tensor_zeros(SHAPE(IMAGES, 1, SIZE, SIZE));
    for (int n = 0; n < IMAGES; n++) {
        double top = 32 * ag_random_uniform(), left = 32 * ag_random_uniform(), radius = 4 + 6 * ag_random_uniform();
        for (int i = 0; i < SIZE * SIZE; i++) {
            double down = i / SIZE - top, right = i % SIZE - left;
            tensor_mutable_data(disc)[n * SIZE * SIZE + i] = down * down + right * right < radius * radius;
        }
    }
    x = ag_add(x, disc);                                                                /* noise as strong as the disc */
    UNet *u = unet_new();
    Optimizer *adam = nn_adam_new(u, 0.01);
    for (int step = 0; step < 48; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *ids = ag_batch_ids(TRAINED, BATCH, step, 0), *y = unet(u, ag_index_select(x, 0, ids));
        ag_backward(ag_binary_cross_entropy(y, ag_index_select(disc, 0, ids), AG_MEAN));
        nn_optimizer_step(adam);
        ag_end(scope);
    }
    nn_eval(u);
    Tensor *found = ag_compare_scalar(AG_GT, unet(u, ag_slice(x, 0, TRAINED, IMAGES)), 0);
    Tensor *is_disc = ag_cast(ag_slice(disc, 0, TRAINED, IMAGES), AG_BOOL);
    Tensor *both = ag_cast(ag_and(found, is_disc), AG_REAL), *either = ag_cast(ag_or(found, is_disc), AG_REAL);
    printf("intersection over union in new images %.3f\n", tensor_item(ag_sum(both)) / tensor_item(ag_sum(either)));
    ag_free(adam);
    ag_free(u);
    ag_end(data);
    return 0;
}
