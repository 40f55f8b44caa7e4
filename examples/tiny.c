/* tiny.c: a network and a GPT learn, in one file of plain loops, with the bits of the library.
 *
 *     cc -O2 tiny.c -o tiny -lm
 *     ./tiny skip          f(x) and x + f(x) learn to return x
 *     ./tiny gpt           a GPT learns the text in this file
 *     ./tiny --help        prints the options
 *
 * It needs C and its library alone, and ends with the SHA-256 of the trained weights. The programs
 * skip_connection and gpt of kaeru, which are fast, print the same: each sum here has the order of
 * theirs, each function its formula. docs/arithmetic.md has the rules in words.
 *
 * From head to tail: numbers, sums, tensors, the tape, operations, layers, the optimizer, random
 * numbers, the hash, f(x) and x + f(x), the GPT, main. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A product is rounded before it is added to a sum. fmaf(a, b, c) is a b + c, rounded once. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#if FLT_EVAL_METHOD != 0
#error "floats are computed with other digits than theirs: expected -msse2 -mfpmath=sse"
#endif

static void fail(const char *message, const char *what)
{
    fprintf(stderr, "tiny: %s%s\n", what, message);
    exit(1);
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

/* ---- numbers --------------------------------------------------------------------------------- */

/* Returns c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule. */
static float polynomial(float x, int n, const float *c)
{
    float y = c[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        y = fmaf(y, x, c[i]);
    }
    return y;
}

/* Returns e^x for x <= 0: 2^k e^r with x = k ln 2 + r. */
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
    if (m < 0x1.555556p-1f) {
        m = 2 * m;
        k--;
    }
    float f = m - 1, y = fmaf(polynomial(f, 8, c), f * (f * f), -0.5f * (f * f)) + f;
    return fmaf((float)k, 0x1.62e43p-1f, y);
}

/* Returns ln x for x >= 1: k ln 2 + ln(1 + f), by a series of s = f / (2 + f). */
static double log_double(double x)
{
    int k;
    double m = frexp(x, &k), series = 0;
    if (m < 0x1.6a09e667f3bcdp-1) {                                     /* the root of 1/2 */
        m = 2 * m;
        k--;
    }
    double f = m - 1, s = f / (2 + f), half = f * f / 2;
    for (int n = 23; n >= 3; n -= 2) {
        series = (series + 2. / n) * (s * s);
    }
    double minus_f = (half - (s * (half + series) + k * 0x1.a39ef35793c76p-33)) - f;
    return k * 0x1.62e42feep-1 - minus_f;
}

/* Returns the sine of u turns, 0 <= u < 1, and `quarters` more: 1 for the cosine. */
static float sine(float u, int quarters)
{
    const float s[] = { -0x1.4abbcep-1f, 0x1.466bbcp-4f, -0x1.32cb0ep-8f, 0x1.4be09ep-13f };
    const float c[] = { -0x1.3bd3ccp+0f, 0x1.03c1fp-2f, -0x1.55d3bap-6f, 0x1.e1e7f6p-11f,
                        -0x1.a0f36ap-16f };
    float q = rintf(4 * u), f = 4 * u - q, ff = f * f;                  /* f in -1/2..1/2 */
    int quarter = ((int)q + quarters) % 4;
    float low = f * fmaf(polynomial(ff, 4, s), ff, -0x1.777a5cp-25f), y = fmaf(f, 0x1.921fb6p+0f, low);
    if (quarter % 2 == 1) {
        y = fmaf(polynomial(ff, 5, c), ff, 1);
    }
    return quarter < 2 ? y : -y;
}

/* Returns 1 / (1 + e^|x|) = e - e t with e = e^-|x|, t = e / (1 + e). */
static float sigmoid_lower(float x)
{
    float e = exponential(-fabsf(x));
    return fmaf(-e, e / (1 + e), e);
}

#define GELU_A 0x1.988454p+0f                                           /* 2 sqrt(2/pi) */
#define GELU_B 0x1.2444f2p-4f                                           /* 0.044715 A */

/* Returns x / (1 + e^-u) with u = A x + B x^3. */
static float gelu_value(float x)
{
    float low = fmaxf(-16, x), u = low * fmaf(low * low, GELU_B, GELU_A), lower = sigmoid_lower(u);
    return low * (u < 0 ? lower : 1 - lower);
}

static float gelu_gradient(float x, float dy)
{
    x = fminf(16, fmaxf(-16, x));
    float xx = x * x, lower = sigmoid_lower(x * fmaf(xx, GELU_B, GELU_A));
    float du = fmaf(xx, 3 * GELU_B, GELU_A);
    return dy * fmaf(x * du, fmaf(-lower, lower, lower), x < 0 ? lower : 1 - lower);
}

static float relu_value(float x) { return x < 0 ? 0 : x; }
/* A dy below the least normal number counts as 0. */
static float relu_gradient(float x, float dy) { return x > 0 && fabsf(dy) >= FLT_MIN ? dy : 0; }

/* ---- sums ------------------------------------------------------------------------------------ */

/* Returns the sum of a, or of a b, in blocks of 4096 items, which are added in double. In a block,
 * item i is added to lane i % 32; then lane l gets lane l + 16, then l + 8, l + 4, l + 2, l + 1. */
static double sum_row(int n, const float *a, const float *b)
{
    double total = 0;
    for (int begin = 0; begin < n; begin += 4096) {
        float lane[32] = { 0 };
        for (int i = begin; i < least(n, begin + 4096); i++) {
            lane[i % 32] += b ? a[i] * b[i] : a[i];
        }
        for (int half = 16; half > 0; half /= 2) {
            for (int l = 0; l < half; l++) {
                lane[l] += lane[l + half];
            }
        }
        total += lane[0];
    }
    return total;
}

/* Returns the sum of (a - b)^2, or of a^2 if b is NULL. All is double, there are 16 lanes, and the
 * blocks are longer if there would be more than 256. */
static double sum_squares(int n, const float *a, const float *b)
{
    int block = ((n + 255) / 256 + 4095) / 4096 * 4096;
    double total = 0;
    for (int begin = 0; begin < n; begin += block) {
        double lane[16] = { 0 };
        for (int i = begin; i < least(n, begin + block); i++) {
            double d = (double)a[i] - (b ? (double)b[i] : 0);
            lane[i % 16] += d * d;
        }
        for (int half = 8; half > 0; half /= 2) {
            for (int l = 0; l < half; l++) {
                lane[l] += lane[l + half];
            }
        }
        total += lane[0];
    }
    return total;
}

/* Adds to y[j] the sum over the rows of a[row][j], or of a[row][j] b[row][j]: a sum of at most 32
 * chunks, which are sums of blocks of 64 rows. Each of the three sums is in order. */
static void sum_columns(int rows, int n, float *y, const float *a, const float *b)
{
    int length = ((rows + 31) / 32 + 63) / 64 * 64;
    for (int j = 0; j < n; j++) {
        float total = 0, chunk = 0, block = 0;
        for (int row = 0; row < rows; row++) {
            block = fmaf(a[row * n + j], b ? b[row * n + j] : 1, block);
            if ((row + 1) % 64 == 0 || row + 1 == rows) {
                chunk += block;
                block = 0;
            }
            if ((row + 1) % length == 0 || row + 1 == rows) {
                total += chunk;
                chunk = 0;
            }
        }
        y[j] += total;
    }
}

/* Item (i, j) of a matrix is scale x[i * down + j * across]. */
typedef struct { float *x; int rows, columns, down, across; float scale; } Matrix;

static Matrix turned(Matrix m) { return (Matrix){ m.x, m.columns, m.rows, m.across, m.down, m.scale }; }
static Matrix scaled(Matrix m, float s) { return (Matrix){ m.x, m.rows, m.columns, m.down, m.across, s }; }

/* Computes C += A B. Of the products of an item, each `chain` are added from 0 on, then to C. */
static void product(Matrix c, Matrix a, Matrix b, int chain)
{
    for (int i = 0; i < c.rows; i++) {
        for (int j = 0; j < c.columns; j++) {
            for (int begin = 0; begin < a.columns; begin += chain) {
                float sum = 0;
                for (int k = begin; k < least(a.columns, begin + chain); k++) {
                    float left = a.scale * a.x[i * a.down + k * a.across];
                    sum = fmaf(left, b.scale * b.x[k * b.down + j * b.across], sum);
                }
                c.x[i * c.down + j * c.across] += sum;
            }
        }
    }
}

enum { CHAIN = 512, QUERIES = 64 };         /* QUERIES: in the gradients of keys and values */

/* ---- tensors --------------------------------------------------------------------------------- */

typedef struct Tensor Tensor;
struct Tensor {
    int rows, n;                            /* a row has n items; a vector is one row */
    float *x, *grad;                        /* values, gradient of the loss; NULL: without gradient */
    float *average, *square;                /* of the gradients of a parameter: see adam */
    Tensor *in[3];                          /* y = operation(in[0], in[1], in[2]) */
    void (*rule)(const Tensor *y);          /* adds to the gradients of these */
    float *kept;                            /* numbers that the rule needs */
    float (*slope)(float x, float dy);
    const int *ids;
    int heads, length;                      /* of attention: sentences of `length` tokens */
};

static int count(const Tensor *t) { return t->rows * t->n; }
static Matrix values(const Tensor *t) { return (Matrix){ t->x, t->rows, t->n, t->n, 1, 1 }; }
static Matrix gradients(const Tensor *t) { return (Matrix){ t->grad, t->rows, t->n, t->n, 1, 1 }; }

/* The parameters of a model, in the order in which they are made. */
typedef struct { Tensor item[700]; int n, steps; } Parameters;

static Tensor *parameter_new(Parameters *p, int rows, int n)
{
    p->item[p->n] = (Tensor){ rows, n, array(rows * n), array(rows * n), array(rows * n),
                              array(rows * n), { NULL }, NULL, NULL, NULL, NULL, 0, 0 };
    return &p->item[p->n++];
}

/* ---- the tape -------------------------------------------------------------------------------- */

/* The results of the operations of a step, in the order in which they are computed. */
static Tensor tape[600];
static int on_tape;

/* Adds a tensor of zeros to the tape. Its rule adds to the gradients of a, b, c. */
static Tensor *result(int rows, int n, int kept, void (*rule)(const Tensor *y), Tensor *a, Tensor *b,
                      Tensor *c)
{
    float *x = array(2 * rows * n + kept);
    tape[on_tape] = (Tensor){ .rows = rows, .n = n, .x = x, .grad = x + rows * n,
                              .kept = x + 2 * rows * n, .in = { a, b, c }, .rule = rule };
    return &tape[on_tape++];
}

/* Computes all gradients, and empties the tape. What has read y is newer than y. So when the loop
 * comes to y, all that adds to its gradient has done so: nothing must be sorted. */
static void backward(Tensor *loss)
{
    loss->grad[0] = 1;
    while (on_tape > 0) {
        Tensor *y = &tape[--on_tape];
        y->rule(y);
        free(y->x);
    }
}

/* ---- operations, each below its rule, which says what it adds to the gradients --------------- */

/* dW += dy^T x, db += the sum of dy's rows, dx += dy W. */
static void linear_rule(const Tensor *y)
{
    Tensor *x = y->in[0], *weight = y->in[1], *bias = y->in[2];
    product(gradients(weight), turned(gradients(y)), values(x), CHAIN);
    if (bias) {
        sum_columns(y->rows, y->n, bias->grad, y->grad, NULL);
    }
    if (x->grad) {
        product(gradients(x), gradients(y), values(weight), CHAIN);
    }
}

/* y = x W^T + b: x (rows, in), W (out, in), b (out) or NULL -> (rows, out). */
static Tensor *linear(Tensor *x, Tensor *weight, Tensor *bias)
{
    Tensor *y = result(x->rows, weight->rows, 0, linear_rule, x, weight, bias);
    product(values(y), values(x), turned(values(weight)), CHAIN);
    for (int i = 0; bias && i < count(y); i++) {
        y->x[i] += bias->x[i % y->n];
    }
    return y;
}

/* dx += f'(x) dy. */
static void map_rule(const Tensor *y)
{
    for (int i = 0; i < count(y); i++) {
        y->in[0]->grad[i] += y->slope(y->in[0]->x[i], y->grad[i]);
    }
}

/* y = f(x), item by item. */
static Tensor *map(Tensor *x, float (*f)(float x), float (*slope)(float x, float dy))
{
    Tensor *y = result(x->rows, x->n, 0, map_rule, x, NULL, NULL);
    y->slope = slope;
    for (int i = 0; i < count(y); i++) {
        y->x[i] = f(x->x[i]);
    }
    return y;
}

/* da += dy, db += dy or the sum of its repeated parts. */
static void add_rule(const Tensor *y)
{
    Tensor *a = y->in[0], *b = y->in[1];
    for (int i = 0; a->grad && i < count(y); i++) {
        a->grad[i] += y->grad[i];
    }
    sum_columns(count(y) / count(b), count(b), b->grad, y->grad, NULL);
}

/* y = a + b; a b of fewer rows is repeated. */
static Tensor *add(Tensor *a, Tensor *b)
{
    Tensor *y = result(a->rows, a->n, 0, add_rule, a, b, NULL);
    for (int i = 0; i < count(y); i++) {
        y->x[i] = a->x[i] + b->x[i % count(b)];
    }
    return y;
}

/* dtable[ids[row]] += dy[row], in the order of the rows. */
static void embedding_rule(const Tensor *y)
{
    for (int i = 0; i < count(y); i++) {
        y->in[0]->grad[y->ids[i / y->n] * y->n + i % y->n] += y->grad[i];
    }
}

/* y[row] = table[ids[row]]. */
static Tensor *embedding(Tensor *table, int rows, const int *ids)
{
    Tensor *y = result(rows, table->n, 0, embedding_rule, table, NULL, NULL);
    y->ids = ids;
    for (int i = 0; i < count(y); i++) {
        y->x[i] = table->x[ids[i / y->n] * y->n + i % y->n];
    }
    return y;
}

/* Writes e^(x - largest) into e, which may be x, and returns the sum. Below e^-87, it is 0. */
static double softmax_terms(int n, float *e, const float *x, float *largest)
{
    *largest = -INFINITY;
    for (int i = 0; i < n; i++) {
        *largest = fmaxf(*largest, x[i]);
    }
    for (int i = 0; i < n; i++) {
        e[i] = x[i] - *largest < -87 ? 0 : exponential(x[i] - *largest);
    }
    return sum_row(n, e, NULL);
}

/* Returns part 0 (queries), 1 (keys) or 2 (values) of 3 of a head in x, or the only one of 1. */
static Matrix part_of_head(const Tensor *y, int head, float *x, int part, int parts)
{
    int sentence = head / y->heads, width = y->n / y->heads;
    x += (sentence * y->length * parts + part) * y->n + head % y->heads * width;
    return (Matrix){ x, y->length, width, parts * y->n, 1, 1 };
}

/* Returns the weights of a head: a row for each query. */
static Matrix weights_of_head(const Tensor *y, int head)
{
    int n = y->length;
    return (Matrix){ y->kept + head * n * n, n, n, n, 1, 1 };
}

static float score_scale(const Tensor *y) { return (float)(1 / sqrt((double)(y->n / y->heads))); }

/* With weights w and scores s: dw = dy v^T, ds = w (dw - sum(dw w)), dv += w^T dy,
 * dk += ds^T q / sqrt(width), dq += ds k / sqrt(width). */
static void attention_rule(const Tensor *y)
{
    Tensor *qkv = y->in[0];
    const int n = y->length;
    for (int h = 0; h < y->rows / n * y->heads; h++) {
        Matrix w = weights_of_head(y, h), d = w, dy = part_of_head(y, h, y->grad, 0, 1);
        Matrix q = part_of_head(y, h, qkv->x, 0, 3), k = part_of_head(y, h, qkv->x, 1, 3);
        d.x = array(n * n);
        product(d, dy, turned(part_of_head(y, h, qkv->x, 2, 3)), CHAIN);
        for (int i = 0; i < n; i++) {
            float *row = d.x + i * n, *weight = w.x + i * n, dot = (float)sum_row(n, row, weight);
            for (int j = 0; j < n; j++) {
                row[j] = weight[j] * (row[j] - dot);
            }
        }
        product(part_of_head(y, h, qkv->grad, 2, 3), turned(w), dy, QUERIES);
        product(part_of_head(y, h, qkv->grad, 1, 3), turned(d), scaled(q, score_scale(y)), QUERIES);
        product(part_of_head(y, h, qkv->grad, 0, 3), scaled(d, score_scale(y)), k, CHAIN);
        free(d.x);
    }
}

/* y = softmax(q k^T / sqrt(width)) v in each head of each sentence. The mask: token i sees the
 * tokens 0..i; others have the weight 0. qkv (rows, 3n) -> (rows, n). */
static Tensor *attention(Tensor *qkv, int heads, int length)
{
    Tensor *y = result(qkv->rows, qkv->n / 3, qkv->rows * heads * length, attention_rule, qkv, NULL,
                       NULL);
    y->heads = heads;
    y->length = length;
    for (int h = 0; h < y->rows / length * heads; h++) {
        Matrix w = weights_of_head(y, h), q = part_of_head(y, h, qkv->x, 0, 3);
        product(w, scaled(q, score_scale(y)), turned(part_of_head(y, h, qkv->x, 1, 3)), CHAIN);
        for (int i = 0; i < length; i++) {
            float *row = w.x + i * length, largest;
            float factor = (float)(1 / softmax_terms(i + 1, row, row, &largest));
            for (int j = 0; j < length; j++) {
                row[j] = j <= i ? row[j] * factor : 0;
            }
        }
        product(part_of_head(y, h, y->x, 0, 1), w, part_of_head(y, h, qkv->x, 2, 3), CHAIN);
    }
    return y;
}

/* With t = x - mean, rest = mean t, c = t - rest, r = 1 / deviation, g = dy gamma:
 * dx += r (g - mean g) - r^3 / n sum(g c) c, dgamma += the sum of dy c r, dbeta += that of dy. */
static void layer_norm_rule(const Tensor *y)
{
    Tensor *x = y->in[0], *gamma = y->in[1], *beta = y->in[2];
    const int n = y->n;
    float *g = array(n), *normal = array(count(y));
    for (int row = 0; row < y->rows; row++) {
        const float *t = y->kept + row * (n + 2), rest = t[n], rstd = t[n + 1];
        for (int i = 0; i < n; i++) {
            normal[row * n + i] = fmaf(t[i], rstd, -(rest * rstd));
            g[i] = y->grad[row * n + i] * gamma->x[i];
        }
        double r = rstd, sum = sum_row(n, g, NULL), dot = sum_row(n, g, t) - rest * sum;
        double slope = r * r * r / n * dot;
        float shift = (float)(slope * rest - r * sum / n);
        for (int i = 0; i < n; i++) {
            x->grad[row * n + i] += fmaf((float)-slope, t[i], fmaf(rstd, g[i], shift));
        }
    }
    sum_columns(y->rows, n, gamma->grad, y->grad, normal);
    if (beta) {
        sum_columns(y->rows, n, beta->grad, y->grad, NULL);
    }
    free(g);
    free(normal);
}

/* y = c r gamma + beta, in each row; beta may be NULL. The mean is that of x as a float and `rest`:
 * a float alone is too coarse for a large mean. */
static Tensor *layer_norm(Tensor *x, Tensor *gamma, Tensor *beta)
{
    const int n = x->n;
    Tensor *y = result(x->rows, n, x->rows * (n + 2), layer_norm_rule, x, gamma, beta);
    for (int row = 0; row < x->rows; row++) {
        float *t = y->kept + row * (n + 2), mean = (float)(sum_row(n, x->x + row * n, NULL) / n);
        for (int i = 0; i < n; i++) {
            t[i] = x->x[row * n + i] - mean;
        }
        double sum = sum_row(n, t, NULL), var = (sum_row(n, t, t) - sum * (sum / n)) / n;
        float rest = t[n] = (float)(sum / n), rstd = t[n + 1] = (float)(1 / sqrt(fmax(0, var) + 1e-5));
        for (int i = 0; i < n; i++) {
            float normal = fmaf(t[i], rstd, -(rest * rstd)), g = gamma->x[i];
            y->x[row * n + i] = beta ? fmaf(normal, g, beta->x[i]) : normal * g;
        }
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
static Tensor *squared_error(Tensor *x, Tensor *target)
{
    const int n = count(x);
    Tensor *y = result(1, 1, n, loss_rule, x, NULL, NULL);
    y->x[0] = (float)(sum_squares(n, x->x, target->x) / n);
    for (int i = 0; i < n; i++) {
        y->kept[i] = (float)(2. / n) * (x->x[i] - target->x[i]);
    }
    return y;
}

/* y = the mean of -ln p[target], p = softmax(row); dx = (p - (1 at the target, else 0)) / rows. */
static Tensor *cross_entropy(Tensor *x, const int *targets)
{
    Tensor *y = result(1, 1, count(x), loss_rule, x, NULL, NULL);
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

/* ---- layers ---------------------------------------------------------------------------------- */

typedef struct { Tensor *weight, *bias; } Linear;                       /* bias: NULL: none */
typedef struct { Tensor *gamma, *beta; } LayerNorm;                     /* beta: NULL: none */

static Linear linear_new(Parameters *p, int in, int out, bool bias)
{
    Tensor *weight = parameter_new(p, out, in);
    return (Linear){ weight, bias ? parameter_new(p, 1, out) : NULL };
}

static LayerNorm norm_new(Parameters *p, int n, bool bias)
{
    Tensor *gamma = parameter_new(p, 1, n);
    for (int i = 0; i < n; i++) {
        gamma->x[i] = 1;
    }
    return (LayerNorm){ gamma, bias ? parameter_new(p, 1, n) : NULL };
}

static Tensor *apply(Linear l, Tensor *x) { return linear(x, l.weight, l.bias); }
static Tensor *norm(LayerNorm l, Tensor *x) { return layer_norm(x, l.gamma, l.beta); }
static Tensor *relu(Tensor *x) { return map(x, relu_value, relu_gradient); }
static Tensor *gelu(Tensor *x) { return map(x, gelu_value, gelu_gradient); }

/* ---- the optimizer --------------------------------------------------------------------------- */

/* Returns y x^n, by squaring. */
static double power(double y, double x, int n)
{
    return n == 0 ? y : power(n % 2 == 1 ? y * x : y, x * x, n / 2);
}

/* Takes a step of Adam, and clears the gradients. Adam keeps an average of the gradients and one of
 * their squares, and divides the first by the root of the second. Matrices also shrink (AdamW). */
static void adam(Parameters *p, double lr, double beta2, double decay, float scale)
{
    const float rest1 = (float)(1 - 0.9), rest2 = (float)(1 - beta2);
    double c1 = 1 - power(1, 0.9, ++p->steps), c2 = 1 - power(1, beta2, p->steps);
    for (int k = 0; k < p->n; k++) {
        Tensor *t = &p->item[k];
        float shrink = t->rows > 1 ? (float)(1 - lr * decay) : 1;
        for (int i = 0; i < count(t); i++) {
            float g = scale * t->grad[i];
            t->average[i] = fmaf(0.9f, t->average[i], rest1 * g);
            t->square[i] = fmaf((float)beta2, t->square[i], rest2 * g * g);
            float divisor = fmaf(sqrtf(t->square[i]), (float)(1 / sqrt(c2)), 1e-8f);
            t->x[i] = fmaf(-(float)(lr / c1), t->average[i] / divisor, t->x[i] * shrink);
            t->grad[i] = 0;
        }
    }
}

/* Returns the factor that keeps the norm of all gradients below 1. */
static float clip(const Parameters *p)
{
    const int chunk = 16384;
    double sum = 0;
    for (const Tensor *t = p->item; t < p->item + p->n; t++) {
        for (int i = 0; i < count(t); i += chunk) {
            sum += sum_squares(least(chunk, count(t) - i), t->grad + i, NULL);
        }
    }
    return (float)fmin(1, 1 / (sqrt(sum) + 1e-6));
}

/* ---- random numbers: Philox4x32-10 (Salmon et al. 2011) -------------------------------------- */

static uint64_t seed, counter;

/* Writes the next four random words: a function of the seed and the counter. */
static void next_block(uint32_t word[4])
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    word[0] = (uint32_t)counter;
    word[1] = (uint32_t)(counter++ >> 32);
    word[2] = word[3] = 0;
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

/* Returns a whole number in 0..n-1. */
static int random_below(int n)
{
    uint64_t range = (uint64_t)n, limit = UINT64_MAX - UINT64_MAX % range, x;
    uint32_t word[4];
    do {
        next_block(word);
        x = (uint64_t)word[1] << 32 | word[0];
    } while (x >= limit);
    return (int)(x % range);
}

/* Fills t with numbers that are uniform in [-size, size), or normal with the deviation `size`. Each
 * word gives a number, or two words give two normal ones (Box and Muller). */
static void fill(Tensor *t, double size, bool normal)
{
    const float most = (float)size < size ? (float)size : nextafterf((float)size, 0);
    uint32_t word[4];
    for (int i = 0; i < count(t); i++) {
        if (i % 4 == 0) {
            next_block(word);
        }
        const uint32_t *pair = word + i % 4 / 2 * 2;
        float u = (float)(word[i % 4] >> 8) * 0x1p-24f, v = ((float)(pair[0] >> 8) + 1) * 0x1p-24f;
        float radius = sqrtf(-2 * log_float(v)) * (float)size;
        float turns = (float)(pair[1] >> 8) * 0x1p-24f;
        t->x[i] = normal ? fmaf(radius, sine(turns, 1 - i % 2), 0)
                         : fminf(most, fmaf((float)(2 * size), u, (float)-size));
    }
}

/* Initial weights of a linear layer. */
static void linear_fill(Linear l)
{
    fill(l.weight, 1 / sqrt((double)l.weight->n), false);
    if (l.bias) {
        fill(l.bias, 1 / sqrt((double)l.weight->n), false);
    }
}

/* ---- the hash -------------------------------------------------------------------------------- */

static uint32_t rotated(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t fraction(double x) { return (uint32_t)((x - floor(x)) * 0x1p32); }

/* Adds 64 bytes to a SHA-256 (FIPS 180-4). */
static void hash_block(uint32_t state[8], const uint32_t k[64], const uint8_t *bytes)
{
    uint32_t w[64] = { 0 }, s[8];
    for (int i = 0; i < 64; i++) {
        w[i / 4] |= (uint32_t)bytes[i] << (24 - i % 4 * 8);
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            uint32_t v = w[i - 15], u = w[i - 2];
            w[i] = w[i - 16] + (rotated(v, 7) ^ rotated(v, 18) ^ v >> 3) + w[i - 7] +
                   (rotated(u, 17) ^ rotated(u, 19) ^ u >> 10);
        }
        uint32_t a = s[0], e = s[4], t = s[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                                         ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
        uint32_t majority = (a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]);
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += s[i];
    }
}

/* Prints the SHA-256 of the parameters, in their order, as bytes. */
static void print_hash(const char *what, const Parameters *p)
{
    size_t n = 0, at = 0;
    for (const Tensor *t = p->item; t < p->item + p->n; t++) {
        n += (size_t)count(t) * sizeof *t->x;
    }
    size_t padded = (n + 72) / 64 * 64;
    uint8_t *bytes = (uint8_t *)array((int)(padded / sizeof(float)));
    for (const Tensor *t = p->item; t < p->item + p->n; t++) {
        memcpy(bytes + at, t->x, (size_t)count(t) * sizeof *t->x);
        at += (size_t)count(t) * sizeof *t->x;
    }
    bytes[n] = 0x80;
    for (int i = 0; i < 8; i++) {
        bytes[padded - 1 - (size_t)i] = (uint8_t)((uint64_t)n * 8 >> (8 * i));
    }
    uint32_t state[64], k[64];
    for (int number = 2, primes = 0; primes < 64; number++) {
        int divisor = 2;
        while (number % divisor != 0) {
            divisor++;
        }
        if (divisor == number) {
            state[primes] = fraction(sqrt(number));
            k[primes++] = fraction(cbrt(number));
        }
    }
    for (at = 0; at < padded; at += 64) {
        hash_block(state, k, bytes + at);
    }
    free(bytes);
    printf("SHA-256 of the weights of %s: ", what);
    for (int i = 0; i < 8; i++) {
        printf("%08x", (unsigned)state[i]);
    }
    printf("\n");
}

/* ---- options --------------------------------------------------------------------------------- */

static int steps = 100, rows = 500, hidden = 128;
static int layers = 2, width = 32, heads = 2, context = 16, batch = 4, warmup = 10, bias;

static bool is_shown(int step) { return step == 1 || step % 10 == 0 || step == steps; }

/* ---- f(x) and x + f(x) ----------------------------------------------------------------------- */

enum { ITEMS = 10 };

/* f(x) = W2 relu(W1 x + b1) + b2. */
typedef struct { Parameters parameters; Linear fc1, fc2; bool skip; } Network;

/* Returns the loss before the step. */
static float skip_step(Network *m, Tensor *x)
{
    Tensor *f = apply(m->fc2, relu(apply(m->fc1, x)));
    Tensor *loss = squared_error(m->skip ? add(x, f) : f, x);
    float value = loss->x[0];
    backward(loss);
    adam(&m->parameters, 1e-3, 0.999, 0, 1);
    return value;
}

static void train_skip(void)
{
    static Network m[2];
    Tensor x = { .rows = rows, .n = ITEMS, .x = array(rows * ITEMS) };
    fill(&x, 1, true);
    for (int i = 0; i < 2; i++) {
        m[i].skip = i == 1;
        m[i].fc1 = linear_new(&m[i].parameters, ITEMS, hidden, true);
        m[i].fc2 = linear_new(&m[i].parameters, hidden, ITEMS, true);
        linear_fill(m[i].fc1);
        linear_fill(m[i].fc2);
    }
    for (int step = 1; step <= steps; step++) {
        float f = skip_step(&m[0], &x), skip = skip_step(&m[1], &x);
        if (is_shown(step)) {
            printf("step %d: loss %.9g of f(x), %.9g of x + f(x)\n", step, (double)f, (double)skip);
        }
    }
    print_hash("f(x)", &m[0].parameters);
    print_hash("x + f(x)", &m[1].parameters);
}

/* ---- the GPT --------------------------------------------------------------------------------- */

static const char text[] =
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having\n"
    "nothing to do: once or twice she had peeped into the book her sister was reading, but it had\n"
    "no pictures or conversations in it, and what is the use of a book, thought Alice, without\n"
    "pictures or conversations? So she was considering in her own mind, as well as she could, for\n"
    "the hot day made her feel very sleepy and stupid, whether the pleasure of making a daisy-chain\n"
    "would be worth the trouble of getting up and picking the daisies, when suddenly a White Rabbit\n"
    "with pink eyes ran close by her. There was nothing so very remarkable in that; nor did Alice\n"
    "think it so very much out of the way to hear the Rabbit say to itself, Oh dear! Oh dear! I\n"
    "shall be too late! But when the Rabbit actually took a watch out of its waistcoat-pocket, and\n"
    "looked at it, and then hurried on, Alice started to her feet, for it flashed across her mind\n"
    "that she had never before seen a rabbit with either a waistcoat-pocket, or a watch to take\n"
    "out of it, and burning with curiosity, she ran across the field after it, and was just in\n"
    "time to see it pop down a large rabbit-hole under the hedge. In another moment down went\n"
    "Alice after it, never once considering how in the world she was to get out again.\n";

typedef struct { LayerNorm ln_1, ln_2; Linear attn, attn_proj, fc, fc_proj; } Block;
typedef struct { Parameters parameters; Tensor *wte, *wpe; Block h[50]; LayerNorm ln_f; } Gpt;

/* Returns logits of the next token: ids (batch, context) -> (batch context, vocabulary). */
static Tensor *gpt(Gpt *m, const int *ids)
{
    Tensor *x = add(embedding(m->wte, batch * context, ids), m->wpe);
    for (const Block *b = m->h; b < m->h + layers; b++) {
        Tensor *a = attention(apply(b->attn, norm(b->ln_1, x)), heads, context);
        x = add(x, apply(b->attn_proj, a));
        x = add(x, apply(b->fc_proj, gelu(apply(b->fc, norm(b->ln_2, x)))));
    }
    return linear(norm(m->ln_f, x), m->wte, NULL);
}

/* The library draws usual weights first, and replaces them. */
static Linear gpt_linear_new(Parameters *p, int in, int out, double deviation)
{
    Linear l = linear_new(p, in, out, bias);
    linear_fill(l);
    fill(l.weight, deviation, true);
    for (int i = 0; l.bias && i < out; i++) {
        l.bias->x[i] = 0;
    }
    return l;
}

static Tensor *table_new(Parameters *p, int n)
{
    Tensor *t = parameter_new(p, n, width);
    fill(t, 1, true);
    fill(t, 0.02, true);
    return t;
}

static void gpt_init(Gpt *m, int vocabulary)
{
    Parameters *p = &m->parameters;
    double end = 0.02 / sqrt(2. * layers);              /* of branches: x is a sum of 2 a layer */
    m->wte = table_new(p, vocabulary);
    m->wpe = table_new(p, context);
    for (Block *b = m->h; b < m->h + layers; b++) {
        b->ln_1 = norm_new(p, width, bias);
        b->attn = gpt_linear_new(p, width, 3 * width, 0.02);
        b->attn_proj = gpt_linear_new(p, width, width, end);
        b->ln_2 = norm_new(p, width, bias);
        b->fc = gpt_linear_new(p, width, 4 * width, 0.02);
        b->fc_proj = gpt_linear_new(p, 4 * width, width, end);
    }
    m->ln_f = norm_new(p, width, bias);
}

/* Learns the first nine tenths of the text. The ids are the numbers of the characters that occur. */
static void train_gpt(void)
{
    static Gpt m;
    const int n = (int)sizeof text - 1, learned = n / 10 * 9 + n % 10 * 9 / 10;
    int number[256] = { 0 }, vocabulary = 0, *id = (int *)array(n);
    int *ids = (int *)array(batch * context), *targets = (int *)array(batch * context);
    for (int i = 0; i < n; i++) {
        number[(unsigned char)text[i]] = 1;
    }
    for (int c = 0; c < 256; c++) {
        number[c] = number[c] ? vocabulary++ : 0;
    }
    for (int i = 0; i < n; i++) {
        id[i] = number[(unsigned char)text[i]];
    }
    gpt_init(&m, vocabulary);
    for (int step = 1; step <= steps; step++) {
        for (int b = 0; b < batch; b++) {
            const int *from = id + random_below(learned - context);
            memcpy(ids + b * context, from, (size_t)context * sizeof *ids);
            memcpy(targets + b * context, from + 1, (size_t)context * sizeof *ids);
        }
        Tensor *loss = cross_entropy(gpt(&m, ids), targets);
        if (is_shown(step)) {
            printf("step %d: loss %.9g\n", step, (double)loss->x[0]);
        }
        backward(loss);
        double lr = step < warmup ? 1e-3 * step / warmup : 1e-3;
        adam(&m.parameters, lr, 0.99, 0.1, clip(&m.parameters));
    }
    print_hash("the GPT", &m.parameters);
}

/* ---- main ------------------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "skip") == 0) train_skip();
    if (argc > 1 && strcmp(argv[1], "gpt") == 0) train_gpt();
    if (argc > 1 && strcmp(argv[1], "text") == 0) printf("%s", text);
    return 0;
}
