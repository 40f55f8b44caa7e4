/* test_precision.c: ag_precision: which operations compute in bfloat16, until when, and their gradients; caches in
 * bfloat16. The arithmetic itself: test_gemm.c. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "kernel_table.h"
#include "kaeru/kaeru.h"
#include "op_samples.h"
#include "suites.h"
#include "usage_error.h"

static void *precision_of_a_new_thread(void *out)
{
    *(AgPrecision *)out = ag_precision_now();
    return NULL;
}

START_TEST(it_lasts_until_the_scope_ends)
{
    ck_assert_int_eq(ag_precision_now(), AG_FLOAT32);
    AgScope outer = ag_begin(AG_RECORD);
    ck_assert_int_eq(ag_precision(AG_BF16), AG_FLOAT32);
    AgScope inner = ag_begin(AG_NO_GRAD);
    ck_assert_int_eq(ag_precision(AG_FLOAT32), AG_BF16);
    ag_end(inner);
    ck_assert_int_eq(ag_precision_now(), AG_BF16);
    AgPrecision other = AG_BF16;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, precision_of_a_new_thread, &other), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(other, AG_FLOAT32);
    ag_end(outer);
    ck_assert_int_eq(ag_precision_now(), AG_FLOAT32);
    ag_precision(AG_BF16);
    ag_end(ag_begin(AG_RECORD));
    ck_assert_int_eq(ag_precision_now(), AG_BF16);
    ag_precision(AG_FLOAT32);
}
END_TEST

static void set_in_a_scope_and_fail(void)
{
    ag_precision(AG_BF16);
    ag_neg(NULL);
}

START_TEST(an_error_restores_it)
{
    AgScope s = ag_begin(AG_RECORD);
    EXPECT_USAGE_ERROR("neg: x is NULL", set_in_a_scope_and_fail());
    ag_end(s);
    ck_assert_int_eq(ag_precision_now(), AG_FLOAT32);
    EXPECT_USAGE_ERROR("ag_precision: 7 is not an AgPrecision", ag_precision((AgPrecision)7));
}
END_TEST

/* 1 + 2^-9 is 1 in bfloat16, and 3 is 3. */
#define BETWEEN (1 + 1.0 / 512)

static Tensor *full(AgShape shape, double value)
{
    return tensor_set_requires_grad(tensor_full(shape, value), true);
}

typedef Tensor *Product(Tensor *a, Tensor *b);
static Tensor *by_matmul(Tensor *a, Tensor *b) { return ag_matmul(a, b); }
static Tensor *by_linear(Tensor *a, Tensor *b) { return ag_linear(a, b, NULL); }
static Tensor *by_relu(Tensor *a, Tensor *b)   { return ag_linear_activate(a, b, NULL, AG_RELU); }
static Tensor *by_gelu(Tensor *a, Tensor *b)   { return ag_linear_activate(a, b, NULL, AG_GELU); }
static Product *const products[] = { by_matmul, by_linear, by_relu, by_gelu };

/* Both operands and the gradient of the result are rounded: the results are whole numbers. */
START_TEST(operands_are_rounded)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = full(SHAPE(4, 4), BETWEEN), *b = full(SHAPE(4, 4), 3 * BETWEEN);
    ag_precision(AG_BF16);
    Tensor *y = products[_i](a, b);
    ag_precision(AG_FLOAT32);                           /* the rule computes as the operation did */
    ck_assert(_i == 3 || tensor_data(y)[15] == 12);
    ag_backward_from(y, tensor_full(SHAPE(4, 4), BETWEEN));
    if (_i < 3) {
        ck_assert(tensor_grad_data(a)[0] == 12);
        ck_assert(tensor_grad_data(b)[15] == 4);
    }
    Tensor *exact = products[_i](a, b);
    ck_assert(fabs((double)tensor_data(exact)[0] - 12 * BETWEEN * BETWEEN) < 1e-5);
    tensor_zero_grad(a);
    ag_precision(AG_BF16);                              /* the other way round */
    ag_backward_from(exact, tensor_full(SHAPE(4, 4), BETWEEN));
    ck_assert(fabs((double)tensor_grad_data(a)[0] - 12 * BETWEEN * BETWEEN) < 1e-5);
    ag_end(s);
}
END_TEST

/* Attention of one query to two keys, in plain C. Every operand of its six products is rounded. */
enum { KEYS = 2, K = 4 };
typedef struct { double q[K], k[KEYS][K], v[KEYS][K], dy[K], y[K], dq[K], dk[KEYS][K], dv[KEYS][K]; } Attention;

static double rounded(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);                      /* 0.5 <= |fraction| < 1: 8 bits are multiples of 2^-8 */
    return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

static void attend(Attention *a)
{
    double w[KEYS] = { 0 }, total = 0, dw[KEYS] = { 0 }, mean = 0;
    const double scale = 0.5;                                   /* 1 / sqrt(K) */
    for (int j = 0; j < KEYS; j++) {
        for (int i = 0; i < K; i++) w[j] += rounded(a->q[i] * scale) * rounded(a->k[j][i]);
        total += w[j] = exp(w[j]);
    }
    for (int j = 0; j < KEYS; j++) {
        w[j] /= total;
        for (int i = 0; i < K; i++) {
            a->y[i] += rounded(w[j]) * rounded(a->v[j][i]);
            a->dv[j][i] = rounded(w[j]) * rounded(a->dy[i]);
            dw[j] += rounded(a->dy[i]) * rounded(a->v[j][i]);
        }
        mean += w[j] * dw[j];
    }
    for (int j = 0; j < KEYS; j++)
        for (int i = 0; i < K; i++) {
            double ds = w[j] * (dw[j] - mean);
            a->dk[j][i] = rounded(ds) * rounded(a->q[i] * scale);
            a->dq[i] += rounded(ds * scale) * rounded(a->k[j][i]);
        }
}

static Tensor *tensor_of(int64_t rows, double *x)
{
    Tensor *t = tensor_set_requires_grad(tensor_normal(SHAPE(1, rows, K), 0, 1), true);
    for (int64_t i = 0; i < rows * K; i++) x[i] = (double)tensor_data(t)[i];
    return t;
}

static void check_equal(const ag_real *x, const double *expected, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)x[i] - expected[i]) < 2e-6, "%g for %g", (double)x[i], expected[i]);
}

START_TEST(attention_is_rounded)
{
    Attention a = { 0 };
    ag_seed(4);
    AgScope s = ag_begin(AG_RECORD);
    ag_precision(AG_BF16);
    Tensor *q = tensor_of(1, a.q), *k = tensor_of(KEYS, a.k[0]), *v = tensor_of(KEYS, a.v[0]), *dy = tensor_of(1, a.dy);
    Tensor *y = ag_attention(q, k, v, NULL, (AgAttention){ .heads = 1 });
    ag_precision(AG_FLOAT32);
    attend(&a);
    check_equal(tensor_data(y), a.y, K);
    ag_backward_from(y, dy);
    check_equal(tensor_grad_data(q), a.dq, K);
    check_equal(tensor_grad_data(k), a.dk[0], KEYS * K);
    check_equal(tensor_grad_data(v), a.dv[0], KEYS * K);
    ag_end(s);
}
END_TEST

/* Products that read the copy in bfloat16 have the same bits. The copy is not used when it is out of date, in training, or in
 * float32. */
START_TEST(packed_weights_change_nothing)
{
    ag_seed(5);
    AgScope s = ag_begin(AG_NO_GRAD);
    Linear *layer = nn_linear_new(70, 37);
    for (int64_t rows = 1; rows <= 40; rows += rows < 10 ? 1 : 15) {
        Tensor *x = tensor_normal(SHAPE(rows, 70), 0, 1), *y[2][3];
        for (int packed = 0; packed < 2; packed++) {
            if (packed) nn_pack_weights(layer, true);
            ag_precision(AG_BF16);
            y[packed][0] = nn_linear(layer, x);
            ag_precision(AG_FLOAT32);
            y[packed][1] = nn_linear(layer, x);
            ag_precision(AG_BF16);
            Tensor *before = ag_keep(layer->weight);
            ag_fill(layer->weight, 0.5);
            y[packed][2] = nn_linear(layer, x);
            tensor_copy(layer->weight, before);
            tensor_free(before);
        }
        nn_pack_weights(layer, false);
        for (int i = 0; i < 3; i++)
            ck_assert_mem_eq(tensor_data(y[0][i]), tensor_data(y[1][i]), (size_t)(rows * 37) * sizeof(ag_real));
    }
    ck_assert(ag_memory().in_use > 0);
    ag_free(layer);
    EXPECT_USAGE_ERROR("ag_pack_weight: weight (2, 2) belongs to a scope", ag_pack_weight(tensor_ones(SHAPE(2, 2))));
    Tensor *vector = tensor_new_owned(SHAPE(6), AG_REAL);
    EXPECT_USAGE_ERROR("ag_pack_weight: weight (6,) is no matrix", ag_pack_weight(vector));
    tensor_free(vector);
    ag_end(s);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

static void with_each_isa(void (*check)(int arg), int arg)
{
    const char *const isas[] = { k_isa(), "avx512", "avx2", "portable" };
    for (int i = 0; i < 4; i++)
        if (k_use_isa(isas[i])) check(arg);
    k_use_isa(isas[0]);
}

/* ---- frozen weights in bfloat16 alone ------------------------------------------------------------------------------ */

/* Several blocks along the sums, and panels for several threads; the last of each is not whole. */
enum { FROZEN_IN = 302, FROZEN_OUT = 549 };

/* The result, the gradients of x and the loss of a head, by a weight that is packed or rounded reals. */
static void use_frozen(bool packed, int64_t rows, Tensor **y, Tensor **dx, Tensor **head, Tensor **dhead, Tensor **found)
{
    ag_seed(5);
    AgScope s = ag_begin(AG_RECORD);
    ag_precision(AG_BF16);
    Linear *layer = nn_linear_new_with(FROZEN_IN, FROZEN_OUT, true);
    tensor_copy(layer->weight, ag_from_bf16(ag_to_bf16(layer->weight)));
    if (packed) nn_freeze_bf16(layer);
    tensor_set_requires_grad(layer->bias, true);
    if (!packed) tensor_set_requires_grad(layer->weight, false);
    ck_assert_int_eq(tensor_dtype(layer->weight), packed ? AG_PACKED : AG_REAL);
    Tensor *x = tensor_normal(SHAPE(rows, FROZEN_IN), 0, 1), *target = tensor_ints(SHAPE(rows), NULL);
    tensor_set_requires_grad(x, true);
    Tensor *out = ag_retain(nn_linear(layer, x));
    Tensor *loss = ag_linear_cross_entropy(x, layer->weight, NULL, target, AG_MEAN, -100, 0);
    ag_backward(ag_sum(ag_mul(out, out)));
    *y = ag_keep(out);
    *dx = ag_keep(tensor_grad(x));
    tensor_zero_grad(x);
    ag_backward(loss);
    *head = ag_keep(loss);
    *dhead = ag_keep(tensor_grad(x));
    *found = ag_keep(ag_embedding(layer->weight, tensor_ints(SHAPE(3), (int32_t[]){ 0, 17, FROZEN_OUT - 1 })));
    ck_assert_ptr_null(tensor_grad_data(layer->weight));
    ag_free(layer);
    ag_end(s);
    ag_precision(AG_FLOAT32);
}

static void check_frozen(int unused)
{
    (void)unused;
    for (int64_t rows = 1; rows <= 40; rows += rows < 4 ? 1 : 18) {
        Tensor *r[2][5];
        for (int packed = 0; packed < 2; packed++)
            use_frozen(packed, rows, &r[packed][0], &r[packed][1], &r[packed][2], &r[packed][3], &r[packed][4]);
        for (int i = 0; i < 5; i++) {
            ck_assert_mem_eq(tensor_data(r[0][i]), tensor_data(r[1][i]), (size_t)tensor_numel(r[0][i]) * sizeof(ag_real));
            tensor_free(r[0][i]);
            tensor_free(r[1][i]);
        }
    }
}

START_TEST(frozen_weights_in_two_bytes_change_nothing) { with_each_isa(check_frozen, 0); } END_TEST

START_TEST(packed_matrices_are_read_and_written)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *w = tensor_new_owned(SHAPE(37, 6), AG_REAL), *packed = tensor_new_owned(SHAPE(37, 6), AG_PACKED);
    ag_fill_normal(w, 0, 1);
    Tensor *pairs = ag_to_bf16(w), *rounded = ag_from_bf16(pairs);
    ag_packed_write(packed, 0, 20, (const uint32_t *)tensor_int_data(pairs));
    ag_packed_write(packed, 20, 17, (const uint32_t *)tensor_int_data(pairs) + 20 * 3);
    ck_assert_mem_eq(tensor_data(ag_from_bf16(packed)), tensor_data(rounded), 37 * 6 * sizeof(ag_real));
    uint32_t rows[5 * 3];
    ag_packed_read(packed, 14, 5, rows);
    ck_assert_mem_eq(rows, tensor_int_data(pairs) + 14 * 3, sizeof rows);
    Tensor *copy = ag_keep(packed);
    tensor_set_requires_grad(w, true);
    ag_freeze_bf16(w);
    ck_assert(!tensor_requires_grad(w));
    tensor_copy(copy, w);
    ck_assert_uint_eq(tensor_hash(copy, 3), tensor_hash(packed, 3));
    if (sizeof(ag_real) == sizeof(float)) ck_assert_uint_eq(tensor_hash(rounded, 3), tensor_hash(packed, 3));
    rows[4] ^= 1;
    ag_packed_write(copy, 14, 5, rows);
    ck_assert_uint_ne(tensor_hash(copy, 3), tensor_hash(packed, 3));

    Tensor *x = tensor_ones(SHAPE(2, 6));
    EXPECT_USAGE_ERROR("tensor_data: t is kept in bfloat16 (AG_PACKED), expected AG_REAL: ag_from_bf16 gives its values as "
                       "reals", tensor_data(packed));
    EXPECT_USAGE_ERROR("linear: weight is kept in bfloat16 (AG_PACKED), but products are in float32: expected "
                       "ag_precision(AG_BF16)", ag_linear(x, packed, NULL));
    EXPECT_USAGE_ERROR("ag_neg: x is kept in bfloat16", ag_neg(packed));
    EXPECT_USAGE_ERROR("ag_transpose: x is kept in bfloat16", ag_transpose(packed, 0, 1));
    EXPECT_USAGE_ERROR("tensor_set_requires_grad: t is kept in bfloat16", tensor_set_requires_grad(packed, true));
    EXPECT_USAGE_ERROR("ag_packed_read: 2 rows from 36 on, of (37, 6)", ag_packed_read(packed, 36, 2, rows));
    EXPECT_USAGE_ERROR("ag_packed_read: -1 rows from 36 on, of (37, 6)", ag_packed_read(packed, 36, -1, rows));
    EXPECT_USAGE_ERROR("ag_packed_read: 1 rows from -1 on, of (37, 6)", ag_packed_read(packed, -1, 1, rows));
    EXPECT_USAGE_ERROR("ag_packed_read: rows is NULL", ag_packed_read(packed, 0, 1, NULL));
    EXPECT_USAGE_ERROR("ag_packed_write: rows is NULL", ag_packed_write(packed, 0, 1, NULL));
    EXPECT_USAGE_ERROR("ag_packed_write: t is AG_REAL, expected AG_PACKED", ag_packed_write(x, 0, 1, rows));
    EXPECT_USAGE_ERROR("tensor_new_owned: shape (2, 5), expected a matrix with an even number of columns for AG_PACKED",
                       tensor_new_owned(SHAPE(2, 5), AG_PACKED));
    EXPECT_USAGE_ERROR("expected a matrix with an even number", tensor_new_owned(SHAPE(INT64_MAX / 32, 2), AG_PACKED));
    EXPECT_USAGE_ERROR("ag_compare: a is kept in bfloat16", ag_compare(AG_GT, packed, packed));
    EXPECT_USAGE_ERROR("ag_compare_scalar: a is kept in bfloat16", ag_compare_scalar(AG_GT, packed, 3));
    EXPECT_USAGE_ERROR("ag_freeze_bf16: shape (6,), expected a matrix", ag_freeze_bf16(tensor_ones(SHAPE(6))));
    tensor_free(copy);
    tensor_free(packed);
    tensor_free(w);
    ag_end(s);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

/* The input of a frozen Linear is released, and that of a trained one is kept. */
START_TEST(inputs_of_frozen_weights_are_not_kept)
{
    int64_t in_use[2];
    for (int frozen = 0; frozen < 2; frozen++) {
        AgScope s = ag_begin(AG_RECORD);
        Linear *layer = nn_linear_new(256, 64);
        if (frozen) nn_freeze_bf16(layer);
        ag_precision(AG_BF16);
        Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(64, 256)), true);
        AgMark mark = ag_mark();
        Tensor *y = nn_linear(layer, ag_add(x, x));
        ag_recompute(mark, y, AG_CHEAP);
        in_use[frozen] = (int64_t)ag_memory().in_use;
        ag_backward(ag_sum(y));
        ag_free(layer);
        ag_end(s);
        ag_precision(AG_FLOAT32);
    }
    ck_assert_int_ge(in_use[0] - in_use[1], (int64_t)(64 * 256 * sizeof(ag_real)));
}
END_TEST

/* ---- caches of keys and values in bfloat16 ----------------------------------------------------------------------- */

/* Calls check(arg) with each instruction set. */
static void check_same(const char *what, int64_t step, Tensor *x, Tensor *expected)
{
    ck_assert(ag_shape_equal(tensor_shape(x), tensor_shape(expected)));
    bool same = memcmp(tensor_data(x), tensor_data(expected), (size_t)tensor_numel(x) * sizeof(ag_real)) == 0;
    ck_assert_msg(same, "%s, step %d, %s: other bits", what, (int)step, k_isa());
}

static NnCache *cache_of(AgPrecision precision, int64_t capacity)
{
    ag_precision(precision);
    return nn_cache_new(1, capacity);
}

/* Attention to either kind of cache, in float32 and in bfloat16, compared with attention to all keys. */
static void check_attention(int i)
{
    enum { ROWS = 3, ROOM = 340 };
    static const struct { int64_t width; AgAttention how; bool masked; } cases[] = {
        { 16, { 3, 0, true, 0, 0 }, false }, { 10, { 4, 2, true, 0, 0 }, false }, { 34, { 4, 1, true, 21, 0 }, false },
        { 5, { 2, 0, true, 0, 0 }, false },  { 3, { 6, 3, false, 0, 0 }, true },  { 64, { 2, 1, true, 7, 0.3 }, true },
        { 2, { 1, 0, false, 0, 0 }, false },
    };
    static const int64_t steps[] = { 7, 1, 1, 40, 2, 1, 11, 5, 1, 230, 1, 1, 6 };
    const AgAttention how = cases[i].how;
    const int64_t width = cases[i].width, kv_width = width * (how.kv_heads ? how.kv_heads : how.heads);
    NnCache *wide = cache_of(AG_FLOAT32, ROOM), *narrow = cache_of(AG_BF16, ROOM);
    ck_assert(narrow->bf16 && !wide->bf16);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *k = tensor_normal(SHAPE(ROWS, ROOM, kv_width), 0, 1), *v = tensor_normal(SHAPE(ROWS, ROOM, kv_width), 0, 1);
    for (int64_t at = 0, step = 0; step < (int64_t)(sizeof steps / sizeof *steps); at += steps[step++]) {
        AgScope one = ag_begin(AG_NO_GRAD);
        const int64_t end = at + steps[step];
        Tensor *q = tensor_normal(SHAPE(ROWS, steps[step], width * how.heads), 0, 1);
        Tensor *mask = cases[i].masked ? ag_compare_scalar(AG_LT, tensor_uniform(SHAPE(ROWS, 1, 1, end), 0, 1), 0.8) : NULL;
        Tensor *keys = ag_slice(k, 1, 0, end), *values = ag_slice(v, 1, 0, end);
        nn_cache_append(wide, 0, ag_slice(k, 1, at, end), ag_slice(v, 1, at, end));
        nn_cache_append(narrow, 0, ag_slice(k, 1, at, end), ag_slice(v, 1, at, end));
        for (int turn = 0; turn < 4; turn++) {
            NnCache *c = turn % 2 ? narrow : wide;
            const bool rounded = tensor_dtype(c->layer[0].key) == AG_INT;
            ck_assert(rounded == (c == narrow && kv_width % 2 == 0));
            ag_precision(turn < 2 ? AG_BF16 : AG_FLOAT32);
            Tensor *read_keys, *read_values;
            nn_cache_read(c, 0, &read_keys, &read_values);
            check_same("keys", step, read_keys, rounded ? ag_from_bf16(ag_to_bf16(keys)) : keys);
            check_same("values", step, read_values, rounded ? ag_from_bf16(ag_to_bf16(values)) : values);
            AgRandom before = ag_random_state();
            Tensor *expected = turn < 2 ? ag_attention(q, keys, values, mask, how)
                                        : ag_attention(q, read_keys, read_values, mask, how);
            ag_set_random_state(before);
            check_same("attention", step, nn_cache_attention(c, 0, q, mask, how), expected);
        }
        ag_end(one);
    }
    ag_end(s);
    ag_free(wide);
    ag_free(narrow);
    ag_precision(AG_FLOAT32);
}

START_TEST(attention_to_a_cache_has_the_same_bits) { with_each_isa(check_attention, _i); } END_TEST

static GPT *small_gpt(void)
{
    return gpt_new((GPTOptions){ .layers = 2, .heads = 2, .width = 48, .vocab = 31, .context = 80, .eps = 1e-5 });
}

static Llama *small_llama(void)
{
    LlamaOptions o = llama_defaults();
    o.layers = 2;
    o.heads = 4;
    o.kv_heads = 2;
    o.head_width = 10;
    o.width = 24;
    o.hidden = 40;
    o.vocab = 31;
    o.context = 80;
    return llama_new(o);
}

/* What one of the models makes of ids, which follow those in the cache. */
typedef struct { void *model; Tensor *memory; int kind; } Decoder;

static Decoder decoder_new(int kind)
{
    ag_seed(9);
    Decoder d = { .kind = kind };
    if (kind == 0) d.model = small_gpt();
    if (kind == 1) d.model = small_llama();
    if (kind == 2) {
        TransformerOptions o = transformer_defaults();
        o.N = 2;
        o.d_model = 24;
        o.d_ff = 40;
        o.h = 2;
        o.max_len = 80;
        d.model = transformer_new(31, 31, o);
    }
    nn_eval(d.model);
    return d;
}

static NnCache *decoder_cache(const Decoder *d, AgPrecision precision)
{
    ag_precision(precision);
    NnCache *c = d->kind == 0 ? lm_cache_new(d->model) : d->kind == 1 ? lm_cache_new(d->model)
                                                                     : transformer_cache_new(d->model, 80);
    ag_precision(AG_BF16);
    return c;
}

static Tensor *decoder_next(const Decoder *d, Tensor *ids, NnCache *c)
{
    if (d->kind == 0) return lm_next(d->model, ids, c);
    if (d->kind == 1) return lm_next(d->model, ids, c);
    return transformer_decode_next(d->model, d->memory, NULL, ids, c);
}

/* A prompt, tokens one by one, other rows, several tokens at once, another text; then fewer positions. */
static void check_decoder(int kind)
{
    static const struct { int64_t ids, rows; bool begins; } steps[] = {
        { 13, 3, false }, { 1, 3, false }, { 1, 3, false }, { 1, 4, false }, { 6, 4, false }, { 9, 4, true }, { 1, 4, false },
        { 1, 4, false }, { 30, 4, false }, { 1, 4, false },
    };
    Decoder d = decoder_new(kind);
    AgScope s = ag_begin(AG_NO_GRAD);
    NnCache *wide = decoder_cache(&d, AG_FLOAT32), *narrow = decoder_cache(&d, AG_BF16);
    ck_assert(!wide->bf16 && narrow->bf16);
    d.memory = tensor_normal(SHAPE(3, 7, 24), 0, 1);
    for (int64_t i = 0; i < (int64_t)(sizeof steps / sizeof *steps); i++) {
        if (i > 0 && steps[i].rows != steps[i - 1].rows) {
            nn_cache_select(wide, (int32_t[]){ 2, 0, 2, 1 }, 4);
            nn_cache_select(narrow, (int32_t[]){ 2, 0, 2, 1 }, 4);
        }
        if (steps[i].begins) {
            nn_cache_keep_last(wide, 0);
            nn_cache_keep_last(narrow, 0);
        }
        Tensor *ids = tensor_randint(SHAPE(steps[i].rows, steps[i].ids), 0, 31);
        check_same("logits", i, decoder_next(&d, ids, narrow), decoder_next(&d, ids, wide));
    }
    ck_assert_int_eq(tensor_dtype(narrow->layer[1].value), AG_INT);
    ck_assert_int_eq(tensor_dtype(wide->layer[1].value), AG_REAL);
    Tensor *key[2], *value[2];
    nn_cache_keep_last(wide, 9);
    nn_cache_keep_last(narrow, 9);
    nn_cache_read(wide, 0, &key[0], &value[0]);
    nn_cache_read(narrow, 0, &key[1], &value[1]);
    check_same("kept keys", 9, key[1], ag_from_bf16(ag_to_bf16(key[0])));
    check_same("kept values", 9, value[1], ag_from_bf16(ag_to_bf16(value[0])));
    ag_free(wide);
    ag_free(narrow);
    ag_end(s);
    ag_free(d.model);
    ag_precision(AG_FLOAT32);
}

START_TEST(models_with_a_cache_in_bfloat16_have_the_same_bits) { with_each_isa(check_decoder, _i); } END_TEST

START_TEST(a_cache_in_bfloat16_needs_half_of_the_memory)
{
    Decoder d = decoder_new(_i);
    AgScope s = ag_begin(AG_NO_GRAD);
    size_t used[2];
    for (int i = 0; i < 2; i++) {
        NnCache *c = decoder_cache(&d, i ? AG_BF16 : AG_FLOAT32);
        size_t before = ag_memory().in_use;
        AgScope one = ag_begin(AG_NO_GRAD);
        decoder_next(&d, tensor_randint(SHAPE(2, 64), 0, 31), c);
        ag_end(one);
        used[i] = ag_memory().in_use - before;
        ag_free(c);
    }
    size_t numbers = 2 * 2 * 64 * (size_t)(_i == 0 ? 48 : 20) * 2;      /* layers, keys and values, positions, width, rows */
    ck_assert_msg(used[0] >= numbers * sizeof(ag_real) && used[1] >= numbers * 2 && used[1] < numbers * 2 * 11 / 10,
                  "%d and %d bytes", (int)used[0], (int)used[1]);
    ag_end(s);
    ag_free(d.model);
    ag_precision(AG_FLOAT32);
}
END_TEST

static Tensor *first_input(Tensor **in, void *arg)
{
    (void)arg;
    return in[0];
}

START_TEST(gradients_are_right)
{
    static const int linear_operations[] = { OP_matmul, OP_linear };
    ag_precision(AG_BF16);
    ck_assert_int_ge(check_samples(op_samples[linear_operations[_i]], stderr), 8);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = full(SHAPE(3, 3), 0.3);
    EXPECT_USAGE_ERROR("ag_gradcheck: item 0 of input 0 is 0.3; with AG_BF16 expected multiples of 1/16",
                       ag_gradcheck(first_input, NULL, &x, 1, NULL));
    Tensor *large = full(SHAPE(3, 3), 7.0625);
    EXPECT_USAGE_ERROR("item 0 of input 0 is 7.0625; with AG_BF16 expected multiples of 1/16 from -7 to 7",
                       ag_gradcheck(first_input, NULL, &large, 1, NULL));
    ag_end(s);
    ag_precision(AG_FLOAT32);
}
END_TEST

START_TEST(a_weight_that_is_frozen_has_no_gradient)
{
    Tensor *w = tensor_set_requires_grad(tensor_new_owned(SHAPE(2, 2), AG_REAL), true);
    AgScope s = ag_begin(AG_RECORD);
    ag_backward(ag_sum(w));
    ag_freeze_bf16(w);
    ck_assert(!tensor_grad_data(w) && !tensor_requires_grad(w));
    ag_end(s);
    tensor_free(w);
}
END_TEST

Suite *precision_suite(void)
{
    Suite *suite = suite_create("precision");
    TCase *tests = tcase_create("precision");
    tcase_add_test(tests, it_lasts_until_the_scope_ends);
    tcase_add_test(tests, an_error_restores_it);
    tcase_add_loop_test(tests, operands_are_rounded, 0, 4);
    tcase_add_test(tests, attention_is_rounded);
    tcase_add_test(tests, packed_weights_change_nothing);
    tcase_add_test(tests, frozen_weights_in_two_bytes_change_nothing);
    tcase_add_test(tests, packed_matrices_are_read_and_written);
    tcase_add_test(tests, inputs_of_frozen_weights_are_not_kept);
    tcase_add_loop_test(tests, attention_to_a_cache_has_the_same_bits, 0, 7);
    tcase_add_loop_test(tests, models_with_a_cache_in_bfloat16_have_the_same_bits, 0, 3);
    tcase_add_loop_test(tests, a_cache_in_bfloat16_needs_half_of_the_memory, 0, 2);
    tcase_add_loop_test(tests, gradients_are_right, 0, 2);
    tcase_add_test(tests, a_weight_that_is_frozen_has_no_gradient);
    suite_add_tcase(suite, tests);
    return suite;
}
