/* copy_task.c: a Transformer learns to copy its input: the first example of the Annotated Transformer. */
#include <unistd.h>

#include "common/common.h"
#include "kaeru/training.h"

enum { LENGTH = 10, VOCAB = 11, PAD = 0, START = 1, SHOWN = 10 };
static int64_t d_model = 128, layers = 2, batch = 80, epochs = 20, batches = 20, eval_batches = 5, warmup = 400;
static int64_t average = 5;
static double factor = 0.5, dropout = 0.1;                         /* 0.5: the notebook's base lr 0.5 times its factor 1 */
static bool full;

/* Rows of 10 ids drawn from 1..10, the first one 1: source and target are the same. */
static Tensor *random_rows(int64_t rows)
{
    Tensor *ids = tensor_randint(SHAPE(rows, LENGTH), 1, VOCAB);
    for (int64_t i = 0; i < rows; i++) {
        tensor_mutable_int_data(ids)[i * LENGTH] = START;
    }
    return ids;
}

typedef struct { int64_t left; } DataGen;

static bool data_gen(void *source, TransformerBatch *out)
{
    DataGen *gen = source;
    if (gen->left-- == 0) {
        return false;
    }
    Tensor *ids = random_rows(batch);
    *out = transformer_batch_new(ids, ids, PAD);
    return true;
}

static void show_progress(void *arg, const KaeruTrainState *state, double loss, double lr)
{
    (void)lr;
    progress_show(arg, state->step, "loss %.3f", loss);
}

/* ---- the mean of the last weights --------------------------------------------------------------------------------
 * The learning rate is still high at the end, so the weights oscillate around a better point: their mean. */

static char *epoch_path(int64_t epoch)
{
    char name[64];
    snprintf(name, sizeof name, "copy_task_epoch_%lld.safetensors", (long long)epoch);
    return example_path(name);
}

static void save_epoch(Transformer *model, int64_t epoch)
{
    char *path = epoch_path(epoch);
    if (example_writes() && !nn_save(path, model)) {
        example_fail("%s", ag_error());
    }
    ag_free(path);
}

static void take_mean(Transformer *model)
{
    average_epochs(model, epoch_path, epochs - average, average);
    for (int64_t epoch = epochs - average; epoch < epochs; epoch++) {
        char *path = epoch_path(epoch);
        unlink(path);
        ag_free(path);
    }
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static void train(Transformer *model, Csv *csv)
{
    AgAdam adam = nn_adam_options(0);                           /* transformer_run_epoch sets the learning rate of each step */
    adam.beta2 = 0.98;
    adam.eps = 1e-9;
    Optimizer *optimizer = nn_adam_new_with(model, adam);
    NnParallel *parallel = nn_parallel_new(optimizer, example_shards(), example_processes());
    KaeruTrainState state = { 0 };
    Progress progress = progress_begin("training", epochs * batches);
    KaeruEpochOptions training = { .criterion = { .padding_idx = PAD, .smoothing = 0 }, .optimizer = optimizer,
                              .factor = factor, .model_size = d_model,
                              .warmup = warmup, .parallel = parallel, .done = show_progress, .done_arg = &progress };
    KaeruEpochOptions evaluation = { .criterion = training.criterion, .parallel = parallel };
    for (int64_t epoch = 0; epoch < epochs; epoch++) {
        double lr = nn_schedule_noam(state.accum_step, d_model, factor, warmup), start = example_seconds();
        int64_t tokens = state.tokens;
        double train_loss = transformer_run_epoch(model, data_gen, &(DataGen){ batches }, &training, &state);
        double speed = (double)(state.tokens - tokens) / (example_seconds() - start);
        double eval_loss = transformer_run_epoch(model, data_gen, &(DataGen){ eval_batches }, &evaluation, &state);
        csv_row(csv, epoch, train_loss, eval_loss, lr, speed);
        if (epoch >= epochs - average) {
            save_epoch(model, epoch);
        }
    }
    progress_end(&progress);
    ag_free(parallel);
    evaluation.parallel = NULL;
    if (!processes_end(&(bool){ false })) {
        processes_exit(0);
    }
    if (average > 0) {
        take_mean(model);
        say("mean of the last %lld epochs' weights: evaluation loss %.4f\n", (long long)average,
            transformer_run_epoch(model, data_gen, &(DataGen){ eval_batches }, &evaluation, &state));
    }
    ag_free(optimizer);
}

static void print_row(const char *label, const int32_t *ids)
{
    say("%s", label);
    for (int i = 0; i < LENGTH; i++) {
        printf(" %2d", ids[i]);
    }
}

/* The start symbol is 1, with which every row begins. (The notebook uses 0, which no row begins with.) */
static void decode_some(Transformer *model)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *src = random_rows(SHOWN);
    Tensor *out = transformer_greedy_decode(model, src, nn_padding_mask(src, PAD), LENGTH, START, -1);
    if (!out) {
        example_fail("%s", ag_error());
    }
    int right = 0;
    for (int i = 0; i < SHOWN; i++) {
        const int32_t *expected = tensor_int_data(src) + i * LENGTH, *got = tensor_int_data(out) + i * LENGTH;
        bool same = true;
        for (int j = 0; j < LENGTH; j++) {
            same = same && got[j] == expected[j];
        }
        print_row("source", expected);
        print_row("   output", got);
        say("   %s\n", same ? "right" : "wrong");
        right += same;
    }
    say("%d of %d right\n", right, SHOWN);
    ag_end(scope);
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_FLAG_OPTION("full", full, "the size of the notebook: d_model 512, 20 epochs"),
        NN_OPTION("width", d_model, 64, 4096, "d_model, a multiple of 64"),
        NN_OPTION("layers", layers, 1, 100, "layers of the encoder and of the decoder"),
        NN_OPTION("batch", batch, 1, 100000, "rows in a batch"),
        NN_OPTION("epochs", epochs, 1, 100000, "epochs of 20 batches"),
        NN_OPTION("warmup", warmup, 1, 1000000, "steps until the learning rate is highest"),
        NN_OPTION("average", average, 0, 1000,
                  "last epochs; the mean of their weights is tested; 0: the last weights"),
        NN_OPTION("factor", factor, 1e-6, 1000, "factor of the learning rate"),
        NN_OPTION("dropout", dropout, 0, 0.99, "probability of dropout"),
        PRECISION_OPTION, SHARDS_OPTION, DEADLINE_OPTION, NN_FIELDS_END
    };
    const Program program = { "copy_task",
        "Shows how a complete Transformer learns. An encoder-decoder learns to copy rows of 10 numbers: the encoder\n"
        "turns the row into vectors, and the decoder outputs it number by number, with attention to these vectors.\n\n"
        "Writes copy_task.csv (epoch,train_loss,eval_loss,learning_rate,tokens_per_second), draws it, and prints copies\n"
        "of new rows. --full is the example of the Annotated Transformer in its size.", options };
    processes_begin();
    example_begin(argc, argv, &program);
    if (full) {
        d_model = 512;
        epochs = 20;
        example_begin(argc, argv, &program);                            /* options that are given replace these */
    }
    average = average < epochs ? average : epochs;
    choose_shards(batch);
    say_if_shards_are_empty(batch);
    if (d_model % 64 != 0) {
        example_usage_error("--width %lld: expected a multiple of 64", (long long)d_model);
    }
    TransformerOptions o = transformer_defaults();
    o.N = (int)layers;
    o.d_model = d_model;
    o.d_ff = 4 * d_model;
    o.h = (int)(d_model / 64);
    o.dropout = dropout;
    o.max_len = LENGTH;
    Transformer *model = transformer_new(VOCAB, VOCAB, o);
    say("A Transformer of %lld parameters learns to copy rows of %d numbers.\n", (long long)nn_count(model),
        LENGTH);
    Csv *csv = csv_open("copy_task.csv", "epoch,train_loss,eval_loss,learning_rate,tokens_per_second");
    train(model, csv);
    chart_print(csv, &(Chart){ "loss per token", "epoch", true,
                               { { "train_loss", "training" }, { "eval_loss", "evaluation" } } });
    decode_some(model);
    csv_close(csv);
    picture_draw("copy_task");
    ag_free(model);
    return example_end();
}
