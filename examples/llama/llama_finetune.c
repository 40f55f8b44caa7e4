/* llama_finetune.c: the command finetune. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/host.h"
#include "common/lm_run.h"
#include "kaeru/lora.h"
#include "llama_commands.h"

#define LAST_FILE "llama_last.safetensors"
#define BEST_FILE "llama_best.safetensors"

#define USUAL_TARGETS "q_proj,k_proj,v_proj,o_proj"
static const char *folder, *data_path, *targets = USUAL_TARGETS;
static int64_t rank = 8;
enum { USUAL_ALPHA = 16 };
static double alpha = USUAL_ALPHA, dropout = 0;
static bool recompute, keep_best, keep_apart, float32_model, base_is_bf16;
static LmOptions how;

/* Adds adapters to the layers that --targets names; with --rank 0, all weights are trained. */
static void prepare(Llama *m)
{
    char *names = ag_strdup(targets), *next = names;
    const char **list = ag_alloc_in(names, strlen(names) + 2, sizeof *list);    /* more than it has names */
    for (int n = 0; next; n++) {
        list[n] = next;
        next = strchr(next, ',');
        if (next) {
            *next++ = '\0';
        }
    }
    if (rank > 0 && !nn_lora_add(m, (NnLoraOptions){ .rank = rank, .alpha = alpha, .dropout = dropout, .targets = list })) {
        example_usage_error("--targets: %s", ag_error());
    }
    ag_free(names);
    m->options.recompute = recompute;
    say("%" PRId64 " of %.0f parameters are trained\n", nn_count(m), llama_size(&m->options));
}

/* Settings that do not fit together end the program before the weights are read. */
static LlamaWeights check_weights(bool resumed)
{
    LlamaWeights weights = chosen_weights();
    base_is_bf16 = llama_is_bf16(folder);
    /* earlier versions accepted these two */
    bool given = !resumed && (alpha != USUAL_ALPHA || strcmp(targets, USUAL_TARGETS) != 0);
    if (rank == 0 && (weights == LLAMA_ROUNDED || keep_apart || dropout > 0 || given)) {
        example_usage_error("--rank 0 trains all weights: expected none of --weights bf16, --no-merge, --dropout, --alpha, "
                            "--targets");
    }
    if (rank == 0) {
        return LLAMA_REALS;
    }
    bool frozen = weights == LLAMA_ROUNDED || (weights == LLAMA_FROZEN && base_is_bf16 && ag_precision_now() == AG_BF16);
    if (frozen && float32_model) {
        example_usage_error("--float32-model: expected --weights float32 with it");
    }
    if (weights == LLAMA_ROUNDED && !base_is_bf16) {
        say("the weights of %s are rounded to bfloat16\n", folder);
        base_is_bf16 = true;
    }
    return weights;
}

/* About as much memory as training needs beside the weights, in bytes: the values of a step; and of trained weights, of which
 * adapters have few, the gradient and two of the optimizer. */
static double training_bytes(const LlamaOptions *o)
{
    double tokens = (double)how.batch * (double)(how.window > 0 ? how.window : o->context) / (double)how.shards;
    double layer = 8 * (double)o->width + 4 * (double)o->hidden, kept = recompute ? (double)o->width : layer;
    double trained = rank > 0 ? 0 : llama_size(o);
    return (double)sizeof(ag_real) * (tokens * (kept * (double)o->layers + layer) + 3 * trained);
}

/* Tells what windows show of the examples of a part. */
static void say_use(const LmUse *use, const char *what)
{
    say("%" PRId64 " examples %s: %" PRId64 " whole, %" PRId64 " cut, %" PRId64 " never used; tokens to predict: %" PRId64
        " used, %" PRId64 " cut off, %" PRId64 " never used\n", use->whole + use->cut + use->unused, what, use->whole, use->cut,
        use->unused, use->targets, use->cut_targets, use->unused_targets);
}

/* Only whole texts are used as they are. */
static void say_what_is_used(const LmData *data, int64_t window)
{
    LmUse learned = lm_data_use(data, LM_TRAIN, window), held_out = lm_data_use(data, LM_HELD_OUT, window);
    if (!lm_use_has_examples(&learned)) {
        say("%" PRId64 " tokens to learn from, %" PRId64 " held out\n", lm_data_tokens(data, LM_TRAIN),
            lm_data_tokens(data, LM_HELD_OUT));
        return;
    }
    say_use(&learned, "to learn from");
    say_use(&held_out, "held out");
    if (learned.cut + learned.unused + held_out.cut + held_out.unused > 0) {
        say("examples are cut to windows of %" PRId64 " tokens: a longer --window uses more of them\n", window);
    }
}

/* Opens pairs, each of which ends with the model's first token of end, or with the tokenizer's if it has none. */
static LmData *open_pairs(const Llama *m, const KaeruVocab *v)
{
    int32_t end = m->options.end[0] >= 0 ? (int32_t)m->options.end[0] : kaeru_vocab_special(v, KAERU_END);
    if (end >= kaeru_vocab_size(v)) {
        example_fail("the token behind a text is %d, the vocabulary has %d", (int)end, (int)kaeru_vocab_size(v));
    }
    return lm_data_open_pairs(data_path, v, kaeru_vocab_special(v, KAERU_START), end);
}

static LmData *open_data(const Llama *m, const KaeruVocab *v)
{
    size_t n = strlen(data_path), size = strlen(".jsonl");
    bool pairs = n > size && strcmp(data_path + n - size, ".jsonl") == 0;
    LmData *data = pairs ? open_pairs(m, v) : lm_data_open(data_path, v);
    if (!data || !lm_data_fits(data, m, how.window)) {
        example_fail("%s", ag_error());
    }
    say_what_is_used(data, how.window > 0 ? how.window : m->options.context);
    return data;
}

/* A folder in the output folder. */
static char *made_folder(const char *name)
{
    char *path = example_path(name);
    host_make_folder(path);                                             /* if this fails, writing the files tells why */
    return path;
}

/* The files in the folder model: two are written; the others are copied from --model, if they are there.
 * Hugging Face's library needs tokenizer_config.json, or takes the tokenizer for one of Llama 2. */
enum { WRITTEN = 2, N_FILES = 7 };
static const char *const files[N_FILES] = {
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "generation_config.json", "chat_template.jinja"
};

/* What is copied, as it was at the start: at the end, the folder of --model may have another model, or none. */
static FileContent copied[N_FILES];

enum { N_ADAPTER_FILES = 2 };
static const char *const adapter_files[N_ADAPTER_FILES] = { "adapter_config.json", "adapter_model.safetensors" };

/* Ends the program if these files cannot be replaced in a folder of the output folder. */
static void check_folder(const char *name, const char *const *written, int n)
{
    char *folder_path = example_path(name);
    if (access(folder_path, F_OK) == 0 && !host_is_folder(folder_path)) {
        example_fail("cannot write %s: expected a folder there", folder_path);
    }
    for (int i = 0; i < n; i++) {
        char *path = path_in(folder_path, written[i]);
        example_must_be_output(path);
        ag_free(path);
    }
    ag_free(folder_path);
}

/* Ends the program if the file to write is one of --model. */
static void check_is_not_of_model(const char *to)
{
    for (int i = 0; i < N_FILES; i++) {
        char *from = path_in(folder, files[i]);
        if (kaeru_text_is_same_file(from, to)) {
            example_usage_error("--out %s: %s is a file of --model and would be replaced: expected another folder",
                                example_out(), to);
        }
        ag_free(from);
    }
}

/* Reads the files to copy. */
static void read_copied(void)
{
    for (int i = WRITTEN; i < N_FILES && !keep_apart; i++) {
        copied[i] = file_to_copy(folder, files[i], ", or --no-merge");
    }
}

/* Ends the program if a file to copy is not what it was at the start: then the model and its vocabulary, which were opened
 * meanwhile, may be of another one. */
static void check_copied(void)
{
    for (int i = WRITTEN; i < N_FILES && !keep_apart; i++) {
        char *from = path_in(folder, files[i]);
        FileContent now = file_content(from), before = copied[i];
        bool both = now.bytes && before.bytes;
        if (both ? now.size != before.size || memcmp(now.bytes, before.bytes, now.size) != 0 : now.bytes || before.bytes) {
            example_fail("%s: has changed while the model was read: expected a folder in which no program writes", from);
        }
        ag_free(now.bytes);
        ag_free(from);
    }
}

/* No file to write may be one of --model, as with --model OUT/model, or where a link leads to one. */
static void check_out(void)
{
    char *written = example_path("model");
    for (int i = 0; i < N_FILES; i++) {
        char *to = path_in(written, files[i]);
        check_is_not_of_model(to);
        ag_free(to);
    }
    static const char *const others[] = { LAST_FILE, BEST_FILE, "llama.csv" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *to = example_path(others[i]);
        check_is_not_of_model(to);
        ag_free(to);
    }
    ag_free(written);
}

/* Writes the model with the adapter in its weights, one matrix after another, in the type of the base. */
static void write_model(Llama *m, const char *merged)
{
    bool bf16 = base_is_bf16 && !float32_model;
    FileGroup g = file_group_begin(merged, files, N_FILES);
    nn_lora_merge(m);
    if (!(bf16 ? llama_write_bf16(m, g.staging) : llama_write(m, g.staging))) {
        file_group_fail(&g);
    }
    for (int i = WRITTEN; i < N_FILES; i++) {
        char *to = file_group_path(&g, i);
        if (copied[i].bytes && !file_content_write(&copied[i], to)) {
            file_group_fail(&g);
        }
        ag_free(to);
    }
    file_group_replace(&g);
    say("model:   %s%s\n", merged, bf16 ? " (weights rounded to bfloat16, as those of --model)" : "");
}

static void write_adapter(Llama *m, const char *adapter)
{
    FileGroup g = file_group_begin(adapter, adapter_files, N_ADAPTER_FILES);
    if (!nn_lora_save_with(m, g.staging, (NnLoraSaveOptions){ .base = folder })) {
        file_group_fail(&g);
    }
    file_group_replace(&g);
    say("adapter: %s\n", adapter);
}

/* Ends the program unless the best checkpoint, if there is one, is of this run. */
static void check_best(const TrainingRun *run, const char *best)
{
    NnSettings *found = nn_settings_new();
    if (access(best, F_OK) == 0) {
        training_run_must_own(run, best, found);
    }
    ag_free(found);
}

/* What lm_train calls before the first step. */
typedef struct { const TrainingRun *run; const char *best; } Beginning;

/* Removes what an earlier run has left and this one does not write. It would look like the result of this run. */
static void remove_others(void)
{
    char *adapter = example_path("adapter"), *model = example_path("model");
    if (rank == 0) {
        file_group_remove(adapter, adapter_files, N_ADAPTER_FILES);
    }
    if (keep_apart) {
        file_group_remove(model, files, N_FILES);
    }
    if (!keep_best) {
        training_run_remove(BEST_FILE);
    }
    ag_free(model);
    ag_free(adapter);
}

/* Ends the program if the best checkpoint, which the next evaluation may leave as it is, is of another run. */
static void started(LmTraining *t, void *arg)
{
    const Beginning *b = arg;
    if (training_run_removes(b->run, t->step == 0)) {
        remove_others();
    }
    if (b->best && isfinite(t->best_loss)) {
        check_best(b->run, b->best);
    }
}

/* Writes the adapter, then the model with the adapter in its weights. `best` is the checkpoint to take, or NULL. */
static void save(Llama *m, const TrainingRun *run, const char *best)
{
    if (best) {
        check_best(run, best);
    }
    if (best && !nn_load(best, m)) {
        example_fail("%s", ag_error());
    }
    char *adapter = rank > 0 ? made_folder("adapter") : NULL, *merged = keep_apart ? NULL : made_folder("model");
    if (adapter) {
        write_adapter(m, adapter);
    }
    if (merged) {
        write_model(m, merged);
    }
    ag_free(merged);
    ag_free(adapter);
}

/* Ends the program if it would replace or remove what is no output of it. */
static void check_outputs(void)
{
    static const char *const names[] = { LAST_FILE, BEST_FILE, "llama.csv", "llama.csv.part", NULL };
    training_run_writes(names);
    check_folder("adapter", adapter_files, N_ADAPTER_FILES);
    check_folder("model", files, N_FILES);
}

int llama_finetune(int argc, char **argv)
{
    how = lm_defaults();
    how.steps = 200;
    how.batch = 4;
    how.window = 128;
    how.warmup = 10;
    how.lr = 2e-4;
    how.lr_min = 2e-5;
    how.beta2 = 0.999;
    how.weight_decay = 0;
    how.evaluate_every = 50;
    const NnField options[] = {
        NN_TEXT_OPTION("model", "FOLDER", folder, "with config.json, model.safetensors, tokenizer.json"),
        NN_TEXT_OPTION("data", "FILE", data_path,
                       "a text, or lines of {\"prompt\": \"..\", \"completion\": \"..\"} in a .jsonl"),
        NN_OPTION("rank", rank, 0, 1 << 16, "of the adapters; 0: trains all weights", .fixed = true),
        NN_OPTION("alpha", alpha, 0, 1e6, "adapters count alpha / rank times", .fixed = true),
        NN_OPTION("dropout", dropout, 0, 0.99, "share of an adapter's inputs dropped in training", .fixed = true),
        NN_TEXT_OPTION("targets", "NAMES", targets, "layers with adapters, such as q_proj,v_proj", .fixed = true),
        NN_FLAG_OPTION("best", keep_best, "write the model that has the least held-out loss, not the last", .fixed = true),
        NN_FLAG_OPTION("no-merge", keep_apart, "write the adapter alone, not the folder model", .fixed = true),
        NN_FLAG_OPTION("float32-model", float32_model, "write the folder model in float32, also if --model is in bfloat16"),
        NN_FLAG_OPTION("recompute", recompute, "compute each layer again during backward: less memory, more time"),
        PRECISION_OPTION, WEIGHTS_OPTION, SHARDS_OPTION, DEADLINE_OPTION, RUN_OPTIONS, NN_FIELDS_END
    };
    const Program program = { "llama finetune",
        "Shows how a trained model learns from a text or from pairs of a question and an answer, of which it learns the\n"
        "answers. The last tenth of the data measures the loss. With LoRA, each chosen layer gets two small matrices, and\n"
        "only these are trained. Each evaluation saves the run as " LAST_FILE ", and with --best the weights with\n"
        "the least held-out loss as " BEST_FILE ". A run that was stopped, even by a kill, resumes with --resume\n"
        "and ends with the same bytes. After Ctrl-C, SIGTERM or SIGUSR1 it saves the run and ends with status 75. At the\n"
        "end, it writes the adapter for the library peft into the folder adapter, and the model with the adapter in its\n"
        "weights into the folder model, in bfloat16 if --model is. The losses are in llama.csv\n"
        "(step,train_loss,valid_loss,learning_rate,tokens_per_second; for pairs also how many examples are whole, cut,\n"
        "unused by --window, and how many tokens to predict are in windows, cut off, unused).", options };
    example_add_options(&lm_fields, &how);
    processes_begin();
    TrainingRun run = training_run_begin(argc, argv, &program, LAST_FILE, &how.batch);
    how.shards = example_shards();
    if (!folder || !data_path) {
        example_usage_error("expected --model, the folder of a model, and --data, a file to learn");
    }
    read_copied();
    check_out();
    check_outputs();
    training_run_result("adapter");
    training_run_result("model");
    training_run_result(BEST_FILE);
    LlamaWeights weights = check_weights(run.resumed);
    KaeruVocab *v;
    Llama *m = model_of_folder(folder, &v, weights, training_bytes);
    check_copied();
    LmData *data = open_data(m, v);
    uint64_t ids = kaeru_vocab_fingerprint(v);                              /* of which the data consist */
    training_run_data(&run, data_hash(data_hash_file(data_path), &ids, sizeof ids));
    prepare(m);
    char *best = keep_best ? example_path(BEST_FILE) : NULL;
    Beginning beginning = { &run, best };
    LmTraining training = { .model = m, .data = data, .options = how, .settings = run.settings, .last = run.last, .best = best,
                            .processes = example_processes(), .stop = example_stop(), .started = started, .arg = &beginning };
    lm_run(&training, "llama.csv", &run);
    if (!processes_end(&training.stopped)) {
        processes_exit(training.stopped ? EXIT_STOPPED : 0);
    }
    if (!training.stopped) {
        save(m, &run, best);
    }
    for (int i = 0; i < N_FILES; i++) {
        ag_free(copied[i].bytes);
    }
    ag_free(best);
    ag_free(data);
    ag_free(v);
    ag_free(m);
    training_run_end(&run);
    return training.stopped ? EXIT_STOPPED : example_end();
}
