/* test_lora.c: adapters of Linears compared with the library peft (fixtures/make_llama.py, make_peft.py), and their files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expected.h"
#include "faults.h"
#include "file.h"
#include "folder.h"
#include "json.h"
#include "kaeru/autograd.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "suites.h"
#include "usage_error.h"

#define FOLDER TEST_FIXTURES "/llama/"

static const char *const targets[] = { "q_proj", "v_proj", "down_proj", NULL };

static Lora *lora(const Linear *l)
{
    return (Lora *)l->adapter;
}

static Llama *base(void)
{
    Llama *m = llama_open(FOLDER "qwen2");
    ck_assert_msg(m != NULL, "%s", ag_error());
    nn_eval(m);
    return m;
}

static Llama *adapted(void)
{
    Llama *m = base();
    expect_done(nn_lora_load(m, FOLDER "adapter"));
    return m;
}

static void check_logits(Llama *m)
{
    NnTensorFile *st = open_safetensors(FOLDER "adapter/expected.safetensors");
    AgScope s = ag_begin(AG_NO_GRAD);
    check_close("logits", llama_forward(m, ids_of(st, "ids")), reals_of(st, "logits"), 1e-4);
    ag_end(s);
    ag_free(st);
}

/* ---- the same as peft -------------------------------------------------------------------------------------------- */

START_TEST(logits_and_gradients_agree)
{
    Llama *m = adapted();
    check_logits(m);
    NnTensorFile *st = open_safetensors(FOLDER "adapter/expected.safetensors");
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids = ids_of(st, "ids"), *loss = lm_loss(m, ids, ids);
    ck_assert_double_eq_tol(tensor_item(loss), tensor_item(reals_of(st, "loss")), 1e-5);
    ag_backward(loss);
    NnParameters *p = nn_parameters(m);
    int compared = 0;
    for (int i = 0; i < p->n; i++) {
        char name[120];
        bool adapter = strstr(p->item[i].name, ".lora_") != NULL;
        ck_assert(p->item[i].trained == adapter && (tensor_grad_data(p->item[i].tensor) != NULL) == adapter);
        if (!adapter) continue;
        snprintf(name, sizeof name, "grad/base_model.model.%s", p->item[i].name);
        Tensor *expected = reals_of(st, name);
        check_close(name, tensor_grad(p->item[i].tensor), expected, 1e-4 * largest(expected));
        compared++;
    }
    ck_assert_int_eq(compared, 2 * 2 * 3);                              /* two of each, in two layers */
    ag_free(p);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

START_TEST(merged_weights_give_the_same)
{
    Llama *m = adapted();
    nn_lora_merge(m);
    check_logits(m);
    ck_assert_ptr_null(nn_find(m, "model.layers.0.self_attn.q_proj.lora_A.weight"));
    expect_done(llama_write(m, in_folder("")));
    Llama *again = llama_open(in_folder(""));
    ck_assert_msg(again != NULL, "%s", ag_error());
    check_logits(again);
    check_same_parameters(m, again);
    ag_free(again);
    ag_free(m);
}
END_TEST

START_TEST(merging_is_in_float32)
{
    Llama *m = adapted(), *other = adapted();
    nn_lora_merge(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    ag_precision(AG_BF16);
    nn_lora_merge(other);
    ck_assert_int_eq(ag_precision_now(), AG_BF16);
    ag_end(s);
    check_same_parameters(m, other);
    ag_free(other);
    ag_free(m);
}
END_TEST

/* ---- a base in two bytes ------------------------------------------------------------------------------------------- */

/* A folder with a small model in BF16, of random weights. */
static const char *folder_in_bf16(void)
{
    LlamaOptions o = llama_defaults();
    o.layers = 2;
    o.heads = 4;
    o.kv_heads = 2;
    o.head_width = 6;
    o.width = 24;
    o.hidden = 34;
    o.vocab = 61;
    ag_seed(9);
    Llama *m = llama_new(o);
    expect_done(llama_write_bf16(m, in_folder("")));
    ag_free(m);
    return in_folder("");
}

static Llama *open_base(const char *folder, LlamaWeights weights)
{
    Llama *m = llama_open_with(folder, (LlamaOpening){ .weights = weights });
    ck_assert_msg(m != NULL, "%s", ag_error());
    ag_seed(3);
    ck_assert(nn_lora_add(m, (NnLoraOptions){ .rank = 4, .alpha = 8, .dropout = 0.1, .targets = targets }));
    return m;
}

static void learn(Llama *m, Optimizer *adam, int steps)
{
    nn_train(m);
    for (int i = 0; i < steps; i++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *ids = tensor_randint(SHAPE(2, 9), 0, 61);
        ag_backward(lm_loss(m, ids, ids));
        nn_optimizer_step(adam);
        ag_end(s);
    }
    nn_eval(m);
}

static void check_same_logits(Llama *a, Llama *b)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_randint(SHAPE(2, 9), 0, 61);
    ck_assert_mem_eq(tensor_data(llama_forward(a, ids)), tensor_data(llama_forward(b, ids)), 2 * 9 * 61 * sizeof(ag_real));
    ag_end(s);
}

START_TEST(two_bytes_learn_as_four)
{
    const char *folder = folder_in_bf16();
    ag_precision(AG_BF16);
    Llama *m[2] = { open_base(folder, LLAMA_REALS), open_base(folder, LLAMA_FROZEN) };
    ck_assert_int_eq(tensor_dtype(m[1]->model->embed_tokens->weight), AG_PACKED);
    ck_assert(!tensor_requires_grad(m[1]->model->norm->gamma));
    ck_assert_int_eq(nn_count(m[0]), nn_count(m[1]));
    for (int i = 0; i < 2; i++) {
        m[i]->options.recompute = i;
        Optimizer *adam = nn_adam_new(m[i], 0.01);
        ag_seed(4);
        learn(m[i], adam, 5);
        ag_free(adam);
    }
    check_same_logits(m[0], m[1]);
    uint64_t hash[2];
    for (int i = 0; i < 2; i++) {
        nn_lora_merge(m[i]);
        expect_done(nn_save_bf16(in_folder("merged"), m[i]));
        size_t size;
        char *bytes = file_read(NULL, in_folder("merged"), 1 << 24, &size);
        hash[i] = size;
        for (size_t k = 0; k < size; k++) hash[i] = hash[i] * 31 + (unsigned char)bytes[k];
        ag_free(bytes);
    }
    ck_assert_uint_eq(hash[0], hash[1]);
    ag_free(m[0]);
    ag_free(m[1]);
    ag_precision(AG_FLOAT32);
}
END_TEST

START_TEST(a_checkpoint_has_only_what_is_trained)
{
    const char *folder = folder_in_bf16();
    ag_precision(AG_BF16);
    Llama *m = open_base(folder, LLAMA_FROZEN), *again = open_base(folder, LLAMA_FROZEN);
    nn_eval(again);
    Optimizer *adam = nn_adam_new(m, 0.01), *other = nn_adam_new(again, 0.01);
    learn(m, adam, 3);
    expect_done(nn_checkpoint_save_trained(in_folder("last"), m, adam, NULL));
    NnTensorFile *f = open_safetensors(in_folder("last"));
    ck_assert_int_eq(tensor_file_count(f), 3 * 2 * 2 * 3);      /* with two states; two of three in each of two layers */
    ck_assert_ptr_null(tensor_file_find(f, "model.embed_tokens.weight"));
    ag_free(f);
    expect_done(nn_checkpoint_load(in_folder("last"), again, other, NULL));
    ck_assert_int_eq(nn_optimizer_steps(other), 3);
    check_same_logits(m, again);
    ag_free(other);
    ag_free(adam);
    ag_free(again);
    ag_free(m);
    m = llama_open(folder);
    expect_refused(nn_load(in_folder("last"), m), "missing: \"model.embed_tokens.weight\"");
    ag_free(m);
    ag_precision(AG_FLOAT32);
}
END_TEST

START_TEST(opening_in_two_bytes)
{
    const char *folder = folder_in_bf16();
    Llama *m = llama_open_with(folder, (LlamaOpening){ .weights = LLAMA_FROZEN });      /* products are in float32 */
    ck_assert_int_eq(tensor_dtype(m->lm_head->weight), AG_REAL);
    ck_assert(llama_is_bf16(folder));
    expect_done(llama_write(m, folder));
    ag_free(m);
    expect_refused(llama_is_bf16(folder), ", expected BF16");
    ag_precision(AG_BF16);
    m = llama_open_with(folder, (LlamaOpening){ .weights = LLAMA_FROZEN });
    ck_assert_int_eq(tensor_dtype(m->lm_head->weight), AG_REAL);
    Llama *rounded = llama_open_with(folder, (LlamaOpening){ .weights = LLAMA_ROUNDED });
    ck_assert_int_eq(tensor_dtype(rounded->lm_head->weight), AG_PACKED);
    check_same_logits(m, rounded);
    Llama *copy = nn_clone(rounded);
    check_same_logits(m, copy);
    ag_free(copy);
    char path[500];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    expect_refused(nn_load(path, rounded), "expected BF16 for a matrix that is kept in bfloat16, found F");
    expect_done(nn_load_with(path, rounded, (NnLoadOptions){ .round = true }));
    check_same_logits(m, rounded);
    nn_freeze_bf16(m);
    check_same_logits(m, rounded);
    ag_free(rounded);
    ag_free(m);
    ag_precision(AG_FLOAT32);
}
END_TEST

/* Whether the settings that were saved have this one, with this value as text. */
static void check_setting(const char *name, const char *expected)
{
    void *owner = ag_alloc(1, 1);
    const Json *value = json_get(json_read(owner, in_folder("adapter_config.json"), 1 << 20), name);
    char text[512] = "";
    size_t n = 0;
    ck_assert_msg(value != NULL, "%s", name);
    double number;
    if (json_real(value, &number)) snprintf(text, sizeof text, "%g", number);
    for (uint32_t i = 0; value->type == JSON_ARRAY && i < value->count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ", value->as.item[i].as.text);
    for (uint32_t i = 0; value->type == JSON_OBJECT && i < value->count; i++) {
        const Json *member = &value->as.item[2 * i];
        ck_assert(member[1].whole);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s=%d ", member->as.text, (int)member[1].as.integer);
    }
    ck_assert_str_eq(text, expected);
    ag_free(owner);
}

/* Whether the settings that were saved have this text as the value of that name, or null. */
static void check_setting_is(const char *name, const char *expected)
{
    void *owner = ag_alloc(1, 1);
    const Json *value = json_get(json_read(owner, in_folder("adapter_config.json"), 1 << 20), name);
    ck_assert_msg(value && (expected ? json_is(value, expected) : value->type == JSON_NULL), "%s", name);
    ag_free(owner);
}

START_TEST(what_is_saved_loads_again)
{
    Llama *m = adapted(), *again = base();
    expect_done(nn_lora_save(m, in_folder("")));
    ck_assert_int_eq(folder_count(), 2);
    check_setting("target_modules", "q_proj v_proj down_proj ");
    check_setting("r", "3");
    check_setting("lora_alpha", "7");
    check_setting("rank_pattern", "");
    check_setting("alpha_pattern", "");
    expect_done(nn_lora_load(again, in_folder("")));
    check_same_parameters(m, again);
    LlamaAttention *a = nn_item(LlamaLayer, again->model->layers, 1)->self_attn;
    ck_assert_double_eq_tol(lora(a->q_proj)->alpha, 7, 1e-12);
    ck_assert_double_eq(lora(a->q_proj)->lora_dropout->p, 0.25);
    check_logits(again);
    Llama *copy = nn_clone(again), *other = base();
    check_logits(copy);
    static const char config[] = "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"target_modules\": "
                                 "[\"q_proj\", \"v_proj\", \"down_proj\"]}";
    folder_write("adapter_config.json", config, sizeof config - 1);
    expect_done(nn_lora_load(other, in_folder("")));
    ck_assert_double_eq(lora(nn_item(LlamaLayer, other->model->layers, 1)->self_attn->q_proj)->lora_dropout->p, 0);
    ag_free(other);
    ag_free(copy);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* alpha / rank x rank is another number. */
START_TEST(alpha_is_saved_as_it_was_given)
{
    Llama *m = base();
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 49, .alpha = 1, .targets = targets }));
    expect_done(nn_lora_save(m, in_folder("")));
    void *owner = ag_alloc(1, 1);
    const Json *alpha = json_get(json_read(owner, in_folder("adapter_config.json"), 1 << 20), "lora_alpha");
    double value;
    ck_assert(json_real(alpha, &value));
    ck_assert_double_eq(value, 1);
    ag_free(owner);
    ag_free(m);
}
END_TEST

static GPT *small_gpt(void)
{
    GPT *m = gpt_new((GPTOptions){ .layers = 2, .heads = 2, .width = 8, .vocab = 13, .context = 6, .eps = 1e-5 });
    nn_eval(m);
    return m;
}

/* Makes both matrices of each adapter random. */
static void randomize(void *m)
{
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        if (strstr(p->item[i].name, ".lora_")) ag_fill_uniform(p->item[i].tensor, -1, 1);
    ag_free(p);
}

/* The base alone would be another model. */
START_TEST(models_with_adapters_are_not_written)
{
    static const char *const attention[] = { "c_attn", NULL };
    Llama *m = adapted();
    expect_refused(llama_write(m, in_folder("")), "this Llama has adapters: expected nn_lora_merge before");
    expect_refused(llama_write_bf16(m, in_folder("")), "this Llama has adapters");
    GPT *gpt = gpt_new((GPTOptions){ .layers = 1, .heads = 2, .width = 8, .vocab = 13, .context = 6, .eps = 1e-5 });
    expect_done(nn_lora_add(gpt, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = attention }));
    expect_refused(gpt_write(gpt, in_folder("w"), in_folder("c")), "this GPT has adapters: expected nn_lora_merge before");
    ck_assert_int_eq(folder_count(), 0);
    nn_lora_merge(gpt);
    expect_done(gpt_write(gpt, in_folder("w"), in_folder("c")));
    ag_free(gpt);
    ag_free(m);
}
END_TEST

/* ---- adapters that are not LoRA ------------------------------------------------------------------------------------ */

/* An adapter of the program, of the size of a Lora: y += x W^T. */
typedef struct { Module module; Tensor *w; char rest[sizeof(Lora) - sizeof(Module) - sizeof(Tensor *)]; } Own;

static Tensor *own(Own *m, Tensor *x)
{
    NN_LAYER(m);
    return ag_linear(x, m->w, NULL);
}
NN_FORWARD(Own, own)

/* Adds an adapter of the program that has this name as its type. */
static void own_add(Linear *l, const char *type)
{
    Own *m = (Own *)nn_new_sized(sizeof *m, type);
    m->module.forward = own_forward;
    ag_fill(nn_param(m, w, SHAPE(tensor_dim(l->weight, 0), tensor_dim(l->weight, 1))), 1);
    nn_child(l, adapter, &m->module);
}

typedef struct { Module module; Linear *a, *b; } Pair;

static Pair *pair_new(void)
{
    Pair *m = nn_new(Pair);
    nn_child(m, a, nn_linear_new_no_bias(4, 6));
    nn_child(m, b, nn_linear_new(6, 6));
    return m;
}

static const char *const only_a[] = { "a", NULL }, *const a_and_b[] = { "a", "b", NULL };

START_TEST(models_with_other_adapters_are_not_written)
{
    Llama *m = base();
    own_add(m->lm_head, "Own");
    expect_refused(llama_write(m, in_folder("")), "the first is that of lm_head.weight");
    expect_refused(llama_write_bf16(m, in_folder("")), "this Llama has adapters");
    GPT *gpt = small_gpt();
    own_add(nn_item(GPTBlock, gpt->h, 1)->mlp->c_fc, "Own");
    expect_refused(gpt_write(gpt, in_folder("w"), in_folder("c")),
                   "this GPT has adapters: expected nn_lora_merge before, and none of another kind; the first is that of "
                   "h.1.mlp.c_fc.weight");
    ck_assert_int_eq(folder_count(), 0);
    ag_free(gpt);
    ag_free(m);
}
END_TEST

/* Also if its type has the name of lora.h's. */
START_TEST(other_adapters_are_no_lora)
{
    static const char *const types[] = { "Own", "Lora" };
    for (int i = 0; i < 2; i++) {
        Pair *m = pair_new();
        own_add(m->b, types[i]);
        char part[80];
        snprintf(part, sizeof part, "the adapter of b.weight is a %s, but the files can have LoRA alone", types[i]);
        expect_refused(nn_lora_save(m, in_folder("")), part);
        expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = only_a }));
        randomize(m);
        expect_refused(nn_lora_save(m, in_folder("")), part);
        ck_assert_int_eq(folder_count(), 0);
        EXPECT_USAGE_ERROR("this module has adapters: that of a.weight is one", nn_lora_load(m, FOLDER "adapter"));
        nn_lora_merge(m);
        EXPECT_USAGE_ERROR("this module has adapters: that of b.weight is one", nn_lora_load(m, FOLDER "adapter"));
        ck_assert(!m->a->adapter && m->b->adapter);
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *x = tensor_ones(SHAPE(1, 6)), *y = nn_linear(m->b, x);
        ck_assert_double_eq_tol(tensor_data(y)[0], tensor_data(ag_linear(x, m->b->weight, m->b->bias))[0] + 6, 1e-5);
        ag_end(s);
        ag_free(m);
    }
}
END_TEST

START_TEST(a_linear_has_one_adapter)
{
    Pair *m = pair_new();
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = only_a }));
    Module *first = m->a->adapter;
    EXPECT_USAGE_ERROR("nn_add_child: Linear already has a part in the field for \"adapter\"", own_add(m->a, "Own"));
    ck_assert_ptr_eq(m->a->adapter, first);
    nn_lora_merge(m);
    own_add(m->a, "Own");
    EXPECT_USAGE_ERROR("Linear already has a \"adapter\"", own_add(m->a, "Own"));
    ag_free(m);

    m = pair_new();
    own_add(m->b, "Own");
    EXPECT_USAGE_ERROR("nn_lora_add: b.weight has an adapter",
                       nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = a_and_b }));
    ck_assert(!m->a->adapter && tensor_requires_grad(m->a->weight) && tensor_requires_grad(m->b->bias));
    ag_free(m);
}
END_TEST

/* A weight that is tied to another one after nn_lora_add still has its adapter. */
START_TEST(an_adapter_of_a_tied_weight_is_saved_and_merged)
{
    typedef struct { Module module; Linear *first, *a; } Two;
    Two *m = nn_new(Two), *again = nn_new(Two);
    nn_child(m, first, nn_linear_new_no_bias(4, 6));
    nn_child(m, a, nn_linear_new_no_bias(4, 6));
    nn_child(again, first, nn_linear_new_no_bias(4, 6));
    nn_child(again, a, nn_linear_new_no_bias(4, 6));
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = only_a }));
    randomize(m);
    nn_tie(m->a, weight, m->first->weight);
    expect_done(nn_lora_save(m, in_folder("")));
    expect_done(nn_lora_load(again, in_folder("")));
    AgScope s = ag_begin(AG_NO_GRAD);
    check_close("lora_B", lora(again->a)->lora_B->weight, lora(m->a)->lora_B->weight, 0);
    Tensor *x = tensor_ones(SHAPE(1, 4)), *before = nn_linear(m->a, x);
    nn_lora_merge(m);
    ck_assert_ptr_null(m->a->adapter);
    check_close("merged", nn_linear(m->a, x), before, 1e-5);
    ag_end(s);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* Parts that were registered, or tied to the adapter, later stay whole when it is removed. */
START_TEST(an_adapter_is_removed_from_anywhere)
{
    typedef struct { Module module; Pair *pair; Tensor *same; Linear *last; } Outer;
    Outer *m = nn_new(Outer);
    nn_child(m, pair, pair_new());
    nn_child(m, last, nn_linear_new(2, 2));
    Linear *a = m->pair->a, *b = m->pair->b;
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = only_a }));
    randomize(m);
    nn_tie(a, bias, b->bias);
    nn_tie(m, same, lora(a)->lora_A->weight);
    ck_assert_str_eq(tensor_get_name(m->same), "pair.a.lora_A.weight");
    nn_lora_merge(m);
    ck_assert_str_eq(tensor_get_name(m->same), "same");
    ck_assert(!a->adapter && a->bias == b->bias && nn_find(m, "pair.a.bias") == b->bias);
    ck_assert(nn_find(m, "same") == m->same && tensor_dim(m->same, 1) == 4);
    Outer *copy = nn_clone(m);
    check_same_parameters(m, copy);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = only_a }));
    ag_free(copy);
    ag_free(m);
}
END_TEST

/* The weight of the last layer is the module's last tensor. */
START_TEST(the_last_layer_is_adapted)
{
    typedef struct { Module module; Linear *first, *last; } Two;
    static const char *const both[] = { "first", "last", NULL };
    Two *m = nn_new(Two);
    nn_child(m, first, nn_linear_new_no_bias(3, 4));
    nn_child(m, last, nn_linear_new_no_bias(4, 2));
    Two *again = nn_clone(m);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = both }));
    randomize(m);
    expect_done(nn_lora_save(m, in_folder("")));
    expect_done(nn_lora_load(again, in_folder("")));
    check_same_parameters(m, again);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* Writes the tensors of in_folder("adapter_model.safetensors") under other names: `from`, behind "base_model.model.", becomes
 * `to`. */
static void rename_saved(const char *from, const char *to)
{
    enum { MOST = 64 };
    NnTensorFile *f = open_safetensors(in_folder("adapter_model.safetensors"));
    AgScope s = ag_begin(AG_NO_GRAD);
    StEntry entry[MOST];
    char name[MOST][200];
    size_t n = (size_t)tensor_file_count(f);
    ck_assert_uint_lt(n, MOST);
    for (size_t i = 0; i < n; i++) {
        const char *old = f->tensor[i].item.name, *rest = old + strlen("base_model.model.");
        bool has = strncmp(rest, from, strlen(from)) == 0;
        snprintf(name[i], sizeof name[i], "base_model.model.%s%s", has ? to : "", has ? rest + strlen(from) : rest);
        entry[i] = st_entry(name[i], reals_of(f, old));
    }
    expect_done(st_write(in_folder("adapter_model.safetensors"), entry, n, NULL));
    ag_end(s);
    ag_free(f);
}

/* A GPT has the names of GPT2LMHeadModel when it is saved. Those of GPT2Model load, too; others are refused by name. */
START_TEST(the_names_of_a_gpt)
{
    static const char *const both[] = { "c_attn", "1.mlp.c_proj", NULL };
    GPT *m = small_gpt(), *again = nn_clone(m), *bare = nn_clone(m), *other = nn_clone(m);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = both }));
    randomize(m);
    expect_done(nn_lora_save_with(m, in_folder(""), (NnLoraSaveOptions){ .base = "gpt2" }));
    check_setting("target_modules", "c_attn transformer.h.1.mlp.c_proj ");
    check_setting_is("task_type", "CAUSAL_LM");
    check_setting_is("base_model_name_or_path", "gpt2");
    NnTensorFile *f = open_safetensors(in_folder("adapter_model.safetensors"));
    ck_assert_ptr_nonnull(tensor_file_find(f, "base_model.model.transformer.h.1.mlp.c_proj.lora_B.weight"));
    ag_free(f);
    expect_done(nn_lora_load(again, in_folder("")));
    check_same_parameters(m, again);
    static const char config[] = "{\"peft_type\": \"LORA\", \"lora_alpha\": 8, \"target_modules\": "
                                 "[\"c_attn\", \"h.1.mlp.c_proj\"]}";
    folder_write("adapter_config.json", config, sizeof config - 1);
    rename_saved("transformer.", "");
    expect_done(nn_lora_load(bare, in_folder("")));
    check_same_parameters(m, bare);
    rename_saved("h.", "blocks.");
    expect_refused(nn_lora_load(other, in_folder("")),
                   "for a Linear of this GPT: its first tensor is \"base_model.model.blocks.0.attn.c_attn.lora_A.weight\"");
    ag_free(other);
    ag_free(bare);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* Ranks and alphas by names with the prefix; the names of LlamaModel load as those of LlamaForCausalLM. */
START_TEST(the_names_of_a_llama)
{
    static const char *const first[] = { "q_proj", NULL }, *const second[] = { "0.mlp.up_proj", NULL };
    Llama *m = base(), *bare = base();
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = first }));
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 3, .alpha = 64, .targets = second }));
    randomize(m);
    expect_done(nn_lora_save_with(m, in_folder(""), (NnLoraSaveOptions){ .base = "\xff" }));
    check_setting_is("base_model_name_or_path", NULL);
    check_setting("target_modules", "q_proj model.layers.0.mlp.up_proj ");
    check_setting("alpha_pattern", "^model.layers.0.mlp.up_proj=64 ");
    static const char config[] = "{\"peft_type\": \"LORA\", \"lora_alpha\": 8, \"alpha_pattern\": "
                                 "{\"^layers.0.mlp.up_proj\": 64}, \"target_modules\": "
                                 "[\"q_proj\", \"layers.0.mlp.up_proj\"]}";
    folder_write("adapter_config.json", config, sizeof config - 1);
    rename_saved("model.", "");
    expect_done(nn_lora_load(bare, in_folder("")));
    check_same_parameters(m, bare);
    ck_assert_double_eq(lora(nn_item(LlamaLayer, bare->model->layers, 0)->mlp->up_proj)->alpha, 64);
    ag_free(bare);
    ag_free(m);
}
END_TEST

/* A module of one's own has no task type: with one, peft wants functions of models that generate. */
START_TEST(the_task_of_other_modules)
{
    typedef struct { Module module; Linear *only; } One;
    static const char *const only[] = { "only", NULL };
    One *m = nn_new(One);
    nn_child(m, only, nn_linear_new(3, 4));
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = only }));
    expect_done(nn_lora_save(m, in_folder("")));
    check_setting_is("task_type", NULL);
    check_setting_is("base_model_name_or_path", NULL);
    ag_free(m);
}
END_TEST

/* target_modules matches the Linears with adapters alone: peft raises an error if it also matches another type of module. */
START_TEST(the_names_of_other_modules)
{
    typedef struct { Module module; Sequential *a, *b; Linear *a_0; } Net;
    static const char *const first[] = { "a.0", NULL }, *const last[] = { "b.1", NULL };
    Net *m = nn_new(Net);
    nn_child(m, a, nn_sequential_new());
    nn_child(m, b, nn_sequential_new());
    nn_child(m, a_0, nn_linear_new(3, 3));
    nn_sequential_add(m->a, nn_linear_new(3, 3));
    nn_sequential_add(m->b, nn_layer_norm_new(3));
    nn_sequential_add(m->b, nn_linear_new(3, 3));
    Net *again = nn_clone(m);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = last }));
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 3, .alpha = 9, .targets = first }));
    randomize(m);
    expect_done(nn_lora_save(m, in_folder("")));
    check_setting_is("target_modules", "a\\.0|b\\.1");
    check_setting("rank_pattern", "^b\\.1=2 ");
    check_setting("alpha_pattern", "^b\\.1=8 ");
    expect_done(nn_lora_load(again, in_folder("")));
    check_same_parameters(m, again);
    ck_assert_double_eq(lora(nn_item(Linear, again->b, 1))->alpha, 8);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* peft saves a copy of the output layer's weight beside its adapter, and takes the weight from there. */
START_TEST(a_copy_of_the_output_layer)
{
    static const char *const head[] = { "lm_head", NULL };
    Llama *m = llama_open(FOLDER "llama_bias"), *again = llama_open(FOLDER "llama_bias");
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = head }));
    randomize(m);
    expect_done(nn_lora_save(m, in_folder("")));
    ag_fill_uniform(m->lm_head->weight, -1, 1);
    expect_done(tensor_save(in_folder("adapter_model.safetensors"),
                            { "base_model.model.lm_head.lora_A.weight", lora(m->lm_head)->lora_A->weight },
                            { "base_model.model.lm_head.lora_B.weight", lora(m->lm_head)->lora_B->weight },
                            { "base_model.model.lm_head.base_layer.weight", m->lm_head->weight }));
    expect_done(nn_lora_load(again, in_folder("")));
    check_same_parameters(m, again);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* peft has no parameter "a.weight" if the Linear "a" has an adapter, and ignores such a tensor: its weight is
 * "a.base_layer.weight". A Linear without adapter has no "b.base_layer.weight". The last tensor is added to a file of adapters
 * of a. */
START_TEST(a_weight_is_read_by_the_name_that_peft_gives_it)
{
    typedef struct { Module module; Linear *a, *b; } Net;
    static const char *const first[] = { "a", NULL };
    static const struct { const char *name; bool bias, read; } cases[] = {
        { "a.weight", false, false }, { "a.base_layer.weight", false, true },
        { "a.bias", true, false }, { "a.base_layer.bias", true, true },
        { "b.weight", false, true }, { "b.base_layer.weight", false, false },
        { "b.bias", true, true }, { "b.base_layer.bias", true, false },
    };
    Net *m = nn_new(Net);
    nn_child(m, a, nn_linear_new(3, 3));
    nn_child(m, b, nn_linear_new(3, 3));
    Net *with = nn_clone(m);
    expect_done(nn_lora_add(with, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = first }));
    expect_done(nn_lora_save(with, in_folder("")));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Net *again = nn_clone(m);
        char name[64], unexpected[96];
        snprintf(name, sizeof name, "base_model.model.%s", cases[i].name);
        snprintf(unexpected, sizeof unexpected, "unexpected: \"%s\"", name);
        Tensor *added = cases[i].bias ? tensor_full(SHAPE(3), 0.5) : tensor_full(SHAPE(3, 3), 0.5);
        expect_done(tensor_save(in_folder("adapter_model.safetensors"),
                                { "base_model.model.a.lora_A.weight", lora(with->a)->lora_A->weight },
                                { "base_model.model.a.lora_B.weight", lora(with->a)->lora_B->weight }, { name, added }));
        Linear *l = *cases[i].name == 'a' ? again->a : again->b;
        if (cases[i].read) {
            expect_done(nn_lora_load(again, in_folder("")));
            check_close(name, cases[i].bias ? l->bias : l->weight, added, 0);
        } else {
            expect_refused(nn_lora_load(again, in_folder("")), unexpected);
            check_same_parameters(m, again);
        }
        ag_free(again);
        ag_end(s);
    }
    ag_free(with);
    ag_free(m);
}
END_TEST

/* Without target_modules, peft knows which Linears to choose of language models alone. */
START_TEST(other_modules_need_target_modules)
{
    static const char config[] = "{\"peft_type\": \"LORA\"}", null[] = "{\"peft_type\": \"LORA\", \"target_modules\": null}";
    static const char *const first[] = { "0", NULL };
    Sequential *m = nn_sequential_new();
    nn_sequential_add(m, nn_linear_new(3, 3));
    Sequential *again = nn_clone(m);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = first }));
    expect_done(nn_lora_save(m, in_folder("")));
    folder_write("adapter_config.json", config, strlen(config));
    expect_refused(nn_lora_load(again, in_folder("")), "\"target_modules\": expected one that chooses \"0\"");
    folder_write("adapter_config.json", null, strlen(null));
    expect_refused(nn_lora_load(again, in_folder("")), "\"target_modules\": expected one that chooses \"0\"");
    ag_free(again);
    ag_free(m);
}
END_TEST

/* A second call leaves the adapters of the first one as they are, and both are saved with their own rank and alpha. */
START_TEST(adapters_can_have_different_options)
{
    static const char *const first[] = { "q_proj", NULL }, *const second[] = { "v_proj", "down_proj", NULL };
    Llama *m = base(), *again = base();
    LlamaLayer *last = nn_item(LlamaLayer, m->model->layers, 1);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .dropout = 0.5, .targets = first }));
    Linear *k_proj = last->self_attn->k_proj;
    tensor_set_requires_grad(k_proj->weight, true);
    expect_done(nn_lora_add(last, (NnLoraOptions){ .rank = 3, .alpha = 64, .dropout = 0.5, .targets = second }));
    ck_assert(!tensor_requires_grad(k_proj->weight));
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        ck_assert_msg(p->item[i].trained == (strstr(p->item[i].name, ".lora_") != NULL), "%s", p->item[i].name);
    ag_free(p);
    randomize(m);
    expect_done(nn_lora_save(m, in_folder("")));
    check_setting("target_modules", "q_proj model.layers.1.self_attn.v_proj model.layers.1.mlp.down_proj ");
    check_setting("rank_pattern", "^model.layers.1.self_attn.v_proj=3 ^model.layers.1.mlp.down_proj=3 ");
    check_setting("alpha_pattern", "^model.layers.1.self_attn.v_proj=64 ^model.layers.1.mlp.down_proj=64 ");
    expect_done(nn_lora_load(again, in_folder("")));
    check_same_parameters(m, again);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_ints(SHAPE(1, 5), NULL);
    check_close("logits", llama_forward(again, ids), llama_forward(m, ids), 0);
    ag_end(s);
    ag_free(again);
    ag_free(m);
}
END_TEST

/* ---- the settings of peft ---------------------------------------------------------------------------------------- */

/* Writes the tensors of that group of adapters.safetensors, without the group's name, as adapter_model.safetensors. */
static void write_group(const NnTensorFile *st, const char *group)
{
    enum { MOST = 64 };
    StEntry entry[MOST];
    size_t n = 0, size = strlen(group);
    for (size_t i = 0; i < st->n_tensors; i++) {
        const char *name = st->tensor[i].item.name;
        if (strncmp(name, group, size) != 0 || strncmp(name + size, "/base_model.", 12) != 0) continue;
        ck_assert_uint_lt(n, MOST);
        entry[n++] = st_entry(name + size + 1, reals_of(st, name));
    }
    expect_done(st_write(in_folder("adapter_model.safetensors"), entry, n, NULL));
}

/* The adapter of this line of settings.txt (see make_peft.py) is loaded and computes what peft computes, or is refused with the
 * name of the setting. */
static void check_line(const NnTensorFile *st, char *line)
{
    char *name = line, *group = strchr(name, '\t'), *config = group ? strchr(group + 1, '\t') : NULL, path[120];
    ck_assert_ptr_nonnull(config);
    *group++ = *config++ = '\0';
    Llama *m = base();
    AgScope s = ag_begin(AG_NO_GRAD);
    folder_write("adapter_config.json", config, strlen(config));
    if (strcmp(group, "-") == 0) {
        snprintf(path, sizeof path, "adapter_config.json: \"%s\": ", name);
        expect_refused(nn_lora_load(m, in_folder("")), path);
    } else {
        write_group(st, group);
        ck_assert_msg(nn_lora_load(m, in_folder("")), "%s", ag_error());
        snprintf(path, sizeof path, "%s/logits", group);
        check_close(config, llama_forward(m, ids_of(st, "ids")), reals_of(st, path), 1e-4);
    }
    ag_end(s);
    ag_free(m);
}

START_TEST(each_setting_of_peft_counts)
{
    NnTensorFile *st = open_safetensors(FOLDER "peft/adapters.safetensors");
    size_t size, count = 0;
    char *text = file_read(st, FOLDER "peft/settings.txt", 1 << 20, &size);
    ck_assert_msg(text != NULL, "%s", ag_error());
    for (char *end; (end = strchr(text, '\n')); text = end + 1, count++) {
        *end = '\0';
        check_line(st, text);
    }
    ck_assert_uint_eq(count, 101);
    ag_free(st);
}
END_TEST

/* The settings of an adapter of q_proj and v_proj in both layers, and the setting because of which peft would ignore a
 * part of it or refuses it; NULL: it takes all of it. */
START_TEST(what_peft_ignores_or_refuses_is_refused)
{
#define BOTH "\"target_modules\": [\"q_proj\", \"v_proj\"]"
    static const struct { const char *config, *refused; } cases[] = {
        { BOTH, NULL },
        { "\"target_modules\": null", NULL },
        { "\"target_modules\": [\"self_attn.q_proj\", \"v_proj\", \"other\"]", NULL },
        { "\"target_modules\": [\"q_proj\"]", "target_modules" },
        { "\"target_modules\": [\"q_proj\", \"_proj\"]", "target_modules" },
        { "\"target_modules\": []", "target_modules" },
        { "\"target_modules\": \"\"", "target_modules" },
        { "\"target_modules\": \"all-LINEAR\"", NULL },
        { "\"target_modules\": \".*[qv]_proj\"", NULL },
        { "\"target_modules\": \"q_proj\"", "target_modules" },
        { "\"target_modules\": \"model.layers.0.self_attn.q_proj\"", "target_modules" },
        { "\"target_modules\": \"model.layers.0.self_attn.q_proj|model.layers.0.self_attn.v_proj|"
          "model.layers.1.self_attn.q_proj|model\\\\.layers.1.self_attn.v\\\\_proj\"", NULL },
        { "\"target_modules\": \"model.layers.0.self_attn.q_proj|model.layers.0.self_attn.v_proj\"", "target_modules" },
        { BOTH ", \"exclude_modules\": [\"o_proj\", \"proj\"]", NULL },
        { BOTH ", \"exclude_modules\": [\"v_proj\"]", "exclude_modules" },
        { BOTH ", \"exclude_modules\": \"v_proj\"", NULL },
        { BOTH ", \"exclude_modules\": \"\"", NULL },
        { BOTH ", \"exclude_modules\": \"model.layers.1.self_attn.v_proj\"", "exclude_modules" },
        { BOTH ", \"layers_to_transform\": null", NULL },
        { BOTH ", \"layers_to_transform\": []", NULL },
        { BOTH ", \"layers_to_transform\": [2, 1, 0]", NULL },
        { BOTH ", \"layers_to_transform\": 0", "layers_to_transform" },
        { BOTH ", \"layers_to_transform\": 2", "layers_to_transform" },
        { BOTH ", \"layers_to_transform\": [0]", "layers_to_transform" },
        { BOTH ", \"layers_to_transform\": [0, 1], \"layers_pattern\": \"layers\"", NULL },
        { BOTH ", \"layers_to_transform\": [0, 1], \"layers_pattern\": [\"other\", \"layers\"]", NULL },
        { BOTH ", \"layers_to_transform\": [0, 1], \"layers_pattern\": \"l.*s\"", NULL },
        { BOTH ", \"layers_to_transform\": [0, 1], \"layers_pattern\": \"other\"", "layers_to_transform" },
        { "\"target_modules\": [\"model.layers.0.self_attn.q_proj\", \"model.layers.0.self_attn.v_proj\", "
          "\"model.layers.1.self_attn.q_proj\", \"model.layers.1.self_attn.v_proj\"], \"layers_to_transform\": 7", NULL },
        { BOTH ", \"layers_pattern\": \"layers\"", "layers_pattern" },
        { BOTH ", \"layers_pattern\": [\"layers\"], \"layers_to_transform\": null", "layers_pattern" },
        { BOTH ", \"layers_pattern\": \"\"", NULL },
        { BOTH ", \"layers_pattern\": []", NULL },
        { BOTH ", \"layers_pattern\": null", NULL },
        { "\"target_modules\": \".*[qv]_proj\", \"layers_pattern\": []", "layers_pattern" },
        { "\"target_modules\": \".*[qv]_proj\", \"layers_to_transform\": [0, 1]", "layers_to_transform" },
        { "\"r\": 2", NULL },
        { "\"r\": 2.0", "r" },
        { "\"r\": 1000.0", "r" },
        { "\"r\": 0", "r" },
        { "\"rank_pattern\": {\"q_proj\": 2, \"v.*\": 2}", NULL },
        { "\"rank_pattern\": {\"q_proj\": 0}", "rank_pattern" },
        { "\"rank_pattern\": {\"q_proj\": -1}", "rank_pattern" },
        { "\"rank_pattern\": {\"q_proj\": 2.0}", "rank_pattern" },
        { "\"rank_pattern\": {\"q_proj\": 2, \"v_proj\": null}", "rank_pattern" },
        { "\"rank_pattern\": {\"q_proj\": true}", "rank_pattern" },
        { "\"rank_pattern\": {\"q_proj\": \"2\"}", "rank_pattern" },
        { "\"rank_pattern\": {\"q_proj\": [2]}", "rank_pattern" },
        { "\"rank_pattern\": {\"q_proj\": {}}", "rank_pattern" },
        { "\"target_modules\": [0]", "target_modules" },
        { BOTH ", \"exclude_modules\": [0]", "exclude_modules" },
        { BOTH ", \"layers_to_transform\": 1.0", "layers_to_transform" },
        { BOTH ", \"layers_to_transform\": [\"0\"]", "layers_to_transform" },
        { "\"task_type\": \"CAUSAL_LM\"", NULL },
        { "\"task_type\": \"\"", "task_type" },
        { "\"lora_ga_config\": false", "lora_ga_config" },
        { "\"velora_config\": false", "velora_config" },
        { "\"kasa_config\": false", "kasa_config" },
        { "\"arrow_config\": false", "arrow_config" },
        { "\"use_bdlora\": false", "use_bdlora" },
        { "\"use_bdlora\": null", NULL },
    };
    static const char *const both[] = { "q_proj", "v_proj", NULL };
    Llama *m = base();
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 8, .targets = both }));
    randomize(m);
    expect_done(nn_lora_save(m, in_folder("")));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400], setting[40];
        snprintf(text, sizeof text, "{\"peft_type\": \"LORA\", %s}", cases[i].config);
        folder_write("adapter_config.json", text, strlen(text));
        Llama *again = base();
        if (cases[i].refused) {
            snprintf(setting, sizeof setting, "adapter_config.json: \"%s\": ", cases[i].refused);
            expect_refused(nn_lora_load(again, in_folder("")), setting);
        } else {
            ck_assert_msg(nn_lora_load(again, in_folder("")), "%s: %s", text, ag_error());
            check_same_parameters(m, again);
            /* That of peft: the settings have none. */
            ck_assert_double_eq(lora(nn_item(LlamaLayer, again->model->layers, 1)->self_attn->v_proj)->alpha, 8);
        }
        ag_free(again);
    }
    ag_free(m);
}
END_TEST

/* ---- new adapters ------------------------------------------------------------------------------------------------ */

START_TEST(a_new_adapter_changes_nothing_but_what_is_trained)
{
    Llama *m = base();
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids = tensor_ints(SHAPE(2, 5), NULL), *before = ag_detach(llama_forward(m, ids));
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = targets }));
    check_close("logits", llama_forward(m, ids), before, 0);
    ck_assert_int_eq(nn_count(m), 2 * 2 * ((24 + 24) + (24 + 8) + (21 + 24)));
    Optimizer *o = nn_adamw_new(m, 0.1);
    ag_backward(lm_loss(m, ids, ids));
    nn_optimizer_step(o);
    NnSettings *settings = nn_settings_new();
    nn_fields_to_settings(&llama_fields, &m->options, settings);
    expect_done(nn_checkpoint_save(in_folder("run.safetensors"), m, o, settings));
    NnTensorFile *st = open_safetensors(in_folder("run.safetensors"));
    for (size_t i = 0; i < st->n_tensors; i++)          /* the optimizer has no state for the frozen weights */
        ck_assert(strncmp(st->tensor[i].item.name, "optimizer.", 10) != 0 || strstr(st->tensor[i].item.name, ".lora_"));
    ag_free(st);
    Tensor *after = llama_forward(m, ids);
    ck_assert(largest(ag_sub(after, before)) > 1e-3);
    Llama *fresh = base();
    NnParameters *p = nn_parameters(fresh);
    for (int i = 0; i < p->n; i++)
        check_close(p->item[i].name, nn_find(m, p->item[i].name), p->item[i].tensor, 0);
    ag_free(p);
    ag_free(fresh);
    ag_free(settings);
    ag_free(o);
    ag_end(s);
    ag_free(m);
}
END_TEST

START_TEST(an_adapter_has_dropout_in_training)
{
    Llama *m = adapted();
    Linear *q_proj = nn_item(LlamaLayer, m->model->layers, 1)->self_attn->q_proj;
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_ones(SHAPE(1, 24)), *y = nn_linear(q_proj, x);
    nn_train(m);
    ck_assert(largest(ag_sub(nn_linear(q_proj, x), nn_linear(q_proj, x))) > 0);
    nn_eval(m);
    check_close("evaluation", nn_linear(q_proj, x), y, 0);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* Adapters of the output layer, and of a layer with an activation, are not left out. */
START_TEST(each_linear_can_have_an_adapter)
{
    static const char *const others[] = { "lm_head", "gate_proj", NULL };
    Llama *m = llama_open(FOLDER "llama_bias");
    nn_eval(m);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids = tensor_ints(SHAPE(1, 5), NULL), *next = tensor_ints(SHAPE(1, 5), (int32_t[]){ 0, 0, -100, 0, 0 });
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = others }));
    ag_backward(lm_loss(m, ids, next));
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        if (strstr(p->item[i].name, "lora_B")) {
            ck_assert_msg(largest(tensor_grad(p->item[i].tensor)) > 0, "%s", p->item[i].name);
            ag_fill(p->item[i].tensor, 0.1);
        }
    ag_free(p);
    double loss = tensor_item(lm_loss(m, ids, next));
    nn_lora_merge(m);
    ck_assert_double_eq_tol(tensor_item(lm_loss(m, ids, next)), loss, 1e-4);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* Only frozen matrices of reals with rows of an even size are kept in two bytes. */
START_TEST(what_is_not_kept_in_two_bytes)
{
    typedef struct { Module module; Embedding *embed; Linear *odd, *even; Tensor *mask; } Mixed;
    static const char *const even[] = { "even", NULL };
    Mixed *m = nn_new(Mixed);
    nn_child(m, embed, nn_embedding_new(4, 2));
    nn_child(m, odd, nn_linear_new(3, 2));
    nn_child(m, even, nn_linear_new(2, 4));
    nn_buffer_with(m, mask, SHAPE(2, 2), AG_BOOL, true);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 1, .targets = even }));
    nn_pack_weights(m, true);
    nn_pack_weights(m, false);
    nn_freeze_bf16(m);
    ck_assert(tensor_dtype(m->embed->weight) == AG_PACKED && tensor_dtype(m->even->weight) == AG_PACKED);
    ck_assert(tensor_dtype(m->odd->weight) == AG_REAL && tensor_dtype(lora(m->even)->lora_A->weight) == AG_REAL);
    ck_assert_int_eq(nn_count(m), 2 * 2 + 2 * 4);                       /* both matrices of the adapter */
    tensor_set_requires_grad(lora(m->even)->lora_A->weight, false);
    nn_freeze_bf16(m);
    ck_assert(tensor_dtype(lora(m->even)->lora_A->weight) == AG_REAL);
    ag_free(m);
}
END_TEST

/* A module of one's own that has the size of a Linear is none: its layers are no adapters, and are frozen. */
START_TEST(a_module_of_the_size_of_a_linear_is_frozen)
{
    typedef struct { Module module; Linear *q; char rest[sizeof(Linear) - sizeof(Module) - sizeof(Linear *)]; } Other;
    static const char *const q[] = { "q", NULL };
    Other *m = nn_new(Other);
    ck_assert_uint_eq(m->module.size, sizeof(Linear));
    nn_child(m, q, nn_linear_new(2, 3));
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 1, .alpha = 1, .targets = q }));
    ck_assert_int_eq(nn_count(m), 2 + 3);
    ag_free(m);
}
END_TEST

START_TEST(wrong_use_is_refused)
{
    static const char *const none[] = { "q_proj", "proj", NULL };
    Llama *m = base();
    expect_refused(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = none }),
                   "no Linear of this Llama has the name \"proj\"");
    ck_assert(tensor_requires_grad(m->model->norm->gamma));
    static const char *const head[] = { "lm_head", NULL };
    GPT *gpt = small_gpt();
    expect_refused(nn_lora_add(gpt, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = head }),
                   "the weight of \"lm_head\" of this GPT is tied to \"wte.weight\": an adapter needs a Linear with a weight");
    ag_free(gpt);
    EXPECT_USAGE_ERROR("rank 0, expected 1 or more", nn_lora_add(m, (NnLoraOptions){ .targets = targets }));
    EXPECT_USAGE_ERROR("targets is NULL", nn_lora_add(m, (NnLoraOptions){ .rank = 1 }));
    EXPECT_USAGE_ERROR("nan, expected a finite number",
                       nn_lora_add(m, (NnLoraOptions){ .rank = 1, .alpha = NAN, .targets = targets }));
    EXPECT_USAGE_ERROR("nn_lora_add: dropout is 1, expected 0 to below 1",
                       nn_lora_add(m, (NnLoraOptions){ .rank = 1, .dropout = 1, .targets = targets }));
    EXPECT_USAGE_ERROR("this Llama has no adapters", nn_lora_save(m, in_folder("")));
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = targets }));
    EXPECT_USAGE_ERROR("has an adapter", nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = targets }));
    EXPECT_USAGE_ERROR("this module has adapters", nn_lora_load(m, FOLDER "adapter"));
    Linear *alone = nn_linear_new(2, 3);
    EXPECT_USAGE_ERROR("a Linear alone has no name for the file", nn_lora_load(alone, FOLDER "adapter"));
    EXPECT_USAGE_ERROR("a Linear alone has no name for the file", nn_lora_save(alone, in_folder("")));
    ag_free(alone);
    static const char *const other[] = { "k_proj", NULL };
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .dropout = 0.5, .targets = other }));
    expect_refused(nn_lora_save(m, in_folder("")), "adapters have the dropouts 0 and 0.5, but the file has one for all");
    ck_assert_int_eq(folder_count(), 0);
    ag_free(m);
}
END_TEST

START_TEST(files_that_do_not_fit_are_refused)
{
    static const struct { const char *config, *message; } cases[] = {
        { "[]", "expected an object, found an array" },
        { "{\"peft_type\": \"IA3\"}", "\"peft_type\": expected \"LORA\"" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": null}", "\"lora_alpha\": expected a number" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"use_dora\": true}", "\"use_dora\": this value is not supported" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"lora_dropout\": 1}",
          "\"lora_dropout\": expected a number of 0 to below 1" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7}",
          "adapter_model.safetensors: has no adapter for a Linear of this Llama: its first tensor is \"other\"" },
    };
    Llama *m = base();
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(3, 24)), *y = tensor_zeros(SHAPE(24, 3));
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { "other", x }));
    char config[100];
    for (const char *c = "^$*+?()[]{}|"; *c; c++) {             /* what a key cannot have behind its start */
        int n = snprintf(config, sizeof config,
                         "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"alpha_pattern\": {\"q%c\": 40}}", *c);
        folder_write("adapter_config.json", config, (size_t)n);
        expect_refused(nn_lora_load(m, in_folder("")), "\"alpha_pattern\": this value is not supported");
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_write("adapter_config.json", cases[i].config, strlen(cases[i].config));
        expect_refused(nn_lora_load(m, in_folder("")), cases[i].message);
    }
#define Q "base_model.model.model.layers.0.self_attn.q_proj."
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", y }));        /* of another model */
    expect_refused(nn_lora_load(m, in_folder("")), "\"" Q "lora_A.weight\" is (24, 3), expected (24, 24)");
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", tensor_zeros(SHAPE(0, 24)) }));
    expect_refused(nn_lora_load(m, in_folder("")), "\"" Q "lora_A.weight\" is (0, 24), expected (1, 24)");
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", x }));
    expect_refused(nn_lora_load(m, in_folder("")), "\"" Q "lora_B.weight\" is missing, expected (24, 3)");
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", x }, { Q "lora_B.weight", x }));
    expect_refused(nn_lora_load(m, in_folder("")), "\"" Q "lora_B.weight\" is (3, 24), expected (24, 3)");
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", x }, { Q "lora_B.weight", y },
                            { "base_model.model.lm_head.lora_A.weight", x }));
    expect_refused(nn_lora_load(m, in_folder("")), "unexpected: \"base_model.model.lm_head.lora_A.weight\"");
    ck_assert_ptr_null(nn_find(m, "model.layers.0.self_attn.q_proj.lora_A.weight"));
    ck_assert(tensor_requires_grad(m->model->norm->gamma));
    ag_end(s);
    ag_free(m);
}
END_TEST

START_TEST(merged_adapters_leave_no_memory)
{
    static const char *const first[] = { "0", NULL };
    Sequential *m = nn_sequential_new();
    nn_sequential_add(m, nn_linear_new(4, 4));
    int64_t live[4];
    for (int i = 0; i < 4; i++) {
        bool good = nn_lora_add(m, (NnLoraOptions){ 2, 4, 0, first });
        nn_lora_merge(m);
        live[i] = faults_live();
        ck_assert(good);
    }
    ck_assert_int_eq(live[3], live[2]);
    ag_free(m);
}
END_TEST

Suite *lora_suite(void)
{
    Suite *suite = suite_create("lora");
    TCase *t = tcase_create("lora");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, logits_and_gradients_agree);
    tcase_add_test(t, merged_weights_give_the_same);
    tcase_add_test(t, merging_is_in_float32);
    tcase_add_test(t, two_bytes_learn_as_four);
    tcase_add_test(t, a_checkpoint_has_only_what_is_trained);
    tcase_add_test(t, opening_in_two_bytes);
    tcase_add_test(t, what_is_saved_loads_again);
    tcase_add_test(t, the_last_layer_is_adapted);
    tcase_add_test(t, the_names_of_a_gpt);
    tcase_add_test(t, the_names_of_a_llama);
    tcase_add_test(t, the_task_of_other_modules);
    tcase_add_test(t, the_names_of_other_modules);
    tcase_add_test(t, a_copy_of_the_output_layer);
    tcase_add_test(t, a_weight_is_read_by_the_name_that_peft_gives_it);
    tcase_add_test(t, other_modules_need_target_modules);
    tcase_add_test(t, models_with_adapters_are_not_written);
    tcase_add_test(t, models_with_other_adapters_are_not_written);
    tcase_add_test(t, other_adapters_are_no_lora);
    tcase_add_test(t, a_linear_has_one_adapter);
    tcase_add_test(t, an_adapter_of_a_tied_weight_is_saved_and_merged);
    tcase_add_test(t, an_adapter_is_removed_from_anywhere);
    tcase_add_test(t, alpha_is_saved_as_it_was_given);
    tcase_add_test(t, adapters_can_have_different_options);
    tcase_add_test(t, each_setting_of_peft_counts);
    tcase_add_test(t, what_peft_ignores_or_refuses_is_refused);
    tcase_add_test(t, a_new_adapter_changes_nothing_but_what_is_trained);
    tcase_add_test(t, an_adapter_has_dropout_in_training);
    tcase_add_test(t, each_linear_can_have_an_adapter);
    tcase_add_test(t, what_is_not_kept_in_two_bytes);
    tcase_add_test(t, a_module_of_the_size_of_a_linear_is_frozen);
    tcase_add_test(t, wrong_use_is_refused);
    tcase_add_test(t, files_that_do_not_fit_are_refused);
    tcase_add_test(t, merged_adapters_leave_no_memory);
    suite_add_tcase(suite, t);
    return suite;
}
