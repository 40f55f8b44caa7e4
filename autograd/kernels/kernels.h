/* kernels.h: arrays in, arrays out. The floor that does the arithmetic and knows nothing of tensors.
 *
 * Three promises hold for every function here:
 *   1. The result is the same bits on any number of threads and on every processor path (AVX-512, AVX2, portable C):
 *      the order of every sum is fixed by the shapes alone, products are added with one rounding (fused multiply-add,
 *      emulated where the processor has none), and no function of libm is called but sqrt and fma.
 *   2. No memory is asked of the system after the first calls; scratch space comes with the arguments or stays with
 *      the thread that used it. A kernel that cannot have its scratch space works without it.
 *   3. reference.c holds each function once more as plain loops. The tests compare the two; the double build runs the
 *      plain ones.
 *
 * Conventions: sizes are element counts (int64_t) and may be 0; arrays are dense and row-major unless a stride is
 * given; outputs may not overlap inputs unless a comment says so. `add` chooses between writing over the output
 * (false) and adding to it (true): gradients are written where they are first and added to after that. */
#ifndef KAERU_KERNELS_H
#define KAERU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kaeru/types.h"

/* ---- threads ---------------------------------------------------------------------------------------------------- */

/* How many threads k_parallel may use, the caller's included. 0: as many as the machine has processors (or KAERU_THREADS
 * says). The threads start on first use; a forked child starts its own. */
void k_set_threads(int n);
int  k_threads(void);

/* Calls body(arg, begin, end) on pieces that together cover 0..n, several at a time; returns when all are done. A piece
 * has at least `grain` items, but for the last; with n <= grain everything runs on the caller. How the pieces are cut
 * depends on the number of threads, so a body must not let a cut reach its result. A call from inside a body, or while
 * another thread of the program has the pool, runs on the caller alone. */
typedef void KBody(void *arg, int64_t begin, int64_t end);
void k_parallel(int64_t n, int64_t grain, KBody *body, void *arg);

/* The path in use: "avx512", "avx2", "portable" or, in the double build, "reference". The environment variable
 * KAERU_ISA names one to use instead of the best; an unknown one, or one that the processor lacks, is ignored. */
const char *k_isa(void);

/* ---- functions of one number ------------------------------------------------------------------------------------ */

/* Each with y = f(x) and dx = dy f'(x). p and q are the function's own numbers. */
typedef enum {
    K_NEG,       /* -x                                                     */
    K_EXP,       /* e^x                           f' from y                */
    K_LOG,       /* ln x                                                   */
    K_SQRT,      /* square root                   f' from y                */
    K_ABS,       /* |x|                           f'(0) = 0                */
    K_TANH,      /*                               f' from y                */
    K_SIGMOID,   /* 1 / (1 + e^-x)                f' from y                */
    K_RELU,      /* max(0, x)                     f'(0) = 0, f' from y     */
    K_GELU,      /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))          */
    K_GELU_ERF,  /* x/2 (1 + erf(x / sqrt 2))                              */
    K_CLAMP,     /* x held within p..q            f' = 1 where p <= x <= q */
    K_SCALE,     /* p x + q                                                */
    K_POW_SCALAR      /* x^p, the last                 f' = p x^(p-1)           */
} KUnary;
/* What f' is made from. */
typedef enum { K_READS_X, K_READS_Y, K_READS_NONE } KReads;
static inline KReads k_unary_reads(KUnary f)
{
    switch (f) {
    case K_NEG: case K_SCALE: return K_READS_NONE;
    case K_EXP: case K_SQRT: case K_TANH: case K_SIGMOID: case K_RELU: return K_READS_Y;
    default: return K_READS_X;
    }
}
/* In place (y == x) is allowed. */
void k_unary(KUnary f, int64_t n, real *y, const real *x, double p, double q);
/* The array that f' is not made from is not read and may be NULL. dx == dy is allowed when !add. */
void k_unary_backward(KUnary f, int64_t n, real *dx, const real *dy, const real *x, const real *y, double p, double q,
                      bool add);

/* ---- functions of two numbers, with broadcasting ---------------------------------------------------------------- */

#define K_DIMS 8
/* A walk over up to three arrays of one shape. Strides count elements; 0 repeats an element (broadcasting). The caller
 * may leave neighboring dimensions uncollapsed: the kernel merges those that it can. */
typedef struct { int ndim; int64_t dim[K_DIMS], a[K_DIMS], b[K_DIMS]; } KWalk;

typedef enum {
    K_ADD, K_SUB, K_MUL, K_DIV,
    K_POW,                  /* a^b: as C's pow for a < 0 with whole b, 0^0 = 1 */
    K_MAX, K_MIN            /* NaN if either is NaN */
} KBinary;
/* y (dense, of the walk's shape) = f(a, b). */
void k_binary(KBinary f, const KWalk *walk, real *y, const real *a, const real *b);
/* da (dense, of the walk's full shape) = dy * df/da, or with `second` dy * df/db; the caller sums it down to the
 * operand's own shape. At a tie, max and min give half to each. a and b may be NULL where the rule does not read them
 * (add, sub; mul reads the other operand only; div reads both for its second, b alone for its first). y is read by pow. */
void k_binary_backward(KBinary f, bool second, const KWalk *walk, real *da, const real *dy, const real *a, const real *b,
                       const real *y, bool add);

typedef enum { K_EQ, K_NE, K_LT, K_LE, K_GT, K_GE } KCompare;
void k_compare(KCompare f, const KWalk *walk, uint8_t *y, const real *a, const real *b);

/* dst[walk by a] = (or +=) src[walk by b]: permute, slice, concatenate, expand and, with the roles changed, their
 * backward. With add, a destination stride of 0 sums, in an order that the shape fixes; without, no two items of the walk may
 * share a destination. size: bytes an element (1 or 4, and 8 in the double build); adding is for reals alone. */
void k_copy(const KWalk *walk, void *dst, const void *src, size_t size);
void k_copy_add(const KWalk *walk, real *dst, const real *src);

/* y = chosen where the mask is set (with `negate`: not set), else 0; with add, y is left as it is there. Backward of
 * `where` and of masked_fill, and two of them make `where`. mask has the walk's strides a, chosen its strides b; y is
 * dense. */
void k_select(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate, bool add);
/* y = value where the mask is set, else x: mask with the walk's strides a, x with its strides b; y is dense. */
void k_masked_fill(const KWalk *walk, real *y, const uint8_t *mask, const real *x, real value);
void k_fill(int64_t n, real *y, real value);
/* y += s * x */
void k_axpy(int64_t n, real *y, real s, const real *x);
bool k_all_finite(int64_t n, const real *x);

/* ---- sums along one dimension: x is (outer, n, inner), y is (outer, inner) --------------------------------------- */

void k_sum(int64_t outer, int64_t n, int64_t inner, real *y, const real *x, real scale, bool add);  /* y = scale * sum */
/* The largest (or with `least` the smallest) and, if index is given, where it stands first. NaN wins. n >= 1. */
void k_max(int64_t outer, int64_t n, int64_t inner, real *y, int32_t *index, const real *x, bool least);
/* sum (x - mean)^2 * scale; mean (outer, inner) is written too. */
void k_var(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, const real *x, real scale);
double k_sum_squares(int64_t n, const real *x);
/* sum (a - b)^2, and y = (or +=) s (a - b): mean squared error, forward and backward. */
double k_squared_distance(int64_t n, const real *a, const real *b);
void k_difference(int64_t n, real *y, const real *a, const real *b, real s, bool add);

/* ---- rows: x is (rows, n) ---------------------------------------------------------------------------------------- */

/* y may be x. A row that is -infinity throughout gives zeros (log_softmax: -infinity). */
void k_softmax(int64_t rows, int64_t n, real *y, const real *x);
void k_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add);
void k_log_softmax(int64_t rows, int64_t n, real *y, const real *x);
void k_log_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add);

/* y = gamma (x - mean) * rstd + beta. gamma, beta: (n) or NULL. mean, rstd (rows) are written for backward. Where the
 * deviation and eps are both 0, so is rstd, and y is beta.
 * rstd = 1/sqrt(var + eps) with eps_inside, else 1/(sqrt(var) + eps); var divides by n, or by n-1 when unbiased. */
typedef struct { double eps; bool eps_inside, unbiased; } KNorm;
void k_layer_norm(int64_t rows, int64_t n, real *y, real *mean, real *rstd, const real *x, const real *gamma,
                  const real *beta, KNorm kind);
/* Any of dx, dgamma, dbeta may be NULL. A row of variance 0 passes nothing back through its deviation. */
void k_layer_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, real *dbeta,
                           bool add_beta, const real *dy, const real *x, const real *mean, const real *rstd,
                           const real *gamma, KNorm kind);

/* Row i's -log softmax(logits)[target[i]], with label smoothing s: (1-s) of that + s * mean over classes of -log p.
 * loss[i] = 0 where target[i] == ignore. log_sum[i] = log sum exp(row i), for backward. Targets are in range. */
void k_cross_entropy(int64_t rows, int64_t n, real *loss, real *log_sum, const real *logits, const int32_t *target,
                     int32_t ignore, double smoothing);
/* dlogits = scale[i] (softmax - smoothed one-hot), 0 for ignored rows. dlogits may be logits when !add. */
void k_cross_entropy_backward(int64_t rows, int64_t n, real *dlogits, const real *logits, const real *log_sum,
                              const int32_t *target, int32_t ignore, double smoothing, const real *scale, bool add);

/* y[i] = table[ids[i]], rows of `width`; and its backward, table_grad[ids[i]] += dy[i] in the order of i. */
void k_gather_rows(int64_t rows, int64_t width, real *y, const real *table, const int32_t *ids);
void k_scatter_add_rows(int64_t rows, int64_t width, real *table_grad, const real *dy, const int32_t *ids);

/* ---- matrix product ---------------------------------------------------------------------------------------------- */

typedef enum { K_ACT_NONE, K_ACT_RELU, K_ACT_GELU, K_ACT_GELU_ERF } KActivation;
/* `batch` products C = op(A) op(B), op being the transpose where ta or tb is set: op(A) is (m, k), op(B) (k, n), C (m, n).
 * lda, ldb, ldc: distance between stored rows; step_*: distance between the batch's matrices (0 repeats one).
 * add: C += instead of C =. Then, in the same pass: bias (n) added to every row, if not NULL; pre (like C), if not NULL,
 * receives the values before the activation; act applied. add excludes bias and act.
 * C[i][j] is a sum of blocks of K_GEMM_BLOCK products in the order of k: within a block one chain of fused
 * multiply-adds from 0, the blocks added in order, a former C first. */
#define K_GEMM_BLOCK 512
typedef struct {
    bool ta, tb, add;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, step_a, step_b, step_c;      /* batch 1 for a single product */
    const real *bias;
    real *pre;
    KActivation act;
} KGemm;
void k_gemm(const KGemm *shape, real *c, const real *a, const real *b);

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* For each of b sentences and h heads: y = dropout(softmax(scale Q K^T)) V with Q (t, k), K and V (s, k), y (t, k). A
 * head's rows need not be dense: each array gives the steps between sentences, heads and rows (K and V share theirs). What
 * may not be seen has weight 0, and a row that sees nothing gives zeros: by mask (true = seen, NULL: all, with steps for
 * sentence, head, query and key), and with `causal` query i sees keys 0..i + s - t. */
typedef struct { int64_t b, h, t; } KSteps;
typedef struct {
    int64_t b, h, t, s, k;
    KSteps q, kv, y;
    double scale;
    bool causal;
    const uint8_t *mask;
    int64_t mask_b, mask_h, mask_t, mask_s;
    double dropout;                             /* its random numbers: (seed, counter) and b h t ((s+3)/4) blocks of them */
    uint64_t seed, counter;
} KAttention;
/* work: as many reals of scratch as the function before it says. */
int64_t k_attention_work(const KAttention *a);
void k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v, real *work);
/* dq, dk and dv are laid out as q, k and v; each may be NULL. */
int64_t k_attention_backward_work(const KAttention *a);
void k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv, bool add_v,
                          const real *dy, const real *q, const real *k, const real *v, real *work);

/* ---- random numbers: Philox4x32-10 (Salmon et al. 2011), a pure function of (seed, counter) ---------------------- */

/* The four words of block `counter` of stream `seed`. */
void k_philox(uint64_t seed, uint64_t counter, uint32_t out[4]);
/* Element i comes from word i%4 of block counter + i/4: uniform in [low, high), 24 bits of it. */
void k_uniform(int64_t n, real *y, uint64_t seed, uint64_t counter, double low, double high);
/* Normal by Box and Muller from word pairs of the same blocks; element i uses block counter + i/4. */
void k_normal(int64_t n, real *y, uint64_t seed, uint64_t counter, double mean, double deviation);
/* y = x / (1-p) where element i's uniform number (as above, in [0,1)) is >= p, else 0; y may be x. Its own backward: call it
 * with dy and the same counter. p in [0, 1). */
void k_dropout(int64_t n, real *y, const real *x, double p, uint64_t seed, uint64_t counter, bool add);

/* ---- optimizers: one pass over each parameter -------------------------------------------------------------------- */

/* g = grad_scale * grad; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= lr (m/c1) / (sqrt(v/c2) + eps), with decay:
 * coupled: g += decay * w first (Adam with L2); decoupled: w -= lr * decay * w first (AdamW). c1 = 1-b1^t, c2 = 1-b2^t. */
typedef struct { double lr, b1, b2, eps, c1, c2, decay, grad_scale; bool decoupled; } KAdam;
void k_adam(int64_t n, real *w, real *m, real *v, const real *grad, const KAdam *k);
/* g = grad_scale * grad + decay w; buf = first ? g : momentum buf + g; w -= lr (nesterov ? g + momentum buf : buf).
 * buf NULL: no momentum. */
typedef struct { double lr, momentum, decay, grad_scale; bool nesterov, first; } KSgd;
void k_sgd(int64_t n, real *w, real *buf, const real *grad, const KSgd *k);

/* ---- scalar functions in double, the same bits on every machine -------------------------------------------------- */

double k_exp(double x), k_log(double x), k_sin(double x), k_cos(double x), k_pow(double x, double y);

#endif
