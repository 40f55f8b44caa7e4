/* ablations.c: what each part of a Transformer is good for: leave it out or change it, train with three seeds, and compare. */
#include <math.h>
#include <string.h>

#include "common/common.h"
#include "kaeru/attention.h"
#include "kaeru/autograd.h"

enum { LENGTH = 8, WIDTH = 32, BATCH = 32, TESTED = 1000, SEEDS = 3 };
static int64_t steps = 200, hops = 7;
static double lr = 0.01;

/* pool: how many batches of training data there are; 0: new ones in each step. warmup: steps until the full learning rate. */
typedef struct {
    const char *part, *value;
    int64_t layers, heads, pool, warmup;
    double dropout; NnNormPlace place; bool skip;
} Setup;
static const Setup setups[] = {
    { "layers", "1", 1, 4, 0, 50, 0, NN_PRE_NORM, true }, { "layers", "2", 2, 4, 0, 50, 0, NN_PRE_NORM, true },
    { "layers", "3", 3, 4, 0, 50, 0, NN_PRE_NORM, true }, { "layers", "4", 4, 4, 0, 50, 0, NN_PRE_NORM, true },
    { "heads", "1", 2, 1, 0, 50, 0, NN_PRE_NORM, true }, { "heads", "4", 2, 4, 0, 50, 0, NN_PRE_NORM, true },
    { "heads", "8", 2, 8, 0, 50, 0, NN_PRE_NORM, true }, { "heads", "16", 2, 16, 0, 50, 0, NN_PRE_NORM, true },
    { "skip", "with", 2, 4, 0, 50, 0, NN_PRE_NORM, true }, { "skip", "without", 2, 4, 0, 50, 0, NN_PRE_NORM, false },
    { "norm", "pre", 6, 4, 0, 50, 0, NN_PRE_NORM, true }, { "norm", "post", 6, 4, 0, 50, 0, NN_POST_NORM, true },
    { "norm", "pre (no warmup)", 6, 4, 0, 1, 0, NN_PRE_NORM, true },
    { "norm", "post (no warmup)", 6, 4, 0, 1, 0, NN_POST_NORM, true },
    { "dropout", "0", 2, 4, 12, 50, 0, NN_PRE_NORM, true }, { "dropout", "0.1", 2, 4, 12, 50, 0.1, NN_PRE_NORM, true },
    { "dropout", "0.3", 2, 4, 12, 50, 0.3, NN_PRE_NORM, true },
};

typedef struct { Module module; MultiHeadAttention *attention; PositionwiseFeedForward *ff; SublayerConnection *a, *f; } Block;
typedef struct { Module module; Embedding *numbers; PositionalEncoding *positions; ModuleList *blocks; LayerNorm *norm;
                 Linear *out; } Net;

static Net *net_new(const Setup *s)
{
    Net *n = nn_new(Net);
    nn_child(n, numbers, nn_embedding_new(LENGTH, WIDTH));
    nn_child(n, positions, nn_positional_encoding_new_learned(WIDTH, 0, LENGTH));
    ag_fill_normal(n->positions->pe, 0, 1);
    nn_child(n, blocks, nn_list_new());
    for (int64_t i = 0; i < s->layers; i++) {
        Block *b = nn_new(Block);
        nn_child(b, attention, nn_multi_head_attention_new((int)s->heads, WIDTH, s->dropout));
        nn_child(b, ff, nn_positionwise_feed_forward_new(WIDTH, 4 * WIDTH, s->dropout, AG_RELU));
        nn_child(b, a, nn_sublayer_connection_new(WIDTH, s->dropout, s->place, AG_NORM_PYTORCH));
        nn_child(b, f, nn_sublayer_connection_new(WIDTH, s->dropout, s->place, AG_NORM_PYTORCH));
        nn_list_add(n->blocks, b);
    }
    nn_child(n, norm, nn_layer_norm_new(WIDTH));
    nn_child(n, out, nn_linear_new(WIDTH, LENGTH));
    return n;
}

/* ids (B,LENGTH) -> (B,LENGTH,LENGTH): scores of each number at each position */
static Tensor *net(Net *n, const Setup *s, Tensor *ids)
{
    Tensor *x = nn_positional_encoding(n->positions, nn_embedding(n->numbers, ids)), *h;
    for (int i = 0; i < n->blocks->n; i++) {
        Block *b = nn_item(Block, n->blocks, i);
        h = nn_sublayer_in(b->a, x);
        h = nn_multi_head_attention(b->attention, h, h, h, NULL);
        x = s->skip ? nn_sublayer_out(b->a, x, h) : h;
        h = nn_positionwise_feed_forward(b->ff, nn_sublayer_in(b->f, x));
        x = s->skip ? nn_sublayer_out(b->f, x, h) : h;
    }
    return nn_linear(n->out, nn_layer_norm(n->norm, x));
}

/* Rows of LENGTH random numbers p[0], p[1], ... The target at i follows them like arrows: p[p[p[i]]] for three hops. */
static Tensor *rows(int64_t count, Tensor **target)
{
    Tensor *ids = tensor_randint(SHAPE(count, LENGTH), 0, LENGTH);
    *target = tensor_ints(SHAPE(count, LENGTH), NULL);
    for (int64_t i = 0; i < count * LENGTH; i++) {
        const int32_t *p = tensor_int_data(ids) + i / LENGTH * LENGTH;
        int64_t at = i % LENGTH;
        for (int64_t k = 0; k < hops; k++) {
            at = p[at];
        }
        tensor_mutable_int_data(*target)[i] = (int32_t)at;
    }
    return ids;
}

/* Trains a net and returns the share of right numbers in new rows. */
static double train(const Setup *s, uint64_t seed)
{
    AgScope rows_scope = ag_begin(AG_NO_GRAD);
    ag_seed(seed);
    Net *n = net_new(s);
    Optimizer *adam = nn_adam_new(n, lr);
    int64_t batches = s->pool ? s->pool : steps;
    Tensor *target, *ids = rows(batches * BATCH, &target);
    for (int64_t step = 0; step < steps; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        int64_t first = step % batches * BATCH;
        Tensor *x = ag_slice(ids, 0, first, first + BATCH), *y = ag_slice(target, 0, first, first + BATCH);
        ag_backward(nn_cross_entropy(net(n, s, x), y));
        nn_optimizer_set_lr(adam, lr * fmin(1, (double)(step + 1) / (double)s->warmup));
        nn_optimizer_step(adam);
        ag_end(scope);
    }
    nn_eval(n);
    ids = rows(TESTED, &target);
    double right = tensor_item(ag_mean(ag_cast(ag_compare(AG_EQ, ag_argmax(net(n, s, ids), -1, false), target), AG_REAL)));
    ag_free(adam);
    ag_free(n);
    ag_end(rows_scope);
    return 100 * right;
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 10000, "training steps of each net"),
        NN_OPTION("hops", hops, 1, 100, "arrows to follow"),
        NN_OPTION("lr", lr, 0, 1, "learning rate of Adam"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "ablations",
        "Shows what each part of a Transformer contributes, in experiments that change one part: the number of layers, the\n"
        "number of heads, skip connections, the place of the norm, dropout. Small encoders learn to follow arrows: in a row\n"
        "of numbers p, the answer at i is p[p[p[...]]]. Each is trained with three seeds.\n\n"
        "Writes ablations.csv (setup,part,mean,least,most: % of right answers), and draws it.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    Csv *csv = csv_open("ablations.csv", "setup,part,mean,least,most");
    Progress progress = progress_begin("net", (int64_t)(sizeof setups / sizeof *setups) * SEEDS);
    int part = 0;
    say("Right answers in %%, mean of %d seeds (least to most)\n", SEEDS);
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
        const Setup *s = &setups[i];
        part += i > 0 && strcmp(s->part, s[-1].part) != 0;
        double sum = 0, least = 100, most = 0;
        char name[64];
        for (int k = 0; k < SEEDS; k++) {
            double right = train(s, (uint64_t)(example_seed() + k));
            sum += right, least = fmin(least, right), most = fmax(most, right);
            progress_show(&progress, (int64_t)i * SEEDS + k + 1, "%s %s", s->part, s->value);
        }
        progress_end(&progress);
        say("  %-8s %-16s %5.1f  (%.1f to %.1f)\n", s->part, s->value, sum / SEEDS, least, most);
        snprintf(name, sizeof name, "%s: %s", s->part, s->value);
        csv_named_row(csv, name, part, sum / SEEDS, least, most);
    }
    csv_close(csv);
    say("The paper of 2017 (table 3) on layers: 2, 4, 6, 8 layers, BLEU 23.7, 25.3, 25.8, 25.5.\n");
    picture_draw("ablations");
    ag_end(scope);
    return example_end();
}
