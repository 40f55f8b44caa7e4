/* test_attention.c: attention as one fused operation and in steps, its score functions, masks, positional encodings, caches,
 * and sublayer connections. */
#include <math.h>
#include <stdio.h>

#include "expected.h"
#include "faults.h"
#include "kaeru/attention.h"
#include "suites.h"
#include "usage_error.h"

enum { B = 2, T = 5, S = 7, D = 12, H = 3 };

/* ---- the fused operation and the steps --------------------------------------------------------------------------- */

typedef enum { NO_MASK, PADDING, CAUSAL, ANY, ONE_HIDDEN_ROW, ONE_MATRIX, BY_HEAD, N_MASKS } MaskKind;

/* A mask for T queries and s keys. ANY hides about 40 % of the keys, ONE_HIDDEN_ROW all keys from query 2 of the second
 * sentence. */
static Tensor *mask_of(MaskKind kind, int64_t s)
{
    static const AgShape shapes[] = {
        [PADDING] = { 3, { B, 1, 0 } }, [ANY] = { 3, { B, T, 0 } }, [ONE_HIDDEN_ROW] = { 3, { B, T, 0 } },
        [ONE_MATRIX] = { 2, { T, 0 } }, [BY_HEAD] = { 4, { B, H, T, 0 } },
    };
    if (kind == NO_MASK) return NULL;
    if (kind == CAUSAL) return nn_causal_mask(s);
    AgShape shape = shapes[kind];
    shape.dim[shape.ndim - 1] = s;
    Tensor *mask = tensor_bools(shape, NULL);
    for (int64_t i = 0; i < tensor_numel(mask); i++)
        tensor_mutable_bool_data(mask)[i] = kind == ONE_HIDDEN_ROW ? i / s != T + 2 : ag_random_uniform() < 0.6;
    return mask;
}

static bool visible(Tensor *mask, int64_t b, int64_t h, int64_t t, int64_t j)
{
    if (!mask) return true;
    AgShape s = tensor_shape(mask);
    int64_t at[4] = { b, h, t, j }, i = 0;
    int map[3][4] = { { 2, 3 }, { 0, 2, 3 }, { 0, 1, 2, 3 } };
    for (int d = 0; d < s.ndim; d++) i = i * s.dim[d] + (s.dim[d] == 1 ? 0 : at[map[s.ndim - 2][d]]);
    return tensor_bool_data(mask)[i];
}

typedef struct { Tensor *y, *query, *key; } Result;

/* Attention of a query to a key (to itself if key is NULL) and its gradients; `keep`: the layer keeps its weights, so it
 * computes in steps. */
static Result attend(MultiHeadAttention *a, const Tensor *query, const Tensor *key, Tensor *mask, bool keep)
{
    Result r = { .query = tensor_set_requires_grad(tensor_from(tensor_shape(query), tensor_data(query)), true) };
    r.key = key ? tensor_set_requires_grad(tensor_from(tensor_shape(key), tensor_data(key)), true) : r.query;
    nn_zero_grad(a);
    a->keep_weights = keep;
    r.y = ag_retain(nn_multi_head_attention(a, r.query, r.key, r.key, mask));
    if (a->weights) ag_retain(a->weights);
    ag_backward(ag_sum(ag_mul(r.y, ag_tanh(r.y))));
    return r;
}

static void check_weights(Tensor *w, Tensor *mask)
{
    AgShape s = tensor_shape(w);
    ck_assert(s.ndim == 4 && s.dim[0] == B && s.dim[1] == H);
    const ag_real *p = tensor_data(w);
    for (int64_t i = 0; i < tensor_numel(w) / s.dim[3]; i++) {
        int64_t t = i % s.dim[2], h = i / s.dim[2] % H, b = i / s.dim[2] / H;
        double sum = 0;
        bool any = false;
        for (int64_t j = 0; j < s.dim[3]; j++, p++) {
            if (!visible(mask, b, h, t, j)) ck_assert(*p == 0);
            any |= visible(mask, b, h, t, j);
            sum += (double)*p;
        }
        ck_assert_double_eq_tol(sum, any, 1e-6);
    }
}

START_TEST(fused_attention_equals_the_steps)
{
    MaskKind kind = (MaskKind)(_i / 2);
    bool self = _i % 2 || kind == CAUSAL;
    MultiHeadAttention *a = nn_multi_head_attention_new(H, D, 0.3), *b = nn_clone(a);
    nn_eval(a);
    nn_eval(b);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *query = tensor_normal(SHAPE(B, T, D), 0, 1), *key = self ? NULL : tensor_normal(SHAPE(B, S, D), 0, 1);
    Tensor *mask = mask_of(kind, self ? T : S);
    Result fused = attend(a, query, key, mask, false), steps = attend(b, query, key, mask, true);
    check_close("y", fused.y, steps.y, 1e-5);
    check_close("gradient of the query", tensor_grad(fused.query), tensor_grad(steps.query), 1e-5);
    check_close("gradient of the key", tensor_grad(fused.key), tensor_grad(steps.key), 1e-5);
    NnParameters *p = nn_parameters(a), *q = nn_parameters(b);
    ck_assert_int_eq(p->n, 8);
    for (int i = 0; i < p->n; i++)
        check_close(p->item[i].name, tensor_grad(p->item[i].tensor), tensor_grad(q->item[i].tensor), 2e-5);
    ag_free(p);
    ag_free(q);
    check_weights(b->weights, mask);
    ag_end(s);
    ag_free(a);
    ag_free(b);
}
END_TEST

/* Attention gives zeros for a query whose keys are all masked, so the layer gives the bias of its last Linear. Its gradient
 * is 0, the others are finite. */
START_TEST(a_fully_masked_query_gives_zeros)
{
    for (int keep = 0; keep < 2; keep++) {
        MultiHeadAttention *a = nn_multi_head_attention_new(H, D, 0);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *query = tensor_normal(SHAPE(B, T, D), 0, 1), *key = tensor_normal(SHAPE(B, S, D), 0, 1);
        Result r = attend(a, query, key, mask_of(ONE_HIDDEN_ROW, S), keep);
        check_close("the row", ag_slice(ag_slice(r.y, 0, 1, 2), 1, 2, 3),
                    ag_reshape(nn_item(Linear, a->linears, 3)->bias, SHAPE(1, 1, D)), 0);
        const ag_real *dq = tensor_grad_data(r.query);
        for (int64_t i = 0; i < B * T * D; i++) ck_assert(i / D == T + 2 ? dq[i] == 0 : isfinite(dq[i]) && dq[i] != 0);
        Tensor *all_hidden = tensor_bools(SHAPE(1, T, S), NULL);
        r = attend(a, query, key, all_hidden, keep);
        ck_assert(largest(tensor_grad(r.query)) == 0 && largest(tensor_grad(r.key)) == 0);
        Tensor *y = nn_attention(query, query, query, tensor_bools(SHAPE(T, T), NULL), NULL, NULL);
        ck_assert(largest(y) == 0);
        ag_end(s);
        ag_free(a);
    }
}
END_TEST

START_TEST(attention_over_no_keys_gives_zeros)
{
    for (int keep = 0; keep < 2; keep++) {
        MultiHeadAttention *a = nn_multi_head_attention_new(H, D, 0);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *query = tensor_normal(SHAPE(B, T, D), 0, 1), *none = tensor_zeros(SHAPE(B, 0, D));
        Result r = attend(a, query, none, tensor_bools(SHAPE(B, 1, 0), NULL), keep);
        check_close("y", r.y, ag_expand(nn_item(Linear, a->linears, 3)->bias, SHAPE(B, T, D)), 0);
        ck_assert(largest(tensor_grad(r.query)) == 0);
        r = attend(a, none, query, NULL, keep);
        ck_assert_int_eq(tensor_numel(r.y), 0);
        ag_end(s);
        ag_free(a);
    }
}
END_TEST

START_TEST(a_causal_mask_hides_later_positions)
{
    for (int keep = 0; keep < 2; keep++) {
        MultiHeadAttention *a = nn_multi_head_attention_new(H, D, 0);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_normal(SHAPE(1, T, D), 0, 1);
        Result before = attend(a, x, NULL, nn_causal_mask(T), keep);
        for (int i = 3 * D; i < T * D; i++) tensor_mutable_data(x)[i] += 1;
        Result after = attend(a, x, NULL, nn_causal_mask(T), keep);
        ck_assert_mem_eq(tensor_data(before.y), tensor_data(after.y), 3 * D * sizeof(ag_real));
        ck_assert_mem_ne(tensor_data(before.y) + 3 * D, tensor_data(after.y) + 3 * D, D * sizeof(ag_real));
        ag_end(s);
        ag_free(a);
    }
}
END_TEST

START_TEST(dropout_acts_on_the_weights)
{
    MultiHeadAttention *a = nn_multi_head_attention_new(H, D, 0.25);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(B, 20, D), 0, 1);
    a->keep_weights = true;
    nn_eval(a);
    Tensor *y = nn_multi_head_attention(a, x, x, x, NULL), *w = a->weights;
    nn_train(a);
    nn_multi_head_attention(a, x, x, x, NULL);
    int64_t dropped = 0, n = tensor_numel(w);
    for (int64_t i = 0; i < n; i++) {
        double before = (double)tensor_data(w)[i], after = (double)tensor_data(a->weights)[i];
        dropped += after == 0;
        ck_assert(after == 0 || fabs(after - before / 0.75) <= 1e-6);
    }
    ck_assert(fabs((double)dropped / (double)n - 0.25) < 0.04);
    a->keep_weights = false;
    Tensor *one = nn_multi_head_attention(a, x, x, x, NULL), *two = nn_multi_head_attention(a, x, x, x, NULL);
    ck_assert_mem_ne(tensor_data(one), tensor_data(two), (size_t)tensor_numel(one) * sizeof(ag_real));
    nn_eval(a);
    check_close("evaluation", nn_multi_head_attention(a, x, x, x, NULL), y, 1e-5);
    ag_end(s);
    ag_free(a);
}
END_TEST

/* With equal scores and a unit matrix as the values of each head, the result is the weights. Each row of each head of each
 * sentence drops others. */
START_TEST(every_row_has_random_numbers_of_its_own)
{
    enum { HEADS = 3, ROWS = 2 * HEADS * T, KEYS = 32 };
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *q = tensor_zeros(SHAPE(2, T, HEADS * KEYS)), *k = tensor_zeros(SHAPE(2, KEYS, HEADS * KEYS));
    Tensor *v = tensor_zeros(SHAPE(2, KEYS, HEADS * KEYS));
    for (int i = 0; i < 2 * KEYS * HEADS; i++) tensor_mutable_data(v)[i * KEYS + i / HEADS % KEYS] = 1;
    AgAttention how = { .heads = HEADS, .dropout = 0.5 };
    const ag_real *y = tensor_data(ag_attention(q, k, v, NULL, how));                   /* (2,T,HEADS,KEYS) */
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < i; j++) ck_assert_msg(memcmp(y + i * KEYS, y + j * KEYS, KEYS * sizeof *y), "rows %d, %d", j, i);
    ag_end(s);
}
END_TEST

/* The next random numbers are those that no row of weights has used. A row begins at a block of four. */
START_TEST(dropout_takes_whole_blocks_of_random_numbers)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int keys = 1; keys < 10; keys++) {
        Tensor *x = tensor_zeros(SHAPE(B, keys, D));
        uint64_t before = ag_random_state().counter;
        ag_attention(x, x, x, NULL, (AgAttention){ .heads = H, .dropout = 0.5 });
        ck_assert_uint_eq(ag_random_state().counter - before, (uint64_t)(B * H * keys) * (((uint64_t)keys + 3) / 4));
    }
    ag_end(s);
}
END_TEST

/* The same tensor as two or three of query, key and value: its gradient is the sum of theirs. */
START_TEST(one_tensor_as_several_inputs)
{
    static const int of[][3] = { { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 }, { 0, 0, 0 } };
    for (int i = 0; i < 4; i++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x[2] = { tensor_normal(SHAPE(B, T, D), 0, 1), tensor_normal(SHAPE(B, T, D), 0, 1) }, *own[3];
        for (int k = 0; k < 2; k++) tensor_set_requires_grad(x[k], true);
        for (int k = 0; k < 3; k++) own[k] = tensor_set_requires_grad(ag_scale(ag_detach(x[of[i][k]]), 1), true);
        Tensor *dy = tensor_normal(SHAPE(B, T, D), 0, 1);
        ag_backward_from(ag_attention(x[of[i][0]], x[of[i][1]], x[of[i][2]], NULL, (AgAttention){ .heads = H }), dy);
        ag_backward_from(ag_attention(own[0], own[1], own[2], NULL, (AgAttention){ .heads = H }), dy);
        for (int k = 0; k < 2; k++) {
            Tensor *sum = tensor_zeros(SHAPE(B, T, D));
            for (int j = 0; j < 3; j++)
                if (of[i][j] == k) sum = ag_add(sum, tensor_grad(own[j]));
            if (tensor_grad(x[k])) check_close("gradient", tensor_grad(x[k]), sum, 1e-5);
        }
        ag_end(s);
    }
}
END_TEST

/* More queries than keys: the first queries of a causal attention see nothing, and have no gradient. */
START_TEST(causal_attention_with_many_more_queries_than_keys)
{
    enum { QUERIES = 70, KEYS = 3 };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *q = tensor_set_requires_grad(tensor_normal(SHAPE(1, QUERIES, 4), 0, 1), true);
    Tensor *k = tensor_set_requires_grad(tensor_normal(SHAPE(1, KEYS, 4), 0, 1), true);
    Tensor *y = ag_retain(ag_attention(q, k, k, NULL, (AgAttention){ .heads = 2, .causal = true }));
    Tensor *last = ag_attention(ag_slice(q, 1, QUERIES - KEYS, QUERIES), k, k, NULL,
                                (AgAttention){ .heads = 2, .causal = true });
    ck_assert(largest(ag_slice(y, 1, 0, QUERIES - KEYS)) == 0);
    check_close("the last rows", ag_slice(y, 1, QUERIES - KEYS, QUERIES), last, 1e-6);
    ag_backward(ag_sum(ag_mul(y, y)));
    ck_assert(largest(ag_slice(tensor_grad(q), 1, 0, QUERIES - KEYS)) == 0);
    ag_end(s);
}
END_TEST

static void attend_with_few_keys(int64_t t)
{
    Tensor *q = tensor_set_requires_grad(tensor_normal(SHAPE(1, t, 4), 0, 1), true), *k = tensor_normal(SHAPE(1, 3, 4), 0, 1);
    ag_backward(ag_sum(ag_attention(q, k, k, NULL, (AgAttention){ .heads = 2, .causal = true })));
}

/* Nothing is written before the memory of the first row, which sees nothing, or behind the last one, wherever a block ends. */
START_TEST(rows_stay_in_their_memory)
{
    ag_guard(true);
    for (int64_t t = 1; t <= 130; t++) {
        CATCH_USAGE_ERROR(attend_with_few_keys(t));
        ck_assert_str_eq(usage_message, "");
    }
    ag_guard(false);
}
END_TEST

/* A negative scale turns the order of the scores around; hidden keys stay hidden. */
START_TEST(a_mask_hides_with_a_negative_scale)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_from(SHAPE(3), (ag_real[]){ 1, 2, 3 }), *mask = tensor_bools(SHAPE(3), (uint8_t[]){ 1, 0, 1 });
    const ag_real *w = tensor_data(ag_masked_softmax(x, mask, -2));
    ck_assert(w[1] == 0);
    ck_assert_double_eq_tol((double)w[0], 1 / (1 + exp(-4)), 1e-6);
    ck_assert_double_eq_tol((double)w[2], exp(-4) / (1 + exp(-4)), 1e-6);
    ag_end(s);
}
END_TEST

/* ---- fewer heads of keys and values, windows --------------------------------------------------------------------- */

/* Each head of K columns repeated `group` times: (B,S,h K) -> (B,S,h group K). */
static Tensor *repeated(Tensor *x, int heads, int group)
{
    int64_t b = tensor_dim(x, 0), s = tensor_dim(x, 1), part = tensor_dim(x, 2) / heads;
    Tensor *copies = ag_expand(ag_reshape(x, SHAPE(b, s, heads, 1, part)), SHAPE(b, s, heads, group, part));
    return ag_reshape(copies, SHAPE(b, s, heads * group * part));
}

/* (B,1,T,S): query i sees the last `window` keys up to its own (0: all of these), or nothing if `rows` (B,1,T,1) says so. */
static Tensor *window_mask(int64_t t, int64_t s, int64_t window, Tensor *rows)
{
    Tensor *mask = tensor_bools(SHAPE(B, 1, t, s), NULL);
    for (int64_t i = 0; i < B * t * s; i++) {
        int64_t own = i / s % t + s - t, key = i % s;
        bool seen = !rows || tensor_bool_data(rows)[i / s];
        tensor_mutable_bool_data(mask)[i] = seen && key <= own && (window == 0 || key > own - window);
    }
    return mask;
}

/* (B,1,T,1): what each query sees, a third of them nothing. */
static Tensor *row_mask(int64_t t)
{
    Tensor *mask = tensor_bools(SHAPE(B, 1, t, 1), NULL);
    for (int64_t i = 0; i < B * t; i++) tensor_mutable_bool_data(mask)[i] = ag_random_uniform() < 0.67;
    return mask;
}

static Tensor *leaf(Tensor *x)
{
    return tensor_set_requires_grad(ag_detach(x), true);
}

static const struct { int t, s, heads, kv_heads; bool causal; int window; double p; bool rows; } groups[] = {
    { 5, 7, 4, 2, false, 0, 0, false }, { 5, 7, 3, 1, true, 0, 0, false }, { 5, 5, 4, 4, true, 1, 0, false },
    { 9, 9, 6, 2, true, 4, 0, false }, { 3, 20, 4, 1, true, 6, 0, false }, { 150, 150, 2, 1, true, 37, 0, false },
    { 90, 600, 2, 1, true, 300, 0, false }, { 8, 5, 2, 1, true, 2, 0, false }, { 70, 70, 4, 2, true, 9, 0.3, false },
    { 6, 6, 4, 2, false, 0, 0.3, false }, { 5, 5, 2, 1, true, 2000000000, 0, false },
    { 70, 70, 4, 2, true, 10, 0.3, false }, { 150, 150, 2, 1, true, 37, 0, true },
};
enum { N_GROUPS = sizeof groups / sizeof *groups };

/* The same as with repeated keys and values and a mask, with dropout too: the random numbers belong to a weight. */
START_TEST(grouped_attention_equals_repeated_keys_and_a_mask)
{
    enum { K = 3 };
    int t = groups[_i].t, n = groups[_i].s, heads = groups[_i].heads, kv_heads = groups[_i].kv_heads;
    AgAttention how = { heads, kv_heads, groups[_i].causal, groups[_i].window, groups[_i].p };
    Tensor *first[4] = { NULL };
    for (int threads = 1; threads <= 4; threads += 3) {
        ag_set_threads(threads);
        ag_seed(3);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *q = tensor_normal(SHAPE(B, t, heads * K), 0, 1), *k = tensor_normal(SHAPE(B, n, kv_heads * K), 0, 1);
        Tensor *v = tensor_normal(SHAPE(B, n, kv_heads * K), 0, 1), *dy = tensor_normal(SHAPE(B, t, heads * K), 0, 1);
        Tensor *own[3] = { leaf(q), leaf(k), leaf(v) }, *wide[3] = { leaf(q), leaf(k), leaf(v) };
        Tensor *rows = groups[_i].rows ? row_mask(t) : NULL, *mask = how.causal ? window_mask(t, n, how.window, rows) : NULL;
        AgRandom random = ag_random_state();
        Tensor *y = ag_retain(ag_attention(own[0], own[1], own[2], rows, how));
        ag_set_random_state(random);
        Tensor *keys = repeated(wide[1], kv_heads, heads / kv_heads), *values = repeated(wide[2], kv_heads, heads / kv_heads);
        AgAttention alone = { .heads = heads, .dropout = how.dropout };
        Tensor *expected = ag_retain(ag_attention(wide[0], keys, values, mask, alone));
        ag_backward_from(y, dy);
        ag_backward_from(expected, dy);
        check_close("y", y, expected, 1e-5);
        for (int i = 0; i < 3; i++) check_close("gradient", tensor_grad(own[i]), tensor_grad(wide[i]), 2e-5);
        for (int i = 0; i < 4; i++) {
            Tensor *found = i == 0 ? y : tensor_grad(own[i - 1]);
            if (first[i]) check_close("other threads", found, first[i], 0);
            tensor_free(first[i]);
            first[i] = ag_keep(found);
        }
        ag_end(s);
    }
    for (int i = 0; i < 4; i++) tensor_free(first[i]);
    ag_set_threads(0);
}
END_TEST

START_TEST(grouped_self_attention_equals_attention)
{
    enum { HEADS = 4, KEYS = 2, K = 3 };
    AgScope s = ag_begin(AG_RECORD);
    AgAttention how = { HEADS, KEYS, true, 3, 0.2 };
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(B, 9, (HEADS + 2 * KEYS) * K), 0, 1), true), *copy = leaf(x);
    AgRandom random = ag_random_state();
    Tensor *y = ag_self_attention(x, NULL, how);
    ag_set_random_state(random);
    Tensor *q = ag_slice(copy, -1, 0, HEADS * K), *k = ag_slice(copy, -1, HEADS * K, (HEADS + KEYS) * K);
    Tensor *expected = ag_attention(q, k, ag_slice(copy, -1, (HEADS + KEYS) * K, (HEADS + 2 * KEYS) * K), NULL, how);
    check_close("y", y, expected, 0);
    ag_backward(ag_sum(ag_mul(y, y)));
    ag_backward(ag_sum(ag_mul(expected, expected)));
    check_close("gradient", tensor_grad(x), tensor_grad(copy), 1e-6);
    ag_end(s);
}
END_TEST

/* Gradients of attention to a cache reach the query and a mask of reals, also if the cache then holds other keys. */
START_TEST(a_cache_passes_gradients_on)
{
    enum { N = 6 };
    AgAttention how = { .heads = H };
    for (int which = 1; which < 4; which++) {
        NnCache *c = nn_cache_new(1, N);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_normal(SHAPE(B, T, D), 0, 1), *key = tensor_normal(SHAPE(B, N, D), 0, 1), *q[2], *bias[2];
        Tensor *b = tensor_normal(SHAPE(H, T, N), 0, 1), *dy = tensor_normal(SHAPE(B, T, D), 0, 1);
        for (int i = 0; i < 2; i++) {
            q[i] = which & 1 ? leaf(x) : x;
            bias[i] = which & 2 ? leaf(b) : b;
        }
        nn_cache_append(c, 0, key, key);
        Tensor *y = nn_cache_attention(c, 0, q[0], bias[0], how), *expected = ag_attention(q[1], key, key, bias[1], how);
        check_close("y", y, expected, 1e-6);
        nn_cache_keep_last(c, 0);
        nn_cache_append(c, 0, x, x);
        ag_backward_from(y, dy);
        ag_backward_from(expected, dy);
        if (which & 1) check_close("of the query", tensor_grad(q[0]), tensor_grad(q[1]), 1e-5);
        if (which & 2) check_close("of the mask", tensor_grad(bias[0]), tensor_grad(bias[1]), 1e-5);
        ag_end(s);
        ag_free(c);
    }
}
END_TEST

/* Rotary positions and a cache that holds the fewer heads: position by position as all at once. */
START_TEST(a_cache_holds_the_fewer_heads)
{
    enum { HEADS = 4, KEYS = 2, K = 6, N = 7 };
    NnCache *c = nn_cache_new(1, N);
    AgScope s = ag_begin(AG_NO_GRAD);
    AgAttention how = { HEADS, KEYS, true, 3, 0 };
    Tensor *q = tensor_normal(SHAPE(B, N, HEADS * K), 0, 1), *k = tensor_normal(SHAPE(B, N, KEYS * K), 0, 1);
    Tensor *v = tensor_normal(SHAPE(B, N, KEYS * K), 0, 1), *keys, *values, *frequencies = ag_rope_frequencies(K, 100);
    Tensor *table = ag_rope_table(frequencies, 0, N);
    Tensor *all = ag_attention(ag_rope(q, table, HEADS, false), ag_rope(k, table, KEYS, false), v, NULL, how);
    for (int t = 0; t < N; t++) {
        Tensor *row = ag_rope_table(frequencies, t, 1);
        nn_cache_append(c, 0, ag_rope(ag_slice(k, 1, t, t + 1), row, KEYS, false), ag_slice(v, 1, t, t + 1));
        nn_cache_read(c, 0, &keys, &values);
        ck_assert(ag_shape_equal(tensor_shape(keys), SHAPE(B, t + 1, KEYS * K)));
        Tensor *y = ag_attention(ag_rope(ag_slice(q, 1, t, t + 1), row, HEADS, false), keys, values, NULL, how);
        check_close("y", y, ag_slice(all, 1, t, t + 1), 1e-6);
    }
    ag_end(s);
    ag_free(c);
}
END_TEST

/* The product of two turned vectors depends on the distance of their positions alone, far from 0 too. The frequencies are
 * powers of two, from 1 to 1/512, so that no angle is rounded. */
START_TEST(rotary_products_depend_on_the_distance)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *q = tensor_normal(SHAPE(1, 1, 8), 0, 1), *k = tensor_normal(SHAPE(1, 1, 8), 0, 1);
    Tensor *f = ag_rope_frequencies(8, 4096);
    for (int adjacent = 0; adjacent < 2; adjacent++) {
        double product[2];
        for (int i = 0; i < 2; i++) {
            Tensor *a = ag_rope(q, ag_rope_table(f, i * 4000 + 5, 1), 1, adjacent);
            product[i] = tensor_item(ag_sum(ag_mul(a, ag_rope(k, ag_rope_table(f, i * 4000 + 2, 1), 1, adjacent))));
        }
        ck_assert_double_eq_tol(product[0], product[1], 2e-6);
    }
    ag_end(s);
}
END_TEST

/* As the library `transformers` defines them, each operation rounded to the nearest float. */
START_TEST(rotary_frequencies_are_rounded_to_nearest)
{
    static const double bases[] = { 1e4, 1e5, 1.5e5, 2e5, 5e5, 1e6, 5e6, 8e6, 1e7 };
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int k = 0; k < (int)(sizeof bases / sizeof *bases); k++) {
        for (int width = 8; width <= 256; width += 8) {
            const ag_real *frequency = tensor_data(ag_rope_frequencies(width, bases[k]));
            for (int i = 0; i < width / 2; i++) {
                float exponent = (float)(2 * i) / (float)width, power = (float)pow(bases[k], (double)exponent);
                ck_assert_msg((float)frequency[i] == 1 / power, "base %g, width %d: item %d is %.9g, expected %.9g", bases[k],
                              width, i, (double)frequency[i], (double)(1 / power));
            }
        }
    }
    ag_end(s);
}
END_TEST

/* ---- score functions --------------------------------------------------------------------------------------------- */

static const NnScoreKind kinds[] = { NN_SCORE_SCALED_DOT, NN_SCORE_DOT, NN_SCORE_GENERAL, NN_SCORE_ADDITIVE };
enum { KQ = 4, KK = 6, HIDDEN = 5 };

static double product(int n, const ag_real *a, const ag_real *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The formulas, with h for a query and s for a key. */
static double score_of(const NnScore *score, const ag_real *h, int nh, const ag_real *s, int ns)
{
    double sum = 0;
    switch (score->kind) {
    case NN_SCORE_SCALED_DOT: return product(nh, h, s) / sqrt(nh);
    case NN_SCORE_DOT: return product(nh, h, s);
    case NN_SCORE_GENERAL:
        for (int i = 0; i < ns; i++) sum += (double)s[i] * product(nh, tensor_data(score->w1->weight) + i * nh, h);
        return sum;
    case NN_SCORE_ADDITIVE:
        for (int i = 0; i < HIDDEN; i++) {
            double hidden = product(ns, tensor_data(score->w1->weight) + i * ns, s) +
                            product(nh, tensor_data(score->w2->weight) + i * nh, h);
            sum += (double)tensor_data(score->v->weight)[i] * tanh(hidden);
        }
        return sum;
    }
    return NAN;
}

static Tensor *weighted_scores(Tensor **in, void *score)
{
    return nn_score((NnScore *)score, in[0], in[1]);
}

START_TEST(scores_equal_their_formulas)
{
    NnScoreKind kind = kinds[_i];
    int nq = KQ, nk = kind == NN_SCORE_SCALED_DOT || kind == NN_SCORE_DOT ? KQ : KK;
    NnScore *score = nn_score_new(kind, nq, nk, HIDDEN);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *in[8] = { tensor_normal(SHAPE(B, T, nq), 0, 1), tensor_normal(SHAPE(B, S, nk), 0, 1) };
    Tensor *y = nn_score(score, in[0], in[1]);
    ck_assert(ag_shape_equal(tensor_shape(y), SHAPE(B, T, S)));
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            for (int j = 0; j < S; j++)
                ck_assert_double_eq_tol((double)tensor_data(y)[(b * T + t) * S + j],
                                        score_of(score, tensor_data(in[0]) + (b * T + t) * nq, nq,
                                                 tensor_data(in[1]) + (b * S + j) * nk, nk), 1e-5);
    int n = 2;
    for (int i = 0; i < 2; i++) tensor_set_requires_grad(in[i], true);
    NnParameters *p = nn_parameters(score);
    static const int expected[] = { 0, 0, 1, 3 };
    ck_assert_int_eq(p->n, expected[_i]);
    for (int i = 0; i < p->n; i++) in[n++] = p->item[i].tensor;
    ck_assert(ag_gradcheck(weighted_scores, score, in, n, stderr));
    ag_free(p);
    ag_end(s);
    ag_free(score);
}
END_TEST

/* A layer with any score function: its weights are the softmax of that score in each head. */
START_TEST(heads_can_use_any_score)
{
    MultiHeadAttention *a = nn_multi_head_attention_new_with(H, D, 0, kinds[_i]);
    ck_assert((a->score == NULL) == (kinds[_i] == NN_SCORE_SCALED_DOT));
    if (kinds[_i] == NN_SCORE_ADDITIVE)
        ck_assert(ag_shape_equal(tensor_shape(a->score->w1->weight), SHAPE(D / H, D / H)));
    AgScope s = ag_begin(AG_RECORD);
    Tensor *query = tensor_normal(SHAPE(B, T, D), 0, 1), *key = tensor_normal(SHAPE(B, S, D), 0, 1);
    Tensor *mask = mask_of(PADDING, S);
    Result r = attend(a, query, key, mask, true);
    check_weights(a->weights, mask);
    Tensor *q = nn_linear(nn_item(Linear, a->linears, 0), query), *k = nn_linear(nn_item(Linear, a->linears, 1), key);
    Tensor *v = nn_linear(nn_item(Linear, a->linears, 2), key), *heads[H];
    for (int64_t h = 0; h < H; h++) {
        int64_t from = h * (D / H), to = from + D / H;
        Tensor *qh = ag_slice(q, -1, from, to), *kh = ag_slice(k, -1, from, to);
        Tensor *scores = a->score ? nn_score(a->score, qh, kh)
                                  : ag_scale(ag_matmul(qh, ag_transpose(kh, 1, 2)), 0.5);
        Tensor *w = ag_masked_softmax(scores, mask, 1);
        check_close("weights", ag_squeeze(ag_slice(a->weights, 1, h, h + 1), 1), w, 1e-5);
        heads[h] = ag_matmul(w, ag_slice(v, -1, from, to));
    }
    check_close("y", r.y, nn_linear(nn_item(Linear, a->linears, 3), ag_concat(heads, H, -1)), 1e-5);
    NnParameters *p = nn_parameters(a);
    for (int i = 0; i < p->n; i++) ck_assert_ptr_nonnull(tensor_grad_data(p->item[i].tensor));
    ag_free(p);
    ag_end(s);
    ag_free(a);
}
END_TEST

/* Position by position with a cache as all at once. */
START_TEST(a_cache_serves_any_score)
{
    MultiHeadAttention *a = nn_multi_head_attention_new_with(H, D, 0, kinds[_i]);
    NnCache *c = nn_cache_new(1, T);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(B, T, D), 0, 1), *all = nn_multi_head_attention(a, x, x, x, nn_causal_mask(T));
    for (int t = 0; t < T; t++) {
        Tensor *now = ag_slice(x, 1, t, t + 1), *y = nn_multi_head_attention_cached(a, now, now, now, NULL, c, 0);
        check_close("y", y, ag_slice(all, 1, t, t + 1), 1e-5);
    }
    ag_end(s);
    ag_free(c);
    ag_free(a);
}
END_TEST

/* ---- masks ------------------------------------------------------------------------------------------------------- */

START_TEST(masks_print)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    FILE *f = tmpfile();
    char text[200] = "";
    Tensor *ids = tensor_ints(SHAPE(2, 3), (int32_t[]){ 5, 0, 7, 5, 5, 0 });
    nn_mask_print(f, nn_causal_mask(3));
    nn_mask_print(f, nn_padding_mask(ids, 0));
    nn_mask_print(f, nn_causal_padding_mask(ids, 0));
    rewind(f);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, f), 0);
    ck_assert_str_eq(text, "# . .\n# # .\n# # #\n"
                           "# . #\n\n# # .\n"
                           "# . .\n# . .\n# . #\n\n# . .\n# # .\n# # .\n");
    fclose(f);
    ck_assert_int_eq(tensor_numel(nn_causal_mask(0)), 0);
    Tensor *flat = tensor_ints(SHAPE(3), NULL), *reals = tensor_zeros(SHAPE(2, 3));
    EXPECT_USAGE_ERROR("nn_padding_mask: ids (3,), expected (B,T)", nn_padding_mask(flat, 0));
    EXPECT_USAGE_ERROR("tests/test_attention.c", nn_causal_padding_mask(flat, 0));
    EXPECT_USAGE_ERROR("nn_causal_mask: n is -1, expected 0 or more (at tests/test_attention.c", nn_causal_mask(-1));
    EXPECT_USAGE_ERROR("AG_BOOL", nn_mask_print(stdout, reals));
    ag_end(s);
}
END_TEST

/* ---- positions --------------------------------------------------------------------------------------------------- */

START_TEST(positions_are_sines_and_cosines)
{
    static const int widths[] = { 128, 7, 2, 1 };
    int width = widths[_i];
    PositionalEncoding *p = nn_positional_encoding_new(width, 0, 100);
    const ag_real *pe = tensor_data(p->pe);
    for (int i = 0; i < 100; i++)
        for (int d = 0; d < width; d++) {
            double angle = i / pow(10000, (d - d % 2) / (double)width);
            ck_assert_double_eq_tol((double)pe[i * width + d], d % 2 ? cos(angle) : sin(angle), 1e-6);
        }
    ck_assert_int_eq(nn_count(p), 0);
    ag_free(p);
}
END_TEST

/* <PE_i, PE_j> depends only on i - j: it is the sum of cos((i-j) / 10000^(2k/D)). */
START_TEST(inner_products_depend_on_the_distance)
{
    PositionalEncoding *p = nn_positional_encoding_new(128, 0, 100);
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 100; j++) {
            double sum = 0;
            for (int k = 0; k < 64; k++) sum += cos((i - j) / pow(10000, 2 * k / 128.0));
            const ag_real *pe = tensor_data(p->pe);
            ck_assert_double_eq_tol(product(128, pe + i * 128, pe + j * 128), sum, 1e-4);
        }
    ag_free(p);
}
END_TEST

START_TEST(positions_are_added)
{
    PositionalEncoding *fixed = nn_positional_encoding_new(D, 0, 9);
    PositionalEncoding *learned = nn_positional_encoding_new_learned(D, 0, 9);
    ck_assert(nn_count(learned) == 9 * D && largest(learned->pe) < 0.2);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(B, T, D), 0, 1), true);
    PositionalEncoding *both[] = { fixed, learned };
    for (int i = 0; i < 2; i++) {
        Tensor *rows = ag_slice(both[i]->pe, 1, 3, 3 + T);
        check_close("x + pe", nn_positional_encoding_from(both[i], x, 3), ag_add(x, rows), 0);
        check_close("x + pe", nn_positional_encoding(both[i], x), nn_positional_encoding_from(both[i], x, 0), 0);
        ag_backward(ag_sum(nn_positional_encoding_from(both[i], x, 3)));
    }
    ck_assert_ptr_null(tensor_grad_data(fixed->pe));
    for (int i = 0; i < 9 * D; i++)
        ck_assert(tensor_grad_data(learned->pe)[i] == (i / D >= 3 && i / D < 3 + T ? B : 0));

    Tensor *longer = tensor_zeros(SHAPE(1, 10, D)), *wide = tensor_zeros(SHAPE(1, 3, D + 1));
    Tensor *flat = tensor_zeros(SHAPE(3, D));
    EXPECT_USAGE_ERROR("nn_positional_encoding_from: x (1, 10, 12) from position 0 on: the table has 9 positions (at tests/",
                       nn_positional_encoding(fixed, longer));
    check_close("up to the last", nn_positional_encoding_from(fixed, x, 4), ag_add(x, ag_slice(fixed->pe, 1, 4, 9)), 0);
    EXPECT_USAGE_ERROR("from position 5 on", nn_positional_encoding_from(fixed, x, 5));
    EXPECT_USAGE_ERROR("the table has 9", nn_positional_encoding_from(fixed, x, -1));
    EXPECT_USAGE_ERROR("the table has 9", nn_positional_encoding_from(fixed, x, INT64_MAX));
    EXPECT_USAGE_ERROR("x (1, 3, 13), expected (B,T,12)", nn_positional_encoding(fixed, wide));
    EXPECT_USAGE_ERROR("x (3, 12), expected (B,T,12)", nn_positional_encoding(fixed, flat));
    EXPECT_USAGE_ERROR("nn_positional_encoding_new_with: width -1 and max_len 9, expected 1 or more (at tests/test_attention.c",
                       nn_positional_encoding_new(-1, 0, 9));
    ag_end(s);
    ag_free(fixed);
    ag_free(learned);
}
END_TEST

/* ---- sublayers --------------------------------------------------------------------------------------------------- */

START_TEST(the_norm_comes_before_or_after_the_sublayer)
{
    for (int i = 0; i < 2; i++) {
        NnNormPlace place = i == 0 ? NN_PRE_NORM : NN_POST_NORM;
        SublayerConnection *c = nn_sublayer_connection_new(D, 0, place, AG_NORM_ANNOTATED);
        PositionwiseFeedForward *f = nn_positionwise_feed_forward_new(D, 20, 0, i == 0 ? AG_RELU : AG_GELU);
        ag_fill_uniform(c->norm->gamma, 0.5, 1.5);
        ag_fill_uniform(c->norm->beta, -1, 1);
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_normal(SHAPE(B, T, D), 0, 1);
        Tensor *found = nn_sublayer_out(c, x, nn_positionwise_feed_forward(f, nn_sublayer_in(c, x)));
        Tensor *in = place == NN_PRE_NORM ? nn_layer_norm(c->norm, x) : x, *h = nn_linear(f->w_1, in);
        Tensor *y = ag_add(x, nn_linear(f->w_2, i == 0 ? ag_relu(h) : ag_gelu(h)));
        check_close("y", found, place == NN_PRE_NORM ? y : nn_layer_norm(c->norm, y), 1e-6);
        ag_end(s);
        ag_free(c);
        ag_free(f);
    }
}
END_TEST

START_TEST(sublayers_apply_dropout_in_training)
{
    SublayerConnection *c = nn_sublayer_connection_new(D, 0.5, NN_PRE_NORM, AG_NORM_ANNOTATED);
    PositionwiseFeedForward *f = nn_positionwise_feed_forward_new(D, 20, 0.5, AG_RELU);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(B, T, D)), *ones = tensor_ones(SHAPE(B, T, D));
    Tensor *y = nn_sublayer_out(c, x, ones);
    int dropped = 0;
    for (int i = 0; i < B * T * D; i++) {
        ck_assert(tensor_data(y)[i] == 0 || tensor_data(y)[i] == 2);
        dropped += tensor_data(y)[i] == 0;
    }
    ck_assert(dropped > 30 && dropped < 90);
    Tensor *one = nn_positionwise_feed_forward(f, ones), *two = nn_positionwise_feed_forward(f, ones);
    ck_assert_mem_ne(tensor_data(one), tensor_data(two), B * T * D * sizeof(ag_real));
    nn_eval(c);
    nn_eval(f);
    check_close("evaluation", nn_sublayer_out(c, x, ones), ones, 0);
    check_close("evaluation", nn_positionwise_feed_forward(f, ones),
                nn_linear(f->w_2, ag_relu(nn_linear(f->w_1, ones))), 1e-6);
    ag_end(s);
    ag_free(c);
    ag_free(f);
}
END_TEST

/* ---- caches ------------------------------------------------------------------------------------------------------ */

START_TEST(caches_append_select_and_keep_the_last)
{
    NnCache *c = nn_cache_new(2, 6);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *key = tensor_normal(SHAPE(3, 6, 2), 0, 1), *value = tensor_normal(SHAPE(3, 6, 2), 0, 1), *k, *v;
    EXPECT_USAGE_ERROR("nn_cache_read: layer 0 of the cache is empty", nn_cache_read(c, 0, &k, &v));
    for (int at = 0; at < 5; at += at == 0 ? 3 : 2)
        nn_cache_append(c, 0, ag_slice(key, 1, at, at == 0 ? 3 : 5), ag_slice(value, 1, at, at == 0 ? 3 : 5));
    nn_cache_read(c, 0, &k, &v);
    check_close("keys", k, ag_slice(key, 1, 0, 5), 0);
    check_close("values", v, ag_slice(value, 1, 0, 5), 0);

    nn_cache_select(c, (int32_t[]){ 2, 0, 2, 1 }, 4);
    nn_cache_read(c, 0, &k, &v);
    Tensor *order = tensor_ints(SHAPE(4), (int32_t[]){ 2, 0, 2, 1 });
    Tensor *rows = ag_reshape(ag_embedding(ag_reshape(key, SHAPE(3, 12)), order), SHAPE(4, 6, 2));
    check_close("chosen keys", k, ag_slice(rows, 1, 0, 5), 0);
    rows = ag_reshape(ag_embedding(ag_reshape(value, SHAPE(3, 12)), order), SHAPE(4, 6, 2));
    check_close("chosen values", v, ag_slice(rows, 1, 0, 5), 0);

    EXPECT_USAGE_ERROR("row 4 at item 0 is out of range: expected 0 to 3", nn_cache_select(c, (int32_t[]){ 4 }, 1));
    EXPECT_USAGE_ERROR("row -1 at item 0 is out of range", nn_cache_select(c, (int32_t[]){ -1 }, 1));

    nn_cache_keep_last(c, 2);
    nn_cache_read(c, 0, &k, &v);
    check_close("kept values", v, ag_slice(rows, 1, 3, 5), 0);
    Tensor *narrow = tensor_zeros(SHAPE(4, 1, 1)), *five = tensor_zeros(SHAPE(4, 5, 2));
    Tensor *flat = tensor_zeros(SHAPE(4, 2));
    EXPECT_USAGE_ERROR("keys (4, 1, 1) do not fit (4, 6, 2) in the cache", nn_cache_append(c, 0, narrow, narrow));
    EXPECT_USAGE_ERROR("5 positions after 2: the cache has room for 6", nn_cache_append(c, 0, five, five));
    EXPECT_USAGE_ERROR("key (4, 5, 2) and value (4, 1, 1), expected (B,t,D) for both", nn_cache_append(c, 1, five, narrow));
    EXPECT_USAGE_ERROR("key (4, 2) and value (4, 2)", nn_cache_append(c, 1, flat, flat));
    EXPECT_USAGE_ERROR("layer 2 of a cache for 2", nn_cache_append(c, 2, five, five));
    EXPECT_USAGE_ERROR("layer -1 of a cache for 2", nn_cache_read(c, -1, &k, &v));
    ag_end(s);
    ag_free(c);
    ag_free(NULL);
}
END_TEST

/* A fixed layer has the keys of the source, all of which stay. Without recording, keys may be parameters: a learned prefix. */
START_TEST(fixed_layers_keep_everything)
{
    NnCache *c = nn_cache_new(2, 6);
    c->layer[1].fixed = true;
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *key = leaf(tensor_normal(SHAPE(1, 5, 2), 0, 1)), *value = leaf(tensor_normal(SHAPE(1, 5, 2), 0, 1)), *k, *v;
    for (int layer = 0; layer < 2; layer++) nn_cache_append(c, layer, key, value);
    nn_cache_keep_last(c, 2);
    nn_cache_read(c, 0, &k, &v);
    check_close("last keys", k, ag_slice(key, 1, 3, 5), 0);
    nn_cache_read(c, 1, &k, &v);
    check_close("fixed keys", k, key, 0);
    check_close("fixed values", v, value, 0);
    ag_end(s);
    ag_free(c);
}
END_TEST

/* The cache allocates memory as it grows; the values stay, for each sequence of the batch. */
START_TEST(a_cache_grows)
{
    enum { ROOM = 300 };
    NnCache *c = nn_cache_new(1, ROOM);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *key = tensor_normal(SHAPE(2, ROOM, 3), 0, 1), *value = tensor_normal(SHAPE(2, ROOM, 3), 0, 1), *k, *v;
    for (int64_t at = 0, t; at < ROOM; at += t) {
        t = at < 100 ? 1 : at < 290 ? 95 : 5;
        nn_cache_append(c, 0, ag_slice(key, 1, at, at + t), ag_slice(value, 1, at, at + t));
        nn_cache_read(c, 0, &k, &v);
        check_close("keys", k, ag_slice(key, 1, 0, at + t), 0);
        check_close("values", v, ag_slice(value, 1, 0, at + t), 0);
        if (at + t <= 64) ck_assert_int_eq(tensor_dim(c->layer[0].key, 1), 64);
    }
    ck_assert_int_eq(tensor_dim(c->layer[0].key, 1), ROOM);
    ag_end(s);
    ag_free(c);
}
END_TEST

/* One call may need more than twice the first room. */
START_TEST(a_cache_makes_room_for_many_positions)
{
    NnCache *c = nn_cache_new(1, 1000);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *key = tensor_normal(SHAPE(2, 300, 3), 0, 1), *k, *v;
    nn_cache_append(c, 0, key, key);
    ck_assert_int_eq(tensor_dim(c->layer[0].key, 1), 512);
    nn_cache_read(c, 0, &k, &v);
    check_close("keys", k, key, 0);
    ag_end(s);
    ag_free(c);
}
END_TEST

/* ---- usage errors ------------------------------------------------------------------------------------------------ */

START_TEST(usage_errors_are_reported)
{
    EXPECT_USAGE_ERROR("nn_multi_head_attention_new_with: a width of 12 is not divisible by 5 heads",
                       nn_multi_head_attention_new(5, 12, 0));
    EXPECT_USAGE_ERROR("12 is not divisible by 0 heads", nn_multi_head_attention_new(0, 12, 0));
    EXPECT_USAGE_ERROR("tests/test_attention.c", nn_multi_head_attention_new(5, 12, 0));
    EXPECT_USAGE_ERROR("nn_score_new: a dot product needs equal widths, these are 3 and 4",
                       nn_score_new(NN_SCORE_DOT, 3, 4, 0));
    MultiHeadAttention *a = nn_multi_head_attention_new(H, D, 0);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(B, T, D)), *key = tensor_zeros(SHAPE(B, S, D));
    Tensor *other = tensor_zeros(SHAPE(B + 1, S, D)), *wide = tensor_zeros(SHAPE(B, T, D + 1));
    Tensor *mask = tensor_bools(SHAPE(B, T, T + 1), NULL), *batch = tensor_bools(SHAPE(B + 1, 1, S), NULL);
    Tensor *numbers = tensor_ints(SHAPE(T, S), NULL);
    for (int keep = 0; keep < 2; keep++) {
        a->keep_weights = keep;
        EXPECT_USAGE_ERROR("(2, 1, 5, 6)", nn_multi_head_attention(a, x, key, key, mask));
        EXPECT_USAGE_ERROR("(2, 3, 5, 7)", nn_multi_head_attention(a, x, key, key, mask));
        EXPECT_USAGE_ERROR("(3, 1, 1, 7)", nn_multi_head_attention(a, x, key, key, batch));
        EXPECT_USAGE_ERROR("mask is AG_INT", nn_multi_head_attention(a, x, key, key, numbers));
        EXPECT_USAGE_ERROR("(3, ", nn_multi_head_attention(a, x, other, other, NULL));
        EXPECT_USAGE_ERROR("(2, 5, 13)", nn_multi_head_attention(a, wide, key, key, NULL));
        EXPECT_USAGE_ERROR("in nn_multi_head_attention_cached called at tests/test_attention.c",
                           nn_multi_head_attention(a, x, key, key, mask));
    }
    ag_end(s);
    ag_free(a);
}
END_TEST

START_TEST(masks_of_few_dimensions_are_printed)
{
    char text[32] = "";
    FILE *f = tmpfile();
    AgScope s = ag_begin(AG_NO_GRAD);
    nn_mask_print(f, tensor_bools(SHAPE(3), (uint8_t[]){ 1, 0, 1 }));
    nn_mask_print(f, ag_reshape(tensor_bools(SHAPE(1), (uint8_t[]){ 1 }), AG_SCALAR));
    ag_end(s);
    rewind(f);
    ck_assert_uint_gt(fread(text, 1, sizeof text - 1, f), 0);
    ck_assert_str_eq(text, "# . #\n#\n");
    fclose(f);
}
END_TEST

/* A bias of reals gives the same in the fused operation, in steps, and with a cache; minus infinity hides. */
START_TEST(a_bias_is_added_to_the_scores)
{
    enum { HEADS = 2, WIDTH = 8, LENGTH = 5 };
    MultiHeadAttention *a = nn_multi_head_attention_new(HEADS, WIDTH, 0);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(3, LENGTH, WIDTH), 0, 1), *bias = tensor_normal(SHAPE(HEADS, LENGTH, LENGTH), 0, 1);
    Tensor *seen = ag_squeeze(nn_causal_mask(LENGTH), 0), *hidden = ag_masked_fill(bias, ag_not(seen), -INFINITY);
    AgAttention how = { .heads = HEADS, .causal = true }, open = { .heads = HEADS };
    Tensor *y = ag_attention(x, x, x, bias, how);
    check_close("minus infinity", ag_attention(x, x, x, hidden, open), y, 1e-6);
    Tensor *bad = tensor_clone(x);
    for (int i = 0; i < 3 * WIDTH; i++)                                  /* in the last row of each sentence */
        tensor_mutable_data(bad)[(i / WIDTH * LENGTH + LENGTH - 1) * WIDTH + i % WIDTH] = (ag_real)NAN;
    check_close("a hidden NaN", ag_slice(ag_attention(x, bad, x, hidden, open), 1, 0, LENGTH - 1),
                ag_slice(y, 1, 0, LENGTH - 1), 1e-6);
    check_close("side by side", ag_self_attention(ag_concat((Tensor *[]){ x, x, x }, 3, 2), bias, how), y, 1e-6);
    NnCache *cache = nn_cache_new(1, LENGTH);
    for (int t = 0; t < LENGTH; t++) {
        Tensor *now = ag_slice(x, 1, t, t + 1), *row = ag_slice(ag_slice(bias, 1, t, t + 1), 2, 0, t + 1);
        nn_cache_append(cache, 0, now, now);
        check_close("cached", nn_cache_attention(cache, 0, now, row, how), ag_slice(y, 1, t, t + 1), 1e-6);
    }
    Tensor *mask = ag_unsqueeze(hidden, 0), *fused = nn_multi_head_attention(a, x, x, x, mask);
    a->keep_weights = true;
    check_close("in steps", nn_multi_head_attention(a, x, x, x, mask), fused, 1e-6);
    ag_free(cache);
    ag_end(s);
    ag_free(a);
}
END_TEST

/* Also if there was memory for the keys and none for the values: then another batch fits. */
START_TEST(memory_that_is_missing_leaves_the_cache_empty)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *two = tensor_ones(SHAPE(2, 1, 4)), *three = tensor_ones(SHAPE(3, 1, 4));
    CATCH_USAGE_ERROR(ag_usage_error("x", "x"));   /* for one-time allocations */
    for (int64_t k = 8; k >= 0 && faults_work(); k--) {
        NnCache *c = nn_cache_new(1, 4);
        ag_memory_trim();
        faults_at(k, true);
        CATCH_USAGE_ERROR(nn_cache_append(c, 0, two, two));
        faults_at(-1, false);
        if (c->layer[0].length == 0) nn_cache_append(c, 0, three, three);
        ag_free(c);
    }
    ag_end(s);
}
END_TEST

Suite *attention_suite(void)
{
    Suite *suite = suite_create("attention");
    TCase *attention = tcase_create("attention");
    tcase_add_loop_test(attention, fused_attention_equals_the_steps, 0, 2 * N_MASKS);
    tcase_add_test(attention, a_bias_is_added_to_the_scores);
    tcase_add_test(attention, a_fully_masked_query_gives_zeros);
    tcase_add_test(attention, attention_over_no_keys_gives_zeros);
    tcase_add_test(attention, a_causal_mask_hides_later_positions);
    tcase_add_test(attention, dropout_acts_on_the_weights);
    tcase_add_test(attention, every_row_has_random_numbers_of_its_own);
    tcase_add_test(attention, dropout_takes_whole_blocks_of_random_numbers);
    tcase_add_test(attention, one_tensor_as_several_inputs);
    tcase_add_test(attention, causal_attention_with_many_more_queries_than_keys);
    tcase_add_test(attention, rows_stay_in_their_memory);
    tcase_add_test(attention, a_mask_hides_with_a_negative_scale);
    tcase_add_loop_test(attention, grouped_attention_equals_repeated_keys_and_a_mask, 0, N_GROUPS);
    tcase_add_test(attention, grouped_self_attention_equals_attention);
    tcase_add_test(attention, a_cache_passes_gradients_on);
    tcase_add_test(attention, a_cache_holds_the_fewer_heads);
    tcase_add_test(attention, rotary_products_depend_on_the_distance);
    tcase_add_test(attention, rotary_frequencies_are_rounded_to_nearest);
    tcase_add_loop_test(attention, scores_equal_their_formulas, 0, 4);
    tcase_add_loop_test(attention, heads_can_use_any_score, 0, 4);
    tcase_add_loop_test(attention, a_cache_serves_any_score, 0, 4);
    tcase_add_test(attention, usage_errors_are_reported);
    tcase_add_test(attention, memory_that_is_missing_leaves_the_cache_empty);
    suite_add_tcase(suite, attention);
    TCase *parts = tcase_create("parts");
    tcase_add_test(parts, masks_print);
    tcase_add_test(parts, masks_of_few_dimensions_are_printed);
    tcase_add_loop_test(parts, positions_are_sines_and_cosines, 0, 4);
    tcase_add_test(parts, inner_products_depend_on_the_distance);
    tcase_add_test(parts, positions_are_added);
    tcase_add_test(parts, the_norm_comes_before_or_after_the_sublayer);
    tcase_add_test(parts, sublayers_apply_dropout_in_training);
    tcase_add_test(parts, caches_append_select_and_keep_the_last);
    tcase_add_test(parts, fixed_layers_keep_everything);
    tcase_add_test(parts, a_cache_grows);
    tcase_add_test(parts, a_cache_makes_room_for_many_positions);
    suite_add_tcase(suite, parts);
    return suite;
}
