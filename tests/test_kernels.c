/* test_kernels.c: elementwise kernels against their plain loops. See kernel_case.h. */
#include "kernel_case.h"

/* ---- functions of one number ------------------------------------------------------------------------------------- */

static const int64_t lengths[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 100, 1000, 100003 };

static void call_unary(const Kernels *k, Case *c)
{
    k->unary((KUnary)c->f, c->n, c->out[0], c->in[0], c->p, c->q);
}

static void call_unary_backward(const Kernels *k, Case *c)
{
    static const int reads[] = {
#define UNARY(name, reads, cost, value, gradient) K_READS_##reads,
#include "unary_functions.def"
    };
    bool from_y = reads[c->f] == K_READS_Y;
    k->unary_backward((KUnary)c->f, c->n, c->out[0], c->in[1], from_y ? NULL : c->in[0], from_y ? c->in[2] : NULL, c->p,
                      c->q, c->add);
}

/* How many functions KUnary has. */
enum {
    FUNCTIONS = 0
#define UNARY(name, reads, cost, value, gradient) + 1
#include "unary_functions.def"
};

static const double exponents[] = { 2, 0, 1, 3, -1, 0.5, -0.5, 4, 7, -3, 2.25 };

START_TEST(unary_matches_reference)
{
    for (int l = 0; l < COUNT(lengths); l++)
        for (int e = 0; e < (_i == K_POW_SCALAR ? COUNT(exponents) : 1); e++) {
            Case c = { .n = lengths[l], .f = _i, .p = _i == K_POW_SCALAR ? exponents[e] : -0.75, .q = 1.25 };
            c.in[0] = odd_input(&c, c.n);
            c.out[0] = output(&c, c.n);
            check_case(&c, call_unary);
        }
}
END_TEST

/* Floats of every exponent. */
START_TEST(unary_matches_reference_everywhere)
{
    enum { STEP = 99991, N = 4294967296 / STEP };
    for (int e = 0; e < (_i == K_POW_SCALAR ? COUNT(exponents) : 1); e += 3)
        for (int back = 0; back < 2; back++) {
            Case c = { .n = N, .f = _i, .p = _i == K_POW_SCALAR ? exponents[e] : -0.75, .q = 1.25 };
            c.in[0] = input(&c, N, 0, 1);
            c.in[1] = input(&c, N, -1, 1);
            c.in[2] = input(&c, N, -1, 1);
            for (int i = 0; i < N; i++) {
                const uint32_t bits = (uint32_t)i * STEP;
                memcpy(&c.in[0][i], &bits, sizeof bits);
            }
            c.out[0] = output(&c, N);
            check_case(&c, back ? call_unary_backward : call_unary);
        }
}
END_TEST

/* So many numbers that the last bit of a polynomial's last coefficient changes one of them. */
START_TEST(unary_matches_reference_closely)
{
    enum { N = 1 << 22 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *expected = malloc(N * sizeof *expected);
    ck_assert(x && y && expected);
    for (int i = 0; i < N; i++) x[i] = (float)(i - N / 2) * 0x1.234567p-18f;
    if (_i == FUNCTIONS) {
        k_normal(N, y, 3, 5, 0, 1);
        ref_normal(N, expected, 3, 5, 0, 1);
    } else {
        k_unary((KUnary)_i, N, y, x, 0.75, 1.25);
        ref_unary((KUnary)_i, N, expected, x, 0.75, 1.25);
    }
    for (int i = 0; i < N; i++)
        ck_assert_msg(memcmp(&y[i], &expected[i], sizeof *y) == 0 || (isnan(y[i]) && isnan(expected[i])),
                      "item %d is %a, expected %a", i, (double)y[i], (double)expected[i]);
    free(x);
    free(y);
    free(expected);
}
END_TEST

START_TEST(unary_backward_matches_reference)
{
    for (int l = 0; l < COUNT(lengths); l++)
        for (int e = 0; e < (_i == K_POW_SCALAR ? COUNT(exponents) : 1); e++)
            for (int add = 0; add < 2; add++) {
                Case c = { .n = lengths[l], .f = _i, .p = _i == K_POW_SCALAR ? exponents[e] : -0.75, .q = 1.25, .add = add };
                c.in[0] = _i >= K_GELU ? input(&c, c.n, -9, 9) : odd_input(&c, c.n);
                for (int64_t i = 0; i < c.n; i += 5)
                    c.in[0][i] = i % 2 ? 0.0f : -0.75f;
                c.in[1] = input(&c, c.n, -1, 1);
                c.in[2] = input(&c, c.n, 0.1, 1);
                c.out[0] = output(&c, c.n);
                check_case(&c, call_unary_backward);
            }
}
END_TEST

/* Every path treats subnormal gradients in the same way. */
START_TEST(relu_backward_of_odd_gradients)
{
    for (int add = 0; add < 2; add++) {
        Case c = { .n = 1003, .f = K_RELU, .add = add };
        c.in[1] = odd_input(&c, c.n);
        c.in[2] = input(&c, c.n, -0.5, 1);
        c.out[0] = output(&c, c.n);
        check_case(&c, call_unary_backward);
    }
}
END_TEST

/* The error in units in the last place of the true value. */
static double ulps(float got, double exact)
{
    if (isnan(exact))
        return isnan(got) ? 0 : INFINITY;
    if (isinf(got) || fabs(exact) > 3.4028235677973366e38)              /* the largest float plus half a step */
        return isinf(got) && fabs(exact) > 3.4028234e38 && (got > 0) == (exact > 0) ? 0 : INFINITY;
    int e = exact == 0 ? -126 : ilogb(exact);
    return fabs(got - exact) / ldexp(1, (e < -126 ? -126 : e) - 23);
}

/* By libm in double. */
static double exact(KUnary f, double x)
{
    switch (f) {
    case K_EXP: return exp(x);
    case K_LOG: return log(x);
    case K_TANH: return tanh(x);
    case K_SIGMOID: return 1 / (1 + exp(-x));
    case K_SILU: return x / (1 + exp(-x));
    case K_SOFTPLUS: return (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
    case K_LOG_SIGMOID: return -exact(K_SOFTPLUS, -x);
    case K_ERF: return erf(x);
    case K_SIN: return sin(x);
    case K_COS: return cos(x);
    default: return NAN;
    }
}

START_TEST(unary_within_2_or_3_ulp)
{
    static const KUnary functions[] = { K_EXP, K_LOG, K_TANH, K_SIGMOID, K_SOFTPLUS, K_ERF, K_SIN, K_COS, K_SILU,
                                          K_LOG_SIGMOID };
    enum { N = 4096 };
    float x[N], y[N];
    for (int p = 0; p < COUNT(isa_names); p++) {
        if (!use_isa(isa_names[p]))
            continue;
        for (uint64_t start = 0; start < 4294967296; start += (uint64_t)N * 9973)     /* floats of every exponent */
            for (int f = 0; f < COUNT(functions); f++) {
                for (int i = 0; i < N; i++) {
                    uint32_t bits = (uint32_t)(start + (uint64_t)i * 9973);
                    memcpy(&x[i], &bits, sizeof bits);
                }
                k_unary(functions[f], N, y, x, 0, 0);
                for (int i = 0; i < N; i++) {
                    if (functions[f] == K_SILU && x[i] < -87)
                        continue;                                       /* 0 */
                    double u = ulps(y[i], exact(functions[f], x[i]));
                    bool coarse = functions[f] == K_SIN || functions[f] == K_COS || functions[f] == K_SILU;
                    ck_assert_msg(u <= 2 + coarse, "%s: function %d of %a is %a: off by %.3f ulp", k_isa(), functions[f], x[i],
                                  y[i], u);
                }
            }
    }
}
END_TEST

/* The sine or cosine of the float next to a multiple of pi/2 is what the reduction of the angle leaves. */
START_TEST(small_sines_of_large_angles)
{
    enum { N = 60000 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i * 1.5707963267948966);
    for (int p = 0; p < COUNT(isa_names); p++)
        for (int f = K_SIN; use_isa(isa_names[p]) && f <= K_COS; f++) {
            k_unary((KUnary)f, N, y, x, 0, 0);
            for (int i = 0; i < N; i++) {
                double u = ulps(y[i], exact((KUnary)f, x[i]));
                ck_assert_msg(u <= 3, "%s: function %d of %a is %a: off by %.3f ulp", k_isa(), f, x[i], y[i], u);
            }
        }
}
END_TEST

/* Numbers for which s x + y is hard to round once. */
static void draw_sum(int kind, float *s, float *x, float *y)
{
    float sign = draw() & 1 ? 1 : -1;
    int a = 17 + (int)(draw() % 7);
    float odd = (float)(draw() >> 9 | 1);                               /* below 2^23 */
    *s = draw_between(1, 2);
    *x = draw_between(-2, 2);
    switch (kind) {
    case 0:                                                             /* ordinary */
        *y = draw_between(-4, 4);
        break;
    case 1:                                                             /* only the product's lower half is left */
        *y = nextafterf(-*s * *x, draw() & 1 ? 0 : -*s * *x);
        break;
    case 2:                                                             /* of very different sizes */
        *y = ldexpf(*x * odd, (int)(draw() % 60) - 50);
        break;
    case 3:                                                             /* subnormal */
        *x = ldexpf(*x, -(int)(draw() % 30) - 120);
        *y = ldexpf(sign * odd, -149);
        break;
    case 4:                                                             /* 2^-2a of half a step beside the middle */
        *s = ldexpf(1 + ldexpf(1, -a), -1);
        *x = sign * (1 - ldexpf(1, -a));
        *y = (draw() & 1 ? 1 : -1) * (odd + 8388608);
        break;
    default:                                                            /* the same with subnormal numbers, up to 2^-126 */
        odd = draw() % 8 ? odd : 8388607;
        *s = ldexpf(1 + ldexpf(1, -a), -75);
        *x = ldexpf(sign * (1 - ldexpf(1, -a)), -75);
        *y = ldexpf((draw() & 1 ? 1 : -1) * odd, -149);
    }
}

/* The fused multiply-add, which is emulated where the instruction set has none. */
START_TEST(multiply_add_rounds_once)
{
    enum { N = 5 };                                 /* the same sum in every lane of a vector and in a rest */
    for (int round = 0; round < 120000; round++) {
        float s, x[N], y[N], got[N];
        draw_sum(round % 6, &s, &x[0], &y[0]);
        for (int i = 1; i < N; i++) {
            x[i] = x[0];
            y[i] = y[0];
        }
        float expected = fmaf(s, x[0], y[0]);
        for (int p = 0; p < COUNT(isa_names); p++) {
            if (!use_isa(isa_names[p]))
                continue;
            memcpy(got, y, sizeof y);
            k_axpy(N, got, s, x);
            for (int i = 0; i < N; i++)
                ck_assert_msg(got[i] == expected, "%s: %a * %a + %a is %a, not %a", k_isa(), s, x[0], y[0], got[i], expected);
        }
    }
}
END_TEST

/* ---- functions of two numbers, masks, copies --------------------------------------------------------------------- */

/* Walks over 0 to 4 dimensions: dense, broadcast, transposed, with steps, or a single repeated item. Returns the number of
 * items. */
static int64_t draw_walk(KWalk *w, bool big)
{
    w->ndim = (int)(draw() % 5);
    int64_t dense = 1;
    int kind_a = (int)(draw() % 4), kind_b = (int)(draw() % 4);
    for (int d = w->ndim - 1; d >= 0; d--) {
        w->dim[d] = draw() % 7 == 0 ? 1 : 1 + draw() % (d == w->ndim - 1 ? (big ? 700 : 70) : (big ? 12 : 6));
        w->a[d] = kind_a == 0 || (kind_a == 1 && draw() % 2) ? dense : 0;
        w->b[d] = kind_b == 0 || (kind_b == 1 && draw() % 2) ? dense : 0;
        dense *= w->dim[d];
    }
    for (int s = 0; s < 2; s++) {                                      /* kind 2: transposed; 3: every second item */
        int64_t *stride = s ? w->b : w->a, step = 1;
        int kind = s ? kind_b : kind_a;
        for (int d = 0; d < w->ndim && kind == 2; d++) {
            stride[d] = step;
            step *= w->dim[d];
        }
        step = 2;
        for (int d = w->ndim - 1; d >= 0 && kind == 3; d--) {
            stride[d] = step;
            step *= w->dim[d];
        }
    }
    if (draw() % 20 == 0 && w->ndim > 0)
        w->dim[0] = dense = 0;
    return dense;
}

/* How many items an array with these strides has. */
static int64_t extent(const KWalk *w, const int64_t *stride)
{
    int64_t last = 0;
    for (int d = 0; d < w->ndim; d++)
        last += (w->dim[d] - (w->dim[d] > 0)) * stride[d];
    return last + 1;
}

static void call_binary(const Kernels *k, Case *c)
{
    k->binary((KBinary)c->f, &c->walk, c->out[0], c->in[0], c->in[1]);
}

static void call_binary_backward(const Kernels *k, Case *c)
{
    bool none = c->f == K_SUB;
    k->binary_backward((KBinary)c->f, c->flag, &c->walk, c->out[0], c->in[2], none ? NULL : c->in[0],
                       none ? NULL : c->in[1], c->in[3], c->add);
}

enum { WALKS = 60 };

START_TEST(binary_matches_reference)
{
    for (int w = 0; w < WALKS; w++) {
        Case c = { .f = _i };
        int64_t n = draw_walk(&c.walk, w % 10 == 0);
        c.in[0] = odd_input(&c, extent(&c.walk, c.walk.a));
        c.in[1] = odd_input(&c, extent(&c.walk, c.walk.b));
        c.out[0] = output(&c, n);
        check_case(&c, call_binary);
    }
}
END_TEST

START_TEST(binary_backward_matches_reference)
{
    for (int w = 0; w < WALKS; w++) {
        Case c = { .f = _i, .flag = _i == K_SUB || draw() & 1, .add = draw() & 1 };
        int64_t n = draw_walk(&c.walk, w % 10 == 0), na = extent(&c.walk, c.walk.a), nb = extent(&c.walk, c.walk.b);
        c.in[0] = input(&c, na, _i == K_POW ? 0.2 : -2, 2);
        c.in[1] = input(&c, nb, 0.3, 2);
        for (int64_t i = 0; i < na && i < nb && _i != K_DIV; i += 5)    /* ties for max and min, the edges of pow */
            c.in[0][i] = c.in[1][i] = i % 2 ? 0.0f : 0.5f;
        c.in[2] = input(&c, n, -1, 1);
        c.in[3] = input(&c, n, -1, 1);
        c.out[0] = output(&c, n);
        check_case(&c, call_binary_backward);
    }
}
END_TEST

/* Rows so long that threads divide them. A gradient is added once to each item. */
START_TEST(long_rows_are_divided)
{
    enum { LONG = 100000 };
    Case c = { .f = _i, .flag = _i == K_SUB, .add = true,
               .walk = { .ndim = 1, .dim = { LONG }, .a = { 1 }, .b = { 1 } } };
    for (int i = 0; i < 4; i++) c.in[i] = input(&c, LONG, 0.3, 2);
    c.out[0] = output(&c, LONG);
    check_case(&c, call_binary_backward);
}
END_TEST

static void call_select(const Kernels *k, Case *c)
{
    k->select(&c->walk, c->out[0], c->mask, c->in[0], c->flag, 0, c->add);
    k->select(&c->walk, c->out[1], c->mask, c->in[0], true, -1e9f, false);
}

START_TEST(masks_match_reference)
{
    for (int w = 0; w < 3 * WALKS; w++) {
        Case s = { .flag = draw() & 1, .add = draw() & 1 };
        int64_t n = draw_walk(&s.walk, w % 10 == 0);
        s.mask = mask_input(&s, extent(&s.walk, s.walk.a));
        s.in[0] = odd_input(&s, extent(&s.walk, s.walk.b));
        s.out[0] = output(&s, n);
        s.out[1] = output(&s, n);
        check_case(&s, call_select);
    }
}
END_TEST

/* Arrays begin at a multiple of 4; items of 8 bytes must begin at a multiple of 8. */
static int64_t align_offset(const Case *c)
{
    return c->f == 8 ? 4 : 0;
}

static void call_copy(const Kernels *k, Case *c)
{
    k->copy(&c->walk, c->bytes + align_offset(c), (char *)c->in[0] + align_offset(c), (size_t)c->f);
}

static void call_copy_add(const Kernels *k, Case *c)
{
    k->copy_add(&c->walk, c->out[0], c->in[0]);
}

START_TEST(copies_match_reference)
{
    for (int w = 0; w < 3 * WALKS; w++) {
        Case c = { .f = w % 3 == 0 ? 1 : w % 3 == 1 ? 4 : 8 };
        KWalk *walk = &c.walk;
        draw_walk(walk, w % 10 == 0);
        int64_t n = 1, order[4] = { 0, 1, 2, 3 };
        for (int d = walk->ndim - 1; d > 0; d--) {                     /* the destination: dense, its dimensions permuted */
            int64_t other = draw() % (uint32_t)(d + 1), kept = order[d];
            order[d] = order[other];
            order[other] = kept;
        }
        for (int d = walk->ndim - 1; d >= 0; d--) {
            walk->a[order[d]] = n;
            n *= walk->dim[order[d]];
        }
        int64_t source = extent(walk, walk->b) * c.f + align_offset(&c);
        c.in[0] = input(&c, (source + 3) / 4, -1, 1);
        c.bytes = byte_output(&c, n * c.f + align_offset(&c));
        check_case(&c, call_copy);

        Case add = { .walk = *walk };
        add.in[0] = input(&add, extent(walk, walk->b), -1, 1);
        add.out[0] = output(&add, n);
        for (int64_t i = 0; i < n; i++)
            add.out[0][i] = (ag_real)i;
        check_case(&add, call_copy_add);
    }
}
END_TEST

Suite *kernels_suite(void)
{
    Suite *suite = suite_create("kernels");
    TCase *tests = tcase_create("elementwise");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, unary_matches_reference, 0, FUNCTIONS);
    tcase_add_loop_test(tests, unary_matches_reference_everywhere, 0, FUNCTIONS);
    tcase_add_loop_test(tests, unary_matches_reference_closely, 0, FUNCTIONS + 1);
    tcase_add_loop_test(tests, unary_backward_matches_reference, 0, FUNCTIONS);
    tcase_add_test(tests, relu_backward_of_odd_gradients);
    tcase_add_test(tests, unary_within_2_or_3_ulp);
    tcase_add_test(tests, small_sines_of_large_angles);
    tcase_add_test(tests, multiply_add_rounds_once);
    tcase_add_loop_test(tests, binary_matches_reference, K_ADD, K_MIN + 1);
    tcase_add_loop_test(tests, binary_backward_matches_reference, K_SUB, K_MIN + 1);
    tcase_add_loop_test(tests, long_rows_are_divided, K_SUB, K_MIN + 1);
    tcase_add_test(tests, masks_match_reference);
    tcase_add_test(tests, copies_match_reference);
    suite_add_tcase(suite, tests);
    return suite;
}
