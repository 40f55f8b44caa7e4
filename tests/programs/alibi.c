/* alibi.c: a Transformer whose attention falls with the distance (ALiBi, Press et al. 2022) learns to repeat a sequence. */
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { TOKENS = 12, HALF = 8, LENGTH = 2 * HALF - 1, WIDTH = 64, HEADS = 4, LAYERS = 2, BATCH = 32 };

typedef struct { Module module; LayerNorm *norm1, *norm2; Linear *qkv, *project, *up, *down; } Block;
typedef struct { Module module; Embedding *embed; ModuleList *blocks; Linear *out; } Net;

static Net *net_new(void)
{
    Net *n = nn_new(Net);
    nn_child(n, embed, nn_embedding_new(TOKENS, WIDTH));
    nn_child(n, blocks, nn_list_new());
    for (int i = 0; i < LAYERS; i++) {
        Block *b = nn_new(Block);
        nn_child(b, norm1, nn_layer_norm_new(WIDTH));
        nn_child(b, norm2, nn_layer_norm_new(WIDTH));
        nn_child(b, qkv, nn_linear_new(WIDTH, 3 * WIDTH));
        nn_child(b, project, nn_linear_new(WIDTH, WIDTH));
        nn_child(b, up, nn_linear_new(WIDTH, 4 * WIDTH));
        nn_child(b, down, nn_linear_new(4 * WIDTH, WIDTH));
        nn_list_add(n->blocks, b);
    }
    nn_child(n, out, nn_linear_new(WIDTH, TOKENS));
    return n;
}

static Tensor *alibi(double n)                              /* (HEADS,1,n) for n keys: the same for all queries */
{
    return ag_mul(tensor_from(SHAPE(HEADS, 1, 1), (ag_real[]){ 1. / 4, 1. / 16, 1. / 64, 1. / 256 }), tensor_arange(0, n, 1));
}

static Tensor *net(Net *n, Tensor *ids, NnCache *cache)     /* (B,T) -> (B,T,TOKENS); with a cache, ids continue what it has */
{
    AgAttention how = { .heads = HEADS, .causal = true };
    Tensor *x = nn_embedding(n->embed, ids);
    for (int i = 0; i < LAYERS; i++) {
        Block *b = nn_item(Block, n->blocks, i);
        Tensor *h, *qkv[3];
        ag_split(nn_linear(b->qkv, nn_layer_norm(b->norm1, x)), 3, -1, qkv);
        if (cache) nn_cache_append(cache, i, qkv[1], qkv[2]);
        Tensor *bias = alibi((double)(cache ? cache->layer[i].length : tensor_dim(ids, 1)));
        h = cache ? nn_cache_attention(cache, i, qkv[0], bias, how) : ag_attention(qkv[0], qkv[1], qkv[2], bias, how);
        x = ag_add(x, nn_linear(b->project, h));
        x = ag_add(x, nn_linear(b->down, ag_gelu(nn_linear(b->up, nn_layer_norm(b->norm2, x)))));
    }
    return nn_linear(n->out, x);
}

int main(void)
{
    Net *n = net_new();
    Optimizer *adam = nn_adam_new(n, 0.002);
    for (int step = 1; step <= 500; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *half = tensor_randint(SHAPE(BATCH, HALF), 0, TOKENS), *ids = ag_concat((Tensor *[]){ half, half }, 2, 1);
        Tensor *y = ag_slice(net(n, ag_slice(ids, 1, 0, LENGTH), NULL), 1, HALF - 1, LENGTH);
        Tensor *loss = nn_cross_entropy(y, half);
        ag_backward(loss);
        nn_optimizer_step(adam);
        if (step % 100 == 0) printf("loss at step %d: %.4f\n", step, tensor_item(loss));
        ag_end(scope);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_randint(SHAPE(BATCH, LENGTH), 0, TOKENS), *whole = net(n, ids, NULL), *last = NULL;
    NnCache *cache = nn_cache_new(LAYERS, LENGTH);
    for (int t = 0; t < LENGTH; t++) last = net(n, ag_slice(ids, 1, t, t + 1), cache);
    printf("difference with the cache %g\n", tensor_item(ag_max(ag_abs(ag_sub(last, ag_slice(whole, 1, LENGTH - 1, LENGTH))))));
    ag_end(scope);
    ag_free(cache);
    ag_free(adam);
    ag_free(n);
    return 0;
}
