/* gemm.h: the matrix product. */
#ifndef KAERU_GEMM_H
#define KAERU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

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

#endif
