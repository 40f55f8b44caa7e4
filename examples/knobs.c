/* knobs.c: masks, learning rate with warmup, label smoothing, and ways to sample the next word. */
#include <math.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/lm.h"
#include "kaeru/training.h"

static int64_t draws = 10000;

/* ---- masks ------------------------------------------------------------------------------------------------------- */

enum { POSITIONS = 20, TOKENS = 8, PAD = 2 };
/* "This is a pen.", padded, as the decoder's input in a batch with a longer sentence. */
static const char *const token[TOKENS] = { "<s>", "これ", "は", "ペン", "です", "。", "<pad>", "<pad>" };
static const int32_t ids[TOKENS] = { 0, 4, 5, 6, 7, 8, PAD, PAD };

static void show_masks(void)
{
    Tensor *causal = nn_causal_mask(POSITIONS);
    Tensor *both = nn_causal_padding_mask(tensor_ints(SHAPE(1, TOKENS), ids), PAD);
    Csv *csv = csv_open("knobs_mask.csv", "query,key,seen");
    for (int i = 0; i < POSITIONS * POSITIONS; i++) {
        csv_row(csv, i / POSITIONS, i % POSITIONS, tensor_bool_data(causal)[i]);
    }
    csv_close(csv);
    csv = csv_open("knobs_mask_sentence.csv", "token,query,key,seen");
    for (int i = 0; i < TOKENS * TOKENS; i++) {
        csv_named_row(csv, token[i / TOKENS], i / TOKENS, i % TOKENS, tensor_bool_data(both)[i]);
    }
    csv_close(csv);
    say("Each word (row) sees itself and the earlier words, but no padding:\n\n");
    nn_mask_print(stdout, both);
}

/* ---- the learning rate ------------------------------------------------------------------------------------------- */

static void show_rates(void)
{
    Csv *csv = csv_open("knobs_rate.csv", "step,rate_512_4000,rate_512_8000,rate_256_4000");
    for (int64_t step = 1; step <= 20000; step += step < 100 ? 1 : 50) {
        csv_row(csv, (double)step, nn_schedule_noam(step, 512, 1, 4000), nn_schedule_noam(step, 512, 1, 8000),
                nn_schedule_noam(step, 256, 1, 4000));
    }
    chart_print(csv, &(Chart){ "learning rate", "step", false,
        { { "rate_512_4000", "512:4000" }, { "rate_512_8000", "512:8000" }, { "rate_256_4000", "256:4000" } } });
    csv_close(csv);
}

/* ---- label smoothing --------------------------------------------------------------------------------------------- */

enum { VOCAB = 5, ROWS = 5 };

static void show_smoothing(void)
{
    Tensor *target = tensor_ints(SHAPE(ROWS), (const int32_t[]){ 2, 1, 0, 3, 3 });
    /* The loss is the sum of target * (log(target) - score). So its gradient is minus the target. */
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *scores = tensor_set_requires_grad(tensor_zeros(SHAPE(ROWS, VOCAB)), true);
    ag_backward(ag_label_smoothing(scores, target, 0, 0.4));
    Csv *csv = csv_open("knobs_smoothing.csv", "row,token,target");
    say("\nTargets with smoothing 0.4 for the tokens 2, 1, 0, 3, 3, where 0 is padding:\n\n");
    for (int i = 0; i < ROWS * VOCAB; i++) {
        double t = 0 - (double)tensor_grad_data(scores)[i];
        csv_row(csv, i / VOCAB, i % VOCAB, t);
        say(" %7.4f%s", t, i % VOCAB == VOCAB - 1 ? "\n" : "");
    }
    ag_end(scope);
    csv_close(csv);
    /* The model's probabilities: x parts for the correct token, one part for each of the three others. */
    csv = csv_open("knobs_penalty.csv", "x,probability,smoothing_0,smoothing_0.1");
    Tensor *right = tensor_ints(SHAPE(1), (const int32_t[]){ 1 });
    for (double x = 1; x < 200; x *= 1.05) {
        ag_real p = (ag_real)(x / (x + 3)), other = (ag_real)(1 / (x + 3));
        Tensor *log_p = ag_log(tensor_from(SHAPE(1, VOCAB), (const ag_real[]){ 0, p, other, other, other }));
        csv_row(csv, x, (double)p, tensor_item(ag_label_smoothing(log_p, right, 0, 0)),
                tensor_item(ag_label_smoothing(log_p, right, 0, 0.1)));
    }
    chart_print(csv, &(Chart){ "loss", "probability", false,
        { { "smoothing_0", "no smoothing" }, { "smoothing_0.1", "0.1" } } });
    csv_close(csv);
}

/* ---- sampling the next word -------------------------------------------------------------------------------------- */

enum { WORDS = 8, WAYS = 6 };
/* Scores of the word after "This is a", made up. */
static const char *const word[WORDS] = { "pen", "book", "dog", "cup", "bird", "house", "song", "the" };
static const ag_real logits[WORDS] = { 3, 2.5, 2, 1.5, 1, 0.5, 0, -1 };
static const struct { const char *name; LmSampling how; } ways[WAYS] = {
    { "temperature 1", { .temperature = 1 } }, { "temperature 0.5", { .temperature = 0.5 } },
    { "temperature 2", { .temperature = 2 } }, { "top_k 3", { .temperature = 1, .top_k = 3 } },
    { "top_p 0.8", { .temperature = 1, .top_p = 0.8 } }, { "temperature 0", { .temperature = 0 } },
};

static void show_sampling(void)
{
    double p[WAYS][WORDS], share[WAYS][WORDS] = { { 0 } };
    for (int k = 0; k < WAYS; k++) {
        lm_sample_probabilities(logits, WORDS, &ways[k].how, p[k]);
        for (int64_t i = 0; i < draws; i++) {
            share[k][lm_sample_next(logits, WORDS, &ways[k].how)] += 1 / (double)draws;
        }
    }
    Csv *csv = csv_open("knobs_sampling.csv",
                        "word,temperature 1,temperature 0.5,temperature 2,top_k 3,top_p 0.8,temperature 0");
    say("\nThe next word after \"This is a\": probability, and share of %lld samples\n        ", (long long)draws);
    for (int k = 0; k < WAYS; k++) {
        say("  %-15s", ways[k].name);
    }
    printf("\n");
    for (int i = 0; i < WORDS; i++) {
        csv_named_row(csv, word[i], p[0][i], p[1][i], p[2][i], p[3][i], p[4][i], p[5][i]);
        say("  %-6s", word[i]);
        for (int k = 0; k < WAYS; k++) {
            printf("  %.3f %.3f    ", p[k][i], share[k][i]);
        }
        printf("\n");
    }
    csv_close(csv);
}

int main(int argc, char **argv)
{
    const NnField options[] = { NN_OPTION("draws", draws, 1, 100000000, "words sampled in each way"), NN_FIELDS_END };
    example_begin(argc, argv, &(Program){ "knobs",
        "Shows four parts of training and sampling. Masks: which positions each position can see. The learning rate,\n"
        "which rises and then falls. Label smoothing: targets below 1, so that the model does not become too confident.\n"
        "Ways to choose the next word from its probabilities: temperature, top_k, top_p.\n\n"
        "Writes knobs_mask.csv (query,key,seen), knobs_mask_sentence.csv (token,query,key,seen), knobs_rate.csv\n"
        "(step,rate_512_4000,rate_512_8000,rate_256_4000: width and warmup), knobs_smoothing.csv (row,token,target),\n"
        "knobs_penalty.csv (x,probability,smoothing_0,smoothing_0.1: the loss) and knobs_sampling.csv\n"
        "(word,temperature 1,temperature 0.5,temperature 2,top_k 3,top_p 0.8,temperature 0), and draws them.", options });
    AgScope scope = ag_begin(AG_NO_GRAD);
    show_masks();
    show_rates();
    show_smoothing();
    show_sampling();
    picture_draw("knobs_mask");
    picture_draw("knobs_rate");
    picture_draw("knobs_smoothing");
    picture_draw("knobs_sampling");
    ag_end(scope);
    return example_end();
}
