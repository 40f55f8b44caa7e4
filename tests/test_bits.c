/* test_bits.c: 50 training steps give the same weights, to the bit, on any number of threads and with every instruction set.
 * Three models learn to copy rows, to translate and to continue text, all with dropout, in float32 and in bfloat16.
 * KAERU_FULL_SIZE in the environment gives them the sizes of the examples; that takes long. */
#include <inttypes.h>
#include <stdlib.h>

#include "kaeru/kaeru.h"
#include "kernel_table.h"
#include "suites.h"

enum { STEPS = 50 };

/* FNV-1a over the bytes of all weights. */
static uint64_t digest(void *model)
{
    uint64_t hash = 0xcbf29ce484222325u;
    NnParameters *p = nn_parameters(model);
    for (int i = 0; i < p->n; i++) {
        const unsigned char *byte = (const unsigned char *)tensor_data(p->item[i].tensor);
        size_t n = (size_t)tensor_numel(p->item[i].tensor) * sizeof(ag_real);
        for (size_t k = 0; k < n; k++) hash = (hash ^ byte[k]) * 0x100000001b3u;
    }
    ag_free(p);
    return hash;
}

static bool full_size(void)
{
    return getenv("KAERU_FULL_SIZE") != NULL;
}

/* ---- the three models -------------------------------------------------------------------------------------------- */

typedef struct {
    int layers;
    int64_t width;
    int32_t src_vocab, tgt_vocab;
    int64_t batch, source, target;
    KaeruLabelSmoothing criterion;
    bool padded;                /* sentences of different lengths */
} Sentences;

static Tensor *sentences(int64_t batch, int64_t length, int32_t vocab, const Sentences *how)
{
    int32_t pad = how->criterion.padding_idx;
    Tensor *ids = tensor_randint(SHAPE(batch, length), pad + 1, vocab);
    for (int64_t i = 0; how->padded && i < batch; i++)
        for (int64_t j = length - ag_random_below(length / 2); j < length; j++)
            tensor_mutable_int_data(ids)[i * length + j] = pad;
    return ids;
}

static uint64_t translator(const Sentences *how)
{
    TransformerOptions o = transformer_defaults();
    o.N = how->layers;
    o.d_model = how->width;
    o.d_ff = 4 * how->width;
    o.max_len = 100;
    Transformer *m = transformer_new(how->src_vocab, how->tgt_vocab, o);
    Optimizer *adam = nn_adam_new(m, 1e-3);
    for (int step = 0; step < STEPS; step++) {
        AgScope s = ag_begin(AG_RECORD);
        TransformerBatch b =
            transformer_batch_new(sentences(how->batch, how->source, how->src_vocab, how),
                                  sentences(how->batch, how->target + 1, how->tgt_vocab, how), how->criterion.padding_idx);
        Tensor *y = transformer_forward(m, b.src, b.tgt, b.src_mask, b.tgt_mask);
        Tensor *loss = ag_label_smoothing(transformer_generator(m->generator, y), b.tgt_y, how->criterion.padding_idx,
                                          how->criterion.smoothing);
        ag_backward_from(loss, tensor_full(AG_SCALAR, 1 / (double)b.ntokens));
        nn_optimizer_step(adam);
        ag_end(s);
    }
    uint64_t hash = digest(m);
    ag_free(adam);
    ag_free(m);
    return hash;
}

static uint64_t copier(void)
{
    bool full = full_size();
    return translator(&(Sentences){ full ? 2 : 1, full ? 512 : 64, 11, 11, full ? 80 : 8, 10, 9, { 0, 0 }, false });
}

static uint64_t small_translator(void)
{
    bool full = full_size();
    return translator(&(Sentences){ full ? 3 : 1, full ? 256 : 64, 203, 181, full ? 32 : 4, 24, 24, { 2, 0.1 }, true });
}

static uint64_t writer(void)
{
    bool full = full_size();
    GPTOptions o = gpt_defaults();
    o.layers = full ? 4 : 2;
    o.heads = 4;
    o.width = full ? 128 : 64;
    o.vocab = 65;
    o.context = 64;
    int64_t batch = full ? 12 : 2;
    GPT *m = gpt_new(o);
    Optimizer *adam = nn_adamw_new(m, 1e-3);
    for (int step = 0; step < STEPS; step++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *ids = tensor_randint(SHAPE(batch, o.context), 0, 65);
        Tensor *next = tensor_randint(SHAPE(batch, o.context), 0, 65);
        ag_backward(lm_loss(m, ids, next));
        nn_clip_grad_norm(m, 1);
        nn_optimizer_set_lr(adam, 1e-3);
        nn_optimizer_step(adam);
        ag_end(s);
    }
    uint64_t hash = digest(m);
    ag_free(adam);
    ag_free(m);
    return hash;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static uint64_t (*const models[])(void) = { copier, small_translator, writer };
static const char *const names[] = { "copying", "translating", "continuing" };
enum { MODELS = sizeof models / sizeof *models };

static uint64_t run(int model, int threads)
{
    ag_seed(7);
    ag_set_threads(threads);
    return models[model]();
}

/* The second half of the turns is in bfloat16. */
static void set_precision(int turn)
{
    ag_precision(turn >= MODELS ? AG_BF16 : AG_FLOAT32);
}

START_TEST(fifty_steps_end_with_the_same_bits)
{
    const char *const isas[] = { k_isa(), "avx512_bf16", "avx512", "avx2", "portable" };
    const int model = _i % MODELS;
    set_precision(_i);
    uint64_t first = run(model, 1);
    for (int p = 0; p < 4; p++) {
        if (!k_use_isa(isas[p])) continue;
        static const int threads[] = { 2, 3, 8, 1 };
        for (int t = 0; t < (p == 0 ? 4 : 1); t++) {
            uint64_t hash = run(model, threads[t]);
            ck_assert_msg(hash == first, "%s: %s on %d threads ends with other weights", names[model], isas[p],
                          threads[t]);
        }
    }
    k_use_isa(isas[0]);
    ag_set_threads(0);
}
END_TEST

/* Another seed or precision changes the bits, so the comparison can fail. */
START_TEST(another_seed_changes_the_bits)
{
    ag_precision(AG_FLOAT32);
    uint64_t first = run(_i, 2);
    ag_precision(AG_BF16);
    ck_assert_uint_ne(run(_i, 2), first);
    ag_precision(AG_FLOAT32);
    ag_seed(8);
    ck_assert_uint_ne(models[_i](), first);
}
END_TEST

/* ---- the same bits as in other versions -------------------------------------------------------------------------- */

/* Numbers that are exact in float, of both signs and several sizes. */
static Tensor *numbers(AgShape shape)
{
    Tensor *t = tensor_zeros(shape);
    ag_real *x = tensor_mutable_data(t);
    for (int64_t i = 0; i < tensor_numel(t); i++) x[i] = (ag_real)((i * 7919 % 1009 - 504) / 128.0 * (i % 13 == 0 ? 16 : 1));
    return t;
}

static Tensor *gradient_of(Tensor *leaf, Tensor *loss)
{
    ag_backward(loss);
    return tensor_grad(leaf);
}
static Tensor *leaf_of(AgShape shape) { return tensor_set_requires_grad(numbers(shape), true); }

static Tensor *thirds(AgShape shape) { return ag_div(numbers(shape), tensor_full(SHAPE(1), 3)); }

static Tensor *product(void)        { return ag_matmul(thirds(SHAPE(5, 1200)), thirds(SHAPE(1200, 33))); }
static Tensor *long_sum(void)       { return ag_sum(thirds(SHAPE(600000))); }
static Tensor *row_sums(void)       { return ag_sum_dims(thirds(SHAPE(40, 9000)), DIMS(1), false); }
static Tensor *row_means(void)      { return ag_mean_dims(thirds(SHAPE(40, 9000)), DIMS(1), false); }
static Tensor *softmax_rows(void)   { return ag_softmax(thirds(SHAPE(2, 5000)), 1); }
static Tensor *powers(void)         { return ag_pow(ag_exp(thirds(SHAPE(2000))), tensor_full(SHAPE(1), 0.7)); }
static Tensor *gelus(void)          { return ag_gelu(thirds(SHAPE(2000))); }
/* A double as the sum of two floats. */
static Tensor *squares(void)
{
    double sum = ag_sum_squares(tensor_data(thirds(SHAPE(9000))), 9000);
    ag_real high = (ag_real)sum;
    return tensor_from(SHAPE(2), (ag_real[]){ high, (ag_real)(sum - (double)high) });
}
static Tensor *cross_entropies(void)
{
    return ag_cross_entropy(thirds(SHAPE(2, 50)), tensor_ints(SHAPE(2), (int32_t[]){ 1, 40 }), AG_MEAN, -100, 0.1);
}
static Tensor *norms(void)
{
    Tensor *x = leaf_of(SHAPE(6, 700));
    return gradient_of(x, ag_sum(ag_mul(ag_layer_norm(x, numbers(SHAPE(700)), NULL, AG_NORM_PYTORCH), thirds(SHAPE(6, 700)))));
}
/* Each of 3 ids occurs 4000 times. */
static Tensor *embedding_gradient(void)
{
    Tensor *table = leaf_of(SHAPE(3, 5)), *ids = tensor_ints(SHAPE(12000), NULL);
    for (int i = 0; i < 12000; i++) tensor_mutable_int_data(ids)[i] = i % 3;
    return gradient_of(table, ag_sum(ag_mul(ag_embedding(table, ids), thirds(SHAPE(12000, 5)))));
}
static Tensor *erf_gradient(void)
{
    Tensor *x = leaf_of(SHAPE(2000));
    return gradient_of(x, ag_sum(ag_erf(x)));
}
static Tensor *convolution_gradient(void)
{
    Tensor *w = leaf_of(SHAPE(2, 2, 3, 3)), *y = ag_conv2d(thirds(SHAPE(17, 2, 6, 6)), w, NULL, 1, 1);
    return gradient_of(w, ag_sum(ag_mul(y, y)));
}

/* A run that another version resumes goes on with the same numbers. Whoever changes the order of a sum or the steps of a
 * function on purpose changes the number here, and CHANGELOG says so. */
START_TEST(results_have_the_bits_of_other_versions)
{
    static const struct { const char *what; Tensor *(*compute)(void); uint64_t hash; } results[] = {
        { "product", product, 0xbbcbef774891b74f },
        { "long sum", long_sum, 0x60ea6dfc33474d20 },
        { "sums of rows", row_sums, 0x3c40ebfd5a057f22 },
        { "means of rows", row_means, 0xf6bcd31e84071ecb },
        { "softmax", softmax_rows, 0x9e0fd5f0722a5257 },
        { "powers", powers, 0xb1694961c7149d29 },
        { "gelu", gelus, 0x266a20dc686b317a },
        { "sum of squares", squares, 0x9c5c749b2168d7a6 },
        { "cross entropy", cross_entropies, 0x92441f0b2c953ed2 },
        { "gradient of layer norm", norms, 0x48aa28f09c379baa },
        { "gradient of embedding", embedding_gradient, 0xf88a915116a5a89d },
        { "gradient of erf", erf_gradient, 0x40224c1cca889b2b },
        { "gradient of a convolution", convolution_gradient, 0xfddd07c5e50262c5 },
    };
    ag_precision(AG_FLOAT32);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        AgScope s = ag_begin(AG_RECORD);
        uint64_t found = tensor_hash(results[i].compute(), 0);
        ag_end(s);
        ck_assert_msg(found == results[i].hash, "%s: 0x%016" PRIx64, results[i].what, found);
    }
}
END_TEST

Suite *bits_suite(void)
{
    Suite *suite = suite_create("bits");
    TCase *tests = tcase_create("bits");
    if (full_size()) tcase_set_timeout(tests, 7200);
    tcase_add_loop_test(tests, fifty_steps_end_with_the_same_bits, 0, 2 * MODELS);
    tcase_add_loop_test(tests, another_seed_changes_the_bits, 0, MODELS);
    tcase_add_test(tests, results_have_the_bits_of_other_versions);
    suite_add_tcase(suite, tests);
    return suite;
}
