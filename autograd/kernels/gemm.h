/* gemm.h: the matrix product. */
#ifndef KAERU_GEMM_H
#define KAERU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "kaeru/types.h"

/* `batch` products C = op(A) op(B), where op transposes if ta or tb is set: op(A) is (m, k), op(B) (k, n), C (m, n).
 * lda, ldb, ldc: distance between stored rows; step_*: distance between the matrices of the batch (0: all products use one).
 * add: C += instead of C =. Then, in the same pass: bias (n), if not NULL, is added to every row; pre (like C), if not NULL,
 * receives the values before the activation; act is applied. add cannot be combined with bias or act.
 * C[i][j] is the sum of k products, in blocks of K_GEMM_BLOCK in the order of k. Each block is one chain of fused multiply-adds
 * that starts at 0. The sums of the blocks are added up in order, with `add` to the former C[i][j]. */
#define K_GEMM_BLOCK 512
typedef struct {
    bool ta, tb, add;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, step_a, step_b, step_c;      /* batch 1 for a single product */
    const real *bias;
    real *pre;
    AgActivation act;               /* AG_IDENTITY, AG_RELU, AG_GELU or AG_GELU_ERF */
} KGemm;
void k_gemm(const KGemm *shape, real *c, const real *a, const real *b);

#endif
