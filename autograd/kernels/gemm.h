/* gemm.h: the matrix product. */
#ifndef KAERU_GEMM_H
#define KAERU_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "kaeru/types.h"

typedef enum { K_ACT_NONE, K_ACT_RELU, K_ACT_GELU, K_ACT_GELU_ERF } KActivation;
/* `batch` products C = op(A) op(B), where op transposes if ta or tb is set: op(A) is (m, k), op(B) (k, n), C (m, n).
 * lda, ldb, ldc: distance between stored rows; step_*: distance between the matrices of the batch (0 repeats one).
 * add: C += instead of C =. Then, in the same pass: bias (n), if not NULL, is added to every row; pre (like C), if not NULL,
 * receives the values before the activation; act is applied. add excludes bias and act.
 * C[i][j] is a sum of blocks of K_GEMM_BLOCK products in the order of k: within a block one chain of fused multiply-adds
 * that starts at 0; the blocks are added in order, with add to the former C. */
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

#endif
