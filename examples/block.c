/* block.c: the block of a Transformer assembled and counted, Transformer-base layer by layer, pre-norm beside post-norm. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/transformer.h"

enum { WORDS = 5, BATCH = 4, MOST_LAYERS = 64 };
static int64_t layers = 12, width = 128, vocabulary = 37000, blocks = 6;
static double weights = 1;

static Tensor *show(const char *step, Tensor *t)
{
    char text[AG_SHAPE_TEXT];
    say("  %-38s %s\n", step, ag_shape_text(tensor_shape(t), text));
    return t;
}

/* An encoder layer from its parts, and the same from the library. */
static void assemble(NnNormPlace place)
{
    TransformerOptions o = transformer_defaults();
    o.norm_place = place, o.dropout = 0;
    TransformerEncoderLayer *layer = transformer_encoder_layer_new(&o);
    LayerNorm *norm[2] = { nn_item(SublayerConnection, layer->sublayer, 0)->norm,
                           nn_item(SublayerConnection, layer->sublayer, 1)->norm };
    Tensor *x = tensor_normal(SHAPE(1, WORDS, o.d_model), 0, 1), *want = transformer_encoder_layer(layer, x, NULL), *h;
    say("\n%s:\n", place == NN_PRE_NORM ? "Pre-norm, x + f(norm(x))" : "Post-norm, norm(x + f(x))");
    show("x: five words", x);
    if (place == NN_PRE_NORM) {
        h = show("norm", nn_layer_norm(norm[0], x));
        h = show("attention of the words to each other", nn_multi_head_attention(layer->self_attn, h, h, h, NULL));
        x = show("add x", ag_add(x, h));
        h = show("norm", nn_layer_norm(norm[1], x));
        h = show("feed-forward", nn_positionwise_feed_forward(layer->feed_forward, h));
        x = show("add x", ag_add(x, h));
    } else {
        h = show("attention of the words to each other", nn_multi_head_attention(layer->self_attn, x, x, x, NULL));
        x = show("add x, norm", nn_layer_norm(norm[0], ag_add(x, h)));
        h = show("feed-forward", nn_positionwise_feed_forward(layer->feed_forward, x));
        x = show("add x, norm", nn_layer_norm(norm[1], ag_add(x, h)));
    }
    say("  transformer_encoder_layer differs by at most %.1g\n", tensor_item(ag_max(ag_abs(ag_sub(x, want)))));
    ag_free(layer);
}

static double row(const char *name, int64_t copies, int64_t numbers)
{
    say("  %-42s %2lld x %10lld = %11lld\n", name, (long long)copies, (long long)numbers, (long long)(copies * numbers));
    return (double)(copies * numbers);
}

static void count(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = (int)blocks;
    TransformerEncoderLayer *e = transformer_encoder_layer_new(&o);
    int64_t norm = 2 * o.d_model, attention = nn_count(e->self_attn), forward = nn_count(e->feed_forward);
    say("\nTransformer-base: N = %d, D = %lld, h = %d, feed-forward %lld, vocabulary %lld for both languages\n", o.N,
        (long long)o.d_model, o.h, (long long)o.d_ff, (long long)vocabulary);
    double sum = row("embedding, also the output layer", 1, vocabulary * o.d_model);
    sum += row("positions (sines: nothing to learn)", 1, 0);
    sum += row("encoder: self-attention", o.N, attention);
    sum += row("encoder: feed-forward", o.N, forward);
    sum += row("encoder: two norms", o.N, 2 * norm);
    sum += row("decoder: masked self-attention", o.N, attention);
    sum += row("decoder: attention to the source", o.N, attention);
    sum += row("decoder: feed-forward", o.N, forward);
    sum += row("decoder: three norms", o.N, 3 * norm);
    sum += row("bias of the output layer", 1, vocabulary);
    ag_free(e);
    o.share_embeddings = true, o.norm_place = NN_POST_NORM;             /* as in the paper */
    Transformer *m = transformer_new(vocabulary, vocabulary, o);
    say("  %-57s   %11.0f\n  nn_count of transformer_new: %lld\n", "sum", sum, (long long)nn_count(m));
    ag_free(m);
    say("  trained in the paper by 8 P100 of 9.5e12 operations a second in 12 hours: %.2g operations\n",
        8 * 9.5e12 * 12 * 3600);
}

/* For each layer: the deviation of the vectors after it, and the norm of its parameters' gradient for a random loss. */
static void measure(NnNormPlace place, double deviation[], double gradient[])
{
    TransformerOptions o = transformer_defaults();
    o.norm_place = place, o.dropout = 0, o.d_model = width, o.d_ff = 4 * width, o.h = 4;
    ModuleList *stack = nn_list_new();
    for (int64_t i = 0; i < layers; i++) {
        nn_list_add(stack, transformer_encoder_layer_new(&o));
    }
    NnParameters *p = nn_parameters(stack);
    for (int i = 0; i < p->n; i++) {
        if (tensor_ndim(p->item[i].tensor) == 2) {
            nn_init_xavier_uniform(p->item[i].tensor, weights);         /* transformer_new: 1 */
        }
    }
    ag_free(p);
    LayerNorm *last = nn_layer_norm_new_kind(width, o.norm);              /* with pre-norm after the last layer */
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *x = tensor_normal(SHAPE(BATCH, 4 * WORDS, width), 0, 1);
    for (int64_t i = 0; i < layers; i++) {
        x = transformer_encoder_layer(nn_item(TransformerEncoderLayer, stack, (int)i), x, NULL);
        deviation[i] = sqrt(tensor_item(ag_mean(ag_mul(ag_detach(x), ag_detach(x)))));
    }
    x = place == NN_PRE_NORM ? nn_layer_norm(last, x) : x;
    ag_backward(ag_mean(ag_mul(x, tensor_normal(tensor_shape(x), 0, 1))));
    for (int64_t i = 0; i < layers; i++) {
        gradient[i] = nn_grad_norm(nn_item(TransformerEncoderLayer, stack, (int)i));
    }
    ag_end(scope);
    ag_free(stack);
    ag_free(last);
}

static void compare(void)
{
    double deviation[2][MOST_LAYERS], gradient[2][MOST_LAYERS];
    measure(NN_PRE_NORM, deviation[0], gradient[0]);
    measure(NN_POST_NORM, deviation[1], gradient[1]);
    Csv *csv = csv_open("block.csv", "layer,deviation_pre,deviation_post,gradient_pre,gradient_post");
    for (int64_t i = 0; i < layers; i++) {
        csv_row(csv, (double)i + 1, deviation[0][i], deviation[1][i], gradient[0][i], gradient[1][i]);
    }
    say("\n%lld layers before training:            pre-norm   post-norm\n"
        "  vectors after the last layer        %8.3f  %9.3f  (the input has 1)\n"
        "  gradient of layer 1 / of the last   %8.3f  %9.3f\n", (long long)layers, deviation[0][layers - 1],
        deviation[1][layers - 1], gradient[0][0] / gradient[0][layers - 1], gradient[1][0] / gradient[1][layers - 1]);
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("layers", layers, 1, MOST_LAYERS, "layers of the stack"),
        NN_OPTION("blocks", blocks, 1, 100, "N, the layers of the encoder and of the decoder that are counted"),
        NN_OPTION("vocabulary", vocabulary, 1, 10000000, "words of the table's model"),
        NN_OPTION("weights", weights, 0, 1000, "the first weights of the stack times this"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "block",
        "Assembles the block of a Transformer from its parts, in the order of the paper (post-norm) and of later models\n"
        "(pre-norm), and compares it with the library's. Counts the parameters of Transformer-base layer by layer. Then\n"
        "measures vectors and gradients in a deep stack of both kinds of blocks.\n\n"
        "Writes block.csv (layer,deviation_pre,deviation_post,gradient_pre,gradient_post), and draws it.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    assemble(NN_POST_NORM);
    assemble(NN_PRE_NORM);
    count();
    compare();
    picture_draw("block");
    ag_end(scope);
    return example_end();
}
