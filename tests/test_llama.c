/* test_llama.c: Llama, Qwen2 and Qwen3 compared with the library `transformers` (fixtures/make_llama.py), the cache, and
 * files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expected.h"
#include "faults.h"
#include "folder.h"
#include "json.h"
#include "kaeru/autograd.h"
#include "kaeru/lm.h"
#include "config.h"
#include "llama_parts.h"
#include "model_files.h"
#include "lm_parts.h"
#include "suites.h"
#include "system.h"
#include "usage_error.h"

#define FOLDER TEST_FIXTURES "/llama/"

static const char *const names[] = { "llama3", "smollm2", "llama_bias", "qwen2", "qwen3", "qwen3_5", "llama3_5" };
enum { MODELS = sizeof names / sizeof *names };

static Llama *opened(const char *folder)
{
    Llama *m = llama_open(folder);
    ck_assert_msg(m != NULL, "%s", ag_error());
    nn_eval(m);
    return m;
}

static Llama *model_of(int i)
{
    char folder[500];
    snprintf(folder, sizeof folder, FOLDER "%s", names[i]);
    return opened(folder);
}

static NnTensorFile *expected_of(int i)
{
    char path[500];
    snprintf(path, sizeof path, FOLDER "%s/expected.safetensors", names[i]);
    return open_safetensors(path);
}

/* ---- the same as transformers ------------------------------------------------------------------------------------ */

START_TEST(logits_agree)
{
    Llama *m = model_of(_i);
    NnTensorFile *st = expected_of(_i);
    AgScope s = ag_begin(AG_NO_GRAD);
    check_close(names[_i], llama_forward(m, ids_of(st, "ids")), reals_of(st, "logits"), 1e-4);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* Logits up to position 2047, and the table beyond. With angles in double they would differ by 2e-5 and by 3e-4. */
START_TEST(long_texts_agree)
{
    static const char *const files[][2] = { { FOLDER "long", FOLDER "long/expected.safetensors" },
                                            { FOLDER "long3", FOLDER "long3/expected.safetensors" } };
    static const int64_t rows[] = { 63, 511, 599, 2047 }, positions[] = { 1, 599, 8191, 131071 };
    Llama *m = opened(files[_i][0]);
    NnTensorFile *st = open_safetensors(files[_i][1]);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_ints(SHAPE(1, 2048), NULL), *table = reals_of(st, "table"), *logits = reals_of(st, "logits");
    for (int32_t p = 0; p < 2048; p++) tensor_mutable_int_data(ids)[p] = p * p % 37;
    Tensor *found = ag_squeeze(llama_forward(m, ids), 0);
    for (int i = 0; i < 4; i++) {
        check_close("table", ag_rope_table(m->frequencies, positions[i], 1), ag_slice(table, 0, i, i + 1), 0x1p-23);
        check_close("logits", ag_slice(found, 0, rows[i], rows[i] + 1), ag_slice(logits, 0, i, i + 1), 1e-5);
    }
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* With recompute, too. */
START_TEST(loss_and_gradients_agree)
{
    Llama *m = model_of(_i / 2);
    NnTensorFile *st = expected_of(_i / 2);
    m->options.recompute = _i % 2;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *loss = lm_loss(m, ids_of(st, "ids"), ids_of(st, "targets"));
    ck_assert_double_eq_tol(tensor_item(loss), tensor_item(reals_of(st, "loss")), 1e-5);
    ag_backward(loss);
    NnParameters *p = nn_parameters(m);
    int compared = 0;
    for (int i = 0; i < p->n; i++) {
        char name[100];
        if (!p->item[i].trained) continue;
        snprintf(name, sizeof name, "grad/%s", p->item[i].name);
        Tensor *expected = reals_of(st, name);
        ck_assert_msg(tensor_grad_data(p->item[i].tensor) != NULL, "no %s", name);
        check_close(name, tensor_grad(p->item[i].tensor), expected, 1e-4 * largest(expected));
        compared++;
    }
    ck_assert_int_eq(compared + 5, (int)st->n_tensors);                 /* ids, targets, logits, loss, greedy */
    ag_free(p);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* ---- the cache --------------------------------------------------------------------------------------------------- */

/* The logits have the same bits, however many ids are read at a time. */
START_TEST(a_cache_changes_no_bit)
{
    static const int steps[] = { 1, 2, 3, 5, 40 };
    Llama *m = model_of(_i);
    NnTensorFile *st = expected_of(_i);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = ids_of(st, "ids"), *all = llama_forward(m, ids);
    int64_t n = tensor_dim(ids, 1);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        NnCache *cache = lm_cache_new(m);
        for (int64_t at = 0, step = steps[k]; at < n; at += step) {
            if (step > n - at) step = n - at;
            Tensor *next = lm_next(m, ag_slice(ids, 1, at, at + step), cache);
            check_close("logits with a cache", next, ag_squeeze(ag_slice(all, 1, at + step - 1, at + step), 1), 0);
        }
        ck_assert_int_eq(tensor_dim(cache->layer[0].key, 2), m->options.kv_heads * m->options.head_width);
        ag_free(cache);
    }
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* The logits of all positions, too, in both precisions: a text that was compressed at once is decompressed id by id. */
START_TEST(logits_with_a_cache_have_the_same_bits)
{
    static const int steps[] = { 1, 3, 7, 40 };
    Llama *m = model_of(_i);
    NnTensorFile *st = expected_of(_i);
    for (int k = 0; k < 8; k++) {
        ag_precision(k % 2 ? AG_BF16 : AG_FLOAT32);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *ids = ids_of(st, "ids"), *all = lm_logits(m, ids, NULL);
        ck_assert(tensor_requires_grad(all));
        check_close("logits", all, llama_forward(m, ids), 0);
        AgScope reading = ag_begin(AG_NO_GRAD);
        NnCache *cache = lm_cache_new(m);
        int64_t n = tensor_dim(ids, 1);
        for (int64_t at = 0, next; at < n; at = next) {
            next = at + steps[k / 2] < n ? at + steps[k / 2] : n;
            Tensor *part = lm_logits(m, ag_slice(ids, 1, at, next), cache);
            check_close("logits with a cache", part, ag_slice(all, 1, at, next), 0);
        }
        ag_free(cache);
        ag_end(reading);
        ag_end(s);
    }
    ag_precision(AG_FLOAT32);
    ag_free(st);
    ag_free(m);
}
END_TEST

typedef struct { const int32_t *id; int64_t n; } Rest;

static bool compare_next(void *arg, int32_t id)
{
    Rest *t = arg;
    ck_assert_int_eq(id, *t->id++);
    return --t->n > 0;
}

START_TEST(greedy_text_agrees)
{
    Llama *m = model_of(_i);
    NnTensorFile *st = expected_of(_i);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *expected = ids_of(st, "greedy");
    const int32_t *id = tensor_int_data(expected);
    Rest rest = { id + 3, tensor_numel(expected) - 3 };
    expect_done(lm_generate(m, id, 3, rest.n, &(LmSampling){ 0 }, compare_next, &rest));
    ck_assert_int_eq(rest.n, 0);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* ---- a new model ------------------------------------------------------------------------------------------------- */

static LlamaOptions small(void)
{
    LlamaOptions o = llama_defaults();
    o.layers = 2;
    o.heads = 4;
    o.kv_heads = 2;
    o.head_width = 6;
    o.width = 10;
    o.hidden = 14;
    o.vocab = 13;
    o.context = 12;
    return o;
}

static bool count_next(void *arg, int32_t id)
{
    (void)id;
    ++*(int *)arg;
    return true;
}

/* A file can claim any context: what writing costs does not depend on it. */
START_TEST(a_long_context_costs_what_is_used)
{
    enum { MOST = 100, BYTES = 1 << 23 };
    LlamaOptions o = small();
    o.context = 1 << 26;
    Llama *m = llama_new(o);
    nn_eval(m);
    int64_t bytes = faults_bytes();
    size_t in_use = ag_memory().in_use;
    ag_memory_reset_peak();
    int written = 0;
    expect_done(lm_generate(m, (int32_t[]){ 1, 2, 3 }, 3, MOST, &(LmSampling){ .temperature = 1 }, count_next, &written));
    ck_assert_int_eq(written, MOST);
    ck_assert_msg(faults_bytes() - bytes < BYTES, "%lld bytes are requested", (long long)(faults_bytes() - bytes));
    ck_assert_uint_lt(ag_memory().peak - in_use, BYTES);
    ag_free(m);
}
END_TEST

START_TEST(sizes_give_the_number_of_parameters)
{
    LlamaOptions o = llama_defaults();
    ck_assert_double_eq(llama_size(&o), 134515008);             /* of SmolLM2-135M */
    for (int i = 0; i < 16; i++) {
        o = small();
        o.tied = i & 1;
        o.qkv_bias = i & 2;
        o.out_bias = i & 4;
        o.head_norms = i & 8;
        Llama *m = llama_new(o);
        ck_assert_double_eq(llama_size(&o), (double)nn_count(m));
        ag_free(m);
    }
}
END_TEST

START_TEST(dropout_acts_only_in_training)
{
    LlamaOptions o = small();
    o.dropout = 0.5;
    Llama *m = llama_new(o);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_randint(SHAPE(2, 12), 0, 13);
    for (int training = 1; training >= 0; training--) {
        nn_set_training(m, training);
        Tensor *a = llama_forward(m, ids), *b = llama_forward(m, ids);
        int different = memcmp(tensor_data(a), tensor_data(b), 2 * 12 * 13 * sizeof(ag_real)) != 0;
        ck_assert_int_eq(different, training);
    }
    ag_end(s);
    ag_free(m);
}
END_TEST

START_TEST(wrong_sizes_are_refused)
{
    static const struct { size_t offset; int64_t value; const char *message; } cases[] = {
        { offsetof(LlamaOptions, layers), 0, "llama.layers is 0, expected a whole number from 1 to 100000" },
        { offsetof(LlamaOptions, kv_heads), 3, "4 heads are not divisible by 3 heads of keys and values" },
        { offsetof(LlamaOptions, head_width), 5, "heads of width 5, expected an even number" },
        { offsetof(LlamaOptions, end[3]), -2, "llama.end[3] is -2" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LlamaOptions o = small();
        memcpy((char *)&o + cases[i].offset, &cases[i].value, sizeof(int64_t));
        expect_refused(nn_fields_check(&llama_fields, &o), cases[i].message);
        EXPECT_USAGE_ERROR(cases[i].message, llama_new(o));
    }
    LlamaOptions o = small();
    o.rope_high = o.rope_low;
    expect_refused(nn_fields_check(&llama_fields, &o), "llama.rope_low is 1, expected less than llama.rope_high, 1");
}
END_TEST

START_TEST(wrong_calls_are_usage_errors)
{
    Llama *m = llama_new(small()), *none = NULL;
    AgScope s = ag_begin(AG_NO_GRAD);
    NnCache *cache = lm_cache_new(m), *other = nn_cache_new(3, 12);
    Tensor *ids = tensor_ints(SHAPE(1, 13), NULL), *one = tensor_ints(SHAPE(1, 1), NULL);
    Linear *linear = nn_linear_new(2, 2);
    EXPECT_USAGE_ERROR("llama_forward: 13 ids after 0 in the cache exceed the context of 12", llama_forward(m, ids));
    EXPECT_USAGE_ERROR("ids (13,), expected (B,T)", llama_forward(m, ag_reshape(ids, SHAPE(13))));
    EXPECT_USAGE_ERROR("a cache for 3 layers, expected one for the model's 2", lm_next(m, one, other));
    EXPECT_USAGE_ERROR("the module is NULL", llama_forward(none, one));
    EXPECT_USAGE_ERROR("folder is NULL", llama_open(NULL));
    EXPECT_USAGE_ERROR("folder is NULL", llama_write(m, NULL));
    EXPECT_USAGE_ERROR("this Linear is not a language model: expected a GPT or a Llama",
                       lm_generate(linear, tensor_int_data(one), 1, 1, &(LmSampling){ 0 }, compare_next, NULL));
    typedef struct { Module module; Llama *inside; } Wrap;
    Wrap *wrap = nn_new(Wrap);
    wrap->module.forward = m->module.forward;
    wrap->inside = m;
    EXPECT_USAGE_ERROR("this Wrap is not a language model: expected a GPT or a Llama", nn_recompute(wrap, one));
    EXPECT_USAGE_ERROR("this Wrap is not a language model: expected a GPT or a Llama", lm_loss(wrap, one, one));
    ag_free(wrap);
    ag_free(linear);
    ag_free(other);
    ag_free(cache);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void check_same_options(const LlamaOptions *a, const LlamaOptions *b)
{
    NnSettings *left = nn_settings_new(), *right = nn_settings_new();
    nn_fields_to_settings(&llama_fields, a, left);
    nn_fields_to_settings(&llama_fields, b, right);
    static const char *const keys[] = { "layers", "heads", "kv_heads", "head_width", "width", "hidden", "vocab", "context",
        "eps",
        "rope_base", "rope_factor", "rope_low", "rope_high", "rope_context", "dropout", "qkv_bias", "out_bias", "head_norms",
        "tied", "begin", "end[0]", "end[3]" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[40];
        snprintf(key, sizeof key, "llama.%s", keys[i]);
        ck_assert_str_eq(nn_settings_get(left, key), nn_settings_get(right, key));
    }
    ck_assert_int_eq(a->pad, b->pad);                           /* settings lack it if it is -1 */
    ag_free(right);
    ag_free(left);
}

START_TEST(what_is_written_opens_again)
{
    Llama *m = model_of(_i);
    expect_done(llama_write(m, in_folder("")));
    ck_assert_int_eq(folder_count(), 2);
    Llama *again = opened(in_folder(""));
    check_same_options(&m->options, &again->options);
    check_same_parameters(m, again);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* The file's values are read where they belong, not into other memory first. */
START_TEST(opening_needs_no_memory_beside_the_model)
{
    if (!faults_work()) return;
    LlamaOptions o = small();
    o.hidden = 10000;
    Llama *m = llama_new(o);
    const int64_t model = nn_count(m) * (int64_t)sizeof(ag_real);
    expect_done(llama_write(m, in_folder("")));
    ag_free(m);
    ag_memory_trim();
    int64_t before = faults_bytes();
    m = opened(in_folder(""));
    ck_assert_int_lt(faults_bytes() - before, model + model / 2);
    ag_free(m);
}
END_TEST

START_TEST(a_lack_of_memory_is_told)
{
    expect_done(memory_may_hold("m", 0));
    if (system_free_memory() < 0) return;                               /* not known here */
    expect_refused(memory_may_hold("m", 1e15), "m: needs about 1000000.0 GB of memory, but only ");
}
END_TEST

static double much(const LlamaOptions *o) { return 1e15 * (double)o->layers; }

/* A model that is opened counts what its user needs besides; a new one has reals, whatever the options say. */
START_TEST(a_model_that_needs_too_much_is_refused)
{
    LlamaOptions o = small();
    o.frozen = true;
    Llama *m = llama_new(o);
    ck_assert(!m->options.frozen && tensor_dtype(m->model->embed_tokens->weight) == AG_REAL);
    expect_done(llama_write(m, in_folder("")));
    if (system_free_memory() >= 0)
        expect_refused(llama_open_with(in_folder(""), (LlamaOpening){ .more_bytes = much }) != NULL, " GB of memory, but only");
    ag_free(m);
}
END_TEST

/* Functions that leave a scope open. */
static double bytes_and_scope(const LlamaOptions *o)
{
    ag_begin(AG_RECORD);
    return (double)o->layers;
}

static void share_and_scope(void *arg, double share)
{
    (void)arg;
    (void)share;
    ag_begin(AG_RECORD);
}

static bool answer_and_scope(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    ag_begin(AG_RECORD);
    return false;
}

static void name_and_scope(void *arg, const char *name, char *out, size_t size)
{
    (void)arg;
    snprintf(out, size, "%s", name);
    ag_begin(AG_RECORD);
}

START_TEST(a_scope_that_a_called_function_leaves_open_is_an_error)
{
    Llama *m = llama_new(small());
    expect_done(llama_write(m, in_folder("")));
    const char *weights = in_folder("model.safetensors");
    EXPECT_USAGE_ERROR("llama_open_with: more_bytes ended a scope, or left one open",
                       llama_open_with(in_folder(""), (LlamaOpening){ .more_bytes = bytes_and_scope }));
    EXPECT_USAGE_ERROR("nn_load_with: progress ended a scope, or left one open",
                       llama_open_with(in_folder(""), (LlamaOpening){ .progress = share_and_scope }));
    EXPECT_USAGE_ERROR("nn_load_with: progress ended a scope, or left one open",
                       nn_load_with(weights, m, (NnLoadOptions){ .progress = share_and_scope }));
    EXPECT_USAGE_ERROR("nn_load_with: rename ended a scope, or left one open",
                       nn_load_with(weights, m, (NnLoadOptions){ .rename = name_and_scope }));
    EXPECT_USAGE_ERROR("nn_load_with: transposed ended a scope, or left one open",
                       nn_load_with(weights, m, (NnLoadOptions){ .transposed = answer_and_scope }));
    EXPECT_USAGE_ERROR("nn_load_with: ignored ended a scope, or left one open",
                       nn_load_with(weights, m, (NnLoadOptions){ .ignored = answer_and_scope }));
    ag_free(m);
}
END_TEST

/* All four ids that end a text are in use. 0 is an id, for the begin of a text, too; -1: there is none. */
START_TEST(four_ends_are_written)
{
    LlamaOptions o = small();
    o.begin = -_i;
    for (int i = 0; i < LLAMA_ENDS; i++) o.end[i] = i + 3 * _i;
    o.rope_factor = 2;
    Llama *m = llama_new(o);
    expect_done(llama_write(m, in_folder("")));
    Llama *again = opened(in_folder(""));
    check_same_options(&m->options, &again->options);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* All ids that end a text are read and written, up to the most. */
START_TEST(many_ends_are_kept)
{
    for (int n = 5; n <= LLAMA_ENDS; n += LLAMA_ENDS - 5) {
        LlamaOptions o = small();
        for (int i = 0; i < n; i++) o.end[i] = 20 - i;
        o.pad = n - 5;
        Llama *m = llama_new(o);
        expect_done(llama_write(m, in_folder("")));
        const Json *root = json_read(m, in_folder("config.json"), 1 << 20);
        ck_assert_uint_eq(json_get(root, "eos_token_id")->count, (unsigned)n);
        Llama *again = opened(in_folder(""));
        for (int i = 0; i < LLAMA_ENDS; i++) ck_assert_int_eq(again->options.end[i], i < n ? 20 - i : -1);
        NnSettings *s = nn_settings_new();
        nn_fields_to_settings(&llama_fields, &m->options, s);
        expect_done(nn_checkpoint_save(in_folder("c"), m, NULL, s));
        ag_free(s);
        ag_free(again);
        again = llama_load(in_folder("c"));
        ck_assert_msg(again != NULL, "%s", ag_error());
        check_same_options(&m->options, &again->options);
        ag_free(again);
        ag_free(m);
    }
}
END_TEST

START_TEST(one_end_is_a_number)
{
    LlamaOptions o = small();
    o.end[0] = 7;
    o.end[1] = -1;
    Llama *m = llama_new(o);
    expect_done(llama_write(m, in_folder("")));
    int64_t end;
    ck_assert(json_int(json_get(json_read(m, in_folder("config.json"), 1 << 20), "eos_token_id"), &end) && end == 7);
    Llama *again = opened(in_folder(""));
    check_same_options(&m->options, &again->options);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* Without these keys, `transformers` takes 1 and 2. */
START_TEST(no_begin_and_no_end_are_written)
{
    LlamaOptions o = small();
    o.begin = o.end[0] = -1;
    Llama *m = llama_new(o);
    expect_done(llama_write(m, in_folder("")));
    const Json *root = json_read(m, in_folder("config.json"), 1 << 20);
    ck_assert_int_eq(json_get(root, "bos_token_id")->type, JSON_NULL);
    ck_assert_int_eq(json_get(root, "eos_token_id")->type, JSON_NULL);
    Llama *again = opened(in_folder(""));
    check_same_options(&m->options, &again->options);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* Writes the parameters of the model and a tensor with this name. */
static void write_with(Llama *m, const char *name)
{
    NnParameters *p = nn_parameters(m);
    NnNamedValue *list = ag_alloc((size_t)p->n + 1, sizeof *list);
    int n = 0;
    for (int i = 0; i < p->n; i++)
        if (p->item[i].tensor != m->frequencies) list[n++] = (NnNamedValue){ p->item[i].name, p->item[i].tensor };
    AgScope s = ag_begin(AG_NO_GRAD);
    list[n++] = (NnNamedValue){ name, tensor_zeros(SHAPE(3)) };
    expect_done(tensor_save_list(in_folder("model.safetensors"), list, n));
    ag_end(s);
    ag_free(list);
    ag_free(p);
}

/* Older versions of `transformers` save the frequencies of the angles, which the config has. */
START_TEST(saved_frequencies_are_ignored)
{
    Llama *m = llama_new(small());
    expect_done(llama_write(m, in_folder("")));
    static const char *const cases[][2] = {
        { "model.layers.0.self_attn.rotary_emb.inv_freq", NULL }, { "model.rotary_emb.inv_freq", NULL },
        { "model.rotary_emb.inv_freqs", "unexpected: \"model.rotary_emb.inv_freqs\"" },
        { "model.layers.9.input_layernorm.weight", "unexpected: \"model.layers.9.input_layernorm.weight\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_with(m, cases[i][0]);
        if (cases[i][1]) {
            expect_refused(llama_open(in_folder("")) != NULL, cases[i][1]);
            continue;
        }
        Llama *again = opened(in_folder(""));
        check_same_parameters(m, again);
        ag_free(again);
    }
    ag_free(m);
}
END_TEST

/* Without torch_dtype, `transformers` opens the weights in float32. */
START_TEST(a_config_tells_bfloat16)
{
    for (int i = 0; i < 4; i++) {
        LlamaOptions o = small();
        o.tied = i & 1;
        Llama *m = llama_new(o);
        const bool bf16 = i & 2;
        expect_done(bf16 ? llama_write_bf16(m, in_folder("")) : llama_write(m, in_folder("")));
        const Json *type = json_get(json_read(m, in_folder("config.json"), 1 << 20), "torch_dtype");
        ck_assert(bf16 ? json_is(type, "bfloat16") : !type);
        ag_free(m);
    }
}
END_TEST

/* What is missing has the default of `transformers`: the width of a head of a Qwen3 is 128, of the others the width divided by
 * the heads. A Llama has as many heads of keys as of queries, a Qwen 32. */
START_TEST(settings_can_be_missing)
{
    for (int i = 0; i < 2; i++) {
        char text[400];
        snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"num_hidden_layers\": 1, \"num_attention_heads\": 64, "
                 "\"hidden_size\": 384, \"intermediate_size\": 5, \"vocab_size\": 7, \"layer_types\": null}",
                 i ? "qwen3" : "llama");
        folder_write("config.json", text, strlen(text));
        Config c;
        LlamaOptions o;
        expect_done(config_open(&c, in_folder("config.json")) && llama_read_config(&c, &o));
        ck_assert_int_eq(o.head_width, i ? 128 : 6);
        ck_assert(o.kv_heads == (i ? 32 : 64) && o.context == (i ? 32768 : 2048));
        ck_assert(o.begin == (i ? -1 : 1) && o.end[0] == (i ? -1 : 2) && o.end[1] == -1);
        ck_assert(o.eps == 1e-6 && o.rope_base == 10000 && !o.tied);
        ag_free(c.owner);
    }
}
END_TEST

/* Null is no token, and as many heads of keys as of queries. */
START_TEST(settings_can_be_null)
{
    static const char text[] = "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
                               "\"num_key_value_heads\": null, \"hidden_size\": 24, \"intermediate_size\": 5, "
                               "\"vocab_size\": 7, \"bos_token_id\": null, \"eos_token_id\": null}";
    folder_write("config.json", text, sizeof text - 1);
    Config c;
    LlamaOptions o;
    expect_done(config_open(&c, in_folder("config.json")) && llama_read_config(&c, &o));
    ck_assert(o.kv_heads == 4 && o.begin == -1 && o.end[0] == -1);
    ag_free(c.owner);
}
END_TEST

/* The context before the scaling is in the config, in the object of the scaling, or the whole context. */
START_TEST(the_context_before_the_scaling)
{
#define OLD_CONTEXT "\"original_max_position_embeddings\": "
    static const char *const places[][2] = { { OLD_CONTEXT "8, ", ", " OLD_CONTEXT "16" }, { "", ", " OLD_CONTEXT "16" },
                                             { "", "" } };
    static const double expected[] = { 8, 16, 40 };
    for (int i = 0; i < 3; i++) {
        char text[600];
        snprintf(text, sizeof text, "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
                 "\"hidden_size\": 24, \"intermediate_size\": 5, \"vocab_size\": 7, \"max_position_embeddings\": 40, %s"
                 "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, "
                 "\"high_freq_factor\": 4%s}}", places[i][0], places[i][1]);
        folder_write("config.json", text, strlen(text));
        Config c;
        LlamaOptions o;
        expect_done(config_open(&c, in_folder("config.json")) && llama_read_config(&c, &o));
        ck_assert_double_eq(o.rope_context, expected[i]);
        ag_free(c.owner);
    }
}
END_TEST

/* Reads a file of options with the base of the angles, and two objects for the rest. */
static bool read_ropes(const char *base, const char *scaling, const char *parameters, LlamaOptions *o)
{
    char text[600];
    snprintf(text, sizeof text, "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 4, "
             "\"hidden_size\": 24, \"intermediate_size\": 5, \"vocab_size\": 7, \"rope_theta\": %s, "
             "\"rope_scaling\": %s, \"rope_parameters\": %s}", base, scaling, parameters);
    folder_write("config.json", text, strlen(text));
    Config c;
    const bool done = config_open(&c, in_folder("config.json")) && llama_read_config(&c, o);
    ag_free(c.owner);
    return done;
}

/* Of two objects, `transformers` reads rope_scaling, unless it is null or empty. The other one's base is 7. */
START_TEST(one_of_two_rope_objects_counts)
{
    static const char llama3[] = "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4, "
                                 "\"original_max_position_embeddings\": 16}", other[] = "{\"rope_theta\": 7}";
    const char *const cases[][2] = { { llama3, "null" }, { llama3, other }, { other, "null" }, { "null", llama3 },
                                     { "null", other }, { "{}", llama3 }, { "{}", other } };
    static const double expected[][2] = { { 8, 5000 }, { 8, 5000 }, { 1, 7 }, { 8, 5000 }, { 1, 7 },
                                        { 8, 5000 }, { 1, 7 } };        /* factor, base */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LlamaOptions o;
        expect_done(read_ropes("5000", cases[i][0], cases[i][1], &o));
        ck_assert_double_eq(o.rope_factor, expected[i][0]);
        ck_assert_double_eq(o.rope_base, expected[i][1]);
    }
}
END_TEST

START_TEST(wrong_ropes_are_refused)
{
    static const struct { const char *base, *scaling, *message; } cases[] = {
        { "\"many\"", "null", "config.json: \"rope_theta\": expected a number, found a string" },
        { "7", "{\"rope_theta\": [7]}", "config.json: \"rope_theta\": expected a number, found an array" },
        { "7", "{\"partial_rotary_factor\": 0.5}", "config.json: \"partial_rotary_factor\": expected 1, found 0.5" },
        { "7", "\"llama3\"", "config.json: \"rope_scaling\": expected an object, found a string" },
        { "7", "{\"rope_type\": \"yarn\"}", "config.json: \"rope_type\": expected \"default\" or \"llama3\", found \"yarn\"" },
        { "7", "{\"type\": \"llama3\", \"factor\": true}", "config.json: \"factor\": expected a number, found" },
        { "7", "{\"full_attention\": {\"rope_theta\": 9}}",
          "config.json: \"rope_scaling\": expected numbers and texts, found an object for \"full_attention\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LlamaOptions o;
        expect_refused(read_ropes(cases[i].base, cases[i].scaling, "null", &o), cases[i].message);
    }
}
END_TEST

START_TEST(checkpoints_load)
{
    Llama *m = model_of(_i);
    NnSettings *s = nn_settings_new();
    nn_fields_to_settings(&llama_fields, &m->options, s);
    expect_done(nn_checkpoint_save(in_folder("m.safetensors"), m, NULL, s));
    Llama *again = llama_load(in_folder("m.safetensors"));
    ck_assert_msg(again != NULL, "%s", ag_error());
    check_same_options(&m->options, &again->options);
    check_same_parameters(m, again);
    ag_free(again);
    ag_free(s);
    ag_free(m);
}
END_TEST

START_TEST(files_that_do_not_fit_are_refused)
{
    Llama *m = llama_new(small());
    expect_refused(llama_open(in_folder("none")) != NULL, "none/config.json: cannot be opened");
    m->options.hidden++;
    expect_done(llama_write(m, in_folder("")));
    expect_refused(llama_open(in_folder("")) != NULL, "wrong shape: \"model.layers.0.mlp.gate_proj.weight\" is (14, 10), "
                   "expected (15, 10)");
    m->options.hidden -= 2;
    expect_done(llama_write(m, in_folder("")));
    expect_refused(llama_open(in_folder("")) != NULL, "wrong shape: \"model.layers.0.mlp.gate_proj.weight\" is (14, 10), "
                   "expected (13, 10)");
    m->options = small();
    m->options.qkv_bias = m->options.head_norms = true;
    expect_refused(llama_write(m, in_folder("")), "a Qwen3 has biases in all four matrices of attention or in none");
    m->options = small();
    m->options.out_bias = true;
    expect_refused(llama_write(m, in_folder("")), "has no form in Hugging Face's library");
    ag_free(m);
    ck_assert_int_eq(remove(in_folder("model.safetensors")), 0);
    expect_refused(llama_open(in_folder("")) != NULL, "/model.safetensors: cannot be opened");
}
END_TEST

/* ---- pairs of a question and an answer --------------------------------------------------------------------------- */

static LmData *pairs_of(const KaeruVocab *t, const char *lines)
{
    folder_write("pairs.jsonl", lines, strlen(lines));
    return lm_data_open_pairs(in_folder("pairs.jsonl"), t, 4, 5);
}

static KaeruVocab *open_vocab(void)
{
    KaeruVocab *t = kaeru_vocab_open(KAERU_BPE, TEST_FIXTURES "/tokenizers/qwen2.json", NULL);
    ck_assert_msg(t != NULL, "%s", ag_error());
    return t;
}

static void check_use(const LmData *d, LmPart part, int64_t length, LmUse expected)
{
    LmUse found = lm_data_use(d, part, length);
    ck_assert_msg(memcmp(&found, &expected, sizeof found) == 0, "windows of %d: %d %d %d, %d %d %d", (int)length,
                  (int)found.whole, (int)found.cut, (int)found.unused, (int)found.targets, (int)found.cut_targets,
                  (int)found.unused_targets);
}

/* The last of five examples is held out: a text, of which all but the start counts. Of the others, the answer and the
 * end count. The third one has no answer but the end, and the fourth has a long prompt. */
START_TEST(what_windows_cut_is_counted)
{
    KaeruVocab *t = open_vocab();
    LmData *d = pairs_of(t, "{\"prompt\": \"!\", \"completion\": \"\\u0001\"}\n"
                            "{\"prompt\": \"!\", \"completion\": \"\\u0001\\u0002\\u0001\"}\n"
                            "{\"prompt\": \"!\", \"completion\": \"\"}\n"
                            "{\"prompt\": \"\\u0001\\u0002\\u0001\\u0002\\u0001\\u0002\", \"completion\": \"\\u0001\"}\n"
                            "{\"text\": \"\\u0001\\u0002\\u0001\\u0002\"}\n");
    ck_assert_msg(d != NULL, "%s", ag_error());
    /* the numbers of tokens: 4, 6, 3, 9; before the answers: 2, 2, 2, 7; targets: 2, 4, 1, 2. Held out: 6 and 5 */
    ck_assert_int_eq(lm_data_tokens(d, LM_TRAIN), 22);
    check_use(d, LM_TRAIN, 8, (LmUse){ 4, 0, 0, 9, 0, 0 });
    check_use(d, LM_TRAIN, INT64_MAX, (LmUse){ 4, 0, 0, 9, 0, 0 });
    check_use(d, LM_TRAIN, 7, (LmUse){ 3, 1, 0, 8, 1, 0 });
    check_use(d, LM_TRAIN, 6, (LmUse){ 3, 0, 1, 7, 0, 2 });
    check_use(d, LM_TRAIN, 5, (LmUse){ 3, 0, 1, 7, 0, 2 });
    check_use(d, LM_TRAIN, 4, (LmUse){ 2, 1, 1, 6, 1, 2 });
    check_use(d, LM_TRAIN, 2, (LmUse){ 1, 2, 1, 3, 4, 2 });
    check_use(d, LM_TRAIN, 1, (LmUse){ 0, 0, 4, 0, 0, 9 });
    check_use(d, LM_HELD_OUT, 5, (LmUse){ 1, 0, 0, 5, 0, 0 });
    check_use(d, LM_HELD_OUT, 4, (LmUse){ 0, 1, 0, 4, 1, 0 });
    check_use(d, LM_HELD_OUT, 1, (LmUse){ 0, 1, 0, 1, 4, 0 });
    EXPECT_USAGE_ERROR("windows of 0 ids, expected 1 or more", lm_data_use(d, LM_TRAIN, 0));
    EXPECT_USAGE_ERROR("2 is not an LmPart", lm_data_use(d, (LmPart)2, 4));
    ag_free(d);
    d = lm_data_of_text("text", "!!!!!!!!!!!!!!!!!!!!", 20, t);
    ck_assert_msg(d != NULL, "%s", ag_error());
    check_use(d, LM_TRAIN, 3, (LmUse){ .targets = lm_data_tokens(d, LM_TRAIN) - 1 });
    ag_free(d);
    ag_free(t);
}
END_TEST

/* Without a token before a text, nothing predicts its first token: it is no target. */
START_TEST(the_first_token_of_a_text_is_no_target)
{
    static const char lines[] = "{\"text\": \"\\u0001\\u0002\\u0001\"}\n"
                                "{\"prompt\": \"\", \"completion\": \"\\u0001\\u0002\"}\n"
                                "{\"text\": \"\\u0001\\u0002\\u0001\\u0002\"}\n";
    KaeruVocab *t = open_vocab();
    folder_write("pairs.jsonl", lines, strlen(lines));
    LmData *d = lm_data_open_pairs(in_folder("pairs.jsonl"), t, -1, -1);
    ck_assert_msg(d != NULL, "%s", ag_error());
    check_use(d, LM_TRAIN, 8, (LmUse){ 2, 0, 0, 3, 0, 0 });
    check_use(d, LM_TRAIN, 1, (LmUse){ 1, 1, 0, 2, 1, 0 });
    LlamaOptions o = small();
    o.vocab = kaeru_vocab_size(t);
    Llama *m = llama_new(o);
    for (int64_t length = 1; length <= 4; length++) {
        int64_t counted;
        lm_evaluate(m, d, 2, length, 0, &counted);
        ck_assert_int_eq(lm_data_use(d, LM_HELD_OUT, length).targets, counted);
        ck_assert_int_eq(counted, length < 3 ? length : 3);
    }
    ag_free(m);
    ag_free(d);
    ag_free(t);
}
END_TEST

/* Lines of two tokens before the answer, of which the loss counts the answer and the end. */
START_TEST(the_loss_counts_answers_only)
{
    static const int32_t x[] = { 4, 'a', 'b', 'c', 5, 0 }, y[] = { -100, 'b', 'c', 5, -100, -100 };
    KaeruVocab *t = open_vocab();
    LmData *d = pairs_of(t, "{\"prompt\": \"!\", \"completion\": \"\\u0001\\u0002\"}\n \n{\"text\": \"\\u0001\"}");
    ck_assert_msg(d != NULL, "%s", ag_error());
    ck_assert_int_eq(lm_data_tokens(d, LM_TRAIN), 5);
    ck_assert_int_eq(lm_data_tokens(d, LM_HELD_OUT), 3);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids, *targets;
    size_t n;
    int32_t *part = kaeru_vocab_encode(t, "!\1\2", 3, KAERU_WITH_SPECIAL, &n);
    ck_assert_uint_eq(n, 3);
    for (int64_t length = 3; length <= 6; length++) {
        lm_data_draw(d, 2, length, &ids, &targets);
        for (int64_t i = 0; i < 2 * length; i++) {
            int64_t k = i % length;
            ck_assert_int_eq(tensor_int_data(ids)[i], x[k] >= 'a' ? part[x[k] - 'a'] : x[k]);
            ck_assert_int_eq(tensor_int_data(targets)[i], y[k] >= 'a' ? (k == 1 ? part[1] : part[2]) : y[k]);
        }
    }
    LlamaOptions o = small();
    o.vocab = kaeru_vocab_size(t);
    Llama *m = llama_new(o);
    nn_eval(m);
    int64_t counted;
    expect_done(lm_data_fits(d, m, 0));
    expect_refused(lm_data_fits(d, m, 1), "pairs.jsonl: in windows of 1 tokens there is nothing to learn or nothing held out");
    double loss = lm_evaluate(m, d, 3, 0, 0, &counted);
    Tensor *held_out = tensor_ints(SHAPE(1, 2), (int32_t[]){ 4, part[1] });
    Tensor *next = tensor_ints(SHAPE(1, 2), (int32_t[]){ part[1], 5 });
    ck_assert_int_eq(counted, 2);
    ck_assert_double_eq_tol(loss, tensor_item(lm_loss(m, held_out, next)), 1e-6);
    lm_evaluate(m, d, 70, 0, 0, &counted);                              /* an address sanitizer sees a read behind the end */
    ck_assert_int_eq(counted, 2);
    ag_free(m);
    ag_free(part);
    ag_end(s);
    ag_free(d);
    ag_free(t);
}
END_TEST

/* Most prompts fill the window: other examples are drawn. If all prompts do, that ends, too. */
START_TEST(an_example_without_targets_is_not_drawn)
{
    static const char text[] = "{\"text\": \"\\u0001\"}\n";
    static const char cut_off[] = "{\"prompt\": \"!\\u0001\\u0002\", \"completion\": \"\\u0001\"}\n";
    KaeruVocab *t = open_vocab();
    for (int good = 0; good < 2; good++) {
        char lines[1000] = "";
        for (int i = 0; i < 11; i++) strcat(lines, good && i == 3 ? text : cut_off);
        LmData *d = pairs_of(t, lines);
        ck_assert_msg(d != NULL, "%s", ag_error());
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *ids, *targets;
        lm_data_draw(d, 50, 3, &ids, &targets);
        for (int64_t i = 0; i < 50; i++) ck_assert_int_eq(tensor_int_data(targets)[3 * i + 1], good ? 5 : -100);
        ag_end(s);
        ag_free(d);
    }
    ag_free(t);
}
END_TEST

/* The first held-out example is cut off before its answer. The batch without a target is not the last one. */
START_TEST(an_example_without_targets_does_not_end_the_evaluation)
{
    static const char text[] = "{\"text\": \"\\u0001\"}\n";
    static const char cut_off[] = "{\"prompt\": \"!\\u0001\\u0002\", \"completion\": \"\\u0001\"}\n";
    char lines[400] = "";
    for (int i = 0; i < 11; i++) strcat(lines, i == 9 ? cut_off : text);
    KaeruVocab *t = open_vocab();
    LmData *d = pairs_of(t, lines);
    ck_assert_msg(d != NULL, "%s", ag_error());
    LlamaOptions o = small();
    o.vocab = kaeru_vocab_size(t);
    Llama *m = llama_new(o);
    nn_eval(m);
    int64_t counted[2];
    double loss[2];
    for (int batch = 1; batch <= 2; batch++) loss[batch - 1] = lm_evaluate(m, d, batch, 3, 0, &counted[batch - 1]);
    ck_assert_int_eq(counted[1], 2);                                    /* the token and the end of the second */
    ck_assert_int_eq(counted[0], 2);
    ck_assert_double_eq_tol(loss[0], loss[1], 1e-6);
    ag_free(m);
    ag_free(d);
    ag_free(t);
}
END_TEST

/* Room is made for 64 examples first. The address sanitizer sees if there is none for the end of the last one. The tokens
 * before and after a text can have the id 0. */
START_TEST(any_number_of_pairs_is_read)
{
    static const char line[] = "{\"text\": \"\\u0001\"}\n";
    enum { SIZE = sizeof line - 1, MOST = 65 };
    char text[MOST * SIZE];
    for (int i = 0; i < MOST; i++) memcpy(text + i * SIZE, line, SIZE);
    KaeruVocab *t = open_vocab();
    for (int n = MOST - 2; n <= MOST; n++) {
        void *owner = ag_alloc(1, 1);
        Examples examples = { NULL, NULL, 0 };
        expect_done(examples_read(owner, "pairs", text, (size_t)n * SIZE, t, 0, 0, &examples));
        ck_assert_int_eq(examples.n, n);
        for (int i = 0; i <= n; i++) ck_assert_int_eq(examples.example[i].start, 3 * i);
        ag_free(owner);
    }
    ag_free(t);
}
END_TEST

/* The byte after the text cannot be read. */
START_TEST(pairs_may_end_in_blanks)
{
    static const char lines[] = "{\"text\": \"\\u0001\"}\n{\"text\": \"\\u0001\"}\n  ";
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = strlen(lines);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *text = two + page - n;
    ck_assert(two != MAP_FAILED && mprotect(two + page, page, PROT_NONE) == 0);
    memcpy(text, lines, n);
    KaeruVocab *t = open_vocab();
    void *owner = ag_alloc(1, 1);
    Examples examples = { NULL, NULL, 0 };
    expect_done(examples_read(owner, "pairs", text, n, t, 4, 5, &examples));
    ck_assert_int_eq(examples.n, 2);
    ag_free(owner);
    ag_free(t);
    munmap(two, 2 * page);
}
END_TEST

START_TEST(wrong_pairs_are_refused)
{
    static const char *const cases[][2] = {
        { "", "pairs.jsonl: has 0 examples, expected 2 or more" },
        { "{\"text\": \"a\"}\n", "pairs.jsonl: has 1 examples" },
        { "{\"text\": \"a\"}\n{\"text\": 1}\n", "pairs.jsonl: line 2: expected an object with the texts \"prompt\" and" },
        { "{\"prompt\": \"a\"}\n", "pairs.jsonl: line 1: expected an object" },
        { "{\"prompt\": \"a\", \"completion\": \"b\", \"text\": \"c\"}\n", "pairs.jsonl: line 1: expected an object" },
        { "\n[]\n", "pairs.jsonl: line 2: expected an object" },
        { "{\"text\": \"a\"}\n{\"text\": \"a\n", "pairs.jsonl: line 2, column 12" },
    };
    KaeruVocab *t = open_vocab();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_refused(pairs_of(t, cases[i][0]) != NULL, cases[i][1]);
    expect_refused(lm_data_open_pairs(in_folder("none"), t, -1, -1) != NULL, "none: cannot be opened");
    EXPECT_USAGE_ERROR("tokens 100000 and -1 of a vocabulary of", lm_data_open_pairs(in_folder("none"), t, 100000, -1));
    EXPECT_USAGE_ERROR("tokens -1 and 100000 of a vocabulary of", lm_data_open_pairs(in_folder("none"), t, -1, 100000));
    static const char *const unknown[] = { "{\"prompt\": \"az\", \"completion\": \"b\"}",
                                           "{\"prompt\": \"b\", \"completion\": \"az\"}" };
    KaeruVocab *letters = kaeru_vocab_chars("abcdef", 6);
    for (int i = 0; i < 2; i++)
        expect_refused(pairs_of(letters, unknown[i]) != NULL, "pairs.jsonl: line 1: \"z\" is not in the vocabulary");
    ag_free(letters);
    ag_free(t);
}
END_TEST

/* The norms stay in reals. */
START_TEST(norms_in_reals_do_not_matter)
{
    Llama *m = llama_new(small());
    nn_freeze_bf16(m);
    expect_done(llama_write(m, in_folder("")));
    expect_done(llama_is_bf16(in_folder("")));
    ag_free(m);
}
END_TEST

START_TEST(looking_at_the_type_leaves_no_memory)
{
    Llama *m = llama_new(small());
    expect_done(llama_write_bf16(m, in_folder("")));
    const char *folder = in_folder("");
    int64_t live = 0, after = 0;
    for (int i = 0; i < 3; i++) {
        live = faults_live();
        bool is = llama_is_bf16(folder);
        after = faults_live();
        ck_assert(is);
    }
    ck_assert_int_eq(after, live);
    ag_free(m);
}
END_TEST

Suite *llama_suite(void)
{
    Suite *suite = suite_create("llama");
    TCase *t = tcase_create("llama");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_loop_test(t, logits_agree, 0, MODELS);
    tcase_add_loop_test(t, long_texts_agree, 0, 2);
    tcase_add_loop_test(t, loss_and_gradients_agree, 0, 2 * MODELS);
    tcase_add_loop_test(t, a_cache_changes_no_bit, 0, MODELS);
    tcase_add_loop_test(t, logits_with_a_cache_have_the_same_bits, 0, MODELS);
    tcase_add_loop_test(t, greedy_text_agrees, 0, MODELS);
    tcase_add_test(t, sizes_give_the_number_of_parameters);
    tcase_add_test(t, dropout_acts_only_in_training);
    tcase_add_test(t, wrong_sizes_are_refused);
    tcase_add_test(t, wrong_calls_are_usage_errors);
    tcase_add_loop_test(t, what_is_written_opens_again, 0, MODELS);
    tcase_add_test(t, opening_needs_no_memory_beside_the_model);
    tcase_add_test(t, a_lack_of_memory_is_told);
    tcase_add_test(t, a_model_that_needs_too_much_is_refused);
    tcase_add_test(t, a_scope_that_a_called_function_leaves_open_is_an_error);
    tcase_add_loop_test(t, four_ends_are_written, 0, 2);
    tcase_add_test(t, a_config_tells_bfloat16);
    tcase_add_test(t, many_ends_are_kept);
    tcase_add_test(t, one_end_is_a_number);
    tcase_add_test(t, no_begin_and_no_end_are_written);
    tcase_add_test(t, saved_frequencies_are_ignored);
    tcase_add_test(t, settings_can_be_missing);
    tcase_add_test(t, settings_can_be_null);
    tcase_add_test(t, the_context_before_the_scaling);
    tcase_add_test(t, one_of_two_rope_objects_counts);
    tcase_add_test(t, wrong_ropes_are_refused);
    tcase_add_loop_test(t, checkpoints_load, 0, MODELS);
    tcase_add_test(t, files_that_do_not_fit_are_refused);
    tcase_add_test(t, what_windows_cut_is_counted);
    tcase_add_test(t, the_first_token_of_a_text_is_no_target);
    tcase_add_test(t, a_long_context_costs_what_is_used);
    tcase_add_test(t, the_loss_counts_answers_only);
    tcase_add_test(t, an_example_without_targets_is_not_drawn);
    tcase_add_test(t, an_example_without_targets_does_not_end_the_evaluation);
    tcase_add_test(t, any_number_of_pairs_is_read);
    tcase_add_test(t, pairs_may_end_in_blanks);
    tcase_add_test(t, wrong_pairs_are_refused);
    tcase_add_test(t, norms_in_reals_do_not_matter);
    tcase_add_test(t, looking_at_the_type_leaves_no_memory);
    suite_add_tcase(suite, t);
    return suite;
}
