/* test_arithmetic.c: rules of docs/arithmetic.md, written from that page as plain loops, give the library's bits. tiny.c has
 * the others: test_tiny.sh. */
#include <math.h>
#include <string.h>

#include "kaeru/kaeru.h"
#include "suites.h"

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static double row(int n, const float *t)
{
    double total = 0;
    for (int begin = 0; begin < n; begin += 4096) {
        float lane[32] = { 0 };
        for (int i = begin; i < n && i < begin + 4096; i++) lane[(i - begin) % 32] += t[i];
        for (int half = 16; half >= 1; half /= 2)
            for (int l = 0; l < half; l++) lane[l] += lane[l + half];
        total += lane[0];
    }
    return total;
}

/* COLUMN of a b, each term by a fused multiply-add. */
static float column(int rows, int n, const float *a, const float *b)
{
    int length = 64 * (((rows + 31) / 32 + 63) / 64);
    float total = 0;
    for (int first = 0; first < rows; first += length) {
        float chunk = 0;
        for (int begin = first; begin < rows && begin < first + length; begin += 64) {
            float block = 0;
            for (int i = begin; i < rows && i < begin + 64; i++) block = fmaf(a[i * n], b[i * n], block);
            chunk += block;
        }
        total += chunk;
    }
    return total;
}

/* ---- functions of one number ------------------------------------------------------------------------------------- */

static float poly(float x, int n, const float *c)
{
    float y = c[n - 1];
    for (int i = n - 2; i >= 0; i--) y = fmaf(y, x, c[i]);
    return y;
}
#define POLY(x, ...) poly(x, (int)(sizeof((float[]){ __VA_ARGS__ }) / sizeof(float)), (const float[]){ __VA_ARGS__ })

static float held(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
static float two_to(float n) { return ldexpf(1, (int)n); }

static float reduce(float x, float *n)
{
    *n = rintf(x * 0x1.715476p+0f);
    return fmaf(*n, -0x1.7f7d1cp-20f, fmaf(*n, -0x1.62e4p-1f, x));
}

static float small(float r)
{
    return 1 + fmaf(POLY(r, 0.5f, 0x1.5554a2p-3f, 0x1.55568ap-5f, 0x1.123008p-7f, 0x1.6b6de6p-10f), r * r, r);
}

static float exp_of(float x)
{
    float n, r = reduce(held(x, -105, 89), &n), half = floorf(n / 2);
    return small(r) * two_to(half) * two_to(n - half);
}

static float exp_negative(float x)
{
    float n, r = reduce(held(x, -88, 0), &n);
    return x < -87 ? 0 : small(r) * two_to(n);
}

static float q(float r)
{
    return POLY(r, 0.5f, 0x1.555556p-3f, 0x1.5554f2p-5f, 0x1.1110a2p-7f, 0x1.6d417p-10f, 0x1.a18a02p-13f);
}

static float elu(float x)
{
    float n, r = reduce(held(x, -25, 0), &n);
    return x < 0 ? fmaf(two_to(n), fmaf(q(r), r * r, r), two_to(n) - 1) : x;
}

static float log_of(float x)
{
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    int k;
    float m = frexpf(x, &k);
    if (m < 0x1.555556p-1f) m *= 2, k--;
    float f = m - 1, p = POLY(f, 0x1.555506p-2f, -0x1.fffefp-3f, 0x1.99d028p-3f, -0x1.559dccp-3f, 0x1.1ed716p-3f,
                              -0x1.f3114p-4f, 0x1.1e66bep-3f, -0x1.080586p-3f);
    return fmaf((float)k, 0x1.62e43p-1f, fmaf(p, f * (f * f), -0.5f * (f * f)) + f);
}

static float tanh_of(float x)
{
    float n, r = reduce(fmaxf(-20, -2 * fabsf(x)), &n), p = fmaf(q(r), r * r, r);
    float e = fmaf(two_to(n), p, two_to(n)), less = fmaf(-two_to(n), p, 1 - two_to(n)), h = 0.5f * less;
    return copysignf(fabsf(x) > 0.75f ? 1 - (e + e) / (1 + e) : fmaf(h, less / (1 + e), h), x);
}

static float lower(float x)
{
    float e = exp_of(-fabsf(x));
    return fmaf(-e, e / (1 + e), e);
}

static float sigmoid(float x) { return x < 0 ? lower(x) : 1 - lower(x); }

static float silu(float x)
{
    float n, r = reduce(-held(x, -87, 87), &n), s = 1 / (1 + small(r) * two_to(n));
    return x < -87 ? -0.0f : x * s;
}

static float silu_slope(float x)
{
    float h = held(x, -87, 87), n, r = reduce(-h, &n), e = small(r) * two_to(n), s = 1 / (1 + e);
    return x < -87 ? 0 : s * fmaf(h, e * s, 1);
}

static const float A = 0x1.988454p+0f, B = 0x1.2444f2p-4f;

static float gelu(float x)
{
    float m = fmaxf(-16, x);
    return m * sigmoid(m * fmaf(m * m, B, A));
}

static float gelu_slope(float x)
{
    float m = held(x, -16, 16), l = lower(m * fmaf(m * m, B, A));
    return fmaf(m * fmaf(m * m, 3 * B, A), fmaf(-l, l, l), m < 0 ? l : 1 - l);
}

static float softplus(float x)
{
    float e = exp_of(-fabsf(x)), s = 1 + e;
    return fmaxf(0, x) + (log_of(s) + (e - (s - 1)) / s);
}

static Tensor *elu_of_library(Tensor *x) { return ag_elu(x, 1); }

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void check_same(const char *what, int64_t n, const float *expected, const float *found)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(memcmp(&expected[i], &found[i], sizeof *found) == 0 || (isnan(expected[i]) && isnan(found[i])),
                      "%s, item %lld: the page %a, the library %a", what, (long long)i, (double)expected[i], (double)found[i]);
}

/* Numbers of all sizes, and many between -20 and 20 and between -120 and 120. */
static Tensor *usual_numbers(int n)
{
    Tensor *x = tensor_uniform(SHAPE(n), -20, 20);
    float *v = tensor_mutable_data(x);
    for (int i = 0; i < n; i++) {
        uint32_t bits = ag_random_u32();
        float any;
        memcpy(&any, &bits, sizeof any);
        if (i % 3 == 0) v[i] *= 6;
        if (i % 3 == 1 && isfinite(any)) v[i] = any;
    }
    return tensor_set_requires_grad(x, true);
}

START_TEST(functions_of_one_number)
{
    enum { N = 200000 };
    const struct { const char *name; float (*page)(float); Tensor *(*library)(Tensor *); float (*slope)(float); } all[] = {
        { "exp", exp_of, ag_exp, NULL }, { "log", log_of, ag_log, NULL }, { "tanh", tanh_of, ag_tanh, NULL },
        { "sigmoid", sigmoid, ag_sigmoid, NULL }, { "silu", silu, ag_silu, silu_slope }, { "gelu", gelu, ag_gelu, gelu_slope },
        { "softplus", softplus, ag_softplus, NULL }, { "elu", elu, elu_of_library, NULL }
    };
    float *expected = ag_alloc(N, sizeof *expected);
    ag_seed(1);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *x = usual_numbers(N), *y = all[k].library(x);
        for (int i = 0; i < N; i++) expected[i] = all[k].page(tensor_data(x)[i]);
        check_same(all[k].name, N, expected, tensor_data(y));
        if (all[k].slope) {
            ag_backward_from(y, tensor_ones(SHAPE(N)));
            for (int i = 0; i < N; i++) expected[i] = all[k].slope(tensor_data(x)[i]);
            check_same(all[k].name, N, expected, tensor_grad_data(x));
        }
        ag_end(scope);
    }
    ag_free(expected);
}
END_TEST

enum { ROWS = 2200, WIDTH = 70, LONG = 9000 };

/* x (rows, n) and dy, of which the rows are the page's. */
typedef struct { int rows, n; const float *x, *dy, *gamma; float *y, *dx, *t; } Rows;

static void rms_norm(const Rows *r, float *normal)
{
    for (int i = 0; i < r->rows; i++) {
        const float *x = r->x + i * r->n, *dy = r->dy + i * r->n;
        for (int j = 0; j < r->n; j++) r->t[j] = x[j] * x[j];
        float rstd = (float)(1 / sqrt(row(r->n, r->t) / r->n + 1e-6));
        for (int j = 0; j < r->n; j++) {
            normal[i * r->n + j] = x[j] * rstd;
            r->y[i * r->n + j] = x[j] * rstd * r->gamma[j];
            r->t[j] = dy[j] * r->gamma[j] * x[j];
        }
        double s = rstd;
        float slope = (float)(-s * s * s / r->n * row(r->n, r->t));
        for (int j = 0; j < r->n; j++) r->dx[i * r->n + j] = fmaf(slope, x[j], rstd * (dy[j] * r->gamma[j]));
    }
}

static void softmax(const Rows *r, float *unused)
{
    (void)unused;
    for (int i = 0; i < r->rows; i++) {
        const float *x = r->x + i * r->n, *dy = r->dy + i * r->n;
        float *y = r->y + i * r->n, most = -INFINITY;
        for (int j = 0; j < r->n; j++) most = fmaxf(most, x[j]);
        for (int j = 0; j < r->n; j++) y[j] = exp_negative(x[j] - most);
        float factor = (float)(1 / row(r->n, y));
        for (int j = 0; j < r->n; j++) {
            y[j] *= factor;
            r->t[j] = dy[j] * y[j];
        }
        float dot = (float)row(r->n, r->t);
        for (int j = 0; j < r->n; j++) r->dx[i * r->n + j] = y[j] * (dy[j] - dot);
    }
}

static void check_rows(int rows, int n, bool norm)
{
    AgScope scope = ag_begin(AG_RECORD);
    ag_seed(2);
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(rows, n), 0.5, 2), true);
    Tensor *dy = tensor_normal(SHAPE(rows, n), 0, 1);
    Tensor *gamma = tensor_set_requires_grad(tensor_normal(SHAPE(n), 1, 0.1), true);
    Tensor *y = norm ? ag_rms_norm(x, gamma, 1e-6) : ag_softmax(x, -1);
    size_t items = (size_t)rows * (size_t)n;
    Rows r = { rows, n, tensor_data(x), tensor_data(dy), tensor_data(gamma), ag_alloc(items, sizeof(float)),
               ag_alloc(items, sizeof(float)), ag_alloc((size_t)n, sizeof(float)) };
    float *normal = ag_alloc(items, sizeof *normal);
    (norm ? rms_norm : softmax)(&r, normal);
    check_same("y", (int64_t)items, r.y, tensor_data(y));
    ag_backward_from(y, dy);
    check_same("dx", (int64_t)items, r.dx, tensor_grad_data(x));
    for (int j = 0; norm && j < n; j++) r.t[j] = column(rows, n, r.dy + j, normal + j);
    if (norm) check_same("dgamma", n, r.t, tensor_grad_data(gamma));
    ag_end(scope);
    ag_free(normal);
    ag_free(r.y);
    ag_free(r.dx);
    ag_free(r.t);
}

START_TEST(rows)
{
    check_rows(ROWS, WIDTH, true);
    check_rows(3, LONG, true);
    check_rows(ROWS, WIDTH, false);
    check_rows(3, LONG, false);
}
END_TEST

START_TEST(a_long_sum)
{
    enum { N = 3000001 };
    AgScope scope = ag_begin(AG_NO_GRAD);
    ag_seed(3);
    Tensor *x = tensor_normal(SHAPE(N), 0, 1);
    int length = 4096 * (((N + 255) / 256 + 4095) / 4096);
    double total = 0;
    for (int begin = 0; begin < N; begin += length)
        total += (float)row(N - begin < length ? N - begin : length, tensor_data(x) + begin);
    float sum = (float)total, mean = (float)(1 / (double)N) * (float)total;
    check_same("sum", 1, &sum, tensor_data(ag_sum(x)));
    check_same("mean", 1, &mean, tensor_data(ag_mean(x)));
    ag_end(scope);
}
END_TEST

/* x in bfloat16, as a float; 0 for a subnormal number. */
static float bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000) == 0) bits &= 0x80000000;
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

START_TEST(a_product_in_bfloat16)
{
    enum { M = 5, K = 101, N = 7 };
    AgScope scope = ag_begin(AG_NO_GRAD);
    ag_seed(4);
    Tensor *a = tensor_normal(SHAPE(M, K), 0, 1), *b = tensor_normal(SHAPE(K, N), 0, 1);
    float expected[M * N];
    for (int i = 0; i < M * N; i++) {
        float c = 0;
        for (int begin = 0; begin < K; begin += 32) {
            float t[2] = { 0, 0 };
            for (int p = begin; p < begin + 32; p++) {
                float left = p < K ? bf16(tensor_data(a)[i / N * K + p]) : 0;
                float right = p < K ? bf16(tensor_data(b)[p * N + i % N]) : 0;
                t[p % 2] = fmaf(left, right, t[p % 2]);
            }
            c += t[0] + t[1];
        }
        expected[i] = c;
    }
    ag_precision(AG_BF16);
    check_same("product", M * N, expected, tensor_data(ag_matmul(a, b)));
    ag_precision(AG_FLOAT32);
    ag_end(scope);
}
END_TEST

START_TEST(rotary_positions)
{
    enum { BATCH = 2, LENGTH = 5, HEADS = 3, PAIRS = 4, FIRST = 7, N = BATCH * LENGTH * HEADS * 2 * PAIRS };
    AgScope scope = ag_begin(AG_RECORD);
    ag_seed(6);
    Tensor *table = ag_rope_table(ag_rope_frequencies(2 * PAIRS, 10000), FIRST, LENGTH);
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(BATCH, LENGTH, HEADS * 2 * PAIRS), 0, 1), true);
    Tensor *dy = tensor_normal(SHAPE(BATCH, LENGTH, HEADS * 2 * PAIRS), 0, 1), *y = ag_rope(x, table, HEADS, false);
    float expected[N], back[N];
    for (int head = 0; head < BATCH * LENGTH * HEADS; head++) {
        for (int i = 0; i < PAIRS; i++) {
            float frequency = 1 / (float)ag_math_pow(10000, (double)((float)(2 * i) / (float)(2 * PAIRS)));
            float angle = (float)(FIRST + head / HEADS % LENGTH) * frequency;
            float c = (float)ag_math_cos((double)angle), s = (float)ag_math_sin((double)angle);
            int a = head * 2 * PAIRS + i, b = a + PAIRS;
            const float *v = tensor_data(x), *d = tensor_data(dy);
            expected[a] = fmaf(-v[b], s, v[a] * c);
            expected[b] = fmaf(v[a], s, v[b] * c);
            back[a] = fmaf(-d[b], -s, d[a] * c);
            back[b] = fmaf(d[a], -s, d[b] * c);
        }
    }
    check_same("y", N, expected, tensor_data(y));
    ag_backward_from(y, dy);
    check_same("dx", N, back, tensor_grad_data(x));
    ag_end(scope);
}
END_TEST

START_TEST(dropout)
{
    enum { N = 1001, SEED = 9 };
    AgScope scope = ag_begin(AG_NO_GRAD);
    ag_seed(SEED);
    Tensor *x = tensor_normal(SHAPE(N), 0, 1), *y = ag_dropout(x, 0.15);
    float expected[N];
    for (int i = 0; i < N; i++) {
        uint32_t w[4] = { (uint32_t)((N + 3) / 4 + i / 4), 0, 0, 0 }, key[2] = { SEED, 0 };
        for (int round = 0; round < 10; round++) {
            uint64_t p0 = (uint64_t)0xD2511F53 * w[0], p1 = (uint64_t)0xCD9E8D57 * w[2];
            w[0] = (uint32_t)(p1 >> 32) ^ w[1] ^ key[0];
            w[2] = (uint32_t)(p0 >> 32) ^ w[3] ^ key[1];
            w[1] = (uint32_t)p1;
            w[3] = (uint32_t)p0;
            key[0] += 0x9E3779B9;
            key[1] += 0xBB67AE85;
        }
        expected[i] = w[i % 4] >> 8 < (uint32_t)ceil(0.15 * 0x1p24) ? 0 : tensor_data(x)[i] * (float)(1 / (1 - 0.15));
    }
    check_same("dropout", N, expected, tensor_data(y));
    ag_end(scope);
}
END_TEST

/* With Nesterov's momentum and weight decay. */
START_TEST(gradient_descent)
{
    enum { IN = 3, OUT = 2, N = IN * OUT };
    AgScope data = ag_begin(AG_NO_GRAD);
    ag_seed(5);
    Linear *l = nn_linear_new(IN, OUT);
    AgSgd how = { .lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01 };
    Optimizer *o = nn_sgd_new_with(l, how);
    Tensor *x = tensor_normal(SHAPE(4, IN), 0, 1), *target = tensor_normal(SHAPE(4, OUT), 0, 1);
    float w[N], kept[N];
    memcpy(w, tensor_data(l->weight), sizeof w);
    for (int step = 0; step < 3; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        ag_backward(nn_mse_loss(nn_linear(l, x), target));
        for (int i = 0; i < N; i++) {
            float g = fmaf(0.01f, w[i], tensor_grad_data(l->weight)[i]);
            kept[i] = step == 0 ? g : fmaf(0.9f, kept[i], g);
            w[i] = fmaf(-0.1f, fmaf(0.9f, kept[i], g), w[i]);
        }
        nn_optimizer_step(o);
        ag_end(scope);
        check_same("weight", N, w, tensor_data(l->weight));
    }
    ag_free(o);
    ag_free(l);
    ag_end(data);
}
END_TEST

Suite *arithmetic_suite(void)
{
    Suite *suite = suite_create("arithmetic");
    TCase *t = tcase_create("arithmetic");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, functions_of_one_number);
    tcase_add_test(t, rows);
    tcase_add_test(t, a_long_sum);
    tcase_add_test(t, a_product_in_bfloat16);
    tcase_add_test(t, rotary_positions);
    tcase_add_test(t, dropout);
    tcase_add_test(t, gradient_descent);
    suite_add_tcase(suite, t);
    return suite;
}
