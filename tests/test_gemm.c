/* test_gemm.c: the matrix product against three plain loops; see kernel_case.h. */
#include "kernel_case.h"

#include <pthread.h>
#include <stdio.h>

#include "bf16.h"
#include "faults.h"

static KGemm shape;             /* of the current case */

/* Of B as it is stored. */
static int64_t b_rows(void)    { return shape.tb ? shape.n : shape.k; }
static int64_t b_columns(void) { return shape.tb ? shape.k : shape.n; }

static void call_gemm(const Kernels *k, Case *c)
{
    KGemm s = shape;
    s.bias = c->in[2];
    s.pre = c->out[1];
    if (c->places) {
        uint32_t *packed = (uint32_t *)c->places;
        k->pack_b(&(KPackB){ b_rows(), b_columns(), s.ldb, packed, c->in[1] });
        s.packed_b = packed;
        s.ldb = b_columns();
    }
    s.b_pairs = (const uint32_t *)c->ids;
    k->gemm(&s, c->out[0], c->in[0], c->ids ? NULL : c->in[1]);
}

/* Elements of a batch of stored matrices. */
static int64_t extent(int64_t rows, int64_t columns, int64_t ld, int64_t step)
{
    if (shape.batch == 0 || rows == 0 || columns == 0)
        return 0;
    return (shape.batch - 1) * step + (rows - 1) * ld + columns;
}

/* B's numbers, which the case has no more. */
static int32_t *as_pairs(Case *c, int64_t n)
{
    int32_t *pairs = id_input(c, n / 2, 1);
    for (int64_t i = 0; i < n / 2; i++) {
        pairs[i] = (int32_t)bf16_pair(bf16_round(c->in[1][2 * i]), bf16_round(c->in[1][2 * i + 1]));
        c->in[1][2 * i] = c->in[1][2 * i + 1] = NAN;
    }
    return pairs;
}

/* Tests `shape`, with or without a bias and an array for `pre`. */
static void check_shape(bool bias, bool pre)
{
    Case c = { .n_inputs = 0 };
    int64_t c_size = extent(shape.m, shape.n, shape.ldc, shape.step_c);
    c.in[0] = input(&c, shape.ta ? extent(shape.k, shape.m, shape.lda, shape.step_a)
                                 : extent(shape.m, shape.k, shape.lda, shape.step_a), -1, 1);
    int64_t b_size = extent(b_rows(), b_columns(), shape.ldb, shape.step_b);
    c.in[1] = input(&c, b_size, -1, 1);
    if (bias)
        c.in[2] = input(&c, shape.n, -1, 1);
    c.out[0] = output(&c, c_size);
    if (pre)
        c.out[1] = output(&c, c_size);
    if (shape.bf16 && shape.batch == 1 && draw() % 2)
        c.places = int_output(&c, k_packed_items(b_rows(), b_columns()));
    else if (shape.bf16 && shape.batch == 1 && shape.ldb % 2 == 0 && b_columns() % 2 == 0 && draw() % 2)
        c.ids = as_pairs(&c, b_size);
    check_case(&c, call_gemm);
}

/* A dense product. */
static void set_shape(int64_t m, int64_t n, int64_t k, bool ta, bool tb)
{
    shape = (KGemm){ .ta = ta, .tb = tb, .m = m, .n = n, .k = k, .lda = ta ? m : k, .ldb = tb ? k : n, .ldc = n,
                     .batch = 1, .step_a = m * k, .step_b = k * n, .step_c = m * n };
}

static int64_t below(int64_t n) { return (int64_t)(draw() % (uint32_t)n); }

/* In loop tests with twice as many turns as layouts, the second half is in bfloat16. */
static void set_layout_shape(int64_t m, int64_t n, int64_t k, int turn)
{
    set_shape(m, n, k, turn & 1, turn & 2);
    shape.bf16 = turn & 4;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Small and medium sizes, often near the sizes of tiles; leading dimensions larger than the rows. */
START_TEST(random_shapes)
{
    static const int64_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 28, 29, 31, 32, 33, 48, 64,
                                     65 };
    static const KUnary activations[] = { K_IDENTITY, K_RELU, K_GELU, K_GELU_ERF };
    for (int i = 0; i < 250; i++) {
        int64_t size[3];
        for (int d = 0; d < 3; d++)
            size[d] = below(3) == 0 ? 1 + below(100) : sizes[below(COUNT(sizes))];
        set_shape(size[0], size[1], size[2], below(2), below(2));
        shape.lda += below(2) * below(9);
        shape.ldb += below(2) * below(9);
        shape.ldc += below(2) * below(9);
        shape.add = below(3) == 0;
        shape.batch = below(3) == 0 ? below(5) : 1;
        shape.step_a = below(4) == 0 ? 0 : (shape.ta ? shape.k : shape.m) * shape.lda + below(3);
        shape.step_b = below(4) == 0 ? 0 : (shape.tb ? shape.n : shape.k) * shape.ldb + below(3);
        shape.step_c = below(8) == 0 ? 0 : shape.m * shape.ldc + below(2);
        shape.act = shape.add ? K_IDENTITY : activations[below(4)];
        shape.bf16 = _i;
        check_shape(!shape.add && below(2), !shape.add && below(2));
    }
}
END_TEST

/* Every height and width of a tile, in all four layouts. */
START_TEST(every_tile)
{
    for (int64_t m = 1; m <= 30; m++)
        for (int64_t n = 1; n <= 34; n += m % 3 + 1) {
            set_layout_shape(m, n, 9, _i);
            check_shape(false, false);
        }
}
END_TEST

/* Sizes near those of the blocks of a large product, and leading dimensions that are powers of two. */
START_TEST(large_shapes)
{
    static const struct { int64_t m, n, k; } sizes[] = {
        { 40, 40, K_GEMM_BLOCK - 1 }, { 40, 40, K_GEMM_BLOCK }, { 40, 40, K_GEMM_BLOCK + 1 },
        { 1, 300, 2 * K_GEMM_BLOCK + 5 },
        { 5, 70, 2 * K_GEMM_BLOCK + 5 }, { 31, 530, 70 }, { 530, 31, 70 }, { 1030, 20, 37 }, { 20, 1030, 37 },
        { 40, 9, 2 * K_GEMM_BLOCK + 5 }, { 130, 140, 300 }, { 2000, 3, 5 }, { 3, 2000, 5 }, { 3, 5, 3000 },
        { 600, 1, 600 }, { 1, 600, 600 }, { 1040, 540, 6 }, { 5, 40, 1024 }, { 33, 5, 1024 }, { 50, 77, 60 },
        { 40, 540, 2 * K_GEMM_BLOCK + 5 },
    };
    static const int64_t distances[] = { 0, 1024, 2048 };
    for (int i = 0; i < COUNT(sizes); i++)
        for (int d = 0; d < COUNT(distances); d++) {
            set_layout_shape(sizes[i].m, sizes[i].n, sizes[i].k, _i);
            if (shape.lda < distances[d])
                shape.lda = distances[d];
            if (shape.ldb < distances[d])
                shape.ldb = distances[d];
            if (d > 0 && shape.k > 100)
                continue;
            shape.add = i % 3 == 0;
            check_shape(i % 3 == 1, !shape.add);
        }
}
END_TEST

/* Products so large that 2, 3 or 8 threads compute them together have the bits of one thread, which the other tests check: with
 * many rows, parts of A side by side, a long k, many columns. The portable kernels take long under sanitizers. */
START_TEST(threads_compute_together)
{
    static const struct { int64_t m, n, k; } sizes[] = {
        { 1100, 64, 120 }, { 310, 620, 65 }, { 335, 325, 315 }, { 66, 75, 4200 }, { 70, 1100, 125 },
    };
    static const int threads[] = { 1, 2, 3, 8 };
    static float a[280000], b[320000], bias[1100], c[2][200000], pre[2][200000];
    for (int i = 0; i < COUNT(a); i++) a[i] = draw_between(-1, 1);
    for (int i = 0; i < COUNT(b); i++) b[i] = draw_between(-1, 1);
    for (int i = 0; i < COUNT(bias); i++) bias[i] = draw_between(-1, 1);
    for (int i = 0; i < COUNT(sizes) * COUNT(isa_names); i++) {
        const int size = i / COUNT(isa_names), isa = i % COUNT(isa_names);
        if ((size > 0 && strcmp(isa_names[isa], "portable") == 0) || !use_isa(isa_names[isa])) continue;
        set_layout_shape(sizes[size].m, sizes[size].n, sizes[size].k, _i);
        const int64_t bytes = shape.m * shape.n * (int64_t)sizeof *a;
        shape.add = size % 2;
        for (int t = 0; t < COUNT(threads); t++) {
            k_set_threads(threads[t]);
            if (!shape.add) shape.bias = bias, shape.pre = pre[t > 0], shape.act = K_RELU;
            memcpy(c[t > 0], b, (size_t)bytes);             /* any numbers */
            k_gemm(&shape, c[t > 0], a, b);
            if (t == 0) continue;
            ck_assert_msg(memcmp(c[1], c[0], (size_t)bytes) == 0, "%s, size %d, %d threads", k_isa(), size, threads[t]);
            ck_assert_msg(shape.add || memcmp(pre[1], pre[0], (size_t)bytes) == 0, "%s, size %d, pre", k_isa(), size);
        }
    }
}
END_TEST

/* ---- edge cases -------------------------------------------------------------------------------------------------- */

/* With k = 0 the result is the bias; with m = 0 or n = 0 there is no result. The wide ones have several blocks of columns. */
START_TEST(empty_shapes)
{
    for (int i = 0; i < 128; i++) {
        const bool wide = i & 64;
        set_shape(i & 1 ? wide ? 64 : 20 : 0, i & 2 ? wide ? 600 : 20 : 0, i & 4 ? 5 : 0, false, i & 8);
        shape.add = i & 16;
        shape.batch = i & 32 ? 2 : i & 1;
        shape.bf16 = _i;
        check_shape(!shape.add, !shape.add);
    }
}
END_TEST

/* With an inner dimension of 0, A and B have no items: whatever the pointers are, nothing is read. */
START_TEST(nothing_is_read_for_an_inner_dimension_of_0)
{
    static float c[64 * 600];
    const float *nowhere = (const float *)64;
    for (int i = 0; i < 64; i++)
        for (int p = 0; p < COUNT(isa_names); p++) {
            if (!use_isa(isa_names[p])) continue;
            set_layout_shape(i & 8 ? 64 : 20, i & 16 ? 600 : 20, 0, i);
            c[0] = 1;
            shape.lda = i & 32 ? 1024 : shape.lda;
            k_gemm(&shape, c, nowhere, nowhere);
            ck_assert_float_eq(c[0], 0);
        }
}
END_TEST

/* A batch of products that all add to one C. */
START_TEST(sums_over_the_batch)
{
    for (int i = 0; i < 8; i++) {
        set_layout_shape(33, 20, 60, i);
        shape.batch = 9;
        shape.step_c = 0;
        shape.add = true;
        check_shape(false, false);
    }
}
END_TEST

/* Infinity and NaN affect only the sums that they are part of. */
START_TEST(special_numbers)
{
    for (int i = 0; i < 40; i++) {
        set_layout_shape(1 + below(40), 1 + below(40), 1 + below(5), (int)below(8));
        Case c = { .n_inputs = 0 };
        c.in[0] = odd_input(&c, shape.m * shape.k);
        c.in[1] = odd_input(&c, shape.k * shape.n);
        c.out[0] = output(&c, shape.m * shape.n);
        check_case(&c, call_gemm);
    }
}
END_TEST

/* ---- bfloat16 ---------------------------------------------------------------------------------------------------- */

/* Operands of about 2^-exponent, some of which the next block cancels. */
static float *near(Case *c, int64_t n, int exponent)
{
    float *x = input(c, n, -1, 1);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)ldexp((double)(int)(x[i] * 256) / 256, -exponent - (int)below(4));
    return x;
}

/* Products and sums around 2^-126, the smallest normal number, and the former C among the subnormal ones. */
START_TEST(subnormal_numbers_count_as_zero)
{
    for (int i = 0; i < 60; i++) {
        set_layout_shape(1 + below(40), 1 + below(40), 1 + below(90), 4 + (int)below(4));
        shape.add = below(2);
        Case c = { .n_inputs = 0 };
        c.in[0] = near(&c, shape.m * shape.k, 60 + i % 7);
        c.in[1] = near(&c, shape.k * shape.n, 62);
        c.out[0] = output(&c, shape.m * shape.n);
        for (int64_t j = 0; j < shape.m * shape.n; j++)
            c.out[0][j] *= 0x1p-125f;
        check_case(&c, call_gemm);
    }
}
END_TEST

/* Powers of two, and here and there an operand that is hard to round: the greatest subnormal number is 0, the greatest float
 * becomes infinity, and a NaN stays one whatever its bits are. */
static float *hard_to_round(Case *c, int64_t n, int exponent)
{
    static const uint32_t hard[] = {
        0x007fffff, 0x807fffff, 0x00000001, 0x00800000, 0x3f808000, 0x3f818000, 0xbf807fff, 0x7f7f7fff,
        0x7f7fffff, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff,
    };
    enum { FINITE = 8 };
    float *x = input(c, n, -1, 1);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)ldexp(x[i] < 0 ? -1 : 1, exponent);
        if (below(10) == 0)
            memcpy(&x[i], &hard[below(below(50) == 0 ? COUNT(hard) : FINITE)], sizeof x[i]);
    }
    return x;
}

/* The last turns have several blocks of columns, after each of which an epilogue runs. */
START_TEST(operands_hard_to_round)
{
    for (int i = 0; i < 80; i++) {
        const bool large = i >= 72;
        set_layout_shape(large ? 20 : 1 + below(40), large ? 600 : 1 + below(40), 1 + below(40), 4 + i % 4);
        Case c = { .n_inputs = 0 };
        c.in[0] = hard_to_round(&c, shape.m * shape.k, i % 8 < 4 ? 100 : -10);
        c.in[1] = hard_to_round(&c, shape.k * shape.n, i % 8 < 4 ? -20 : 100);
        if (large)
            c.in[2] = input(&c, shape.n, -1, 1);
        c.out[0] = output(&c, shape.m * shape.n);
        if (below(2))
            c.places = int_output(&c, k_packed_items(b_rows(), b_columns()));
        check_case(&c, call_gemm);
    }
}
END_TEST

/* One product that is added to another: a result between 2^-126 - 2^-150 and 2^-126 - 2^-151 becomes 0, above that 2^-126. */
START_TEST(a_result_is_flushed_after_rounding)
{
    static const struct { double added, product; float sum; } cases[] = {
        { 0x1p-126, -0x1p-152, 0x1p-126f }, { 0x1p-126, -0x1p-151, 0x1p-126f }, { 0x1p-126, -0x1.02p-151, 0 },
        { 0x1p-126, -0x1p-150, 0 }, { -0x1p-126, 0x1.02p-151, -0.0f }, { -0x1p-126, 0x1p-151, -0x1p-126f },
    };
    for (int p = 0; p < COUNT(isa_names); p++)
        for (int i = 0; use_isa(isa_names[p]) && i < COUNT(cases); i++) {
            float a[3] = { 0x1p-63f, 0, 0x1p-75f }, b[3], c[1];
            b[0] = (float)(cases[i].added * 0x1p63);
            b[1] = 0;
            b[2] = (float)(cases[i].product * 0x1p75);
            set_shape(1, 1, 3, false, false);
            shape.bf16 = true;
            k_gemm(&shape, c, a, b);
            ck_assert_msg(c[0] == cases[i].sum, "%s, case %d: %a", isa_names[p], i, (double)c[0]);
        }
}
END_TEST

/* An array in bfloat16 keeps subnormal numbers; a product reads them as 0. With `packed`: numbers packed by ag_packed_write. */
START_TEST(stored_subnormal_numbers_count_as_0)
{
    enum { K = 32, N = 16 };
    static uint32_t panel[4 * N * K], pairs[K * N / 2];      /* a panel is packed for more rows and columns */
    static float a[12 * K], c[12 * N];
    ck_assert_int_le(k_packed_items(N, K), COUNT(panel));
    ck_assert_int_le(k_packed_items(K, N), COUNT(panel));
    for (int i = 0; i < COUNT(panel); i++)
        panel[i] = pairs[i % COUNT(pairs)] = bf16_pair(bf16_stored(0x1p-127f), bf16_stored(-0x1p-130f));
    for (int i = 0; i < 12 * K; i++)
        a[i] = 0x1p120f;
    ck_assert(bf16_of_pair(pairs[0], 0) == 0x1p-127f && bf16_of_pair(pairs[0], 1) == -0x1p-130f);
    for (int p = 0; p < COUNT(isa_names); p++)
        for (int i = 0; use_isa(isa_names[p]) && i < 48; i++) {
            set_shape(1 + i % 12, N, K, false, i / 12 % 2);
            shape.bf16 = true;
            if (i < 24) shape.b_pairs = pairs;
            else shape.packed_b = panel;
            k_gemm(&shape, c, a, NULL);
            for (int j = 0; j < shape.m * N; j++)
                ck_assert_msg(c[j] == 0, "%s, case %d: item %d is %g", isa_names[p], i, j, (double)c[j]);
        }
    shape.b_pairs = shape.packed_b = NULL;
}
END_TEST

/* All products become -0, and so does their sum with -0. Zeros that fill up the last block make it 0. Few rows of A have
 * functions of their own. */
START_TEST(a_sum_of_minus_zeros)
{
    static const int64_t depths[] = { K_BF16_BLOCK - 1, K_BF16_BLOCK, K_BF16_BLOCK + 1, 3 * K_BF16_BLOCK, 600 };
    for (int64_t m = 1; m <= 12; m++)
        for (int i = 0; i < COUNT(depths); i++) {
            set_layout_shape(m, 37, depths[i], 4 + _i);
            shape.add = true;
            Case c = { .n_inputs = 0 };
            c.in[0] = input(&c, m * shape.k, -0x1.8p-70, -0x1p-70);
            c.in[1] = input(&c, shape.k * shape.n, 0x1p-70, 0x1.8p-70);
            c.out[0] = output(&c, m * shape.n);
            for (int64_t j = 0; j < m * shape.n; j++)
                c.out[0][j] = -0.0f;
            if (m % 2)
                c.places = int_output(&c, k_packed_items(b_rows(), b_columns()));
            for (int p = 0; p < COUNT(isa_names); p++)
                if (use_isa(isa_names[p])) {
                    float y[12 * 37];
                    memcpy(y, c.out[0], (size_t)(m * shape.n) * sizeof *y);
                    float *before = c.out[0];
                    c.out[0] = y;
                    call_gemm(&(Kernels){ .pack_b = k_pack_b, .gemm = k_gemm }, &c);
                    c.out[0] = before;
                    for (int64_t j = 0; j < m * shape.n; j++)
                        ck_assert_msg(y[j] == 0 && !signbit(y[j]) == (shape.k % K_BF16_BLOCK != 0), "%s: %g", k_isa(),
                                      (double)y[j]);
                }
            check_case(&c, call_gemm);
        }
}
END_TEST

/* AMX stores such a result past the caches if all its rows begin at multiples of 64 bytes. The last tiles are not whole. */
START_TEST(the_gradient_of_a_large_weight)
{
    enum { M = 530, N = 528, K = 35, SIZE = M * (N + 1) + 16 };
    static const struct { int first, ldc; } places[] = { { 0, N }, { 1, N }, { 0, N + 1 } };
    static float a[K * M], b[K * N];
    _Alignas(64) static float c[2][SIZE];
    for (int i = 0; i < COUNT(a); i++) a[i] = draw_between(-1, 1);
    for (int i = 0; i < COUNT(b); i++) b[i] = draw_between(-1, 1);
    set_shape(M, N, K, true, false);
    shape.bf16 = true;
    for (int i = 0; i < 2 * COUNT(places); i++) {
        k_set_threads(i < COUNT(places) ? 1 : 2);
        const int first = places[i % COUNT(places)].first;
        shape.ldc = places[i % COUNT(places)].ldc;
        for (int q = 0; q < SIZE; q++) c[1][q] = 7;
        use_isa("portable");
        k_gemm(&shape, c[1] + first, a, b);
        for (int p = 0; p < COUNT(isa_names); p++) {
            if (!use_isa(isa_names[p])) continue;
            for (int q = 0; q < SIZE; q++) c[0][q] = 7;
            k_gemm(&shape, c[0] + first, a, b);
            ck_assert_msg(memcmp(c[0], c[1], sizeof c[0]) == 0, "%s, %d threads, place %d", k_isa(), k_threads(), first);
        }
    }
}
END_TEST

#ifdef HAVE_AMX
static bool processor_lists(const char *wanted)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char word[64];
    bool listed = false;
    while (f && !listed && fscanf(f, "%63s", word) == 1)
        listed = strcmp(word, wanted) == 0;
    if (f) fclose(f);
    return listed;
}

/* At the start of a program these are compared with AVX-512, and not used if they differ. No other test would see that. */
START_TEST(bf16_instructions_are_used_if_the_processor_has_them)
{
    const bool amx = processor_lists("amx_bf16"), dot = processor_lists("avx512_bf16");
    if (!getenv("KAERU_ISA"))
        ck_assert_int_eq(strcmp(k_isa(), "avx512_bf16") == 0, dot && !amx && processor_lists("AuthenticAMD"));
    ck_assert_int_eq(use_isa("amx"), amx);
    ck_assert_int_eq(use_isa("avx512_bf16"), dot);
}
END_TEST
#endif

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

enum { WIDE = 700, DEEP = 1100, FEW = 100, LAYOUTS = 8 };

static int layout;

static void *multiply_in_thread(void *c)
{
    static float a[WIDE * DEEP], b[WIDE * DEEP];
    setup();
    for (int i = 0; i < WIDE * DEEP; i++) {
        a[i] = draw_between(-1, 1);
        b[i] = draw_between(-1, 1);
    }
    set_layout_shape(k_threads() > 1 ? FEW : WIDE, WIDE, DEEP, layout);
    k_gemm(&shape, c, a, b);
    return NULL;
}

/* A new thread has no scratch memory yet. */
static int multiply_in_new_thread(float *c)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, multiply_in_thread, c);
    if (error == 0)
        pthread_join(thread, NULL);
    return error;
}

/* Without scratch memory the result is the same. */
START_TEST(without_scratch_memory)
{
    static float expected[WIDE * WIDE], got[WIDE * WIDE];
    k_set_threads(1 + _i / LAYOUTS);
    layout = _i % LAYOUTS;
    ck_assert_int_eq(multiply_in_new_thread(expected), 0);
    faults_at(0, true);                             /* Check allocates, too: no assertion until it ends */
    int error = multiply_in_new_thread(got);
    bool failed = faults_hit();
    faults_at(-1, false);
    ck_assert_int_eq(error, 0);
    ck_assert(failed || !faults_work());
    ck_assert_mem_eq(got, expected, sizeof expected);
}
END_TEST

Suite *gemm_suite(void)
{
    Suite *suite = suite_create("gemm");
    TCase *tests = tcase_create("gemm");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, random_shapes, 0, 2);
    tcase_add_loop_test(tests, every_tile, 0, 8);
    tcase_add_loop_test(tests, large_shapes, 0, 8);
    tcase_add_loop_test(tests, threads_compute_together, 0, 8);
    tcase_add_loop_test(tests, empty_shapes, 0, 2);
    tcase_add_test(tests, nothing_is_read_for_an_inner_dimension_of_0);
    tcase_add_test(tests, sums_over_the_batch);
    tcase_add_test(tests, special_numbers);
    tcase_add_test(tests, subnormal_numbers_count_as_zero);
    tcase_add_test(tests, operands_hard_to_round);
    tcase_add_test(tests, a_result_is_flushed_after_rounding);
    tcase_add_test(tests, stored_subnormal_numbers_count_as_0);
    tcase_add_loop_test(tests, a_sum_of_minus_zeros, 0, 4);
    tcase_add_test(tests, the_gradient_of_a_large_weight);
#ifdef HAVE_AMX
    tcase_add_test(tests, bf16_instructions_are_used_if_the_processor_has_them);
#endif
    tcase_add_loop_test(tests, without_scratch_memory, 0, 2 * LAYOUTS);
    suite_add_tcase(suite, tests);
    return suite;
}
