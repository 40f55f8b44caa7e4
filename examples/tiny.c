/* tiny.c: a network and a GPT learn, in one file of plain loops.
 *
 *     cc -O2 tiny.c -o tiny -lm
 *     ./tiny skip          f(x) and x + f(x) learn to return x
 *     ./tiny gpt           a GPT learns the text in this file; try --steps 1000, too
 *
 * Both print the SHA-256 of the trained weights. kaeru, a fast library, prints the same. This file
 * has the same formulas and adds in the same order (docs/arithmetic.md), so all bits are equal. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With these lines, a * b + c rounds the product and then the sum. fmaf(a, b, c) rounds once. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "floats with too many digits: expected -mfpmath=sse -msse2");

static void fail(const char *what, const char *message)
{
    fprintf(stderr, "tiny: %s%s\n", what, message);
    exit(2);
}

/* Returns n zeros. */
static float *array(int n)
{
    float *x = calloc((size_t)n, sizeof *x);
    if (!x) {
        fail("not enough memory", "");
    }
    return x;
}

static int least(int a, int b) { return a < b ? a : b; }

/* ---- numbers: skip them at a first reading (most constants are fitted) ----------------------- */

/* Returns c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule. (0x1.8p-3 is 1.5 / 2^3.) */
static float polynomial(float x, int n, const float *c)
{
    float y = c[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        y = fmaf(y, x, c[i]);
    }
    return y;
}

/* Returns e^x for x <= 0: 2^k e^r with x = k ln 2 + r. Below -105 it is 0, as a float. */
static float exponential(float x)
{
    const float c[] = { 0.5f, 0x1.5554a2p-3f, 0x1.55568ap-5f, 0x1.123008p-7f, 0x1.6b6de6p-10f };
    x = fmaxf(-105, x);
    float k = rintf(x * 0x1.715476p+0f);
    float r = fmaf(k, -0x1.7f7d1cp-20f, fmaf(k, -0x1.62e4p-1f, x));
    return ldexpf(1 + fmaf(polynomial(r, 5, c), r * r, r), (int)k);
}

/* Returns ln x for 0 < x <= 1: k ln 2 + ln(1 + f) with x = 2^k (1 + f), f in -1/3..1/3. */
static float log_float(float x)
{
    const float c[] = { 0x1.555506p-2f, -0x1.fffefp-3f, 0x1.99d028p-3f, -0x1.559dccp-3f,
                        0x1.1ed716p-3f, -0x1.f3114p-4f, 0x1.1e66bep-3f, -0x1.080586p-3f };
    int k;
    float m = frexpf(x, &k);
    bool twice = m < 0x1.555556p-1f;                                    /* 2/3 */
    float f = (twice ? 2 * m : m) - 1, ff = f * f;
    float y = fmaf(polynomial(f, 8, c), f * ff, -0.5f * ff) + f;
    return fmaf((float)(k - twice), 0x1.62e43p-1f, y);
}

/* Returns ln x for x >= 1: k ln 2 + ln(1 + f), which is a series of s = f / (2 + f). */
static double log_double(double x)
{
    int k;
    double m = frexp(x, &k), series = 0;
    bool twice = m < 0x1.6a09e667f3bcdp-1;                              /* the root of 1/2 */
    double f = (twice ? 2 * m : m) - 1, s = f / (2 + f), half = f * f / 2;
    k -= twice;
    for (int n = 23; n >= 3; n -= 2) {
        series = (series + 2. / n) * (s * s);
    }
    return k * 0x1.62e42feep-1 - (half - (s * (half + series) + k * 0x1.a39ef35793c76p-33) - f);
}

/* Returns sin(2 pi (u + quarters / 4)), 0 <= u < 1. With quarters = 1 it is the cosine. */
static float sine(float u, int quarters)
{
    const float s[] = { -0x1.4abbcep-1f, 0x1.466bbcp-4f, -0x1.32cb0ep-8f, 0x1.4be09ep-13f };
    const float c[] = { -0x1.3bd3ccp+0f, 0x1.03c1fp-2f, -0x1.55d3bap-6f, 0x1.e1e7f6p-11f,
                        -0x1.a0f36ap-16f };
    float q = rintf(4 * u), f = 4 * u - q, ff = f * f;                  /* f in -1/2..1/2 */
    float tail = f * fmaf(polynomial(ff, 4, s), ff, -0x1.777a5cp-25f);
    int n = ((int)q + quarters) % 4;
    float y = n % 2 == 0 ? fmaf(f, 0x1.921fb6p+0f, tail) : fmaf(polynomial(ff, 5, c), ff, 1);
    return n < 2 ? y : -y;
}

/* Returns the smaller one of sigmoid(x) and sigmoid(-x): e / (1 + e) with e = e^-|x|. */
static float sigmoid_lower(float x)
{
    float e = exponential(-fabsf(x));
    return fmaf(-e, e / (1 + e), e);
}

#define GELU_A 0x1.988454p+0f                                           /* 2 sqrt(2/pi) */
#define GELU_B 0x1.2444f2p-4f                                           /* 0.044715 A */

/* Returns x sigmoid(u), u = A x + B x^3: GELU in its form with tanh. Below -16, x counts as -16. */
static float gelu_value(float x)
{
    float m = fmaxf(-16, x), u = m * fmaf(m * m, GELU_B, GELU_A), lower = sigmoid_lower(u);
    return m * (u < 0 ? lower : 1 - lower);
}

/* Returns dy (x s (1 - s) u' + s) with s = sigmoid(u), which is 0 or 1 beyond -16..16. */
static float gelu_gradient(float x, float dy)
{
    x = fminf(16, fmaxf(-16, x));
    float xx = x * x, lower = sigmoid_lower(x * fmaf(xx, GELU_B, GELU_A));
    float du = fmaf(xx, 3 * GELU_B, GELU_A);
    return dy * fmaf(x * du, fmaf(-lower, lower, lower), x < 0 ? lower : 1 - lower);
}

static float relu_value(float x) { return x < 0 ? 0 : x; }
/* A dy below the least normal number counts as 0, in the vectors of the library, too. */
static float relu_gradient(float x, float dy) { return x > 0 && fabsf(dy) >= FLT_MIN ? dy : 0; }

/* ---- sums: at a first reading, see only what each function adds ------------------------------ */

typedef enum { PLAIN, PRODUCTS, SQUARES } Terms;
static double rounded(Terms terms, double x) { return terms == SQUARES ? x : (float)x; }

/* Returns the sum of a, a b or (a - b)^2. In each block of 4096 items, item i is added to lane
 * i % 32. Then the upper half of the lanes is added to the lower half, until one is left. It is
 * added to the total. Lanes are rounded to float. Squares have 16 lanes, which are doubles. */
static double sum(Terms terms, int n, const float *a, const float *b)
{
    const int lanes = terms == SQUARES ? 16 : 32;
    double total = 0;
    for (int begin = 0; begin < n; begin += 4096) {
        double lane[32] = { 0 };
        for (int i = begin; i < least(n, begin + 4096); i++) {
            double d = terms == SQUARES ? (double)a[i] - b[i] : 0;
            double term = terms == SQUARES ? d * d : terms == PRODUCTS ? a[i] * b[i] : a[i];
            lane[i % lanes] = rounded(terms, lane[i % lanes] + term);
        }
        for (int half = lanes / 2; half > 0; half /= 2) {
            for (int l = 0; l < half; l++) {
                lane[l] = rounded(terms, lane[l] + lane[l + half]);
            }
        }
        total += lane[0];
    }
    return total;
}

/* Item (i, j) of a matrix is scale * x[i * down + j * across]. */
typedef struct { float *x; int rows, columns, down, across; float scale; } Matrix;
enum { CHAIN = 512, SHORT = 64, SINGLE = 1 };                           /* see product */

static Matrix transposed(Matrix m)
{
    return (Matrix){ m.x, m.columns, m.rows, m.across, m.down, m.scale };
}

/* Computes C += A B. Each chain, a run of `chain` products, is summed from 0, and then added to C:
 * the library works in blocks of this length. The scale of C does not count. */
static void product(Matrix c, Matrix a, Matrix b, int chain)
{
    for (int i = 0; i < c.rows; i++) {
        for (int j = 0; j < c.columns; j++) {
            for (int begin = 0; begin < a.columns; begin += chain) {
                float chained = 0;
                for (int k = begin; k < least(a.columns, begin + chain); k++) {
                    float left = a.scale * a.x[i * a.down + k * a.across];
                    float right = b.scale * b.x[k * b.down + j * b.across];
                    chained = fmaf(left, right, chained);
                }
                c.x[i * c.down + j * c.across] += chained;
            }
        }
    }
}

/* Adds to y[j] the sum over all rows of a[row][j] b[row][j], or of a[row][j] if b is NULL. It is
 * added in at most 32 portions, each of some chains of SHORT rows. */
static void sum_columns(int rows, int n, float *y, float *a, float *b)
{
    const int length = ((rows + 31) / 32 + SHORT - 1) / SHORT * SHORT;
    for (int i = 0; i < rows; i += length) {
        for (int j = 0; j < n; j++) {
            float portion = 0;
            for (int begin = i; begin < least(rows, i + length); begin += SHORT) {
                float chained = 0;
                for (int row = begin; row < least(rows, begin + SHORT); row++) {
                    chained = fmaf(a[row * n + j], b ? b[row * n + j] : 1, chained);
                }
                portion += chained;
            }
            y[j] += portion;
        }
    }
}

/* ---- tensors --------------------------------------------------------------------------------- */

typedef struct Tensor {
    int rows, n;                            /* a row has n items; a vector is one row */
    float *x, *grad;                        /* values; gradient of the loss (data: NULL) */
    float *average, *square;                /* of the gradients of a parameter: see adam */
    struct Tensor *in[3];                   /* y = operation(in[0], in[1], in[2]) */
    void (*rule)(const struct Tensor *y);   /* adds to the gradients of in[] */
    float *kept;                            /* numbers for the rule */
    float (*gradient)(float x, float dy);   /* see map */
    int heads, length;                      /* see attention */
} Tensor;

static int count(const Tensor *t) { return t->rows * t->n; }
static Matrix values(const Tensor *t) { return (Matrix){ t->x, t->rows, t->n, t->n, 1, 1 }; }
static Matrix gradients(const Tensor *t) { return (Matrix){ t->grad, t->rows, t->n, t->n, 1, 1 }; }

typedef struct { Tensor item[200]; int n, steps; } Parameters;          /* enough for 12 blocks */

static Tensor *parameter_new(Parameters *p, int rows, int n)
{
    float *x = array(4 * rows * n);
    p->item[p->n] = (Tensor){ .rows = rows, .n = n, .x = x, .grad = x + rows * n,
                              .average = x + 2 * rows * n, .square = x + 3 * rows * n };
    return &p->item[p->n++];
}

/* ---- the tape -------------------------------------------------------------------------------- */

/* The results of the operations of a step, in the order in which they are computed. */
static Tensor tape[200];
static int on_tape;

/* Adds to the tape the result of an operation on a and b: zeros. One array has x, grad and kept. */
static Tensor *result(int rows, int n, int keep, void (*rule)(const Tensor *), Tensor *a, Tensor *b)
{
    float *x = array(2 * rows * n + keep);
    tape[on_tape] = (Tensor){ .rows = rows, .n = n, .x = x, .grad = x + rows * n,
                              .kept = x + 2 * rows * n, .in = { a, b }, .rule = rule };
    return &tape[on_tape++];
}

/* Computes all gradients, and frees the tape, the loss too. A rule adds to the gradients of in[],
 * since other results may read the same tensor: its gradient is the sum over all of them. These are
 * newer than the tensor. So at y, the gradient of y is complete, and no sorting is needed. */
static void backward(Tensor *loss)
{
    loss->grad[0] = 1;
    while (on_tape > 0) {
        Tensor *y = &tape[--on_tape];
        y->rule(y);
        free(y->x);
    }
}

/* ---- operations: read each before its rule, which stands above it ---------------------------- */

/* dW += dy^T x, dx += dy W. */
static void linear_rule(const Tensor *y)
{
    Tensor *x = y->in[0], *weight = y->in[1];
    product(gradients(weight), transposed(gradients(y)), values(x), CHAIN);
    if (x->grad) {
        product(gradients(x), gradients(y), values(weight), CHAIN);
    }
}

/* y = x W^T: x (rows, in), which may be data, W (out, in) -> (rows, out). */
static Tensor *linear(Tensor *x, Tensor *weight)
{
    Tensor *y = result(x->rows, weight->rows, 0, linear_rule, x, weight);
    product(values(y), values(x), transposed(values(weight)), CHAIN);
    return y;
}

/* dtable += onehot^T dy: each row of dy is added to the row of its id, one after the other. */
static void embedding_rule(const Tensor *y)
{
    product(gradients(y->in[1]), transposed(values(y->in[0])), gradients(y), SINGLE);
}

/* y = onehot table. A row of onehot has a 1 at its id, so y has the row of the table of that id. */
static Tensor *embedding(Tensor *onehot, Tensor *table)
{
    Tensor *y = result(onehot->rows, table->n, 0, embedding_rule, onehot, table);
    product(values(y), values(onehot), values(table), CHAIN);
    return y;
}

/* da += dy, db += dy, or the sum of dy over the repetitions of b. */
static void add_rule(const Tensor *y)
{
    for (int k = 0; k < 2; k++) {
        const Tensor *x = y->in[k];                                     /* a, b */
        if (x->grad) {
            sum_columns(count(y) / count(x), count(x), x->grad, y->grad, NULL);
        }
    }
}

/* y = a + b. If b has fewer rows, it is repeated: a bias, positions. Both may be data. */
static Tensor *add(Tensor *a, Tensor *b)
{
    Tensor *y = result(a->rows, a->n, 0, add_rule, a, b);
    for (int i = 0; i < count(y); i++) {
        y->x[i] = a->x[i] + b->x[i % count(b)];
    }
    return y;
}

/* dx += gradient(x, dy) = f'(x) dy. */
static void map_rule(const Tensor *y)
{
    for (int i = 0; i < count(y); i++) {
        y->in[0]->grad[i] += y->gradient(y->in[0]->x[i], y->grad[i]);
    }
}

/* y = f(x), item by item. */
static Tensor *map(Tensor *x, float (*f)(float x), float (*gradient)(float x, float dy))
{
    Tensor *y = result(x->rows, x->n, 0, map_rule, x, NULL);
    y->gradient = gradient;
    for (int i = 0; i < count(y); i++) {
        y->x[i] = f(x->x[i]);
    }
    return y;
}

static Tensor *relu(Tensor *x) { return map(x, relu_value, relu_gradient); }
static Tensor *gelu(Tensor *x) { return map(x, gelu_value, gelu_gradient); }

/* With g = dy gamma, c = t - rest (x minus the mean), r = rstd:
 * dx += r (g - mean g) - r^3 / n sum(g c) c, dgamma += sum of dy c r, dbeta += sum of dy. */
static void layer_norm_rule(const Tensor *y)
{
    const int n = y->n;
    sum_columns(y->rows, n, y->in[1]->grad, y->grad, y->kept);
    sum_columns(y->rows, n, y->in[2]->grad, y->grad, NULL);
    for (int row = 0; row < y->rows; row++) {
        const float *t = y->kept + count(y) + row * (n + 2), rest = t[n], rstd = t[n + 1];
        float *g = y->grad + row * n;                                   /* in place of dy */
        for (int i = 0; i < n; i++) {
            g[i] *= y->in[1]->x[i];
        }
        double r = rstd, sum_g = sum(PLAIN, n, g, NULL), sum_gt = sum(PRODUCTS, n, g, t);
        double slope = r * r * r / n * (sum_gt - rest * sum_g);
        float shift = (float)(slope * rest - r * sum_g / n);
        for (int i = 0; i < n; i++) {
            y->in[0]->grad[row * n + i] += fmaf((float)-slope, t[i], fmaf(rstd, g[i], shift));
        }
    }
}

/* y = (x - mean) rstd gamma + beta in each row, with rstd = 1 / sqrt(variance + 1e-5). For a large
 * mean, one float is too coarse: the mean is a sum of two floats, `mean` + `rest`. rest is the mean
 * of t = x - mean. Kept: `normal` of all rows, then for each row t (n numbers), rest and rstd. */
static Tensor *layer_norm(Tensor *x, Tensor *gamma, Tensor *beta)
{
    const int n = x->n;
    Tensor *y = result(x->rows, n, x->rows * (2 * n + 2), layer_norm_rule, x, gamma);
    y->in[2] = beta;
    for (int row = 0; row < x->rows; row++) {
        float *normal = y->kept + row * n, *t = y->kept + count(y) + row * (n + 2);
        float mean = (float)(sum(PLAIN, n, x->x + row * n, NULL) / n);
        for (int i = 0; i < n; i++) {
            t[i] = x->x[row * n + i] - mean;
        }
        double sum_t = sum(PLAIN, n, t, NULL), sum_tt = sum(PRODUCTS, n, t, t);
        double variance = fmax(0, (sum_tt - sum_t * (sum_t / n)) / n);
        float rest = (float)(sum_t / n), rstd = (float)(1 / sqrt(variance + 1e-5));
        t[n] = rest;
        t[n + 1] = rstd;
        for (int i = 0; i < n; i++) {
            normal[i] = fmaf(t[i], rstd, -(rest * rstd));
            y->x[row * n + i] = fmaf(normal[i], gamma->x[i], beta->x[i]);
        }
    }
    return y;
}

/* Writes e^(x - largest) into e, which may be x, but 0 for less than e^-87. Returns the sum. */
static double softmax_terms(int n, float *e, const float *x, float *largest)
{
    *largest = -INFINITY;
    for (int i = 0; i < n; i++) {
        *largest = fmaxf(*largest, x[i]);
    }
    for (int i = 0; i < n; i++) {
        e[i] = x[i] - *largest < -87 ? 0 : exponential(x[i] - *largest);
    }
    return sum(PLAIN, n, e, NULL);
}

typedef enum { QUERIES, KEYS, VALUES, OUTPUT } Part;                    /* three of qkv, one of y */

/* Returns a part of head h = window * heads + head: it has a row for each token of the window. */
static Matrix head(const Tensor *y, int h, float *x, Part part)
{
    int width = y->n / y->heads, row = part == OUTPUT ? y->n : 3 * y->n;
    int begin = (h / y->heads) * y->length * row + (part == OUTPUT ? 0 : part * y->n);
    float scale = part == QUERIES ? (float)(1 / sqrt((double)width)) : 1;
    return (Matrix){ x + begin + (h % y->heads) * width, y->length, width, row, 1, scale };
}

/* dw = dy v^T, d = w (dw - sum(dw w)); dv += w^T dy, dk += d^T q scale, dq += d scale k. */
static void attention_rule(const Tensor *y)
{
    float *x = y->in[0]->x, *grad = y->in[0]->grad;
    const int length = y->length;
    for (int h = 0; h < y->rows / length * y->heads; h++) {
        Matrix dy = head(y, h, y->grad, OUTPUT), q = head(y, h, x, QUERIES);
        Matrix w = { y->kept + 2 * h * length * length, length, length, length, 1, 1 }, d = w;
        d.x += length * length;
        product(d, dy, transposed(head(y, h, x, VALUES)), CHAIN);       /* d is dw */
        for (int row = 0; row < length * length; row += length) {
            float dot = (float)sum(PRODUCTS, length, d.x + row, w.x + row);
            for (int j = row; j < row + length; j++) {
                d.x[j] = w.x[j] * (d.x[j] - dot);
            }
        }
        product(head(y, h, grad, VALUES), transposed(w), dy, SHORT);
        product(head(y, h, grad, KEYS), transposed(d), q, SHORT);
        d.scale = q.scale;
        product(head(y, h, grad, QUERIES), d, head(y, h, x, KEYS), CHAIN);
    }
}

/* y = softmax(q k^T scale) v with scale = 1 / sqrt(width), in each head of each window. The mask:
 * token i sees the tokens 0..i; all others have the weight 0, so d is 0, too, and they get no
 * gradient. qkv (rows, 3n) -> (rows, n); `length` rows are a window. Kept: w and d of each head. */
static Tensor *attention(Tensor *qkv, int heads, int length)
{
    const int rows = qkv->rows;
    Tensor *y = result(rows, qkv->n / 3, 2 * rows * heads * length, attention_rule, qkv, NULL);
    y->heads = heads;
    y->length = length;
    for (int h = 0; h < rows / length * heads; h++) {
        Matrix w = { y->kept + 2 * h * length * length, length, length, length, 1, 1 };
        product(w, head(y, h, qkv->x, QUERIES), transposed(head(y, h, qkv->x, KEYS)), CHAIN);
        for (int i = 0; i < length; i++) {
            float *row = w.x + i * length, largest;
            float factor = (float)(1 / softmax_terms(i + 1, row, row, &largest));
            for (int j = 0; j < length; j++) {
                row[j] = j <= i ? row[j] * factor : 0;                  /* the mask: 0..i */
            }
        }
        product(head(y, h, y->x, OUTPUT), w, head(y, h, qkv->x, VALUES), CHAIN);
    }
    return y;
}

/* dx += what the loss has kept: its gradient. */
static void loss_rule(const Tensor *y)
{
    for (int i = 0; i < count(y->in[0]); i++) {
        y->in[0]->grad[i] += y->grad[0] * y->kept[i];
    }
}

/* y = the mean of (x - target)^2; dx = 2/n (x - target). */
static Tensor *squared_error(Tensor *x, const Tensor *target)
{
    Tensor *y = result(1, 1, count(x), loss_rule, x, NULL);
    y->x[0] = (float)(sum(SQUARES, count(x), x->x, target->x) / count(x));
    for (int i = 0; i < count(x); i++) {
        y->kept[i] = (float)(2. / count(x)) * (x->x[i] - target->x[i]);
    }
    return y;
}

/* y = the mean of -ln p[target] with p = softmax(row); dx = (p - (1 at the target)) / rows. */
static Tensor *cross_entropy(Tensor *x, const int *targets)
{
    Tensor *y = result(1, 1, count(x), loss_rule, x, NULL);
    const float scale = 1 / (float)x->rows;
    double total = 0;
    for (int row = 0; row < x->rows; row++) {
        float *logits = x->x + row * x->n, *d = y->kept + row * x->n, largest;
        double log_sum = log_double(softmax_terms(x->n, d, logits, &largest));
        total += (float)(log_sum - ((double)logits[targets[row]] - largest));
        for (int i = 0; i < x->n; i++) {
            float log_p = logits[i] - largest - (float)log_sum;
            d[i] = log_p < -87 ? 0 : exponential(log_p) * scale;
        }
        d[targets[row]] -= scale;
    }
    y->x[0] = (float)(total / x->rows);
    return y;
}

/* ---- random numbers: Philox4x32-10 (Salmon et al. 2011) -------------------------------------- */

static int seed;
static uint32_t counter;
static float unit(uint32_t word) { return (float)(word >> 8) * 0x1p-24f; }      /* in [0, 1) */

/* Writes the next four random words, a function of the seed and the counter. */
static void next_block(uint32_t word[4])
{
    uint32_t key0 = (uint32_t)seed, key1 = 0;
    word[0] = counter++;
    word[1] = word[2] = word[3] = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * word[0], p1 = (uint64_t)0xCD9E8D57 * word[2];
        word[0] = (uint32_t)(p1 >> 32) ^ word[1] ^ key0;
        word[1] = (uint32_t)p1;
        word[2] = (uint32_t)(p0 >> 32) ^ word[3] ^ key1;
        word[3] = (uint32_t)p0;
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
}

/* Fills t with numbers that are uniform in [-size, size), one for each word, or normal with the
 * deviation `size`, two for each two words (Box and Muller). */
static void fill(Tensor *t, double size, bool normal)
{
    uint32_t word[4];
    for (int i = 0; i < count(t); i++) {
        if (i % 4 == 0) {
            next_block(word);
        }
        const uint32_t *pair = word + i % 4 / 2 * 2;
        float radius = sqrtf(-2 * log_float(unit(pair[0]) + 0x1p-24f)) * (float)size;
        t->x[i] = normal ? fmaf(radius, sine(unit(pair[1]), 1 - i % 2), 0)      /* 0, not -0 */
                         : fmaf((float)(2 * size), unit(word[i % 4]), (float)-size);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

typedef struct { Tensor *weight, *bias; } Linear;
typedef struct { Tensor *gamma, *beta; } LayerNorm;

/* Weight and bias are uniform in +-1 / sqrt(in). If a deviation is given, the weight is replaced by
 * normal numbers, the bias by 0. The library draws both, too: all later numbers depend on it. */
static Linear linear_new(Parameters *p, int in, int out, double deviation)
{
    Tensor *weight = parameter_new(p, out, in), *bias = parameter_new(p, 1, out);
    fill(weight, 1 / sqrt((double)in), false);
    fill(bias, 1 / sqrt((double)in), false);
    if (deviation > 0) {
        fill(weight, deviation, true);
        memset(bias->x, 0, (size_t)out * sizeof *bias->x);
    }
    return (Linear){ weight, bias };
}

static LayerNorm norm_new(Parameters *p, int n)
{
    Tensor *gamma = parameter_new(p, 1, n), *beta = parameter_new(p, 1, n);
    for (int i = 0; i < n; i++) {
        gamma->x[i] = 1;
    }
    return (LayerNorm){ gamma, beta };
}

static Tensor *apply(Linear l, Tensor *x) { return add(linear(x, l.weight), l.bias); }
static Tensor *norm(LayerNorm l, Tensor *x) { return layer_norm(x, l.gamma, l.beta); }

/* ---- the optimizer --------------------------------------------------------------------------- */

/* Returns y x^n, with few multiplications. */
static double power(double y, double x, int n)
{
    return n == 0 ? y : power(n % 2 == 1 ? y * x : y, x * x, n / 2);
}

/* A step of AdamW: x -= lr (average / c1) / (sqrt(square / c2) + 1e-8), with moving averages of the
 * gradient and of its square. Both begin at 0; c1 and c2 correct that. decay shrinks matrices. */
static void adam(Parameters *p, double lr, double beta2, double decay)
{
    p->steps++;
    double beta1 = 0.9, c1 = 1 - power(1, beta1, p->steps), c2 = 1 - power(1, beta2, p->steps);
    for (Tensor *t = p->item; t < p->item + p->n; t++) {
        float shrink = t->rows > 1 ? (float)(1 - lr * decay) : 1;
        for (int i = 0; i < count(t); i++) {
            float g = t->grad[i], *average = &t->average[i], *square = &t->square[i];
            *average = fmaf((float)beta1, *average, (float)(1 - beta1) * g);
            *square = fmaf((float)beta2, *square, (float)(1 - beta2) * g * g);
            float divisor = fmaf(sqrtf(*square), (float)(1 / sqrt(c2)), 1e-8f);
            t->x[i] = fmaf(-(float)(lr / c1), *average / divisor, t->x[i] * shrink);
            t->grad[i] = 0;
        }
    }
}

/* ---- the hash: SHA-256 (FIPS 180-4), to skip ------------------------------------------------- */

typedef struct { uint32_t state[64], root[64], w[64], n; } Hash;        /* 8 of state are used */
static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t mix(uint32_t x, int a, int b, uint32_t c) { return turn(x, a) ^ turn(x, b) ^ c; }

/* Adds a word; 16 are a block. */
static void hash_word(Hash *h, uint32_t word)
{
    uint32_t *w = h->w, s[8];
    w[h->n++ % 16] = word;
    memcpy(s, h->state, sizeof s);
    for (int i = 0; i < 64 && h->n % 16 == 0; i++) {
        w[i] = i < 16 ? w[i] : w[i - 16] + mix(w[i - 15], 7, 18, w[i - 15] >> 3) +
                               w[i - 7] + mix(w[i - 2], 17, 19, w[i - 2] >> 10);
        uint32_t one = s[6] ^ (s[4] & (s[5] ^ s[6])), most = (s[0] & s[1]) | (s[2] & (s[0] | s[1]));
        uint32_t t = s[7] + mix(s[4], 6, 11, turn(s[4], 25)) + one + h->root[i] + w[i];
        uint32_t first = t + mix(s[0], 2, 13, turn(s[0], 22)) + most;
        memmove(s + 1, s, 7 * sizeof *s);
        s[0] = first;
        s[4] += t;
    }
    for (int i = 0; i < 8 && h->n % 16 == 0; i++) {
        h->state[i] += s[i];
    }
}

/* Prints the hash of the parameters (bytes: little-endian). Its constants are roots of primes. */
static void print_hash(const char *what, const Parameters *p)
{
    Hash h = { .n = 0 };
    for (int number = 2, primes = 0; primes < 64; number++) {
        int divisor = 2;
        while (number % divisor != 0) {
            divisor++;
        }
        h.state[primes] = (uint32_t)(fmod(sqrt(number), 1) * 0x1p32);
        h.root[primes] = (uint32_t)(fmod(cbrt(number), 1) * 0x1p32);
        primes += divisor == number;
    }
    for (const Tensor *t = p->item; t < p->item + p->n; t++) {
        for (int i = 0; i < count(t); i++) {
            uint32_t b;
            memcpy(&b, &t->x[i], sizeof b);
            hash_word(&h, b << 24 | (b & 0xff00) << 8 | (b >> 8 & 0xff00) | b >> 24);
        }
    }
    uint32_t bits = h.n * 32;                                           /* below 2^32: see option */
    hash_word(&h, 0x80000000);
    do {
        hash_word(&h, 0);
    } while (h.n % 16 != 15);
    hash_word(&h, bits);
    printf("SHA-256 of the weights of %s: ", what);
    for (int i = 0; i < 8; i++) {
        printf(i < 7 ? "%08x" : "%08x\n", (unsigned)h.state[i]);
    }
}

/* ---- f(x) and x + f(x) ----------------------------------------------------------------------- */

static int steps = 100, rows = 500, hidden = 128;

/* Two networks f(x) = W2 relu(W1 x + b1) + b2 learn to return x: one as f(x), one as x + f(x). */
static void train_skip(void)
{
    static Parameters p[2];
    const char *const name[] = { "f(x)", "x + f(x)" };
    Tensor x = { .rows = rows, .n = 10, .x = array(rows * 10) };
    fill(&x, 1, true);
    for (int k = 0; k < 2; k++) {
        Linear fc1 = linear_new(&p[k], x.n, hidden, 0), fc2 = linear_new(&p[k], hidden, x.n, 0);
        for (int step = 1; step <= steps; step++) {
            Tensor *f = apply(fc2, relu(apply(fc1, &x)));
            Tensor *loss = squared_error(k == 0 ? f : add(&x, f), &x);
            printf("step %d, loss of %s: %.9g\n", step, name[k], (double)loss->x[0]);
            backward(loss);
            adam(&p[k], 1e-3, 0.999, 0);
        }
        print_hash(name[k], &p[k]);
    }
    free(x.x);
}

/* ---- the GPT --------------------------------------------------------------------------------- */

static const char text[] =
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having\n"
    "nothing to do: once or twice she had peeped into the book her sister was reading, but it had\n"
    "no pictures or conversations in it, and what is the use of a book, thought Alice, without\n"
    "pictures or conversations? So she was considering in her own mind, whether the pleasure of\n"
    "making a daisy chain would be worth the trouble of getting up and picking the daisies, when\n"
    "suddenly a White Rabbit with pink eyes ran close by her. (Alice in Wonderland)\n";

static int layers = 2, heads = 2, width = 32, context = 16, batch = 4;
static Parameters p;
static Tensor *tokens, *positions;
static struct Block { LayerNorm ln_1, ln_2; Linear attn, proj, fc, fc_proj; } block[12];
static LayerNorm ln_last;

static void gpt_new(int vocabulary)
{
    const double deviation = 0.02, last = 0.02 / sqrt(2. * layers);     /* last: before add */
    tokens = parameter_new(&p, vocabulary, width);
    fill(tokens, 1, true);                                              /* see linear_new */
    fill(tokens, deviation, true);
    positions = parameter_new(&p, context, width);
    fill(positions, 1, true);
    fill(positions, deviation, true);
    for (struct Block *b = block; b < block + layers; b++) {
        b->ln_1 = norm_new(&p, width);
        b->attn = linear_new(&p, width, 3 * width, deviation);
        b->proj = linear_new(&p, width, width, last);
        b->ln_2 = norm_new(&p, width);
        b->fc = linear_new(&p, width, 4 * width, deviation);
        b->fc_proj = linear_new(&p, 4 * width, width, last);
    }
    ln_last = norm_new(&p, width);
}

/* onehot -> scores of the next, (batch * context, vocabulary): `tokens` is the last weight, too. */
static Tensor *gpt(Tensor *onehot)
{
    Tensor *x = add(embedding(onehot, tokens), positions);
    for (const struct Block *b = block; b < block + layers; b++) {
        x = add(x, apply(b->proj, attention(apply(b->attn, norm(b->ln_1, x)), heads, context)));
        x = add(x, apply(b->fc_proj, gelu(apply(b->fc, norm(b->ln_2, x)))));
    }
    return linear(norm(ln_last, x), tokens);
}

/* Learns the first nine tenths of the text. A token is a character; its id is its place among
 * those of the text. (The library draws a window again if `%` favors it: once in 10^16 times.) */
static void train_gpt(void)
{
    const int n = batch * context, windows = (int)(sizeof text - 1) * 9 / 10 - context;
    int id[128] = { 0 }, vocabulary = 0, target[4000];
    for (int c = 1; c < 128; c++) {
        id[c] = vocabulary;
        vocabulary += strchr(text, c) != NULL;
    }
    gpt_new(vocabulary);
    for (int step = 1; step <= steps; step++) {
        Tensor onehot = { .rows = n, .n = vocabulary, .x = array(n * vocabulary) };
        for (int b = 0; b < n; b += context) {
            uint32_t word[4];
            next_block(word);
            const char *window = text + (word[0] | (uint64_t)word[1] << 32) % (uint64_t)windows;
            for (int i = 0; i < context; i++) {
                onehot.x[(b + i) * vocabulary + id[(int)window[i]]] = 1;
                target[b + i] = id[(int)window[i + 1]];
            }
        }
        Tensor *loss = cross_entropy(gpt(&onehot), target);
        printf("step %d, loss: %.9g\n", step, (double)loss->x[0]);
        backward(loss);
        adam(&p, step < 10 ? 1e-3 * step / 10 : 1e-3, 0.99, 0.1);
        free(onehot.x);
    }
    print_hash("the GPT", &p);
}

/* ---- main ------------------------------------------------------------------------------------ */

static const struct { const char *name; int *value, least, most; } option[] = {
    { "--rows", &rows, 1, 99999 }, { "--hidden", &hidden, 1, 9999 }, { "--layers", &layers, 1, 12 },
    { "--heads", &heads, 1, 999 }, { "--width", &width, 2, 768 }, { "--context", &context, 2, 80 },
    { "--batch", &batch, 1, 50 }, { "--steps", &steps, 1, 99999 }, { "--seed", &seed, 0, 999999 },
    { NULL, NULL, 0, 0 }
};

int main(int argc, char **argv)
{
    const char *command = argc > 1 && strcmp(argv[argc - 1], "--help") != 0 ? argv[1] : "--help";
    for (int i = 2; i < argc && command == argv[1]; i += 2) {
        int k = 0;
        while (option[k].name && strcmp(option[k].name, argv[i]) != 0) {
            k++;
        }
        char *end = option[k].name && i + 1 < argc ? argv[i + 1] : "no number";
        long value = *end != '\0' ? strtol(end, &end, 10) : -1;
        if (*end != '\0' || value < option[k].least || value > option[k].most) {
            fail(argv[i], ": expected an option and a number, as tiny --help shows");
        }
        *option[k].value = (int)value;
    }
    if (strcmp(command, "skip") == 0) {
        train_skip();
    } else if (strcmp(command, "gpt") == 0 && width % heads == 0) {
        train_gpt();
    } else if (strcmp(command, "text") == 0) {
        printf("%s", text);
    } else {
        printf("usage: tiny skip, gpt (width: a multiple of heads) or text (that of gpt), with\n");
        for (int k = 0; option[k].name; k++) {
            printf("  %-9s N  (now %d; %d to %d)\n", option[k].name, *option[k].value,
                   option[k].least, option[k].most);
        }
        return strcmp(command, "--help") == 0 ? 0 : 2;
    }
}
