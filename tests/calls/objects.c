/* objects.c: the objects of calls.h, and the list of calls. */
#include "calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Fixture f;

/* ---- functions that calls pass on ---------------------------------------------------------------------------------- */

static void square_forward(const AgCustomCall *c)
{
    for (int64_t i = 0; i < tensor_numel(c->y); i++)
        tensor_mutable_data(c->y)[i] = tensor_data(c->in[0])[0];
}

static void square_backward(const AgCustomCall *c)
{
    if (c->dx[0] && tensor_numel(c->y) > 0) c->dx[0][0] += c->dy[0];
}

Tensor *square_tangent(const AgCustomCall *c, Tensor *const *dx)
{
    (void)c;
    return dx[0];
}

const AgCustom square = { "square", square_forward, square_backward, AG_NEEDS_X(0), NULL, NULL };

bool is_weight(const NnNamedTensor *p, void *unused)
{
    return !nn_is_not_matrix(p, unused);
}

void no_body(void *unused, int64_t begin, int64_t end)
{
    (void)unused;
    (void)begin;
    (void)end;
}

static void plain_update(const OptimizerUpdate *u)
{
    Tensor *w = u->parameter->tensor;
    tensor_copy(w, ag_sub(w, ag_scale(u->gradient, u->lr)));
}

const OptimizerKind plain = { .name = "plain", .update = plain_update };

Tensor *tanh_of(Tensor **in, void *arg)
{
    (void)arg;
    return ag_tanh(in[0]);
}

bool next_token(void *arg, int32_t id)
{
    (void)arg;
    return id >= 0;
}

bool one_batch(void *source, TransformerBatch *batch)
{
    (void)source;
    static bool given;
    given = !given;
    if (given) *batch = f.batch;
    return given;
}

void nothing(void *p)
{
    (void)p;
}

void net_backward(void)
{
    ag_backward(ag_mean(nn_linear(f.net->b, nn_linear(f.net->a, f.c))));
}

void two_shards(void)
{
    while (nn_parallel_shard(f.parallel))
        ag_backward(ag_mean(nn_linear(f.average->b, nn_linear(f.average->a, f.c))));
}

LmTraining *training(LmOptions options)
{
    f.training.options = options;
    return &f.training;
}

/* ---- tensors ------------------------------------------------------------------------------------------------------- */

static Tensor *random_of(AgShape shape)
{
    return tensor_uniform(shape, 0.1, 0.9);
}

static Tensor *ids_of(AgShape shape)
{
    Tensor *t = tensor_ints(shape, NULL);
    for (int64_t i = 0; i < tensor_numel(t); i++)
        tensor_mutable_int_data(t)[i] = (int32_t)(1 + i % 2);
    return t;
}

static Tensor *all_true(AgShape shape)
{
    return ag_not(tensor_bools(shape, NULL));
}

static Tensor *ended_tensor(void)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *t = tensor_ones(SHAPE(2, 4));
    ag_end(s);
    return t;
}

static void make_tensors(void)
{
    f.ended = ended_tensor();
    f.leaf = tensor_set_requires_grad(random_of(SHAPE(2, 4)), true);
    f.c = random_of(SHAPE(2, 4));
    f.small = random_of(SHAPE(2, 2));
    f.one = random_of(SHAPE(1, 4));
    f.two = random_of(SHAPE(2));
    f.row = ids_of(SHAPE(2));
    f.gamma = tensor_ones(SHAPE(4));
    f.w = random_of(SHAPE(4, 4));
    f.square = random_of(SHAPE(4, 4));
    f.ids = ids_of(SHAPE(2, 2));
    f.ids1 = ids_of(SHAPE(1, 2));
    f.mask = all_true(SHAPE(2, 4));
    f.signal = random_of(SHAPE(1, 2, 4));
    f.kernel1 = random_of(SHAPE(2, 2, 2));
    f.image = random_of(SHAPE(2, 2, 3, 3));
    f.kernel2 = random_of(SHAPE(2, 2, 2, 2));
    f.wide1 = random_of(SHAPE(1, 1, 4));
    f.wide2 = random_of(SHAPE(1, 2, 4));
    f.qkv = random_of(SHAPE(1, 2, 12));
    f.table = random_of(SHAPE(2, 2));
    f.hidden = random_of(SHAPE(2, 2, 4));
    f.seen = all_true(SHAPE(2, 1, 2));
    f.seen1 = all_true(SHAPE(1, 1, 2));
    f.causal = nn_causal_mask(2);
    f.kept = ag_keep(f.c);
    f.packed = ag_keep(f.c);
    ag_freeze_bf16(f.packed);
    ag_backward(ag_sum(f.leaf));
    f.taken = ag_take_gradient(f.leaf);
    ag_backward(ag_sum(f.leaf));
}

/* ---- objects ------------------------------------------------------------------------------------------------------- */

static Net *net_new(void)
{
    Net *net = nn_new(Net);
    nn_child(net, a, nn_linear_new(4, 4));
    nn_child(net, b, nn_linear_new(4, 1));
    return net;
}

static const char text[] = "abcd abdc bacd cabd dabc\nabcd dcba\nab cd\nabcd abcd bdca\n";

static GPT *small_gpt(void)
{
    return gpt_new((GPTOptions){ 1, 2, 8, 10, 8, 0, true, 1e-5, false });
}

static Llama *small_llama(void)
{
    LlamaOptions o = llama_defaults();
    o.layers = 1;
    o.heads = 2;
    o.kv_heads = 1;
    o.head_width = 4;
    o.width = o.hidden = 8;
    o.vocab = 10;
    o.context = 8;
    return llama_new(o);
}

static TransformerOptions small_transformer(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1;
    o.d_model = 4;
    o.d_ff = 8;
    o.h = 2;
    o.dropout = 0;
    o.max_len = 8;
    return o;
}

static void make_layers(void)
{
    f.net = net_new();
    f.average = nn_clone(f.net);
    f.adapted = net_new();
    f.targets[0] = "a";
    if (!nn_lora_add(f.adapted, (NnLoraOptions){ 1, 1, 0, f.targets })) abort();
    f.linear = nn_linear_new(4, 4);
    f.embedding = nn_embedding_new(4, 4);
    f.layer_norm = nn_layer_norm_new(4);
    f.rms_norm = nn_rms_norm_new_with(4, 1e-5);
    f.dropout = nn_dropout_new(0.5);
    f.conv = nn_conv2d_new_with(2, 2, 2, 1, 0, true);
    f.conv_transpose = nn_conv_transpose2d_new_with(2, 2, 2, 1, 0, 0, true);
    f.batch_norm = nn_batch_norm_new_with(2, 0.1, 1e-5);
    f.group_norm = nn_group_norm_new_with(1, 2, 1e-5);
    f.sequential = nn_sequential_new();
    nn_sequential_add(f.sequential, nn_linear_new(4, 4));
    f.modules = nn_list_new();
    f.filled_list = nn_list_new();
    nn_list_add(f.filled_list, nn_linear_new(4, 4));
    f.recurrent = nn_recurrent_new_with(NN_GRU, 4, 4, 1, false, 0);
    f.heads = nn_multi_head_attention_new(2, 4, 0);
    f.score = nn_score_new(NN_SCORE_ADDITIVE, 4, 4, 4);
    f.positions = nn_positional_encoding_new_with(4, 0, 6, false);
    f.feed_forward = nn_positionwise_feed_forward_new(4, 8, 0, AG_RELU);
    f.sublayer = nn_sublayer_connection_new(4, 0, NN_PRE_NORM, AG_NORM_PYTORCH);
}

static void make_models(void)
{
    TransformerOptions o = small_transformer();
    f.gpt = small_gpt();
    nn_eval(f.gpt);
    f.llama = small_llama();
    f.transformer = transformer_new(13, 13, o);
    f.encoder_only = transformer_encoder_only_new(9, o);
    f.embeddings = transformer_embeddings_new(4, 9);
    f.encoder_layer = transformer_encoder_layer_new(&o);
    f.decoder_layer = transformer_decoder_layer_new(&o);
    f.seq2seq = seq2seq_new(9, 9, (Seq2SeqOptions){ .attention = true, .width = 4, .hidden = 4 });
}

static void make_objects(void)
{
    f.adam = nn_adam_new(f.net, 0.1);
    f.shared = nn_adam_new(f.average, 0.1);
    f.parallel = nn_parallel_new(f.shared, 2, NULL);
    f.cache = nn_cache_new(2, 4);
    f.filled = nn_cache_new(1, 4);
    AgScope s = ag_begin(AG_NO_GRAD);
    nn_cache_append(f.filled, 0, f.hidden, f.hidden);
    ag_end(s);
    f.gpt_cache = lm_cache_new(f.gpt);
    f.decoder_cache = transformer_cache_new(f.transformer, 4);
    f.parameters = nn_parameters(f.net);
    f.vector = tensor_zeros(SHAPE(nn_count(f.linear)));
    f.json = nn_json_parse("text", "{\"n\": 3, \"b\": true, \"t\": \"x\"}", 29);
    f.settings = nn_settings_new();
    nn_settings_set(f.settings, "number", "3");
    nn_fields_to_settings(&gpt_fields, &f.gpt->options, f.settings);
    f.file = tensor_file_open(weights);
    f.chars = kaeru_vocab_chars(text, strlen(text));
    f.words = kaeru_vocab_words(text, strlen(text), 1);            /* of 13 words */
    f.data = lm_data_of_text("text", text, strlen(text), f.chars);
    f.block = ag_alloc(1, 8);
    f.freed = ag_object_new(4096);
    ag_free(f.freed);
    if (!kaeru_lines_of_text(&f.lines, "text", 1, text, strlen(text)) || !f.file || !f.data) abort();
}

static void make_structs(void)
{
    f.batch = transformer_batch_new(f.ids, f.ids, 0);
    f.training = (LmTraining){ .model = f.gpt, .data = f.data, .settings = nn_settings_new() };
    f.gpt_options = f.gpt->options;
    f.how_adam = nn_adam_options(0.1);
    f.how_sgd = (AgSgd){ 0.1, 0.9, 0, false };
    f.named[0] = (NnNamedValue){ "w", f.w };
    f.list[0] = (NnOptions){ &gpt_fields, &f.gpt_options };
    f.stream.out = f.null;
    f.targets[0] = "a";
    f.paths[0] = weights;
    f.argv[0] = "program";
    f.argv[1] = "--layers=2";
    f.argument = 1;
    for (int i = 0; i < 8; i++) f.int32s[i] = i % 2;
}

void fixture_make(void)
{
    FILE *null = f.null ? f.null : fopen("/dev/null", "w");
    f = (Fixture){ .null = null };
    f.whole = ag_begin(AG_RECORD);
    make_tensors();
    make_layers();
    make_models();
    make_objects();
    make_structs();
    f.scope = ag_begin(AG_RECORD);
    f.mark = ag_mark();
    f.x = ag_tanh(f.leaf);
    f.y = ag_mul(f.x, f.x);
    f.loss = ag_sum(f.y);
    f.inner = ag_exp(f.x);
    f.list1[0] = f.leaf;
    f.list2[0] = f.list2[1] = f.x;
}

/* ---- afterwards ---------------------------------------------------------------------------------------------------- */

static jmp_buf escape;

static void leave(const char *message)
{
    (void)message;
    longjmp(escape, 1);
}

static bool trains(void)
{
    AgScope around = ag_begin(AG_RECORD);
    Net *net = net_new();
    Optimizer *o = nn_adam_new(net, 0.1);
    double loss = NAN;
    for (int i = 0; i < 2; i++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *y = nn_linear(net->b, ag_tanh(nn_linear(net->a, tensor_ones(SHAPE(2, 4)))));
        Tensor *l = ag_mean(ag_mul(y, y));
        loss = tensor_item(l);
        ag_backward(l);
        nn_optimizer_step(o);
        ag_end(s);
    }
    ag_free(o);
    ag_free(net);
    ag_end(around);
    return isfinite(loss);
}

static const char *volatile doing;

bool fixture_end(const char **why)
{
    ag_on_usage_error(leave);
    ag_watch_backward((AgWatch){ 0 });
    ag_find_nan(false);
    ag_guard(false);
    ag_warn(false);
    ag_precision(AG_FLOAT32);
    doing = "the error that unwinds";
    if (setjmp(escape) == 0) ag_usage_error("end", "unwinds");
    doing = "the end of the scope";
    bool good = false;
    if (setjmp(escape) == 0) {
        ag_end(f.whole);
        doing = "a training step";
        good = trains();
    }
    *why = doing;
    return good;
}

const char *new_path(void)
{
    static char path[64];
    static int count;
    snprintf(path, sizeof path, "written_%d_%d", (int)getpid(), count++);
    return path;
}

KaeruWriter *new_writer(void)
{
    return kaeru_writer_open(new_path(), NULL, NULL);
}

void files_make(void)
{
    Net *net = net_new();
    if (!nn_save(weights, net)) abort();
    ag_free(net);
    fixture_make();
    FILE *out = fopen(text_path, "w");
    fputs(text, out);
    fclose(out);
    out = fopen(pairs_path, "w");
    for (int i = 0; i < 20; i++) fputs("{\"prompt\": \"ab\", \"completion\": \"cd\"}\n", out);
    fclose(out);
    mkdir(folder, 0700);
    bool good = nn_checkpoint_save(checkpoint, f.net, f.adam, NULL) && nn_checkpoint_save(gpt_path, f.gpt, NULL, f.settings) &&
                gpt_write(f.gpt, gpt_weights, gpt_config) && llama_write(f.llama, folder) &&
                nn_lora_save(f.adapted, folder) && kaeru_vocab_save(f.words, words_path, NULL);
    NnSettings *s = nn_settings_new();
    nn_fields_to_settings(&llama_fields, &f.llama->options, s);
    good = good && nn_checkpoint_save(llama_path, f.llama, NULL, s);
    TransformerOptions o = small_transformer();
    transformer_to_settings(13, 13, &o, s);
    good = good && nn_checkpoint_save(transformer_path, f.transformer, NULL, s);
    if (!good) {
        fprintf(stderr, "%s\n", ag_error());
        abort();
    }
}

/* ---- the calls ----------------------------------------------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wunused-result"
#define CALL(name, ...) static void call_##name(void) { (void)(__VA_ARGS__); }
#include "calls.def"
#undef CALL

#define CALL(name, ...) { #name, __LINE__, call_##name },
const Call calls[] = {
#include "calls.def"
};
const int n_calls = sizeof calls / sizeof calls[0];
