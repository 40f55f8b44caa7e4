/* test_dropout.c: each model applies each dropout that it has, in training alone. Models are rows of a table. For each row the
 * test computes from the sizes how many blocks of random numbers a forward pass takes, and it finds the dropouts in the module
 * tree by their types. So a dropout that is built but not applied, or not built, is seen without a test of its own. */
#include <stddef.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "kaeru/seq2seq.h"
#include "kaeru/transformer.h"
#include "walk.h"
#include "suites.h"

/* Sizes that are no multiples of 4, which is the number of random numbers of a block. */
enum { B = 3, S = 7, T = 5, D = 6, F = 9, H = 2, V = 11, LAYERS = 2 };

/* The blocks that the dropout of n numbers takes. */
static int64_t numbers(int64_t n)
{
    return (n + 3) / 4;
}

/* The same for the weights of fused attention: each row begins a block. */
static int64_t weights(int64_t heads, int64_t queries, int64_t keys)
{
    return B * heads * queries * numbers(keys);
}

/* ---- the models -------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    void *(*make)(double p);
    Tensor *(*forward)(void *m);
    int64_t blocks;                     /* of a forward pass in training */
} Row;

static Tensor *ids_of(int64_t length)
{
    Tensor *ids = tensor_ints(SHAPE(B, length), NULL);
    for (int64_t i = 0; i < B * length; i++) tensor_mutable_int_data(ids)[i] = (int32_t)(i * 7 % V);
    return ids;
}

static Tensor *reals_of_width(int64_t length, int64_t width)
{
    Tensor *x = tensor_zeros(SHAPE(B, length, width));
    for (int64_t i = 0; i < B * length * width; i++) tensor_mutable_data(x)[i] = (ag_real)(i % 5) - (ag_real)1.5;
    return x;
}

static TransformerOptions transformer_sizes(double p)
{
    TransformerOptions o = transformer_defaults();
    o.N = LAYERS;
    o.d_model = D;
    o.d_ff = F;
    o.h = H;
    o.max_len = S;
    o.dropout = p;
    return o;
}

static void *pre_norm(double p)
{
    return transformer_new(V, V, transformer_sizes(p));
}

static void *post_norm(double p)
{
    TransformerOptions o = transformer_sizes(p);
    o.norm_place = NN_POST_NORM;
    o.learned_positions = true;
    o.share_embeddings = true;
    return transformer_new(V, V, o);
}

static void *with_kept_weights(double p)
{
    Transformer *m = pre_norm(p);
    transformer_keep_weights(m, true);
    return m;
}

static Tensor *translate(void *m)
{
    return transformer_forward(m, ids_of(S), ids_of(T), NULL, nn_causal_mask(T));
}

/* Without gradients, as in generation, but in the mode of the model. */
static Tensor *translate_with_cache(void *m)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    NnCache *cache = transformer_cache_new(m, T);
    Tensor *y = transformer_decode_next(m, transformer_encode(m, ids_of(S), NULL), NULL, ids_of(T), cache);
    ag_free(cache);
    return ag_end_return(s, y);
}

static void *encoder_only(double p)
{
    return transformer_encoder_only_new(V, transformer_sizes(p));
}

static Tensor *encode(void *m)
{
    return transformer_encoder_only(m, ids_of(S), NULL);
}

static GPTOptions gpt_sizes(double p)
{
    return (GPTOptions){ .layers = LAYERS, .heads = H, .width = D, .vocab = V, .context = T, .dropout = p, .eps = 1e-5 };
}

static void *gpt_of(double p)
{
    return gpt_new(gpt_sizes(p));
}

static void *gpt_with_recompute(double p)
{
    GPTOptions o = gpt_sizes(p);
    o.recompute = true;
    return gpt_new(o);
}

static Tensor *gpt_logits(void *m)
{
    return gpt_forward(m, ids_of(T));
}

static Tensor *loss_of_lm(void *m)
{
    return lm_loss(m, ids_of(T), ids_of(T));
}

static Tensor *logits_with_cache(void *m)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    NnCache *cache = lm_cache_new(m);
    Tensor *y = lm_logits(m, ids_of(T), cache);
    ag_free(cache);
    return ag_end_return(s, y);
}

enum { KEYS = 1, HEAD_WIDTH = 4 };

static LlamaOptions llama_sizes(double p)
{
    LlamaOptions o = llama_defaults();
    o.layers = LAYERS;
    o.heads = H;
    o.kv_heads = KEYS;
    o.head_width = HEAD_WIDTH;
    o.width = D;
    o.hidden = F;
    o.vocab = V;
    o.context = T;
    o.dropout = p;
    return o;
}

static void *llama_of(double p)
{
    return llama_new(llama_sizes(p));
}

static void *llama_with_recompute(double p)
{
    LlamaOptions o = llama_sizes(p);
    o.recompute = true;
    return llama_new(o);
}

static Tensor *llama_logits(void *m)
{
    return llama_forward(m, ids_of(T));
}

/* The adapters' first B are 0, which would hide their dropout. */
static void *with_adapters(void *m, const char *const *targets, double p)
{
    bool added = nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .dropout = p, .targets = targets });
    ck_assert_msg(added, "%s", ag_error());
    NnParameters *all = nn_parameters(m);
    for (int i = 0; i < all->n; i++)
        if (all->item[i].trained) ag_fill_uniform(all->item[i].tensor, -1, 1);
    ag_free(all);
    return m;
}

static void *llama_with_adapters(double p)
{
    static const char *const targets[] = { "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", NULL };
    return with_adapters(llama_of(p), targets, p);
}

static void *gpt_with_adapters(double p)
{
    static const char *const targets[] = { "c_attn", "c_fc", "c_proj", NULL };
    return with_adapters(gpt_of(p), targets, p);
}

static void *recurrent_translation(double p)
{
    Seq2SeqOptions o = seq2seq_defaults();
    o.width = D;
    o.hidden = F;
    o.dropout = p;
    return seq2seq_new(V, V, o);
}

static void *without_attention(double p)
{
    Seq2SeqOptions o = seq2seq_defaults();
    o.width = D;
    o.hidden = F;
    o.dropout = p;
    o.cell = NN_LSTM;
    o.attention = false;
    return seq2seq_new(V, V, o);
}

static Tensor *translate_recurrently(void *m)
{
    return seq2seq_forward(m, ids_of(S), ids_of(T), NULL);
}

static void *recurrent_layers(double p)
{
    return nn_recurrent_new_with(NN_LSTM, D, F, 3, true, p);
}

static Tensor *read_sequence(void *m)
{
    return nn_recurrent(m, reals_of_width(T, D), NULL, NULL);
}

static void *recurrent_cell(double p)
{
    return nn_recurrent_new_with(NN_GRU, D, F, 3, false, p);
}

static Tensor *read_step(void *m)
{
    RecurrentState state = { 0 };
    return nn_recurrent_step(m, ag_reshape(ag_slice(reals_of_width(T, D), 1, 0, 1), SHAPE(B, D)), &state);
}

static void *additive_attention(double p)
{
    return nn_multi_head_attention_new_with(H, D, p, NN_SCORE_ADDITIVE);
}

static Tensor *attend(void *m)
{
    Tensor *x = reals_of_width(S, D);
    return nn_multi_head_attention(m, x, x, x, NULL);
}

static void *sequence(double p)
{
    Sequential *s = nn_sequential_new();
    nn_sequential_add(s, nn_linear_new(D, F));
    nn_sequential_add(s, nn_dropout_new(p));
    nn_sequential_add(s, nn_positionwise_feed_forward_new(F, D, p, AG_GELU));
    return s;
}

static Tensor *follow(void *m)
{
    return nn_sequential(m, reals_of_width(T, D));
}

static const Row *rows(int *n)
{
    int64_t src = numbers(B * S * D), tgt = numbers(B * T * D);
    int64_t encoder = src + LAYERS * (weights(H, S, S) + numbers(B * S * F) + 2 * src);
    int64_t decoder = tgt + LAYERS * (weights(H, T, T) + weights(H, T, S) + numbers(B * T * F) + 3 * tgt);
    int64_t in_steps = LAYERS * (numbers(B * H * S * S) + numbers(B * H * T * T) + numbers(B * H * T * S));
    int64_t fused = LAYERS * (weights(H, S, S) + weights(H, T, T) + weights(H, T, S));
    int64_t gpt = tgt + LAYERS * (weights(H, T, T) + 2 * tgt), llama = LAYERS * weights(H, T, T);
    int64_t seq2seq = src + tgt + numbers(B * T * F);
    const Row all[] = {
        { "Transformer", pre_norm, translate, encoder + decoder },
        { "Transformer, post-norm", post_norm, translate, encoder + decoder },
        { "Transformer with a cache", pre_norm, translate_with_cache, encoder + decoder },
        { "Transformer that keeps weights", with_kept_weights, translate, encoder + decoder - fused + in_steps },
        { "encoder only", encoder_only, encode, encoder },
        { "GPT", gpt_of, gpt_logits, gpt },
        { "loss of GPT", gpt_of, loss_of_lm, gpt },
        { "GPT with a cache", gpt_of, logits_with_cache, gpt },
        { "GPT with recompute", gpt_with_recompute, loss_of_lm, gpt },
        { "Llama", llama_of, llama_logits, llama },
        { "loss of Llama", llama_of, loss_of_lm, llama },
        { "Llama with a cache", llama_of, logits_with_cache, llama },
        { "Llama with recompute", llama_with_recompute, loss_of_lm, llama },
        { "Llama with adapters", llama_with_adapters, llama_logits,
          llama + LAYERS * (5 * tgt + numbers(B * T * H * HEAD_WIDTH) + numbers(B * T * F)) },
        { "GPT with adapters", gpt_with_adapters, gpt_logits, gpt + LAYERS * (3 * tgt + numbers(B * T * 4 * D)) },
        { "Seq2Seq", recurrent_translation, translate_recurrently, seq2seq },
        { "Seq2Seq without attention", without_attention, translate_recurrently, seq2seq },
        { "Recurrent in both directions", recurrent_layers, read_sequence, 2 * numbers(B * T * 2 * F) },
        { "Recurrent, one step", recurrent_cell, read_step, 2 * numbers(B * F) },
        { "attention with additive scores", additive_attention, attend, numbers(B * H * S * S) },
        { "Sequential", sequence, follow, numbers(B * T * F) + numbers(B * T * D) },
    };
    static Row kept[sizeof all / sizeof all[0]];
    memcpy(kept, all, sizeof all);
    *n = (int)(sizeof all / sizeof all[0]);
    return kept;
}

/* ---- the dropouts of a model ------------------------------------------------------------------------------------- */

/* Types with a probability of their own, beside Dropout: that of the attention weights. */
static const struct { const char *type; size_t offset; } own[] = {
    { "Dropout", offsetof(Dropout, p) },
    { "GPTAttention", offsetof(GPTAttention, dropout) },
    { "LlamaAttention", offsetof(LlamaAttention, dropout) },
};

/* Calls visit for the probability of each dropout below m; `type` is that of its module. */
static void each_dropout(Module *m, void visit(double *p, const char *type, void *arg), void *arg)
{
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(m->type, own[i].type) == 0) visit((double *)((char *)m + own[i].offset), m->type, arg);
    for (int i = 0; i < m->n_slots; i++)
        if (m->slots[i].child) each_dropout(m->slots[i].child, visit, arg);
}

typedef struct { int chosen, n; double p, others; const char *type; } Choice;

static void set_chosen(double *p, const char *type, void *arg)
{
    Choice *c = arg;
    *p = c->n == c->chosen ? c->p : c->others;
    if (c->n == c->chosen) c->type = type;
    c->n++;
}

static void expect_p(double *p, const char *type, void *arg)
{
    ck_assert_msg(*p == *(double *)arg, "a %s has p = %g, expected the option, %g", type, *p, *(double *)arg);
}

/* Sets one dropout to 1/2 and all others to 0; -1: all to 0. Returns the number of dropouts. */
static int choose(void *m, int chosen, const char **type)
{
    Choice c = { .chosen = chosen, .p = 0.5, .type = "none" };
    each_dropout(m, set_chosen, &c);
    *type = c.type;
    return c.n;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* The blocks that a forward pass, in the mode of the model, takes, and those that its backward pass takes. */
static void count_blocks(const Row *row, void *m, uint64_t *forward, uint64_t *backward)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_seed(5);
    Tensor *y = row->forward(m);
    *forward = ag_random_state().counter;
    if (tensor_requires_grad(y)) ag_backward(ag_sum(y));
    *backward = ag_random_state().counter - *forward;
    nn_zero_grad(m);
    ag_end(s);
}

START_TEST(a_pass_takes_the_random_numbers_of_all_dropouts)
{
    int n;
    const Row *row = rows(&n);
    double p = 0.3;
    for (; n-- > 0; row++) {
        uint64_t forward, backward;
        void *m = row->make(p);
        each_dropout(m, expect_p, &p);
        count_blocks(row, m, &forward, &backward);
        ck_assert_msg((int64_t)forward == row->blocks, "%s: a forward pass takes %d blocks, expected %d", row->name,
                      (int)forward, (int)row->blocks);
        ck_assert_msg(backward == 0, "%s: the backward pass takes %d blocks", row->name, (int)backward);
        nn_eval(m);
        count_blocks(row, m, &forward, &backward);
        ck_assert_msg(forward == 0, "%s: evaluation takes %d blocks", row->name, (int)forward);
        ag_free(m);
    }
}
END_TEST

/* Whether the result in training, with one dropout or none, is that in evaluation. */
static bool is_evaluation(const Row *row, void *m)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    ag_seed(6);
    nn_train(m);
    Tensor *training = row->forward(m);
    nn_eval(m);
    Tensor *evaluation = row->forward(m);
    bool same = memcmp(tensor_data(training), tensor_data(evaluation), (size_t)tensor_numel(training) * sizeof(ag_real)) == 0;
    ag_end(s);
    return same;
}

START_TEST(each_dropout_alone_has_an_effect)
{
    int n;
    const Row *row = rows(&n);
    for (; n-- > 0; row++) {
        const char *type;
        uint64_t forward, backward;
        void *m = row->make(0.3);
        int dropouts = choose(m, -1, &type);
        ck_assert_msg(dropouts > 0, "%s has no dropout", row->name);
        count_blocks(row, m, &forward, &backward);
        ck_assert_msg(forward == 0, "%s takes %d blocks, though the dropouts that the test finds are 0", row->name,
                      (int)forward);
        ck_assert_msg(is_evaluation(row, m), "%s without dropout: training differs from evaluation", row->name);
        for (int i = 0; i < dropouts; i++) {
            choose(m, i, &type);
            ck_assert_msg(!is_evaluation(row, m), "%s: dropout %d of %d, a %s, has no effect", row->name, i, dropouts, type);
        }
        ag_free(m);
    }
}
END_TEST

Suite *dropout_suite(void)
{
    Suite *suite = suite_create("dropout");
    TCase *c = tcase_create("models");
    tcase_add_test(c, a_pass_takes_the_random_numbers_of_all_dropouts);
    tcase_add_test(c, each_dropout_alone_has_an_effect);
    suite_add_tcase(suite, c);
    return suite;
}
