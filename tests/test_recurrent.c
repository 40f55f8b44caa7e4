/* test_recurrent.c: GRU and LSTM against PyTorch's (fixtures/make_recurrent.py), their steps, masks and gradients. */
#include <math.h>
#include <stdio.h>

#include "expected.h"
#include "faults.h"
#include "kaeru/attention.h"
#include "kaeru/recurrent.h"
#include "suites.h"
#include "usage_error.h"

enum { B = 3, T = 5, IN = 4, H = 6 };

static const char *name_of(RecurrentKind kind)
{
    return kind == NN_LSTM ? "lstm" : "gru";
}

/* ---- the same as PyTorch ----------------------------------------------------------------------------------------- */

static Tensor *of(const NnTensorFile *st, const char *owner, const char *part)
{
    char name[80];
    snprintf(name, sizeof name, "%s/%s", owner, part);
    return reals_of(st, name);
}

static Recurrent *opened(const NnTensorFile *st, RecurrentKind kind)
{
    Recurrent *r = nn_recurrent_new(kind, IN, H);
    AgScope s = ag_begin(AG_NO_GRAD);
    NnParameters *p = nn_parameters(r);
    ck_assert_int_eq(p->n, 4);
    for (int i = 0; i < p->n; i++) tensor_copy(p->item[i].tensor, of(st, name_of(kind), p->item[i].name));
    ag_free(p);
    ag_end(s);
    return r;
}

/* (B,1,T): row b has length[b] steps, then padding. */
static Tensor *mask_of_lengths(Tensor *length)
{
    Tensor *mask = tensor_bools(SHAPE(B, 1, T), NULL);
    for (int i = 0; i < B * T; i++) tensor_mutable_bool_data(mask)[i] = i % T < tensor_int_data(length)[i / T];
    return mask;
}

static void check_grad(const char *owner, const char *part, Tensor *t, const NnTensorFile *st)
{
    char name[80];
    snprintf(name, sizeof name, "%s/grad/%s", owner, part);
    Tensor *expected = reals_of(st, name);
    ck_assert_msg(tensor_grad_data(t) != NULL, "no %s", name);
    check_close(name, tensor_grad(t), expected, 1e-5 * fmax(1, largest(expected)));
}

/* _i: GRU, LSTM, and both with rows of different lengths. */
START_TEST(results_and_gradients_agree)
{
    RecurrentKind kind = _i % 2 ? NN_LSTM : NN_GRU;
    char name[20];
    snprintf(name, sizeof name, "%s%s", name_of(kind), _i / 2 ? "_packed" : "");
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/recurrent.safetensors");
    Recurrent *r = opened(st, kind);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(reals_of(st, "x"), true), *h = tensor_set_requires_grad(reals_of(st, "h"), true);
    Tensor *c = kind == NN_LSTM ? tensor_set_requires_grad(reals_of(st, "c"), true) : NULL;
    Tensor *mask = _i / 2 ? mask_of_lengths(ids_of(st, "length")) : NULL;
    RecurrentState state = { h, c };
    Tensor *y = nn_recurrent(r, x, mask, &state);
    /* PyTorch gives zeros after a row's last step; the weights of the sum below are zero there, too. */
    Tensor *counted = mask ? ag_where(ag_reshape(mask, SHAPE(B, T, 1)), y, tensor_zeros(SHAPE(B, T, H))) : y;
    check_close("y", counted, of(st, name, "y"), 1e-6);
    check_close("last h", state.h, of(st, name, "hn"), 1e-6);
    Tensor *sum = ag_add(ag_sum(ag_mul(y, of(st, name_of(kind), "dy"))),
                         ag_sum(ag_mul(state.h, of(st, name_of(kind), "dh"))));
    if (c) check_close("last c", state.c, of(st, name, "cn"), 1e-6);
    if (c) sum = ag_add(sum, ag_sum(ag_mul(state.c, of(st, name_of(kind), "dc"))));
    ag_backward(sum);
    NnParameters *p = nn_parameters(r);
    for (int i = 0; i < p->n; i++) check_grad(name, p->item[i].name, p->item[i].tensor, st);
    ag_free(p);
    check_grad(name, "x", x, st);
    check_grad(name, "h", h, st);
    if (c) check_grad(name, "c", c, st);
    ag_end(s);
    ag_free(r);
    ag_free(st);
}
END_TEST

START_TEST(two_layers_in_both_directions_agree)
{
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/recurrent.safetensors");
    Recurrent *r = nn_recurrent_new_with(NN_LSTM, IN, H, 2, true, 0);
    AgScope s = ag_begin(AG_RECORD);
    NnParameters *p = nn_parameters(r);
    ck_assert_int_eq(p->n, 16);
    for (int i = 0; i < p->n; i++) tensor_copy(p->item[i].tensor, of(st, "deep", p->item[i].name));
    Tensor *x = tensor_set_requires_grad(reals_of(st, "x"), true);
    Tensor *h = tensor_set_requires_grad(of(st, "deep", "h"), true), *c = tensor_set_requires_grad(of(st, "deep", "c"), true);
    Tensor *mask = mask_of_lengths(ids_of(st, "length"));
    RecurrentState state = { h, c };
    Tensor *y = nn_recurrent(r, x, mask, &state);
    check_close("y", ag_where(ag_reshape(mask, SHAPE(B, T, 1)), y, tensor_zeros(AG_SCALAR)), of(st, "deep", "y"), 1e-6);
    check_close("last h", state.h, of(st, "deep", "hn"), 1e-6);
    check_close("last c", state.c, of(st, "deep", "cn"), 1e-6);
    Tensor *sum = ag_add(ag_sum(ag_mul(y, of(st, "deep", "dy"))), ag_sum(ag_mul(state.h, of(st, "deep", "dh"))));
    ag_backward(ag_add(sum, ag_sum(ag_mul(state.c, of(st, "deep", "dc")))));
    for (int i = 0; i < p->n; i++) check_grad("deep", p->item[i].name, p->item[i].tensor, st);
    check_grad("deep", "x", x, st);
    check_grad("deep", "h", h, st);
    check_grad("deep", "c", c, st);
    ag_end(s);
    ag_free(p);
    ag_free(r);
    ag_free(st);
}
END_TEST

/* ---- steps, masks, states ---------------------------------------------------------------------------------------- */

START_TEST(a_layer_equals_its_steps)
{
    Recurrent *r = nn_recurrent_new((RecurrentKind)_i, IN, H);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(B, T, IN), 0, 1);
    RecurrentState whole = { 0 }, stepwise = { 0 };
    Tensor *y = nn_recurrent(r, x, NULL, &whole);
    for (int t = 0; t < T; t++) {
        Tensor *h = nn_recurrent_step(r, ag_squeeze(ag_slice(x, 1, t, t + 1), 1), &stepwise);
        ck_assert_ptr_eq(h, stepwise.h);
        check_close("h", h, ag_squeeze(ag_slice(y, 1, t, t + 1), 1), 1e-6);
    }
    check_close("last h", whole.h, stepwise.h, 1e-6);
    ck_assert((whole.c != NULL) == (_i == NN_LSTM) && (stepwise.c != NULL) == (_i == NN_LSTM));
    check_close("without a state", nn_recurrent(r, x, NULL, NULL), y, 0);
    /* In two parts: the second starts with the state of the first. */
    RecurrentState parts = { 0 };
    Tensor *halves[2];
    halves[0] = nn_recurrent(r, ag_slice(x, 1, 0, 2), NULL, &parts);
    halves[1] = nn_recurrent(r, ag_slice(x, 1, 2, T), NULL, &parts);
    check_close("two parts", ag_concat(halves, 2, 1), y, 1e-6);
    ag_end(s);
    ag_free(r);
}
END_TEST

/* Two layers, step by step; the state is kept from scope to scope. */
START_TEST(a_kept_state_continues)
{
    Recurrent *r = nn_recurrent_new_with((RecurrentKind)_i, IN, H, 2, false, 0);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(B, T, IN), 0, 1), *y = nn_recurrent(r, x, NULL, NULL);
    RecurrentState kept = { 0 };
    for (int t = 0; t < T; t++) {
        AgScope step = ag_begin(AG_RECORD);
        RecurrentState state = kept;
        Tensor *h = nn_recurrent_step(r, ag_squeeze(ag_slice(x, 1, t, t + 1), 1), &state);
        check_close("h", h, ag_squeeze(ag_slice(y, 1, t, t + 1), 1), 1e-6);
        nn_recurrent_keep(&kept, &state);
        ag_backward(ag_sum(h));
        ag_end(step);
        ck_assert(!tensor_requires_grad(kept.h) && (kept.c != NULL) == (_i == NN_LSTM));
    }
    nn_recurrent_keep(&kept, NULL);
    ck_assert(!kept.h && !kept.c);
    EXPECT_USAGE_ERROR("in both directions", Recurrent *both = nn_recurrent_new_with(NN_GRU, IN, H, 1, true, 0);
                       RecurrentState zeros = { 0 };
                       nn_recurrent_step(both, ag_squeeze(ag_slice(x, 1, 0, 1), 1), &zeros));
    EXPECT_USAGE_ERROR("0 layers, expected 1 to 16", nn_recurrent_new_with(NN_GRU, IN, H, 0, false, 0));
    EXPECT_USAGE_ERROR("9 layers, expected 1 to 8", nn_recurrent_new_with(NN_GRU, IN, H, 9, true, 0));
    ag_end(s);
    ag_free(r);
}
END_TEST

/* A state that was kept is read by the graph after nn_recurrent_keep has freed it: one pass, all steps or one. */
START_TEST(a_kept_state_may_be_freed_before_backward)
{
    RecurrentKind kind = _i % 2 ? NN_LSTM : NN_GRU;
    Recurrent *r = nn_recurrent_new(kind, IN, H);
    RecurrentState kept = { 0 };
    ag_real first = 0;
    for (int i = 0; i < 3; i++) {
        AgScope s = ag_begin(AG_RECORD);
        RecurrentState state = kept;
        Tensor *x = tensor_ones(SHAPE(2, 1, IN));
        Tensor *y = _i < 2 ? nn_recurrent(r, x, NULL, &state) : nn_recurrent_step(r, ag_squeeze(x, 1), &state);
        nn_recurrent_keep(&kept, &state);
        ag_backward(ag_sum(y));
        if (i == 0) first = tensor_grad_data(r->pass[0].bias_ih)[0];
        ag_end(s);
        ck_assert(tensor_data(kept.h)[0] != 0);
    }
    ck_assert(tensor_grad_data(r->pass[0].bias_ih)[0] != 3 * first);            /* the state has an effect */
    nn_recurrent_keep(&kept, NULL);
    ag_free(r);
}
END_TEST

/* Padding has no effect: a row gives the same result alone, its state stays the same after its end, and the values in the
 * padding, even NaN, do not matter. */
START_TEST(padding_has_no_effect)
{
    Recurrent *r = nn_recurrent_new((RecurrentKind)_i, IN, H);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(2, T, IN), 0, 1);
    Tensor *ids = tensor_ints(SHAPE(2, T), (int32_t[]){ 7, 7, 7, 7, 7, 7, 7, 0, 0, 0 });
    for (int i = (T + 2) * IN; i < 2 * T * IN; i++) tensor_mutable_data(x)[i] = (ag_real)NAN;
    RecurrentState both = { 0 }, alone = { 0 };
    Tensor *y = nn_recurrent(r, x, nn_padding_mask(ids, 0), &both);
    Tensor *second = ag_slice(y, 0, 1, 2);
    nn_recurrent(r, ag_slice(ag_slice(x, 0, 1, 2), 1, 0, 2), NULL, &alone);
    check_close("last h", ag_slice(both.h, 0, 1, 2), alone.h, 1e-6);
    if (alone.c) check_close("last c", ag_slice(both.c, 0, 1, 2), alone.c, 1e-6);
    for (int t = 1; t < T; t++) check_close("y", ag_squeeze(ag_slice(second, 1, t, t + 1), 1), alone.h, 1e-6);
    check_close("the other row's y", ag_slice(y, 0, 0, 1), nn_recurrent(r, ag_slice(x, 0, 0, 1), NULL, NULL), 1e-6);
    ag_end(s);
    ag_free(r);
}
END_TEST

/* Uniform in +-1/sqrt(H): the largest value is near the bound, and the standard deviation fits. */
START_TEST(initial_values)
{
    enum { WIDE = 64 };
    Recurrent *r = nn_recurrent_new((RecurrentKind)_i, 32, WIDE);
    NnParameters *p = nn_parameters(r);
    static const char *const names[] = { "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0" };
    int64_t rows = (_i == NN_LSTM ? 4 : 3) * WIDE;
    const AgShape shapes[] = { SHAPE(rows, 32), SHAPE(rows, WIDE), SHAPE(rows), SHAPE(rows) };
    ck_assert_int_eq(p->n, 4);
    for (int i = 0; i < p->n; i++) {
        ck_assert_str_eq(p->item[i].name, names[i]);
        ck_assert(ag_shape_equal(tensor_shape(p->item[i].tensor), shapes[i]));
        const ag_real *w = tensor_data(p->item[i].tensor);
        double n = (double)tensor_numel(p->item[i].tensor), squares = 0;
        for (int64_t k = 0; k < tensor_numel(p->item[i].tensor); k++) squares += (double)w[k] * (double)w[k];
        double most = largest(p->item[i].tensor), bound = 0.125;
        ck_assert(most <= bound && most > 0.95 * bound);
        ck_assert_double_eq_tol(sqrt(squares / n), bound / sqrt(3), 0.12 * bound);
    }
    ag_free(p);
    ck_assert_str_eq(r->module.type, _i == NN_LSTM ? "LSTM" : "GRU");
    ag_free(r);
}
END_TEST

/* In training, what a layer gives to the next is dropped once, as in PyTorch, and nothing else. 16 passes are the most. */
START_TEST(dropout_is_between_layers)
{
    RecurrentKind kind = _i % 2 ? NN_LSTM : NN_GRU;
    int directions = 1 + _i / 2;
    const int layers[] = { 1, 2, 16 / directions };
    for (int i = 0; i < 3; i++) {
        Recurrent *r = nn_recurrent_new_with(kind, IN, H, layers[i], directions == 2, 0.5);
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *x = tensor_normal(SHAPE(B, T, IN), 0, 1);
        uint64_t start = ag_random_state().counter;
        Tensor *y = nn_recurrent(r, x, NULL, NULL);
        uint64_t used = ag_random_state().counter - start;
        for (int k = 1; k < layers[i]; k++) ag_dropout(y, 0.5);
        ck_assert_uint_eq(ag_random_state().counter - start, 2 * used);
        ck_assert((used == 0) == (layers[i] == 1));
        nn_eval(r);
        ck_assert((largest(ag_sub(nn_recurrent(r, x, NULL, NULL), y)) > 0) == (layers[i] > 1));
        ag_end(s);
        ag_free(r);
    }
}
END_TEST

/* ---- gradients --------------------------------------------------------------------------------------------------- */

typedef struct { Recurrent *r; Tensor *mask; } Layer;

/* All h and the last state as one tensor. */
static Tensor *everything(Tensor **in, void *arg)
{
    Layer *l = arg;
    RecurrentState state = { in[1], l->r->kind == NN_LSTM ? in[2] : NULL };
    Tensor *y = nn_recurrent(l->r, in[0], l->mask, &state);
    Tensor *parts[] = { ag_reshape(y, SHAPE(-1)), ag_reshape(state.h, SHAPE(-1)),
                        ag_reshape(state.c ? state.c : state.h, SHAPE(-1)) };
    return ag_concat(parts, 3, 0);
}

START_TEST(gradients_are_right)
{
    RecurrentKind kind = _i % 2 ? NN_LSTM : NN_GRU;
    Layer l = { .r = nn_recurrent_new(kind, 3, 2) };
    AgScope s = ag_begin(AG_RECORD);
    if (_i / 2) l.mask = tensor_bools(SHAPE(2, 1, 4), (uint8_t[]){ 1, 1, 0, 0, 1, 0, 1, 1 });
    Tensor *in[7];
    int n = 0;
    in[n++] = tensor_normal(SHAPE(2, 4, 3), 0, 1);
    in[n++] = tensor_normal(SHAPE(2, 2), 0, 1);
    if (kind == NN_LSTM) in[n++] = tensor_normal(SHAPE(2, 2), 0, 1);
    for (int i = 0; i < n; i++) tensor_set_requires_grad(in[i], true);
    NnParameters *p = nn_parameters(l.r);
    for (int i = 0; i < p->n; i++) in[n++] = p->item[i].tensor;
    ck_assert(ag_gradcheck(everything, &l, in, n, stderr));
    ag_free(p);
    ag_end(s);
    ag_free(l.r);
}
END_TEST

/* ---- usage errors, failing allocations --------------------------------------------------------------------------- */

START_TEST(usage_errors_are_reported)
{
    EXPECT_USAGE_ERROR("nn_recurrent_new_with: sizes 0 -> 5, expected 1 to 2^31 - 1", nn_gru_new(0, 5));
    EXPECT_USAGE_ERROR("nn_recurrent_new_with: sizes 5 -> -1", nn_lstm_new(5, -1));
    EXPECT_USAGE_ERROR("tests/test_recurrent.c", nn_lstm_new(5, 0));
    Recurrent *gru = nn_gru_new(IN, H), *lstm = nn_lstm_new(IN, H);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(B, T, IN)), *wide = tensor_zeros(SHAPE(B, T, IN + 1));
    Tensor *none = tensor_zeros(SHAPE(B, 0, IN)), *one = tensor_zeros(SHAPE(B, IN));
    Tensor *ids = tensor_ints(SHAPE(B, T), NULL), *mask = tensor_bools(SHAPE(B, T), NULL);
    RecurrentState state = { .h = tensor_zeros(SHAPE(B, IN)) }, cell = { .c = tensor_zeros(SHAPE(B, H)) };
    RecurrentState wrong = { .c = tensor_zeros(SHAPE(B + 1, H)) }, fine = { NULL, NULL };
    EXPECT_USAGE_ERROR("nn_recurrent: x is (3, 4), expected (B,T,in) with 4 for in", nn_recurrent(gru, one, NULL, NULL));
    EXPECT_USAGE_ERROR("nn_recurrent: x is (3, 5, 5), expected (B,T,in) with 4 for in",
                       nn_recurrent(lstm, wide, NULL, NULL));
    EXPECT_USAGE_ERROR("nn_recurrent: x is (3, 0, 4), expected one step or more", nn_recurrent(gru, none, NULL, NULL));
    EXPECT_USAGE_ERROR("nn_recurrent: the mask is (3, 5), expected (3, 1, 5)", nn_recurrent(gru, x, mask, NULL));
    EXPECT_USAGE_ERROR("nn_recurrent: the state's h is (3, 4), expected (B,H), here (3, 6)",
                       nn_recurrent(gru, x, NULL, &state));
    EXPECT_USAGE_ERROR("nn_recurrent: the state's c is (4, 6), expected (B,H), here (3, 6)",
                       nn_recurrent(lstm, x, NULL, &wrong));
    EXPECT_USAGE_ERROR("nn_recurrent: the state has a c, which only an LSTM has", nn_recurrent(gru, x, NULL, &cell));
    EXPECT_USAGE_ERROR("nn_recurrent_step: x is (3, 5, 4), expected (B,in) with 4 for in", nn_recurrent_step(gru, x, &fine));
    EXPECT_USAGE_ERROR("nn_recurrent_step: the state's h is (3, 4)", nn_recurrent_step(gru, one, &state));
    EXPECT_USAGE_ERROR("nn_recurrent_step: the state is NULL", nn_recurrent_step(gru, one, NULL));
    EXPECT_USAGE_ERROR("(at tests/test_recurrent.c", nn_recurrent(gru, ids, NULL, NULL));
    EXPECT_USAGE_ERROR("linear: x is AG_INT", nn_recurrent(gru, tensor_ints(SHAPE(B, T, IN), NULL), NULL, NULL));
    ck_assert_ptr_nonnull(strstr(usage_message, "in nn_recurrent called at tests/test_recurrent.c"));
    ag_end(s);
    ag_free(gru);
    ag_free(lstm);
}
END_TEST

static void build_and_run(void)
{
    Recurrent *r = nn_lstm_new(2, 3), *copy = nn_clone(r);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *mask = tensor_bools(SHAPE(2, 1, 3), (uint8_t[]){ 1, 1, 1, 1, 0, 0 });
    ag_backward(ag_sum(nn_recurrent(copy, tensor_ones(SHAPE(2, 3, 2)), mask, NULL)));
    ag_end(s);
    ag_free(r);
    ag_free(copy);
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(build_and_run, _i);
    if (faults_work()) ck_assert_int_gt(requests, 40);
}
END_TEST

/* A step that is hidden in every row changes no state. */
START_TEST(a_step_that_is_hidden_everywhere_has_no_effect)
{
    Recurrent *r = nn_recurrent_new((RecurrentKind)_i, IN, H);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(2, 3, IN), 0, 1);
    Tensor *mask = tensor_bools(SHAPE(2, 1, 3), (uint8_t[]){ 1, 0, 1, 1, 0, 1 });
    RecurrentState masked = { 0 }, by_hand = { 0 };
    Tensor *y = nn_recurrent(r, x, mask, &masked);
    Tensor *first = nn_recurrent_step(r, ag_squeeze(ag_slice(x, 1, 0, 1), 1), &by_hand);
    nn_recurrent_step(r, ag_squeeze(ag_slice(x, 1, 2, 3), 1), &by_hand);
    check_close("y of the hidden step", ag_squeeze(ag_slice(y, 1, 1, 2), 1), first, 1e-6);
    check_close("last h", masked.h, by_hand.h, 1e-6);
    if (masked.c) check_close("last c", masked.c, by_hand.c, 1e-6);
    ag_end(s);
    ag_free(r);
}
END_TEST

START_TEST(a_kept_state_does_not_pile_up)
{
    Recurrent *r = nn_recurrent_new(NN_LSTM, 2, 3);
    RecurrentState kept = { NULL, NULL };
    int64_t live = 0;
    for (int i = 0; i < 4; i++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        RecurrentState state = kept;
        nn_recurrent_step(r, tensor_ones(SHAPE(1, 2)), &state);
        nn_recurrent_keep(&kept, &state);
        ag_end(s);
        if (i == 1) live = (int64_t)ag_memory().in_use;
    }
    ck_assert_int_eq((int64_t)ag_memory().in_use, live);
    nn_recurrent_keep(&kept, NULL);
    ag_free(r);
}
END_TEST

Suite *recurrent_suite(void)
{
    Suite *suite = suite_create("recurrent");
    TCase *torch = tcase_create("PyTorch");
    tcase_add_loop_test(torch, results_and_gradients_agree, 0, 4);
    tcase_add_test(torch, two_layers_in_both_directions_agree);
    suite_add_tcase(suite, torch);
    TCase *layers = tcase_create("layers");
    tcase_add_loop_test(layers, a_layer_equals_its_steps, 0, 2);
    tcase_add_loop_test(layers, padding_has_no_effect, 0, 2);
    tcase_add_loop_test(layers, a_kept_state_continues, 0, 2);
    tcase_add_loop_test(layers, a_kept_state_may_be_freed_before_backward, 0, 4);
    tcase_add_loop_test(layers, a_step_that_is_hidden_everywhere_has_no_effect, 0, 2);
    tcase_add_loop_test(layers, initial_values, 0, 2);
    tcase_add_loop_test(layers, dropout_is_between_layers, 0, 4);
    tcase_add_loop_test(layers, gradients_are_right, 0, 4);
    tcase_add_test(layers, a_kept_state_does_not_pile_up);
    suite_add_tcase(suite, layers);
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, usage_errors_are_reported);
    tcase_add_loop_test(errors, failing_allocations_leak_nothing, 0, 2);
    suite_add_tcase(suite, errors);
    return suite;
}
