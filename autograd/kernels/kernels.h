/* kernels.h: all kernels: functions that compute on arrays and know nothing of tensors.
 *
 * Three promises hold for every kernel:
 *   1. The result has the same bits on any number of threads and with any instruction set (AVX-512, AVX2, portable C): the
 *      order of every sum depends on the shapes alone, a product is added with one rounding (fused multiply-add, emulated
 *      where the processor has none), and no function of libm is called except sqrt and fma.
 *   2. No kernel asks the system for memory after the first calls: scratch memory is an argument or belongs to the thread. A
 *      kernel that cannot get its scratch memory works without it.
 *   3. reference/ has each kernel once more as plain loops. The tests compare the two; the double build runs the plain loops.
 *
 * Conventions: sizes are element counts (int64_t) and may be 0; arrays are dense and row-major unless a stride is given;
 * outputs may not overlap inputs unless a comment allows it. `add` false writes the output, true adds to it: the first
 * gradient of a tensor is written, the next ones are added.
 *
 * The prototype of a kernel is its only declaration. From it the build (headers.py) writes an entry of the list kernels.def:
 * KERNEL(result, name, (parameters), (arguments), RETURN), where RETURN is `return` if there is a result. From the list come
 * the prototypes ISA(name) (simd.h) and ref_<name> (reference.h), the entry in the table of an instruction set (dispatch.h) and
 * the function k_<name> that calls this entry (dispatch.c). Written by hand are ISA(name) in a file of kernel_isa_sources
 * (meson.build) and ref_<name> in reference/. */
#ifndef KAERU_KERNELS_H
#define KAERU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kaeru/types.h"
#include "philox.h"
#include "threads.h"

/* The short name of ag_real, for the library's own files. */
typedef ag_real real;

/* ---- functions of one number ------------------------------------------------------------------------------------- */

/* K_NEG, K_EXP, ...: each is y = f(x) and dx = dy f'(x). unary_functions.def lists them with their formulas. */
typedef enum {
#define UNARY(name, reads, cost, value, gradient) K_##name,
#include "unary_functions.def"
} KUnary;

/* Which array the derivative is computed from, also as constants K_NEG_READS, K_EXP_READS, ... */
typedef enum { K_READS_NONE, K_READS_X, K_READS_Y } KReads;
enum {
#define UNARY(name, reads, cost, value, gradient) K_##name##_READS = K_READS_##reads,
#include "unary_functions.def"
};
static inline KReads k_unary_reads(KUnary f)
{
    switch (f) {
#define UNARY(name, reads, cost, value, gradient) case K_##name: return K_READS_##reads;
#include "unary_functions.def"
    }
    return K_READS_NONE;
}

/* Sine and cosine take |x| up to this, and give NaN beyond: their range reduction is exact up to there. */
#define K_MOST_ANGLE 1e5
/* p and q are the function's own numbers. In place (y == x) is allowed. */
void k_unary(KUnary f, int64_t n, real *y, const real *x, double p, double q);
/* Only the array that k_unary_reads names is read; the other may be NULL. dx == dy is allowed if !add. */
void k_unary_backward(KUnary f, int64_t n, real *dx, const real *dy, const real *x, const real *y, double p, double q,
                      bool add);

/* ---- functions of two numbers ------------------------------------------------------------------------------------ */

#define K_DIMS 8
/* A strided iteration over two arrays a and b of the same shape. Strides count elements; stride 0 repeats an element
 * (broadcasting). The kernels merge neighboring dimensions where they can; the caller need not. */
typedef struct { int ndim; int64_t dim[K_DIMS], a[K_DIMS], b[K_DIMS]; } KWalk;

typedef enum {
    K_ADD, K_SUB, K_MUL, K_DIV,
    K_POW,                  /* a^b: as C's pow for a < 0 with whole b, 0^0 = 1 */
    K_MAX, K_MIN            /* NaN if either is NaN */
} KBinary;
/* y (dense, of the walk's shape) = f(a, b). y may be a if a is dense, too. */
void k_binary(KBinary f, const KWalk *walk, real *y, const real *a, const real *b);
/* da (dense, of the walk's shape) = dy df/da, or with `second` dy df/db; the caller sums it down to the operand's own
 * shape. Where a and b are equal, max and min give half of dy to each. a and b may be NULL where the rule does not read
 * them: add and sub read neither, mul reads the other operand only, div reads b, and for its second operand a too. Only pow
 * reads y. */
void k_binary_backward(KBinary f, bool second, const KWalk *walk, real *da, const real *dy, const real *a, const real *b,
                       const real *y, bool add);

void k_compare(AgCompare f, const KWalk *walk, uint8_t *y, const real *a, const real *b);

/* ---- choices by a mask: its strides are the walk's a, those of the other input the walk's b; y is dense ---------- */

/* y = chosen where the mask is set (with `negate`: not set), else 0; with add, y += that. The backward of `where` and of
 * masked_fill; two calls make `where`. */
void k_select(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate, bool add);
/* y = value where the mask is set, else x. */
void k_masked_fill(const KWalk *walk, real *y, const uint8_t *mask, const real *x, real value);

/* ---- copies: dst has the walk's strides a, src its strides b ----------------------------------------------------- */

/* dst = src: permute, slice, concatenate, expand and, with the roles exchanged, their backward. No two items may share a
 * destination. size: bytes of an element (1 or 4, and 8 in the double build). */
void k_copy(const KWalk *walk, void *dst, const void *src, size_t size);
/* dst += src. A destination stride of 0 sums, in an order that depends on the shape alone. */
void k_copy_add(const KWalk *walk, real *dst, const real *src);

/* ---- whole arrays ------------------------------------------------------------------------------------------------ */

void k_fill(int64_t n, real *y, real value);
/* y += s x */
void k_axpy(int64_t n, real *y, real s, const real *x);
/* y = (or +=) s (a - b): the backward of k_squared_distance. */
void k_difference(int64_t n, real *y, const real *a, const real *b, real s, bool add);

/* ---- sums and extremes along one dimension: x is (outer, n, inner), y is (outer, inner) -------------------------- */

/* y = scale * sum of x */
void k_sum(int64_t outer, int64_t n, int64_t inner, real *y, const real *x, real scale, bool add);
/* The largest item (with `least` the smallest) and, if index is given, its first place. NaN counts as the largest and as
 * the smallest. n >= 1. */
void k_max(int64_t outer, int64_t n, int64_t inner, real *y, int32_t *index, const real *x, bool least);
/* y = scale * sum of (x - m)^2, where m is the mean of the x. m is written as mean + rest (outer, inner): where it is large,
 * one float is too coarse. */
void k_var(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, real *rest, const real *x, real scale);

/* ---- sums over a whole array ------------------------------------------------------------------------------------- */

double k_sum_squares(int64_t n, const real *x);
/* sum of (a - b)^2 */
double k_squared_distance(int64_t n, const real *a, const real *b);
bool k_all_finite(int64_t n, const real *x);

/* ---- rows of x (rows, n) ----------------------------------------------------------------------------------------- */

/* y may be x. A row of -infinity gives zeros (log_softmax: -infinity). */
void k_softmax(int64_t rows, int64_t n, real *y, const real *x);
void k_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add);
void k_log_softmax(int64_t rows, int64_t n, real *y, const real *x);
void k_log_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add);

/* y = gamma (x - mean) rstd + beta. gamma, beta: (n) or NULL. mean, rstd (rows) are written for backward.
 * rstd = 1 / sqrt(var + eps) with eps_inside, else 1 / (sqrt(var) + eps), and 0 if that divides by 0: y is beta there. var
 * divides by n, or by n-1 if unbiased. */
void k_layer_norm(int64_t rows, int64_t n, real *y, real *mean, real *rstd, const real *x, const real *gamma,
                  const real *beta, AgNorm kind);
/* dx, dgamma and dbeta may each be NULL. In a row of variance 0 no gradient passes through the deviation. */
void k_layer_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, real *dbeta,
                           bool add_beta, const real *dy, const real *x, const real *mean, const real *rstd,
                           const real *gamma, AgNorm kind);

/* y = gamma x rstd with rstd = 1 / sqrt(mean of x^2 + eps), 0 if that divides by 0. gamma: (n) or NULL. rstd (rows) is written
 * for backward. */
void k_rms_norm(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma, double eps);
/* dx and dgamma may each be NULL. */
void k_rms_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma, bool add_gamma, const real *dy,
                         const real *x, const real *rstd, const real *gamma);

/* Turns the pairs of entries of x (rows, heads, 2 n): (a, b) becomes (a c - b s, b c + a s). For row r, row r % period of the
 * table (period, 2 n) has the n cosines c, then the n sines s. Pair i is entries i and i + n, or 2 i and 2 i + 1 if `adjacent`.
 * With `back`, by the negative angles: the backward rule. */
typedef struct { int64_t rows, heads, n, period; bool adjacent, back, add; } KRope;
void k_rope(const KRope *shape, real *y, const real *x, const real *table);

/* loss[i] = -log softmax(row i)[target[i]], with label smoothing s: (1-s) times that + s times the mean over classes of
 * -log softmax. loss[i] = 0 where target[i] == ignore. For backward, top[i] = max(row i) and log_sum[i] = log sum
 * exp(row i - top[i]): two numbers, because their sum would lose the digits of the smaller one. Targets are in range. A row of
 * -infinity has a loss of infinity, and its softmax counts as 0. */
void k_cross_entropy(int64_t rows, int64_t n, real *loss, real *top, real *log_sum, const real *logits,
                     const int32_t *target, int32_t ignore, double smoothing);
/* dlogits = scale[i] (softmax - smoothed one-hot), 0 for ignored rows. dlogits may be logits if !add. */
void k_cross_entropy_backward(int64_t rows, int64_t n, real *dlogits, const real *logits, const real *top,
                              const real *log_sum, const int32_t *target, int32_t ignore, double smoothing,
                              const real *scale, bool add);

/* y[i] = table[ids[i]], rows of `width` items. Its backward: table_grad[ids[i]] += dy[i], in the order of i. */
void k_gather_rows(int64_t rows, int64_t width, real *y, const real *table, const int32_t *ids);
void k_scatter_add_rows(int64_t rows, int64_t width, real *table_grad, const real *dy, const int32_t *ids);

/* ---- the matrix product ------------------------------------------------------------------------------------------ */

/* `batch` products C = op(A) op(B), where op transposes if ta or tb is set: op(A) is (m, k), op(B) (k, n), C (m, n).
 * lda, ldb, ldc: distance between stored rows; step_*: distance between the matrices of the batch (0: all products use one).
 * add: C += instead of C =. Then, in the same pass: bias (n), if not NULL, is added to every row; pre (like C), if not NULL,
 * receives the values before the activation; act is applied. add cannot be combined with bias or act.
 * C[i][j] is the sum of k products, in blocks of K_GEMM_BLOCK in the order of k. Each block is one chain of fused multiply-adds
 * that starts at 0. The sums of the blocks are added up in order, with `add` to the former C[i][j].
 * bf16: the elements of op(A) and op(B) are rounded to bfloat16 (nearest even), and C[i][j] is a sum of blocks of K_BF16_BLOCK
 * products, in the order of Intel's instruction TDPBF16PS. A last block that is shorter is filled up with zeros:
 *     t0 = t1 = 0;  for p = 0, 2, ..., 30:  t0 = fma(a[p], b[p], t0), t1 = fma(a[p + 1], b[p + 1], t1)
 *     c = c + (t0 + t1)       c starts at 0, or with `add` at the former C[i][j]
 * Here subnormal operands count as 0, and a result that is subnormal after rounding to 24 bits becomes 0. The sign and payload
 * of a NaN are not specified.
 * b_pairs: with bf16 and a batch of 1, B in bfloat16 instead of b: two neighbors of a stored row in an item, the first one in
 * its lower half. Distances are still counted in numbers; ldb and the length of B's stored rows must be even. */
#define K_GEMM_BLOCK 512
#define K_BF16_BLOCK 32
typedef struct {
    bool ta, tb, add, bf16;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, step_a, step_b, step_c;      /* batch 1 for a single product */
    const uint32_t *packed_b;       /* with bf16: op(B) as k_pack_b packs it, instead of b; NULL: none. batch must be 1 */
    const uint32_t *b_pairs;        /* NULL: none */
    const real *bias;
    real *pre;
    AgActivation act;               /* AG_IDENTITY, AG_RELU, AG_GELU or AG_GELU_ERF */
} KGemm;
void k_gemm(const KGemm *shape, real *c, const real *a, const real *b);
/* Packs a transposed B, (n, k) with rows ldb apart, for many products with packed_b: rounded to bfloat16, half of its size.
 * `to` holds k_packed_items(n, k) items: panels of K_PANEL columns of op(B), filled up with zeros. A panel has K_PANEL items
 * for each two rows of op(B). The lower half of an item is a number of the first row, its upper half one of the second. */
enum { K_PANEL = 16 };
static inline int64_t bf16_whole_blocks(int64_t k)
{
    return (k + K_BF16_BLOCK - 1) / K_BF16_BLOCK * K_BF16_BLOCK;
}
static inline int64_t k_packed_items(int64_t n, int64_t k)
{
    return (n + K_PANEL - 1) / K_PANEL * K_PANEL * (bf16_whole_blocks(k) / 2);
}
typedef struct { int64_t n, k, ldb; uint32_t *to; const real *b; } KPackB;
void k_pack_b(const KPackB *job);
/* For k_gemm: one product (s->batch is ignored) in bfloat16, on the calling thread. */
void k_gemm_bf16(const KGemm *s, real *c, const real *a, const real *b);

/* ---- the patches of an image under the windows of a convolution, as a matrix ------------------------------------- */

/* An image x (c, h, w) with `padding` zeros on each side, and windows of kh x kw items that are `dilation` apart. The windows
 * are `stride` apart, ow in a row. Each of the three is for height and width. Of the window at row y and column v, item
 * (channel, i, j) is x[channel, y stride + i dilation - padding, v stride + j dilation - padding]. The matrix (c kh kw, rows
 * ow) has a column for each window of the rows first..first + rows - 1. */
typedef struct { int64_t c, h, w, kh, kw, ow, stride[2], padding[2], dilation[2], first, rows; } KPatches;
void k_patches(const KPatches *p, real *matrix, const real *x);
/* x += the matrix's items, each at its place in x: the transposed function. */
void k_patches_add(const KPatches *p, real *x, const real *matrix);

/* ---- random numbers, a pure function of (seed, counter), and dropout --------------------------------------------- */

/* Uniform in [low, high) with 24 random bits: element i is computed from word i%4 of block counter + i/4. */
void k_uniform(int64_t n, real *y, uint64_t seed, uint64_t counter, double low, double high);
/* Normal by Box and Muller from pairs of words of the same blocks: element i uses block counter + i/4. */
void k_normal(int64_t n, real *y, uint64_t seed, uint64_t counter, double mean, double deviation);
/* y = x / (1-p) where element i's uniform number (as above, in [0, 1)) is >= p, else 0; y may be x. p is in [0, 1). The
 * backward is the same call with dy and the same counter. */
void k_dropout(int64_t n, real *y, const real *x, double p, uint64_t seed, uint64_t counter, bool add);

/* ---- the optimizers' updates: one pass over a parameter, its state and its gradient ------------------------------ */

/* Step number `step` (from 1) of Adam with g = grad_scale * grad:
 *     exp_avg = beta1 exp_avg + (1-beta1) g,  exp_avg_sq = beta2 exp_avg_sq + (1-beta2) g^2
 *     w -= lr (exp_avg/c1) / (sqrt(exp_avg_sq/c2) + eps)  with c = 1 - beta^step (adam_correction)
 * Weight decay: first g += weight_decay w, or if decoupled (AdamW) first w -= lr weight_decay w. */
void k_adam(int64_t n, real *w, real *exp_avg, real *exp_avg_sq, const real *grad, const AgAdam *o, int64_t step,
            double grad_scale);
/* 1 - beta^step, the power by squaring: the same bits on every machine. */
static inline double adam_correction(double beta, int64_t step)
{
    double power = 1;
    for (; step > 0; step >>= 1, beta *= beta)
        if (step & 1) power *= beta;
    return 1 - power;
}
/* g = grad_scale * grad + weight_decay w; buf = first ? g : momentum buf + g; w -= lr (nesterov ? g + momentum buf : buf).
 * buf NULL: no momentum. */
void k_sgd(int64_t n, real *w, real *buf, const real *grad, const AgSgd *o, bool first, double grad_scale);

#endif
