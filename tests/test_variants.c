/* test_variants.c: the options of transformer_new, its initial weights, the encoder alone, and usage errors. */
#include <math.h>
#include <stdio.h>

#include "expected.h"
#include "faults.h"
#include "folder.h"
#include "kaeru/training.h"
#include "suites.h"
#include "usage_error.h"

enum { PAD = 2, V = 9, D = 8 };

static TransformerOptions tiny(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = 2;
    o.d_model = D;
    o.d_ff = 12;
    o.h = 2;
    o.dropout = 0;
    o.max_len = 10;
    return o;
}

/* Three sentence pairs with padding. */
static TransformerBatch some_batch(void)
{
    Tensor *src = tensor_ints(SHAPE(3, 4), (int32_t[]){ 3, 4, 5, 6, 7, 8, PAD, PAD, 3, 8, 4, PAD });
    Tensor *tgt = tensor_ints(SHAPE(3, 4), (int32_t[]){ 0, 4, 5, 6, 0, 8, PAD, PAD, 0, 3, 7, PAD });
    return transformer_batch_new(src, tgt, PAD);
}

static Tensor *loss_of(Transformer *m, const TransformerBatch *b)
{
    Tensor *out = transformer_forward(m, b->src, b->tgt, b->src_mask, b->tgt_mask);
    return ag_label_smoothing(transformer_generator(m->generator, out), b->tgt_y, PAD, 0.1);
}

/* ---- initial weights --------------------------------------------------------------------------------------------- */

START_TEST(initial_weights)
{
    TransformerOptions o = transformer_defaults();
    ck_assert(o.N == 6 && o.d_model == 512 && o.d_ff == 2048 && o.h == 8 && o.dropout == 0.1 && o.max_len == 5000);
    o.N = 1;
    o.d_model = 32;
    o.d_ff = 64;
    o.max_len = 10;
    Transformer *m = transformer_new(50, 40, o);
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++) {
        Tensor *t = p->item[i].tensor;
        const char *name = p->item[i].name;
        double n = (double)tensor_numel(t), square = 0, most = largest(t);
        for (int64_t k = 0; k < tensor_numel(t); k++) square += (double)tensor_data(t)[k] * (double)tensor_data(t)[k];
        if (!p->item[i].trained) {
            ck_assert(strstr(name, ".pe"));
        } else if (tensor_ndim(t) == 2) {
            double bound = sqrt(6.0 / (double)(tensor_dim(t, 0) + tensor_dim(t, 1)));
            ck_assert_msg(most <= bound && most > 0.98 * bound, "%s: %g, bound %g", name, most, bound);
            ck_assert_msg(fabs(sqrt(square / n) * sqrt(3) / bound - 1) < 3 / sqrt(n), "%s: deviation", name);
        } else if (strstr(name, "norm.a_2")) {
            ck_assert(square == n && most == 1);
        } else if (strstr(name, "norm.b_2")) {
            ck_assert(most == 0);
        } else {
            double bound = 1 / sqrt(strstr(name, "w_2") ? 64 : 32);         /* a bias keeps the initialization of Linear */
            ck_assert_msg(most <= bound && most > 0.8 * bound, "%s: %g, bound %g", name, most, bound);
        }
    }
    ag_free(p);
    ag_free(m);
}
END_TEST

/* ---- options ----------------------------------------------------------------------------------------------------- */

START_TEST(the_norm_comes_before_or_after_the_sublayer)
{
    for (int i = 0; i < 2; i++) {
        TransformerOptions o = tiny();
        o.norm_place = i == 0 ? NN_PRE_NORM : NN_POST_NORM;
        o.activation = i == 0 ? AG_RELU : AG_GELU;
        Transformer *m = transformer_new(V, V, o);
        ck_assert((nn_find(m, "encoder.norm.a_2") == NULL) == (i == 1));
        ck_assert((nn_find(m, "decoder.norm.b_2") == NULL) == (i == 1));
        TransformerEncoderLayer *l = nn_item(TransformerEncoderLayer, m->encoder->layers, 0);
        LayerNorm *norm[2];
        for (int k = 0; k < 2; k++) norm[k] = nn_item(SublayerConnection, l->sublayer, k)->norm;
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *x = tensor_normal(SHAPE(2, 3, D), 0, 1), *y = transformer_encoder_layer(l, x, NULL), *h;
        if (i == 0) {
            h = nn_layer_norm(norm[0], x);
            x = ag_add(x, nn_multi_head_attention(l->self_attn, h, h, h, NULL));
            x = ag_add(x, nn_positionwise_feed_forward(l->feed_forward, nn_layer_norm(norm[1], x)));
        } else {
            x = nn_layer_norm(norm[0], ag_add(x, nn_multi_head_attention(l->self_attn, x, x, x, NULL)));
            x = nn_layer_norm(norm[1], ag_add(x, nn_positionwise_feed_forward(l->feed_forward, x)));
        }
        check_close("layer", y, x, 1e-6);
        ag_end(s);
        ag_free(m);
    }
}
END_TEST

START_TEST(positions_can_be_learned)
{
    TransformerOptions o = tiny();
    Transformer *fixed = transformer_new(V, V, o);
    o.learned_positions = true;
    Transformer *m = transformer_new(V, V, o);
    ck_assert_int_eq(nn_count(m), nn_count(fixed) + 2 * 10 * D);
    Tensor *pe = nn_item(PositionalEncoding, m->tgt_embed, 1)->pe;
    AgScope s = ag_begin(AG_RECORD);
    TransformerBatch b = some_batch();
    ag_backward(loss_of(m, &b));
    const ag_real *g = tensor_grad_data(pe);
    for (int i = 0; i < 10 * D; i++) ck_assert((g[i] != 0) == (i / D < 3));
    expect_done(nn_save(in_folder("w"), m));
    expect_done(nn_load(in_folder("w"), fixed));
    check_close("pe", nn_item(PositionalEncoding, fixed->tgt_embed, 1)->pe, pe, 0);
    ag_end(s);
    ag_free(m);
    ag_free(fixed);
}
END_TEST

START_TEST(embeddings_can_be_shared)
{
    TransformerOptions o = tiny();
    Transformer *apart = transformer_new(V, V, o);
    o.share_embeddings = true;
    Transformer *m = transformer_new(V, V, o);
    ck_assert_int_eq(nn_count(m), nn_count(apart) - 2 * V * D);
    Tensor *table = nn_item(TransformerEmbeddings, m->src_embed, 0)->lut->weight;
    ck_assert(nn_item(TransformerEmbeddings, m->tgt_embed, 0)->lut->weight == table && m->generator->proj->weight == table);

    /* Its gradient is the sum of the gradients of three tables with the same values. */
    NnParameters *p = nn_parameters(apart);
    for (int i = 0; i < p->n; i++) {
        Tensor *from = nn_find(m, p->item[i].name);
        tensor_copy(p->item[i].tensor, from ? from : table);
    }
    ag_free(p);
    AgScope s = ag_begin(AG_RECORD);
    TransformerBatch b = some_batch();
    Tensor *loss = loss_of(m, &b), *expected = loss_of(apart, &b);
    ck_assert_double_eq(tensor_item(loss), tensor_item(expected));
    ag_backward(loss);
    ag_backward(expected);
    Tensor *one = tensor_grad(nn_find(apart, "src_embed.0.lut.weight"));
    Tensor *two = tensor_grad(nn_find(apart, "tgt_embed.0.lut.weight"));
    Tensor *three = tensor_grad(nn_find(apart, "generator.proj.weight"));
    check_close("gradient", tensor_grad(table), ag_add(ag_add(one, two), three), 1e-5);

    /* A step changes it once; a file has it once. */
    Optimizer *optimizer = nn_sgd_new(m, 0.5);
    Tensor *stepped = ag_sub(table, ag_scale(tensor_grad(table), 0.5));
    nn_optimizer_set_lr(optimizer, 0.5);
    nn_optimizer_step(optimizer);
    check_close("stepped", table, stepped, 1e-6);
    expect_done(nn_save(in_folder("w"), m));
    NnTensorFile *st = st_open(in_folder("w"));
    ck_assert(st_find(st, "src_embed.0.lut.weight"));
    ck_assert(!st_find(st, "tgt_embed.0.lut.weight") && !st_find(st, "generator.proj.weight"));
    ag_free(st);
    Transformer *again = transformer_new(V, V, o);
    expect_done(nn_load(in_folder("w"), again));
    check_close("table", again->generator->proj->weight, table, 0);
    EXPECT_USAGE_ERROR("transformer_new: share_embeddings needs equal vocabularies, these have 9 and 8 words",
                       transformer_new(V, 8, o));
    ag_free(optimizer);
    ag_end(s);
    ag_free(again);
    ag_free(m);
    ag_free(apart);
}
END_TEST

START_TEST(weights_of_all_heads_can_be_kept)
{
    Transformer *m = transformer_new(V, V, tiny());
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = some_batch();
    Tensor *y = transformer_forward(m, b.src, b.tgt, b.src_mask, b.tgt_mask);
    transformer_keep_weights(m, true);
    check_close("y", transformer_forward(m, b.src, b.tgt, b.src_mask, b.tgt_mask), y, 1e-5);
    for (int i = 0; i < 2; i++) {
        TransformerDecoderLayer *l = nn_item(TransformerDecoderLayer, m->decoder->layers, i);
        TransformerEncoderLayer *e = nn_item(TransformerEncoderLayer, m->encoder->layers, i);
        ck_assert(ag_shape_equal(tensor_shape(e->self_attn->weights), SHAPE(3, 2, 4, 4)));
        ck_assert(ag_shape_equal(tensor_shape(l->self_attn->weights), SHAPE(3, 2, 3, 3)));
        ck_assert(ag_shape_equal(tensor_shape(l->src_attn->weights), SHAPE(3, 2, 3, 4)));
        ck_assert(tensor_data(l->src_attn->weights)[24 + 2] == 0 && tensor_data(l->src_attn->weights)[24 + 1] > 0);
    }
    ag_end(s);
    ag_free(m);
}
END_TEST

START_TEST(dropout_acts_only_in_training)
{
    TransformerOptions o = tiny();
    o.dropout = 0.3;
    Transformer *m = transformer_new(V, V, o);
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = some_batch();
    ck_assert(tensor_item(loss_of(m, &b)) != tensor_item(loss_of(m, &b)));
    nn_eval(m);
    ck_assert(tensor_item(loss_of(m, &b)) == tensor_item(loss_of(m, &b)));
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- the encoder alone ------------------------------------------------------------------------------------------- */

/* It learns to predict hidden tokens of sentences whose tokens are all the same. */
START_TEST(the_encoder_alone_predicts_hidden_tokens)
{
    enum { HIDDEN = 1, S = 5 };
    TransformerOptions o = tiny();
    o.share_embeddings = _i == 1;
    TransformerEncoderOnly *m = transformer_encoder_only_new(V, o);
    ck_assert((m->generator->proj->weight == nn_item(TransformerEmbeddings, m->embed, 0)->lut->weight) == (_i == 1));
    ck_assert_ptr_null(nn_find(m, "decoder.norm.a_2"));
    Optimizer *optimizer = nn_adam_new(m, 0.01);
    double first = 0, last = 0;
    for (int step = 0; step < 150; step++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *ids = tensor_ints(SHAPE(8, S), NULL), *target = tensor_ints(SHAPE(8, S), NULL);
        for (int i = 0; i < 8 * S; i++) {
            bool hidden = i % S == (int)ag_random_below(S);
            int32_t word = 3 + (i / S + step) % 6;
            tensor_mutable_int_data(ids)[i] = hidden ? HIDDEN : word;
            tensor_mutable_int_data(target)[i] = hidden ? word : PAD;
        }
        Tensor *p = transformer_encoder_only(m, ids, nn_padding_mask(ids, PAD));
        ck_assert(ag_shape_equal(tensor_shape(p), SHAPE(8, S, V)));
        Tensor *loss = ag_nll_loss(p, target, AG_MEAN, PAD);
        if (step == 0) first = tensor_item(loss);
        last = tensor_item(loss);
        ag_backward(loss);
        nn_optimizer_set_lr(optimizer, 0.01);
        nn_optimizer_step(optimizer);
        ag_end(s);
    }
    ck_assert_msg(last < 0.1 * first, "%g at first, %g at last", first, last);

    AgScope s = ag_begin(AG_NO_GRAD);                       /* padding has no effect */
    Tensor *ids = tensor_ints(SHAPE(1, S), (int32_t[]){ 4, HIDDEN, 4, PAD, PAD });
    Tensor *p = transformer_encoder_only(m, ids, nn_padding_mask(ids, PAD)), *brief = ag_slice(ids, 1, 0, 3);
    check_close("log-probabilities", ag_slice(p, 1, 0, 3), transformer_encoder_only(m, brief, NULL), 1e-5);
    ck_assert_int_eq(tensor_int_data(ag_argmax(p, -1, false))[1], 4);
    ag_end(s);
    ag_free(optimizer);
    ag_free(m);
}
END_TEST

/* ---- usage errors, failing allocations --------------------------------------------------------------------------- */

START_TEST(usage_errors_are_reported)
{
    TransformerOptions bad = tiny();
    bad.h = 3;
    EXPECT_USAGE_ERROR("transformer_new: a d_model of 8 does not divide into 3 heads (at tests/test_variants.c",
                       transformer_new(V, V, bad));
    bad.h = 0;
    EXPECT_USAGE_ERROR("transformer_encoder_only_new: transformer.h is 0, expected a whole number from 1 to",
                       transformer_encoder_only_new(V, bad));
    bad = tiny();
    bad.N = 0;
    EXPECT_USAGE_ERROR("transformer_new: transformer.N is 0, expected a whole number from 1 to 100000",
                       transformer_new(V, V, bad));
    EXPECT_USAGE_ERROR("transformer_encoder_only_new: vocabulary 0", transformer_encoder_only_new(0, tiny()));
    bad = tiny();
    bad.dropout = 1;
    EXPECT_USAGE_ERROR("transformer_new: transformer.dropout is 1, expected a number from 0 to below 1",
                       transformer_new(V, V, bad));
    bad.dropout = NAN;
    EXPECT_USAGE_ERROR("transformer_new: transformer.dropout is nan", transformer_new(V, V, bad));

    Transformer *m = transformer_new(V, V, tiny());
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = some_batch();
    Tensor *high = tensor_ints(SHAPE(1, 2), (int32_t[]){ 3, V }), *low = tensor_ints(SHAPE(1, 2), (int32_t[]){ -1, 3 });
    Tensor *longer = tensor_ints(SHAPE(1, 11), NULL), *flat = tensor_ints(SHAPE(4), NULL);
    EXPECT_USAGE_ERROR("embedding: id 9", transformer_encode(m, high, NULL));
    EXPECT_USAGE_ERROR("in transformer_encode called at tests/test_variants.c", transformer_encode(m, high, NULL));
    EXPECT_USAGE_ERROR("embedding: id -1", transformer_encode(m, low, NULL));
    EXPECT_USAGE_ERROR("x (1, 11, 8) from position 0 on: the table has 10 positions", transformer_encode(m, longer, NULL));
    EXPECT_USAGE_ERROR("x (4, 8), expected (B,T,8)", transformer_encode(m, flat, NULL));
    EXPECT_USAGE_ERROR("in transformer_forward called at tests/test_variants.c",
                       transformer_forward(m, high, b.tgt, NULL, NULL));
    EXPECT_USAGE_ERROR("(3, 1, 1, 4)", transformer_forward(m, b.src, b.tgt, b.src_mask, b.src_mask));
    EXPECT_USAGE_ERROR("(3, 1, 3, 3)", transformer_forward(m, b.src, b.tgt, b.tgt_mask, b.tgt_mask));
    EXPECT_USAGE_ERROR("attention", transformer_forward(m, ag_slice(b.src, 0, 0, 2), b.tgt, NULL, b.tgt_mask));
    EXPECT_USAGE_ERROR("attention: mask", transformer_forward(m, b.src, b.tgt, b.src, b.tgt_mask));
    ag_end(s);
    ag_free(m);
}
END_TEST

static bool give_batch(void *left, TransformerBatch *batch)
{
    *batch = some_batch();
    return (*(int *)left)-- > 0;
}

static bool all_done;

static void train_and_decode(void)
{
    all_done = false;
    TransformerOptions o = tiny();
    o.N = 1;
    o.share_embeddings = true;
    Transformer *m = transformer_new(V, V, o);
    KaeruEpochOptions options = { .criterion = { PAD, 0.1 }, .optimizer = nn_adam_new(m, 1), .factor = 1, .model_size = D,
                             .warmup = 4 };
    KaeruTrainState state = { 0 };
    int left = 1;
    transformer_run_epoch(m, give_batch, &left, &options, &state);
    AgScope s = ag_begin(AG_NO_GRAD);
    TransformerBatch b = some_batch();
    transformer_greedy_decode(m, b.src, b.src_mask, 3, 0, -1);
    transformer_beam_search(m, ag_slice(b.src, 0, 0, 1), NULL, (KaeruBeamOptions){ 2, 3, 0, 1, 0.6 }, NULL);
    ag_end(s);
    ag_free(options.optimizer);
    ag_free(m);
    all_done = state.step == 1;
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(train_and_decode, true);
    if (faults_work()) ck_assert(requests > 100 && all_done);
}
END_TEST

Suite *variants_suite(void)
{
    Suite *suite = suite_create("variants");
    TCase *variants = tcase_create("variants");
    tcase_add_checked_fixture(variants, folder_make, folder_remove);
    tcase_add_test(variants, initial_weights);
    tcase_add_test(variants, the_norm_comes_before_or_after_the_sublayer);
    tcase_add_test(variants, positions_can_be_learned);
    tcase_add_test(variants, embeddings_can_be_shared);
    tcase_add_test(variants, weights_of_all_heads_can_be_kept);
    tcase_add_test(variants, dropout_acts_only_in_training);
    tcase_add_loop_test(variants, the_encoder_alone_predicts_hidden_tokens, 0, 2);
    tcase_add_test(variants, usage_errors_are_reported);
    tcase_add_test(variants, failing_allocations_leak_nothing);
    suite_add_tcase(suite, variants);
    return suite;
}
