/* families.c: an encoder fills in a word, a decoder continues a text, an encoder-decoder rewrites a sentence. */
#include <string.h>

#include "common/common.h"
#include "families/families.h"
#include "kaeru/autograd.h"

enum { BATCH = 32 };
static int64_t steps = 300, width = 48;
static double lr = 3e-3;
static TransformerEncoderOnly *fills, *goes_on;                         /* the same kind of model with two masks */
static Transformer *rewrites;

/* Hides one word of each row; the model predicts it from all the others. */
static Tensor *loss_of_filling(Tensor *ids)
{
    Tensor *target = tensor_ints(tensor_shape(ids), NULL);
    for (int64_t i = 0; i < tensor_numel(ids); i++) {
        tensor_mutable_int_data(target)[i] = -100;                              /* not part of the loss */
    }
    for (int64_t i = 0; i < tensor_dim(ids, 0); i++) {
        int64_t at = i * LENGTH + 1 + ag_random_below(LENGTH - 2);
        tensor_mutable_int_data(target)[at] = tensor_int_data(ids)[at];
        tensor_mutable_int_data(ids)[at] = HIDDEN;
    }
    return ag_nll_loss(transformer_encoder_only(fills, ids, NULL), target, AG_MEAN, -100);
}

/* The model predicts the next word at each position from the words up to there. */
static Tensor *loss_of_going_on(Tensor *ids)
{
    Tensor *seen = ag_slice(ids, 1, 0, LENGTH - 1), *next = ag_slice(ids, 1, 1, LENGTH);
    return ag_nll_loss(transformer_encoder_only(goes_on, seen, nn_causal_mask(LENGTH - 1)), next, AG_MEAN, -100);
}

/* The model predicts each word of the second sentence from the first one and the earlier words of the second. */
static Tensor *loss_of_rewriting(Tensor *from, Tensor *to)
{
    TransformerBatch b = transformer_batch_new(from, to, KAERU_BLANK);
    Tensor *out = transformer_forward(rewrites, b.src, b.tgt, b.src_mask, b.tgt_mask);
    return ag_nll_loss(transformer_generator(rewrites->generator, out), b.tgt_y, AG_MEAN, -100);
}

static double learn(Optimizer *o, Tensor *loss)
{
    ag_backward(loss);
    nn_optimizer_set_lr(o, lr);
    nn_optimizer_step(o);
    return tensor_item(loss);
}

static void train(void)
{
    Optimizer *o[] = { nn_adam_new(fills, lr), nn_adam_new(goes_on, lr), nn_adam_new(rewrites, lr) };
    Csv *csv = csv_open("families.csv", "step,fills,goes_on,rewrites");
    for (int64_t i = 0; i < steps; i++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_ints(SHAPE(BATCH, LENGTH), NULL), *y = tensor_ints(SHAPE(BATCH, PASSIVE), NULL);
        for (int64_t k = 0; k < BATCH; k++) {
            int64_t row = ag_random_below(TRAIN);
            memcpy(tensor_mutable_int_data(x) + k * LENGTH, active[row], sizeof active[row]);
            memcpy(tensor_mutable_int_data(y) + k * PASSIVE, passive[row], sizeof passive[row]);
        }
        double rewriting = learn(o[2], loss_of_rewriting(x, y)), going_on = learn(o[1], loss_of_going_on(x));
        csv_row(csv, i, learn(o[0], loss_of_filling(x)), going_on, rewriting);
        ag_end(s);
    }
    chart_print(csv, &(Chart){ "loss per word", "step", true, { { "fills", "encoder: fills in" },
                               { "goes_on", "decoder: continues" }, { "rewrites", "both: rewrite" } } });
    csv_close(csv);
    picture_draw("families");
    for (int k = 0; k < 3; k++) {
        ag_free(o[k]);
    }
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_OPTION("steps", steps, 1, 100000, "training steps of each model"),
        NN_OPTION("width", width, 4, 1024, "d_model, a multiple of 4"),
        NN_OPTION("lr", lr, 0, 1, "learning rate of Adam"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "families",
        "Shows the three families of Transformers: encoder, decoder, encoder-decoder. Each has two layers of the same\n"
        "blocks and learns from 240 sentences like \"the old girl plays the piano\". They differ in the mask and in the\n"
        "task: the encoder sees all words and fills in a hidden one; the decoder sees the earlier words and continues;\n"
        "the encoder-decoder reads a sentence and writes it in the passive (\"the piano is played by ...\").\n\n"
        "Writes families.csv (step,fills,goes_on,rewrites: the losses per word) and draws it.", options });
    if (width % 4 != 0) {
        example_usage_error("--width %lld: expected a multiple of 4, the number of heads", (long long)width);
    }
    AgScope s = ag_begin(AG_NO_GRAD);
    KaeruVocab *vocab = make_sentences();
    TransformerOptions o = transformer_defaults();
    o.N = 2, o.h = 4, o.d_model = width, o.d_ff = 4 * width, o.dropout = 0, o.max_len = PASSIVE;
    fills = transformer_encoder_only_new(kaeru_vocab_size(vocab), o);
    goes_on = transformer_encoder_only_new(kaeru_vocab_size(vocab), o);
    rewrites = transformer_new(kaeru_vocab_size(vocab), kaeru_vocab_size(vocab), o);
    train();
    show_filling(vocab, fills, goes_on);
    show_going_on(vocab, goes_on);
    show_rewriting(vocab, rewrites);
    ag_free(fills);
    ag_free(goes_on);
    ag_free(rewrites);
    ag_free(vocab);
    ag_end(s);
    return example_end();
}
