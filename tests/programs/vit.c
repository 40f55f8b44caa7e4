/* vit.c: a vision transformer (Dosovitskiy et al. 2021) tells whether two shapes in an image are the same. */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { SIZE = 16, PATCH = 4, TOKENS = 1 + SIZE / PATCH * (SIZE / PATCH), WIDTH = 48, HEADS = 4, LAYERS = 2, BATCH = 64 };

typedef struct { Module module; LayerNorm *norm1, *norm2; Linear *qkv, *project, *up, *down; } Block;
typedef struct { Module module; Conv2d *patches; Tensor *class_token, *positions; Sequential *blocks; Linear *out; } Vit;

static Tensor *block(void *self, Tensor *x)                                   /* (B,T,WIDTH) -> (B,T,WIDTH) */
{
    Block *b = self;
    NN_LAYER(b);
    Tensor *h = ag_self_attention(nn_linear(b->qkv, nn_layer_norm(b->norm1, x)), NULL, (AgAttention){ .heads = HEADS });
    x = ag_add(x, nn_linear(b->project, h));
    h = nn_linear_activate(b->up, nn_layer_norm(b->norm2, x), AG_GELU);
    return ag_add(x, nn_linear(b->down, h));
}

static Block *block_new(void)
{
    Block *b = nn_new(Block);
    nn_child(b, norm1, nn_layer_norm_new(WIDTH));
    nn_child(b, qkv, nn_linear_new(WIDTH, 3 * WIDTH));
    nn_child(b, project, nn_linear_new(WIDTH, WIDTH));
    nn_child(b, norm2, nn_layer_norm_new(WIDTH));
    nn_child(b, up, nn_linear_new(WIDTH, 4 * WIDTH));
    nn_child(b, down, nn_linear_new(4 * WIDTH, WIDTH));
    b->module.forward = block;
    return b;
}

static Vit *vit_new(void)
{
    Vit *v = nn_new(Vit);
    nn_child(v, patches, nn_conv2d_new_with(1, WIDTH, PATCH, PATCH, 0, true));
    nn_param(v, class_token, SHAPE(1, 1, WIDTH));
    nn_param(v, positions, SHAPE(TOKENS, WIDTH));
    ag_fill_normal(v->positions, 0, 0.02);
    nn_child(v, blocks, nn_sequential_new());
    for (int i = 0; i < LAYERS; i++) nn_sequential_add(v->blocks, block_new());
    nn_sequential_add(v->blocks, nn_layer_norm_new(WIDTH));
    nn_child(v, out, nn_linear_new(WIDTH, 2));
    return v;
}

static Tensor *vit(Vit *v, Tensor *images)                                              /* (B,1,SIZE,SIZE) -> (B,2) */
{
    int64_t batch = tensor_dim(images, 0);
    Tensor *x = ag_transpose(ag_reshape(nn_conv2d(v->patches, images), SHAPE(batch, WIDTH, TOKENS - 1)), 1, 2);
    Tensor *first = ag_expand(v->class_token, SHAPE(batch, 1, WIDTH));
    x = ag_add(ag_concat((Tensor *[]){ first, x }, 2, 1), v->positions);
    return nn_linear(v->out, ag_squeeze(ag_slice(nn_sequential(v->blocks, x), 1, 0, 1), 1));
}

/* Two patches of each image, chosen at random, have a shape: the same one if *same (n) is 1. */
static Tensor *draw_pairs(int64_t n, Tensor **same)
{
    static const char *const shape[] = { "#...#...#...####", "####...#...#...#", "#..#.##..##.#..#", ".##.#..##..#.##." };
    Tensor *images = tensor_normal(SHAPE(n, 1, SIZE, SIZE), 0, 0.2);
    *same = tensor_randint(SHAPE(n), 0, 2);
    for (int64_t i = 0; i < n; i++) {
        int32_t place[TOKENS - 1], first = (int32_t)ag_random_below(4), other = (first + 1 + (int32_t)ag_random_below(3)) % 4;
        ag_random_permutation(TOKENS - 1, place);
        for (int k = 0; k < 2 * PATCH * PATCH; k++) {
            int p = place[k / 16], row = p / 4 * 4 + k % 16 / 4, column = p % 4 * 4 + k % 4;
            if (shape[k < 16 || tensor_int_data(*same)[i] ? first : other][k % 16] == '#')
                tensor_mutable_data(images)[(i * SIZE + row) * SIZE + column] += 1;
        }
    }
    return images;
}

int main(void)
{
    enum { STEPS = 400 };
    Vit *v = vit_new();
    Optimizer *adam = nn_adamw_new(v, 0);
    for (int step = 1; step <= STEPS; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *same, *images = draw_pairs(BATCH, &same), *loss = nn_cross_entropy(vit(v, images), same);
        ag_backward(loss);
        nn_clip_grad_norm(v, 1);
        nn_optimizer_set_lr(adam, nn_schedule_cosine(step, 2e-3, 0, 50, STEPS));
        nn_optimizer_step(adam);
        if (step % 100 == 0) printf("step %d: loss %.3f\n", step, tensor_item(loss));
        ag_end(scope);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *same, *images = draw_pairs(1000, &same);
    Tensor *right = ag_compare(AG_EQ, ag_argmax(vit(v, images), -1, false), same);
    printf("new images right %.1f %%\n", 100 * tensor_item(ag_mean(ag_cast(right, AG_REAL))));
    ag_end(scope);
    ag_free(adam);
    ag_free(v);
    return 0;
}
