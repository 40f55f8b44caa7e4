/* kernels.h: the kernels, functions that compute on arrays and know nothing of tensors.
 *
 * Three promises hold for every kernel of fast/ (of the loops in plain/, for those that call no
 * function of libm but sqrt):
 *   1. The result has the same bits on any number of threads and with any instruction set (AVX-512,
 *      AVX2, portable C): the order of every sum depends on the shapes alone, a product is added
 *      with one rounding (fused multiply-add, emulated where the processor has none), and functions
 *      of libm are called only if they round correctly (sqrt) or are exact.
 *   2. No kernel asks the system for memory after the first calls: scratch memory is an argument or
 *      belongs to the thread. A kernel that cannot get its scratch memory works without it.
 *   3. plain/ has each kernel as plain loops: read these first. The tests compare the two, and
 *      libkaeru_double runs the plain loops.
 *
 * Conventions: a size is a number of items (int64_t) and may be 0. Arrays are dense and row-major,
 * unless a stride is given. An output may not overlap an input, unless a comment allows it. With
 * `add`, a kernel adds to its output, otherwise it writes: the rule that comes first writes the
 * gradient of a tensor, and the next ones add to it.
 *
 * A kernel k_<name> is declared below, with its contract. grep does not find a definition of
 * k_gemm, because there are several, with other names:
 *
 *     ref_gemm        plain loops, in a file of plain/
 *     ISA(gemm)       the fast kernel, in a file of fast/ that is compiled once for each
 *                     instruction set (kernel_isa_sources in fast/meson.build)
 *
 * k_gemm itself calls the one that the table in use has (kernel_table.c). headers.py writes the
 * list kernels.def from the declarations:
 *
 *     KERNEL(result, name, (parameters), (arguments), RETURN)     RETURN: `return`, or nothing
 *
 * From this list the C preprocessor makes the prototypes of ISA(name) (simd.h) and of ref_<name>
 * (plain.h), a member of KernelTable (kernel_table.h), and the function k_<name>
 * (kernel_table.c). */
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

/* ---- functions of one number ----------------------------------------------------------------- */

/* The functions y = f(x) with dx = dy f'(x): K_IDENTITY, K_NEG, ... unary_functions.def has the
 * list with the formulas. */
typedef enum {
#define UNARY(name, reads, cost, value, gradient) K_##name,
#include "unary_functions.def"
} KUnary;

/* The array that the derivative of a function reads: K_EXP_READS is K_READS_Y, because f' = y. */
enum { K_READS_NONE, K_READS_X, K_READS_Y };
enum {
#define UNARY(name, reads, cost, value, gradient) K_##name##_READS = K_READS_##reads,
#include "unary_functions.def"
};

/* ---- functions of two numbers ---------------------------------------------------------------- */

#define K_DIMS 8
/* How a loop goes through arrays a and b with strides: `dim` is the shape of the result, and a[i]
 * is the distance in items from one place of a to the next along dimension i, b[i] that in b. A
 * stride of 0 repeats an item (broadcasting). The caller need not merge neighboring dimensions: the
 * kernels do. */
typedef struct { int ndim; int64_t dim[K_DIMS], a[K_DIMS], b[K_DIMS]; } KWalk;

typedef enum {
    K_ADD, K_SUB, K_MUL, K_DIV,
    K_POW,                  /* a^b, as C's pow: a < 0 with an integer b is allowed, and 0^0 = 1 */
    K_MAX, K_MIN            /* NaN if a or b is NaN */
} KBinary;

/* ---- rotations ------------------------------------------------------------------------------- */

/* Rotates pairs of items of x (rows, heads, 2 n): (a, b) becomes (a c - b s, b c + a s). Pair i is
 * items i and i + n or, if `adjacent`, items 2 i and 2 i + 1. The cosines c and the sines s come
 * from a table (period, 2 n): for row r of x, row r % period of the table has n cosines, then n
 * sines. `back` rotates by the negative angles, as the backward rule does. */
typedef struct { int64_t rows, heads, n, period; bool adjacent, back, add; } KRope;

/* ---- the matrix product ---------------------------------------------------------------------- */

/* `batch` matrix products C = op(A) op(B). op(A) is (m, k), op(B) (k, n) and C (m, n). op
 * transposes A if ta is set, and B if tb is set. With `add`, the products are added to C.
 *
 * lda, ldb and ldc are the distances between stored rows. step_a, step_b and step_c are those
 * between the matrices of the batch; 0: all products use the same matrix.
 *
 * The same pass can compute a layer: if bias (n) is not NULL, it is added to every row. Then the
 * activation `act` is applied. If pre, an array like C, is not NULL, it receives the values before
 * the activation. `add` cannot be combined with bias or act.
 *
 * The order of the sum: C[i][j] is the sum of k products, in blocks of K_GEMM_BLOCK in the order of
 * k. Each block is one chain of fused multiply-adds that starts at 0. The sums of the blocks are
 * added up in order, with `add` to the former C[i][j].
 *
 * With bf16, the items of op(A) and op(B) are rounded to bfloat16 (to nearest, ties to even), and
 * C[i][j] is the sum of blocks of K_BF16_BLOCK products, as in Intel's instruction TDPBF16PS. Zeros
 * fill up a last block that is shorter. c starts at 0, or with `add` at the former C[i][j]:
 *
 *     t0 = t1 = 0
 *     for p = 0, 2, ..., 30:
 *         t0 = fma(a[p], b[p], t0)
 *         t1 = fma(a[p + 1], b[p + 1], t1)
 *     c = c + (t0 + t1)
 *
 * Here subnormal operands count as 0, and a result that is subnormal after rounding to 24 bits
 * becomes 0. The sign and payload of a NaN are not specified.
 *
 * With bf16 and a batch of 1, B may be in bfloat16, too. b_pairs has B as it is stored, but with
 * two neighbors of a row in an item, the first one in the lower half. Distances still count
 * numbers, and ldb and the length of B's stored rows are even. packed_b has B in the order of
 * k_pack_b. */
#define K_GEMM_BLOCK 512
#define K_BF16_BLOCK 32
typedef struct {
    bool ta, tb, add, bf16;
    KUnary act;                     /* K_RELU, K_GELU or K_GELU_ERF; K_IDENTITY: no activation */
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, step_a, step_b, step_c;      /* batch 1 for a single product */
    const uint32_t *packed_b;       /* B in place of b; NULL: none */
    const uint32_t *b_pairs;        /* B in place of b; NULL: none */
    const real *bias;
    real *pre;
    int64_t threads;                /* how many threads compute one product together. Callers leave
                                       it 0, and k_gemm sets it in its copy */
} KGemm;

/* Packs B, (n, k) with rows ldb apart, for many products with packed_b: it is rounded to bfloat16,
 * which takes half of its size. Products with tb are faster. In a product without tb, the k of the
 * product is this n, and its ldb is this k.
 *
 * `to` holds k_packed_items(n, k) items: panels of K_PANEL rows of B. A panel has K_PANEL items for
 * each two columns of B: the lower half of an item is a number of the first column, the upper half
 * one of the second. Zeros fill up the rows to whole panels, and the columns to whole blocks of
 * K_BF16_BLOCK. */
typedef struct { int64_t n, k, ldb; uint32_t *to; const real *b; } KPackB;
enum { K_PANEL = 16 };
static inline int64_t bf16_whole_blocks(int64_t k)
{
    return (k + K_BF16_BLOCK - 1) / K_BF16_BLOCK * K_BF16_BLOCK;
}
static inline int64_t k_packed_items(int64_t n, int64_t k)
{
    int64_t rows = (n + K_PANEL - 1) / K_PANEL * K_PANEL;
    return rows * (bf16_whole_blocks(k) / 2);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* The parts of an image under the windows of a convolution, as a matrix: a convolution is then a
 * product of matrices. The image x (c, h, w) has `padding` zeros on each side. A window has kh x kw
 * items, which are `dilation` apart. The windows are `stride` apart, and ow of them are in a row.
 * These three are pairs, for height and width. Item (channel, i, j) of window v in row y is
 *
 *     x[channel][y stride[0] + i dilation[0] - padding[0]]
 *               [v stride[1] + j dilation[1] - padding[1]]
 *
 * The matrix (c kh kw, rows ow) has a column for each window of the rows first..first + rows -
 * 1. */
typedef struct {
    int64_t c, h, w, kh, kw, ow, stride[2], padding[2], dilation[2], first, rows;
} KPatches;

/* ---- optimizers ------------------------------------------------------------------------------ */

/* Returns 1 - beta^step, for Adam. It computes the power by squaring, not by libm's pow, which
 * gives other bits on other systems. */
static inline double adam_correction(double beta, int64_t step)
{
    double power = 1;
    for (; step > 0; step /= 2) {
        if (step % 2 == 1) {
            power *= beta;
        }
        beta *= beta;
    }
    return 1 - power;
}

/* ---- the kernels ----------------------------------------------------------------------------- */

/* The headings name the files of fast/. "y (+)= v" means that y is set to v, or y += v if `add` is
 * set. Arrays are x, y, a, b, ... with their shapes behind them; n alone is an array of n items. */

/* fill.c: all arrays have n items. */

/* Sets all items of y to the value. */
void k_fill(int64_t n, real *y, real value);
/* Computes y += s x. */
void k_axpy(int64_t n, real *y, real s, const real *x);
/* Computes y (+)= s (a - b). */
void k_difference(int64_t n, real *y, const real *a, const real *b, real s, bool add);
/* Returns whether no item of x is infinite or NaN. */
bool k_all_finite(int64_t n, const real *x);
/* Returns the sum of (a - b)^2 or, if b is NULL, of a^2. */
double k_squared_distance(int64_t n, const real *a, const real *b);

/* binary.c: y and da are dense arrays of the walk's shape. */

/* Computes y = f(a, b). y may be a if a is dense, too. */
void k_binary(KBinary f, const KWalk *walk, real *y, const real *a, const real *b);
/* Computes da (+)= dy df/da or, if `second` is set, dy df/db. dy is dense. It has the shape of the
 * result: if the input was broadcast, the caller sums it. Where a and b are equal, K_MAX and K_MIN
 * give half of dy to each. It is not for K_ADD and the first input of K_SUB, whose gradient is dy.
 * Arrays that the derivative does not need may be NULL: K_SUB reads neither a nor b, K_MUL only the
 * other input, K_DIV b, and for its second input a, too. Only K_POW reads y. */
void k_binary_backward(KBinary f, bool second, const KWalk *walk, real *da, const real *dy,
                       const real *a, const real *b, const real *y, bool add);
/* Computes y (+)= chosen where the mask is true, and `value` elsewhere. If `negate` is set, it
 * chooses where the mask is false. `mask` has the walk's strides a, `chosen` the strides b. Two
 * calls make ag_where: the second one adds the other array where the mask is false. */
void k_select(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate,
              real value, bool add);

/* copy.c: dst has the walk's strides a, src its strides b. No two items may have the same place in
 * dst. */

/* Copies src to dst. `size` is that of an item in bytes: 1, 4 or 8. A permutation, a slice and
 * their backward rules are such copies. */
void k_copy(const KWalk *walk, void *dst, const void *src, size_t size);
/* Computes dst += src. */
void k_copy_add(const KWalk *walk, real *dst, const real *src);

/* distributions.c: random numbers (philox.h). Item i is computed from word i % 4 of block
 * counter + i / 4 of the stream `seed`. */

/* Sets y (n) to uniform numbers of [low, high), with 24 random bits each. */
void k_uniform(int64_t n, real *y, uint64_t seed, uint64_t counter, double low, double high);
/* Sets y (n) to normal numbers. Two neighbors are made of the words of both (Box and Muller). */
void k_normal(int64_t n, real *y, uint64_t seed, uint64_t counter, double mean, double deviation);
/* Computes y (+)= x / (1 - p) where the item's uniform number of [0, 1) is p or more, and 0
 * elsewhere. p is in [0, 1), and y may be x. The backward rule is the same call with dy. */
void k_dropout(int64_t n, real *y, const real *x, double p, uint64_t seed, uint64_t counter,
               bool add);

/* gather.c: y and dy are (rows, width). The table has rows of `width` items, and row r of y belongs
 * to row ids[r] of the table. */

/* Copies rows of the table: y[r] = table[ids[r]]. */
void k_gather_rows(int64_t rows, int64_t width, real *y, const real *table, const int32_t *ids);
/* Adds rows, in the order of r: table_grad[ids[r]] += dy[r]. Rows of ids that occur very often can
 * be summed in double: if `place` is not NULL and place[ids[r]] is not negative, dy[r] is added to
 * row place[ids[r]] of `sums` instead. */
void k_scatter_add_rows(int64_t rows, int64_t width, real *table_grad, const real *dy,
                        const int32_t *ids, const int32_t *place, double *sums);

/* gemm.c */

/* Computes the products that KGemm describes. */
void k_gemm(const KGemm *shape, real *c, const real *a, const real *b);

/* gemm_bf16.c */

/* Packs a matrix as KPackB describes. */
void k_pack_b(const KPackB *job);
/* Computes the products of a shape with bf16. k_gemm calls it. */
void k_gemm_bf16(const KGemm *s, real *c, const real *a, const real *b);

/* max.c: x is (outer, n, inner), y and index are (outer, inner). */

/* Sets y to the largest items along n >= 1 or, if `least` is set, to the smallest ones. NaN counts
 * as the largest and as the smallest. If `index` is not NULL, it gets the first place of each. */
void k_max(int64_t outer, int64_t n, int64_t inner, real *y, int32_t *index, const real *x,
           bool least);

/* norm.c: x, y, dx and dy are (rows, n), gamma and beta (n), mean, rest and rstd (rows). gamma and
 * beta may be NULL, which counts as 1 and 0. dx, dgamma and dbeta may be NULL if they are not
 * wanted, and each has an `add` of its own. */

/* Computes y = gamma (x - mean) rstd + beta for each row, and writes mean, rest and rstd for
 * backward. The mean is a sum of two numbers, mean + rest, because one float would lose digits of a
 * large mean. rstd is 1 / sqrt(var + eps) with kind.eps_inside, else 1 / (sqrt(var) + eps); 0 if
 * that divides by 0, so that y is beta. var divides by n or, with kind.unbiased, by n - 1. */
void k_layer_norm(int64_t rows, int64_t n, real *y, real *mean, real *rest, real *rstd,
                  const real *x, const real *gamma, const real *beta, AgNorm kind);
/* Computes the gradients. In a row of variance 0, none passes through the deviation. */
void k_layer_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                           bool add_gamma, real *dbeta, bool add_beta, const real *dy,
                           const real *x, const real *mean, const real *rest, const real *rstd,
                           const real *gamma, AgNorm kind);
/* Computes y = gamma x rstd for each row, and writes rstd = 1 / sqrt(mean(x^2) + eps); 0 if that
 * divides by 0. */
void k_rms_norm(int64_t rows, int64_t n, real *y, real *rstd, const real *x, const real *gamma,
                double eps);
void k_rms_norm_backward(int64_t rows, int64_t n, real *dx, bool add_x, real *dgamma,
                         bool add_gamma, const real *dy, const real *x, const real *rstd,
                         const real *gamma);
/* Computes y = (x - mean) factor + beta, and rounds after each step. x and y are (outer, channels,
 * inner), mean, factor and beta (channels). If `deviation` is not NULL, an array like x, it gets
 * x - mean. */
void k_normalize(int64_t outer, int64_t channels, int64_t inner, real *y, real *deviation,
                 const real *x, const real *mean, const real *factor, const real *beta);

/* optimizer.c: w and grad have n items, and so has the state. g is grad_scale grad. */

/* Does step number `step` of Adam, from 1. Without o->decoupled, weight_decay w is added to g; with
 * it, lr weight_decay w is subtracted from w. Then
 *
 *     exp_avg = beta1 exp_avg + (1 - beta1) g
 *     exp_avg_sq = beta2 exp_avg_sq + (1 - beta2) g^2
 *     w = w - lr (exp_avg / c1) / (sqrt(exp_avg_sq / c2) + eps)
 *
 * where c1 and c2 are adam_correction of beta1 and beta2. */
void k_adam(int64_t n, real *w, real *exp_avg, real *exp_avg_sq, const real *grad, const AgAdam *o,
            int64_t step, double grad_scale);
/* Does a step of gradient descent: g += weight_decay w, buf = momentum buf + g or, at the `first`
 * step, buf = g. Then w = w - lr buf or, with o->nesterov, w = w - lr (g + momentum buf). If buf is
 * NULL, w = w - lr g. */
void k_sgd(int64_t n, real *w, real *buf, const real *grad, const AgSgd *o, bool first,
           double grad_scale);

/* rope.c */

/* Rotates the pairs of x, as KRope describes: y (+)= the result. */
void k_rope(const KRope *shape, real *y, const real *x, const real *table);

/* patches.c */

/* Writes the matrix of the image x that KPatches describes. */
void k_patches(const KPatches *p, real *matrix, const real *x);
/* Adds each item of the matrix to the item of x that k_patches takes it from. */
void k_patches_add(const KPatches *p, real *x, const real *matrix);

/* reduce.c: x is (outer, n, inner), and y (outer, inner). */

/* Computes y (+)= scale times the sum of x along n. */
void k_sum(int64_t outer, int64_t n, int64_t inner, real *y, const real *x, real scale, bool add);
/* Computes y[j] (+)= the sum over the rows of dy (x - mean - rest) rstd: the gradient of gamma in a
 * norm (norm.c has the shapes, y is (n)). Without mean and rest (NULL), both are 0. */
void k_sum_normalized(int64_t rows, int64_t n, real *y, const real *dy, const real *x,
                      const real *mean, const real *rest, const real *rstd, bool add);
/* Computes y = scale times the sum of (x - m)^2 along n, where m is the mean. It writes m as
 * mean + rest, both (outer, inner): `rest` is what the mean loses when it is rounded. */
void k_var(int64_t outer, int64_t n, int64_t inner, real *y, real *mean, real *rest, const real *x,
           real scale);

/* softmax.c: arrays are (rows, n), those of one number for each row are (rows). */

/* Computes the softmax of each row. y may be x. A row of -infinity gives zeros. */
void k_softmax(int64_t rows, int64_t n, real *y, const real *x);
/* Computes dx (+)= y (dy - sum(dy y)). */
void k_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y, bool add);
/* Computes the logarithm of the softmax. A row of -infinity gives -infinity. */
void k_log_softmax(int64_t rows, int64_t n, real *y, const real *x);
/* Computes dx (+)= dy - e^y sum(dy). */
void k_log_softmax_backward(int64_t rows, int64_t n, real *dx, const real *dy, const real *y,
                            bool add);
/* Computes the loss of each row (rows): -log softmax of the target's class, times 1 - smoothing,
 * plus `smoothing` times the mean of -log softmax over all n classes. It is 0 where the target is
 * `ignore`, and infinite in a row of -infinity. For backward, it writes top, the largest logit of a
 * row, and log_sum, the logarithm of sum(e^(logits - top)). Targets are in range. */
void k_cross_entropy(int64_t rows, int64_t n, real *loss, real *top, real *log_sum,
                     const real *logits, const int32_t *target, int32_t ignore, double smoothing);
/* Computes dlogits (+)= scale (softmax - t), where t is 1 - smoothing for the target's class, plus
 * smoothing / n for each class. Rows of `ignore` get 0. Without `add`, dlogits may be logits. */
void k_cross_entropy_backward(int64_t rows, int64_t n, real *dlogits, const real *logits,
                              const real *top, const real *log_sum, const int32_t *target,
                              int32_t ignore, double smoothing, real scale, bool add);

/* unary.c: arrays have n items. p and q are the function's own numbers (unary_functions.def). */

/* Computes y = f(x). y may be x. */
void k_unary(KUnary f, int64_t n, real *y, const real *x, double p, double q);
/* Computes dx (+)= dy f'(x). It reads only one of x and y, or none (K_EXP_READS); the other may be
 * NULL. Without `add`, dx may be dy. */
void k_unary_backward(KUnary f, int64_t n, real *dx, const real *dy, const real *x, const real *y,
                      double p, double q, bool add);

#endif
