/* test_kernel_rows.c: reductions, and kernels of rows, patches, random numbers, updates and whole arrays, against
 * their plain loops. See kernel_case.h. */
#include "kernel_case.h"

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static const int64_t sum_shapes[][3] = {            /* outer, n, inner */
    { 1, 0, 1 }, { 1, 0, 5 }, { 0, 3, 4 }, { 3, 4, 0 }, { 1, 1, 1 }, { 2, 1, 3 }, { 3, 2, 1 }, { 5, 31, 1 },
        { 4, 33, 1 },
    { 7, 100, 1 }, { 3, 4097, 1 }, { 2, 70001, 1 }, { 1, 300000, 1 }, { 1, 3, 2 }, { 1, 65, 10 }, { 3, 130, 17 },
    { 1, 5000, 128 }, { 1, 200, 700 }, { 1, 600, 500 }, { 6, 33, 300 }, { 2, 40, 1000 }, { 600, 40, 1 }, { 40, 30, 33 },
};

static void call_sum(const Kernels *k, Case *c)
{
    k->sum(c->outer, c->n, c->inner, c->out[0], c->in[0], 0.7f, c->add);
}

static void call_var(const Kernels *k, Case *c)
{
    k->var(c->outer, c->n, c->inner, c->out[0], c->out[1], c->out[2], c->in[0], (float)(1 / (double)c->n));
}

static void call_max(const Kernels *k, Case *c)
{
    k->max(c->outer, c->n, c->inner, c->out[0], c->flag ? NULL : c->places, c->in[0], c->add);
}

START_TEST(sums_match_reference)
{
    const int64_t *shape = sum_shapes[_i];
    for (int add = 0; add < 2; add++) {
        Case c = { .outer = shape[0], .n = shape[1], .inner = shape[2], .add = add };
        c.in[0] = input(&c, c.outer * c.n * c.inner, -1, 1);
        c.out[0] = output(&c, c.outer * c.inner);
        check_case(&c, call_sum);
    }
    if (shape[1] == 0)
        return;
    Case c = { .outer = shape[0], .n = shape[1], .inner = shape[2] };
    c.in[0] = input(&c, c.outer * c.n * c.inner, 100, 102);
    c.out[0] = output(&c, c.outer * c.inner);
    c.out[1] = output(&c, c.outer * c.inner);
    c.out[2] = output(&c, c.outer * c.inner);
    check_case(&c, call_var);
}
END_TEST

/* reduce.c fixes the order of the additions, on which the bits of trained weights depend. */
START_TEST(sums_over_rows_have_one_order)
{
    enum { ROWS = 6100, WIDTH = 21, BLOCK = 64, CHUNK = 3 * BLOCK };        /* a 32nd of the rows, in whole blocks */
    static float x[ROWS][WIDTH], y[WIDTH];
    for (int64_t i = 0; i < ROWS * WIDTH; i++)
        x[i / WIDTH][i % WIDTH] = draw_between(-1, 1);
    k_sum(1, ROWS, WIDTH, y, &x[0][0], 1, false);
    for (int column = 0; column < WIDTH; column++) {
        float sum = 0;
        for (int chunk = 0; chunk < ROWS; chunk += CHUNK) {
            float total = 0;
            for (int block = chunk; block < chunk + CHUNK && block < ROWS; block += BLOCK) {
                float part = 0;
                for (int row = block; row < block + BLOCK && row < ROWS; row++)
                    part += x[row][column];
                total += part;
            }
            sum += total;
        }
        ck_assert_float_eq(y[column], sum);
    }
}
END_TEST

START_TEST(extremes_match_reference)
{
    const int64_t *shape = sum_shapes[_i];
    for (int least = 0; least < 2 && shape[1] > 0; least++)
        for (int kind = 0; kind < 3; kind++) {                          /* few different values; infinities and NaN; no index */
            Case c = { .outer = shape[0], .n = shape[1], .inner = shape[2], .add = least, .flag = kind == 2 };
            int64_t size = c.outer * c.n * c.inner;
            c.in[0] = kind == 1 ? odd_input(&c, size) : input(&c, size, -1, 1);
            for (int64_t i = 0; i < size && kind == 0; i++)
                c.in[0][i] = floorf(4 * c.in[0][i]);
            c.out[0] = output(&c, c.outer * c.inner);
            c.places = c.flag ? NULL : int_output(&c, c.outer * c.inner);
            check_case(&c, call_max);
        }
}
END_TEST

static void call_squares(const Kernels *k, Case *c)
{
    c->value = k->squared_distance(c->n, c->in[0], c->flag ? c->in[1] : NULL);
}

static void call_finite(const Kernels *k, Case *c)
{
    c->value = k->all_finite(c->n, c->in[0]);
}

static void call_array(const Kernels *k, Case *c)
{
    k->fill(c->n, c->out[0], 2.5f);
    k->difference(c->n, c->out[1], c->in[0], c->in[1], 0.3f, c->add);
    k->axpy(c->n, c->out[2], -0.4f, c->in[0]);
}

START_TEST(whole_arrays_match_reference)
{
    static const int64_t lengths[] = { 0, 1, 3, 7, 8, 15, 16, 17, 100, 5000, 300001 };
    for (int l = 0; l < COUNT(lengths); l++)
        for (int kind = 0; kind < 2; kind++) {
            Case s = { .n = lengths[l], .flag = kind };
            s.in[0] = input(&s, s.n, -1, 1);
            s.in[1] = input(&s, s.n, -1, 1);
            check_case(&s, call_squares);

            Case f = { .n = lengths[l] };
            f.in[0] = input(&f, f.n, -3e38, 3e38);
            if (kind == 1 && f.n > 0)
                f.in[0][draw() % (uint32_t)f.n] = l % 3 == 0 ? NAN : l % 3 == 1 ? INFINITY : -INFINITY;
            check_case(&f, call_finite);

            Case a = { .n = lengths[l], .add = kind };
            a.in[0] = input(&a, a.n, -1, 1);
            a.in[1] = input(&a, a.n, -1, 1);
            for (int o = 0; o < 3; o++)
                a.out[o] = output(&a, a.n);
            check_case(&a, call_array);
        }
}
END_TEST

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const int64_t row_shapes[][2] = {            /* rows, n */
    { 0, 4 }, { 1, 1 }, { 3, 2 }, { 5, 7 }, { 4, 16 }, { 3, 17 }, { 9, 31 }, { 2, 33 }, { 6, 65 }, { 300, 100 },
        { 64, 768 },
    { 7, 4096 }, { 3, 5000 }, { 40, 1025 },
};

static void call_softmax(const Kernels *k, Case *c)
{
    k->softmax(c->outer, c->n, c->out[0], c->in[0]);
    k->log_softmax(c->outer, c->n, c->out[1], c->in[0]);
}

static void call_softmax_backward(const Kernels *k, Case *c)
{
    k->softmax_backward(c->outer, c->n, c->out[0], c->in[0], c->in[1], c->add);
    k->log_softmax_backward(c->outer, c->n, c->out[1], c->in[0], c->in[2], c->add);
}

START_TEST(softmax_matches_reference)
{
    int64_t rows = row_shapes[_i][0], n = row_shapes[_i][1], size = rows * n;
    for (int odd = 0; odd < 2; odd++) {
        Case c = { .outer = rows, .n = n };
        c.in[0] = input(&c, size, -20, 20);
        for (int64_t i = 0; i < size && odd; i++)                       /* masked items; every third row is masked */
            if (i / n % 3 == 0 || draw() % 2)
                c.in[0][i] = -INFINITY;
        if (odd && size > 5)
            c.in[0][5] = c.in[0][size - 1] = rows > 4 ? NAN : INFINITY;
        c.out[0] = output(&c, size);
        c.out[1] = output(&c, size);
        check_case(&c, call_softmax);
    }
    for (int add = 0; add < 2; add++) {
        Case c = { .outer = rows, .n = n, .add = add };
        c.in[0] = input(&c, size, -1, 1);
        c.in[1] = input(&c, size, 0, 2 / (double)n);
        c.in[2] = input(&c, size, -8, 0);
        if (size > 2)
            c.in[2][2] = -INFINITY;
        c.out[0] = output(&c, size);
        c.out[1] = output(&c, size);
        check_case(&c, call_softmax_backward);
    }
}
END_TEST

START_TEST(softmax_of_fully_masked_rows)
{
    float x[40], y[40], log_y[40];
    for (int i = 0; i < 40; i++)
        x[i] = -INFINITY;
    k_softmax(2, 20, y, x);
    k_log_softmax(2, 20, log_y, x);
    for (int i = 0; i < 40; i++) {
        ck_assert_float_eq(y[i], 0);
        ck_assert_float_eq(log_y[i], -INFINITY);
    }
    k_softmax(2, 20, x, x);                                             /* in place */
    ck_assert_mem_eq(x, y, sizeof x);
}
END_TEST

static void call_norm(const Kernels *k, Case *c)
{
    k->layer_norm(c->outer, c->n, c->out[0], c->out[1], c->out[1] + c->outer, c->out[2], c->in[0], c->in[1], c->in[2],
                  c->norm);
}

static void call_norm_backward(const Kernels *k, Case *c)
{
    int64_t n = c->n;
    float *dgamma = c->flag ? NULL : c->out[1], *dbeta = c->flag ? NULL : c->out[1] + n;
    k->layer_norm_backward(c->outer, n, c->out[0], c->add, dgamma, c->add, dbeta, c->add, c->in[0], c->in[3],
                           c->in[4], c->in[4] + c->outer, c->in[4] + 2 * c->outer, c->in[1], c->norm);
}

static void call_sum_normalized(const Kernels *k, Case *c)
{
    k->sum_normalized(c->outer, c->n, c->out[0], c->in[0], c->in[1], c->in[2], c->in[2] ? c->in[2] + c->outer : NULL,
                      c->in[3], c->add);
}

static const AgNorm norms[] = { { 1e-5, true, false }, { 1e-6, false, true }, { 1e-6, false, false },
                               { 0, false, false } };

START_TEST(layer_norm_matches_reference)
{
    int64_t rows = row_shapes[_i][0], n = row_shapes[_i][1], size = rows * n;
    for (int kind = 0; kind < COUNT(norms); kind++)
        for (int parts = 0; parts < 4; parts++) {
            if (n > 1 || kind == 0) {
                Case c = { .outer = rows, .n = n, .norm = norms[kind] };
                c.in[0] = input(&c, size, 1, 3);
                for (int64_t i = 0; i < n && rows > 1; i++)                 /* a row of variance 0 */
                    c.in[0][i] = 0.3f;
                c.in[1] = parts & 1 ? input(&c, n, -1, 1) : NULL;
                c.in[2] = parts & 2 ? input(&c, n, -1, 1) : NULL;
                c.out[0] = output(&c, size);
                c.out[1] = output(&c, 2 * rows);                            /* mean, rest */
                c.out[2] = output(&c, rows);
                check_case(&c, call_norm);
            }

            Case b = { .outer = rows, .n = n, .norm = norms[kind], .add = parts & 2, .flag = parts == 1 };
            b.in[0] = input(&b, size, -1, 1);
            b.in[1] = parts & 1 ? input(&b, n, -1, 1) : NULL;
            b.in[3] = input(&b, size, 1, 3);
            b.in[4] = input(&b, 3 * rows, 1, 2);                        /* mean, rest, rstd */
            b.out[0] = parts == 3 ? NULL : output(&b, size);           /* x may need no gradient */
            b.out[1] = output(&b, 2 * n);
            check_case(&b, call_norm_backward);

            Case s = { .outer = rows, .n = n, .add = parts & 1 };
            s.in[0] = input(&s, size, -1, 1);
            s.in[1] = input(&s, size, 1, 3);
            s.in[2] = parts & 2 ? input(&s, 2 * rows, 1, 2) : NULL;         /* mean, rest */
            s.in[3] = input(&s, rows, 1, 2);
            s.out[0] = output(&s, n);
            check_case(&s, call_sum_normalized);
        }
}
END_TEST

/* Rows whose squares are beyond the largest float or below the smallest, and rows of a large mean: values and gradients in
 * float beside the reference's table in double. */
typedef struct { double mean, deviation, eps; } RowKind;
static const RowKind row_kinds[] = {
    { 0, 1e19, 1e-5 }, { 1e19, 1e19, 1e-5 }, { 0, 1e38, 1e-5 }, { 2e38, 1e38, 1e-5 }, { 0, 1e15, 1e-5 }, { 3e38, 1e32, 1e-5 },
    { 0, 1e-20, 0 }, { 0, 1e-30, 0 }, { 1e-19, 1e-22, 0 }, { 0, 1e-36, 0 },
    { 10, 1, 1e-5 }, { 1e4, 1, 1e-5 }, { 1e5, 1, 1e-5 }, { 1e6, 1, 1e-5 }, { -1e6, 1, 1e-5 }, { 1e9, 1e3, 1e-5 },
    { 1, 1e-6, 0 },
};

/* The largest difference of n items from `expected`, in units of the largest of these. */
static double worst_of(int64_t n, const float *y, const double *expected)
{
    double worst = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, isfinite(y[i]) ? fabs(y[i] - expected[i]) : INFINITY);
        size = fmax(size, fabs(expected[i]));
    }
    return worst / size;
}

enum { ROW = 4500, ROWS = 3 };

/* y, dx and dgamma of ROWS rows of n items in double. rms: without the mean. */
static void exact_norm(int n, bool rms, double eps, const float *x, const float *dy, const float *gamma, double *y, double *dx,
                       double *dgamma)
{
    memset(dgamma, 0, (size_t)n * sizeof *dgamma);
    for (int r = 0; r < ROWS; r++, x += n, dy += n, y += n, dx += n) {
        double mean = 0, squares = 0, sum = 0, dot = 0;
        for (int i = 0; i < n && !rms; i++) mean += ((double)x[i] - x[0]) / n;
        double first = rms ? 0 : x[0];
        for (int i = 0; i < n; i++) squares += (x[i] - first - mean) * (x[i] - first - mean) / n;
        double rstd = 1 / sqrt(squares + eps);
        for (int i = 0; i < n; i++) {
            y[i] = (x[i] - first - mean) * rstd;
            sum += (double)dy[i] * gamma[i] / n;
            dot += (double)dy[i] * gamma[i] * y[i] / n;
            dgamma[i] += dy[i] * y[i];
        }
        for (int i = 0; i < n; i++) {
            dx[i] = rstd * ((double)dy[i] * gamma[i] - (rms ? 0 : sum) - y[i] * dot);
            y[i] *= gamma[i];
        }
    }
}

static void check_norm_of(const RowKind *kind, int n, bool rms, const char *isa)
{
    static float x[ROWS * ROW], dy[ROWS * ROW], gamma[ROW], y[ROWS * ROW], dx[ROWS * ROW], dgamma[ROW];
    static double want_y[ROWS * ROW], want_dx[ROWS * ROW], want_dgamma[ROW];
    float mean[ROWS], rest[ROWS], rstd[ROWS];
    for (int i = 0; i < ROWS * n; i++) {
        x[i] = (float)(kind->mean + kind->deviation * draw_between(-1, 1));
        dy[i] = draw_between(-1, 1);
    }
    for (int i = 0; i < n; i++)
        gamma[i] = draw_between(0.5, 1.5);
    exact_norm(n, rms, kind->eps, x, dy, gamma, want_y, want_dx, want_dgamma);
    AgNorm norm = { kind->eps, true, false };
    if (rms) {
        k_rms_norm(ROWS, n, y, rstd, x, gamma, kind->eps);
        k_rms_norm_backward(ROWS, n, dx, false, dgamma, false, dy, x, rstd, gamma);
    } else {
        k_layer_norm(ROWS, n, y, mean, rest, rstd, x, gamma, NULL, norm);
        k_layer_norm_backward(ROWS, n, dx, false, dgamma, false, NULL, false, dy, x, mean, rest, rstd, gamma, norm);
    }
    double worst[] = { worst_of(ROWS * n, y, want_y), worst_of(ROWS * n, dx, want_dx), worst_of(n, dgamma, want_dgamma) };
    for (int k = 0; k < 3; k++)
        ck_assert_msg(worst[k] < 1e-6, "%s, %s of rows of %d items, mean %g, deviation %g: %s is %g off", isa,
                      rms ? "RMS norm" : "layer norm", n, kind->mean, kind->deviation,
                      (const char *[]){ "y", "dx", "dgamma" }[k], worst[k]);
}

START_TEST(norms_of_extreme_rows)
{
    static const int lengths[] = { 3, 16, 64, 1000, ROW };
    for (int isa = 0; isa < COUNT(isa_names); isa++) {
        if (!use_isa(isa_names[isa])) continue;
        for (int i = 0; i < COUNT(lengths); i++)
            for (int rms = 0; rms < 2; rms++)
                check_norm_of(&row_kinds[_i], lengths[i], rms, isa_names[isa]);
    }
    use_isa(isa_names[0]);
}
END_TEST

static void call_rms_norm(const Kernels *k, Case *c)
{
    k->rms_norm(c->outer, c->n, c->out[0], c->out[1], c->in[0], c->in[1], c->p);
}

static void call_rms_norm_backward(const Kernels *k, Case *c)
{
    k->rms_norm_backward(c->outer, c->n, c->out[0], c->add, c->flag ? NULL : c->out[1], c->add, c->in[0], c->in[2], c->in[3],
                         c->in[1]);
}

static const int64_t channel_shapes[][3] = {            /* outer, channels, inner */
    { 0, 3, 4 }, { 2, 3, 0 }, { 1, 1, 1 }, { 5, 1, 7 }, { 40, 1, 1 }, { 3, 2, 1 }, { 7, 33, 1 }, { 600, 100, 1 }, { 4, 5, 4 },
    { 3, 6, 49 }, { 2, 3, 16 }, { 8, 16, 1024 }, { 1, 2, 100000 },
};

static void call_normalize(const Kernels *k, Case *c)
{
    k->normalize(c->outer, c->n, c->inner, c->out[0], c->flag ? c->out[1] : NULL, c->in[0], c->in[1], c->in[2], c->in[3]);
}

/* A large mean: x - mean is exact, x factor + (beta - mean factor) would be off by 1e-3. */
START_TEST(channels_match_reference)
{
    int64_t outer = channel_shapes[_i][0], channels = channel_shapes[_i][1], inner = channel_shapes[_i][2];
    for (int flag = 0; flag < 2; flag++) {
        Case c = { .outer = outer, .n = channels, .inner = inner, .flag = flag };
        int64_t size = outer * channels * inner;
        c.in[0] = input(&c, size, 9999, 10001);
        c.in[1] = input(&c, channels, 9999, 10001);
        c.in[2] = input(&c, channels, -2, 2);
        c.in[3] = input(&c, channels, -1, 1);
        c.out[0] = output(&c, size);
        c.out[1] = output(&c, size);
        check_case(&c, call_normalize);
    }
}
END_TEST

START_TEST(rms_norm_matches_reference)
{
    int64_t rows = row_shapes[_i][0], n = row_shapes[_i][1], size = rows * n;
    for (int parts = 0; parts < 4; parts++) {
        Case c = { .outer = rows, .n = n, .p = parts & 2 ? 0 : 1e-5 };
        c.in[0] = input(&c, size, -1, 3);
        for (int64_t i = 0; i < n && rows > 1; i++)                     /* a row of zeros */
            c.in[0][i] = 0;
        c.in[1] = parts & 1 ? input(&c, n, -1, 1) : NULL;
        c.out[0] = output(&c, size);
        c.out[1] = output(&c, rows);
        check_case(&c, call_rms_norm);

        Case b = { .outer = rows, .n = n, .add = parts & 2, .flag = parts == 1 };
        b.in[0] = input(&b, size, -1, 1);
        b.in[1] = parts & 1 ? input(&b, n, -1, 1) : NULL;
        b.in[2] = input(&b, size, -1, 3);
        b.in[3] = input(&b, rows, 0.5, 1);
        b.out[0] = output(&b, size);
        b.out[1] = output(&b, n);
        check_case(&b, call_rms_norm_backward);
    }
}
END_TEST

static void call_rope(const Kernels *k, Case *c)
{
    KRope shape = { c->outer, 3, c->n, 4, c->flag, c->f, c->add };
    k->rope(&shape, c->out[0], c->in[0], c->in[1]);
}

START_TEST(pairs_match_reference)
{
    int64_t rows = row_shapes[_i][0], n = row_shapes[_i][1], size = rows * n;
    for (int kind = 0; kind < 8; kind++) {
        Case r = { .outer = rows, .n = n, .flag = kind & 1, .f = kind & 2, .add = kind & 4 };
        r.in[0] = input(&r, 6 * size, -1, 1);
        r.in[1] = input(&r, 8 * n, -1, 1);
        r.out[0] = output(&r, 6 * size);
        check_case(&r, call_rope);
    }
}
END_TEST

static KPatches patches_shape;                      /* of the case */

static void call_patches(const Kernels *k, Case *c)
{
    k->patches(&patches_shape, c->out[0], c->in[0]);
    k->patches_add(&patches_shape, c->out[1], c->in[1]);
}

START_TEST(patches_match_reference)
{
    for (int i = 0; i < 200; i++) {
        KPatches p = { .c = draw() % 4, .h = 1 + draw() % 9, .w = 1 + draw() % 40, .kh = 1 + draw() % 4, .kw = 1 + draw() % 7 };
        for (int d = 0; d < 2; d++) {
            p.stride[d] = 1 + draw() % 3;
            p.padding[d] = draw() % 5;
            p.dilation[d] = 1 + draw() % 3;
        }
        if (i % 2)                                                      /* as many windows as items in a line */
            p.kw = 2 * p.padding[1] + 1, p.stride[0] = p.stride[1] = p.dilation[1] = 1;
        int64_t high = p.h + 2 * p.padding[0] - (p.kh - 1) * p.dilation[0] - 1;
        int64_t wide = p.w + 2 * p.padding[1] - (p.kw - 1) * p.dilation[1] - 1;
        if (high < 0 || wide < 0)
            continue;
        p.ow = wide / p.stride[1] + 1;
        p.first = draw() % (uint32_t)(high / p.stride[0] + 1);
        p.rows = 1 + draw() % (uint32_t)(high / p.stride[0] + 1 - p.first);
        patches_shape = p;
        int64_t items = p.c * p.kh * p.kw * p.rows * p.ow;
        Case c = { .n_inputs = 0 };
        c.in[0] = input(&c, p.c * p.h * p.w, -1, 1);
        c.in[1] = input(&c, items, -1, 1);
        c.out[0] = output(&c, items);
        c.out[1] = output(&c, p.c * p.h * p.w);
        check_case(&c, call_patches);
    }
}
END_TEST

static void call_loss(const Kernels *k, Case *c)
{
    k->cross_entropy(c->outer, c->n, c->out[0], c->out[1], c->out[2], c->in[0], c->ids, 1, c->p);
}

static void call_loss_backward(const Kernels *k, Case *c)
{
    k->cross_entropy_backward(c->outer, c->n, c->out[0], c->in[0], c->in[3], c->in[1], c->ids, 1, c->p, c->in[2][0], c->add);
}

START_TEST(cross_entropy_matches_reference)
{
    int64_t rows = row_shapes[_i][0], n = row_shapes[_i][1], size = rows * n;
    for (int smooth = 0; smooth < 2; smooth++)
        for (int kind = 0; kind < 2; kind++) {
            Case c = { .outer = rows, .n = n, .p = 0.1 * smooth };
            c.in[0] = input(&c, size, -10, 10);
            for (int64_t i = 0; i < size && kind; i++)
                if (i / n == 1 || draw() % 8 == 0)
                    c.in[0][i] = -INFINITY;
            c.ids = id_input(&c, rows, (int32_t)n);
            c.out[0] = output(&c, rows);
            c.out[1] = output(&c, rows);
            c.out[2] = output(&c, rows);
            check_case(&c, call_loss);

            Case b = { .outer = rows, .n = n, .p = 0.1 * smooth, .add = kind };
            b.in[0] = input(&b, size, -10, 10);
            b.in[1] = input(&b, rows, 0, 2);
            b.in[3] = input(&b, rows, 8, 10);
            if (rows > 1)
                b.in[1][1] = b.in[3][1] = -INFINITY;
            b.in[2] = input(&b, 1, -1, 1);
            b.ids = id_input(&b, rows, (int32_t)n);
            b.out[0] = output(&b, size);
            check_case(&b, call_loss_backward);
        }
}
END_TEST

static void call_table(const Kernels *k, Case *c)
{
    k->gather_rows(c->outer, c->n, c->out[0], c->in[0], c->ids);
    k->scatter_add_rows(c->outer, c->n, c->out[1], c->in[1], c->ids, NULL, NULL);
}

enum { TABLE_ROWS = 13 };

/* Rows 1 and 5 are summed elsewhere. */
static void call_table_with_sums(const Kernels *k, Case *c)
{
    int32_t place[TABLE_ROWS];
    double *sums = calloc((size_t)(2 * c->n) + 1, sizeof *sums);
    for (int64_t i = 0; i < TABLE_ROWS; i++)
        place[i] = i == 1 ? 0 : i == 5 ? 1 : -1;
    k->gather_rows(c->outer, c->n, c->out[0], c->in[0], c->ids);
    k->scatter_add_rows(c->outer, c->n, c->out[1], c->in[1], c->ids, place, sums);
    for (int64_t i = 0; i < 2 * c->n; i++)
        c->out[1][(i < c->n ? 1 : 4) * c->n + i] += (float)sums[i];
    free(sums);
}

START_TEST(tables_match_reference)
{
    int64_t rows = row_shapes[_i][0], n = row_shapes[_i][1];
    Case c = { .outer = rows, .n = n };
    c.in[0] = input(&c, TABLE_ROWS * n, -1, 1);
    c.in[1] = input(&c, rows * n, -1, 1);
    c.ids = id_input(&c, rows, TABLE_ROWS);
    c.out[0] = output(&c, rows * n);
    c.out[1] = output(&c, TABLE_ROWS * n);
    check_case(&c, call_table);

    Case s = { .outer = rows, .n = n };
    s.in[0] = input(&s, TABLE_ROWS * n, -1, 1);
    s.in[1] = input(&s, rows * n, -1, 1);
    s.ids = id_input(&s, rows, TABLE_ROWS);
    s.out[0] = output(&s, rows * n);
    s.out[1] = output(&s, TABLE_ROWS * n);
    check_case(&s, call_table_with_sums);
}
END_TEST

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static void call_random(const Kernels *k, Case *c)
{
    uint64_t counter = c->flag ? 0xfffffffcu : 12345;                   /* the low word overflows in the array */
    k->uniform(c->n, c->out[0], 0x123456789abcdef, counter, c->p, c->q);
    k->normal(c->n, c->out[1], 42, counter, c->p, c->q);
}

static void call_dropout(const Kernels *k, Case *c)
{
    k->dropout(c->n, c->out[0], c->in[0], c->p, 7, 0xfffffffe, c->add);
}

START_TEST(random_matches_reference)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 4, 5, 31, 63, 64, 65, 127, 1000, 100002 };
    for (int l = 0; l < COUNT(lengths); l++)
        for (int kind = 0; kind < 3; kind++) {
            Case c = { .n = lengths[l], .flag = kind != 1, .p = kind == 0 ? 0 : kind == 1 ? -3 : 1,
                       .q = kind == 2 ? 2 : 1 };
            c.out[0] = output(&c, c.n);
            c.out[1] = output(&c, c.n);
            check_case(&c, call_random);

            Case d = { .n = lengths[l], .add = kind == 2, .p = kind == 0 ? 0 : 0.1 + 0.3 * kind };
            d.in[0] = input(&d, d.n, -1, 1);
            d.out[0] = output(&d, d.n);
            check_case(&d, call_dropout);
        }
}
END_TEST

START_TEST(random_numbers_look_random)
{
    enum { N = 1 << 20 };
    static float x[N];
    k_uniform(N, x, 1, 0, 1, 2);                    /* 24 bits and rounding must not give 2 */
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        ck_assert_float_ge(x[i], 1);
        ck_assert_float_lt(x[i], 2);
        sum += x[i];
    }
    ck_assert_double_eq_tol(sum / N, 1.5, 0.001);
    k_normal(N, x, 1, 0, 3, 2);
    sum = 0;
    for (int i = 0; i < N; i++) {
        sum += x[i];
        squares += (x[i] - 3) * (x[i] - 3);
    }
    ck_assert_double_eq_tol(sum / N, 3, 0.01);
    ck_assert_double_eq_tol(squares / N, 4, 0.02);
    for (int i = 0; i < N; i++)
        x[i] = 1;
    k_dropout(N, x, x, 0.25, 5, 0, false);
    int kept = 0;
    for (int i = 0; i < N; i++)
        kept += x[i] != 0;
    ck_assert_double_eq_tol(kept / (double)N, 0.75, 0.002);
}
END_TEST

/* ---- updates ----------------------------------------------------------------------------------------------------- */

static void call_adam(const Kernels *k, Case *c)
{
    AgAdam o = { .lr = 0.01, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.05, .decoupled = c->flag };
    k->adam(c->n, c->out[0], c->out[1], c->out[2], c->in[0], &o, 1 + c->f, 0.5);
}

static void call_sgd(const Kernels *k, Case *c)
{
    AgSgd o = { .lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = c->flag };
    k->sgd(c->n, c->out[0], c->f == 2 ? NULL : c->out[1], c->in[0], &o, c->f == 1, 2);
}

START_TEST(updates_match_reference)
{
    static const int64_t lengths[] = { 0, 1, 5, 16, 33, 1000, 70000 };
    for (int l = 0; l < COUNT(lengths); l++)
        for (int kind = 0; kind < 6; kind++) {
            Case c = { .n = lengths[l], .flag = kind & 1, .f = kind / 2 };
            c.in[0] = input(&c, c.n, -1, 1);
            for (int o = 0; o < 3; o++)
                c.out[o] = output(&c, c.n);
            for (int64_t i = 0; i < c.n; i++)
                c.out[2][i] = fabsf(c.out[2][i]) + 0.01f;
            check_case(&c, kind < 2 ? call_adam : call_sgd);
            if (kind < 2) {
                Case s = { .n = lengths[l], .flag = kind };
                s.in[0] = input(&s, s.n, -1, 1);
                s.out[0] = output(&s, s.n);
                s.out[1] = output(&s, s.n);
                check_case(&s, call_sgd);
            }
        }
}
END_TEST

Suite *kernel_rows_suite(void)
{
    Suite *suite = suite_create("kernel_rows");
    TCase *tests = tcase_create("rows");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, sums_match_reference, 0, COUNT(sum_shapes));
    tcase_add_test(tests, sums_over_rows_have_one_order);
    tcase_add_loop_test(tests, extremes_match_reference, 0, COUNT(sum_shapes));
    tcase_add_test(tests, whole_arrays_match_reference);
    tcase_add_loop_test(tests, softmax_matches_reference, 0, COUNT(row_shapes));
    tcase_add_test(tests, softmax_of_fully_masked_rows);
    tcase_add_loop_test(tests, layer_norm_matches_reference, 0, COUNT(row_shapes));
    tcase_add_loop_test(tests, norms_of_extreme_rows, 0, COUNT(row_kinds));
    tcase_add_loop_test(tests, channels_match_reference, 0, COUNT(channel_shapes));
    tcase_add_loop_test(tests, rms_norm_matches_reference, 0, COUNT(row_shapes));
    tcase_add_loop_test(tests, pairs_match_reference, 0, COUNT(row_shapes));
    tcase_add_test(tests, patches_match_reference);
    tcase_add_loop_test(tests, cross_entropy_matches_reference, 0, COUNT(row_shapes));
    tcase_add_loop_test(tests, tables_match_reference, 0, COUNT(row_shapes));
    tcase_add_test(tests, random_matches_reference);
    tcase_add_test(tests, random_numbers_look_random);
    tcase_add_test(tests, updates_match_reference);
    suite_add_tcase(suite, tests);
    return suite;
}
