/* gemm.c: the matrix product as plain loops. See plain.h.
 *
 * Each item of C is a sum of k products: `dot`, or `dot_bf16` for bfloat16. The order of additions
 * and roundings is that of kernels.h, so k_gemm must return the same bits, except with GELU, for
 * which these loops call libm. */
#include "plain.h"

#include <math.h>

#include "bf16.h"

/* The steps of a product in bfloat16. The double build rounds only the operands. */
#ifdef KAERU_DOUBLE
#define FMA fma
static real multiply_add(real a, real b, real c) { return FMA(a, b, c); }
static real result(real x)                       { return x; }
#else
#define FMA fmaf
static real multiply_add(real a, real b, real c) { return bf16_multiply_add(a, b, c); }
static real result(real x)                       { return bf16_result(x); }
#endif

/* Returns the place of an item of op(M) in M, whose rows are ld apart. */
static int64_t place_in_matrix(bool transposes, int64_t ld, int64_t row, int64_t column)
{
    return transposes ? column * ld + row : row * ld + column;
}

/* Returns which item of k_pack_b's panels has the number in the row and the column of a matrix with
 * that many columns. */
static int64_t place_in_panels(int64_t columns, int64_t row, int64_t column)
{
    int64_t panel = k_packed_items(row / K_PANEL * K_PANEL, columns);
    return panel + column / 2 * K_PANEL + row % K_PANEL;
}

/* Returns row k and column j of op(B), rounded to bfloat16. */
static real rounded_b(const KGemm *s, const real *b, int64_t k, int64_t j)
{
    int64_t row = s->tb ? j : k, column = s->tb ? k : j;        /* of B as it is stored */
    int64_t at = row * s->ldb + column;
    if (s->packed_b) {
        int64_t columns = s->tb ? s->k : s->ldb;
        uint32_t pair = s->packed_b[place_in_panels(columns, row, column)];
        return bf16_flush(bf16_of_pair(pair, column % 2));
    }
    if (s->b_pairs) return bf16_flush(bf16_of_pair(s->b_pairs[at / 2], at % 2));
    return bf16_round((float)b[at]);
}

void ref_pack_b(const KPackB *job)
{
    memset(job->to, 0, (size_t)k_packed_items(job->n, job->k) * sizeof *job->to);
    for (int64_t row = 0; row < job->n; row++) {
        for (int64_t column = 0; column < job->k; column++) {
            float x = bf16_round((float)job->b[row * job->ldb + column]);
            uint32_t *pair = &job->to[place_in_panels(job->k, row, column)];
            *pair |= column % 2 ? bf16_pair(0, x) : bf16_pair(x, 0);
        }
    }
}

/* Returns `sum` plus row i of op(A) times column j of op(B), added block by block. */
static real dot(const KGemm *s, const real *a, const real *b, int64_t i, int64_t j, real sum)
{
    for (int64_t k0 = 0; k0 < s->k; k0 += K_GEMM_BLOCK) {
        real block = 0;
        for (int64_t k = k0; k < s->k && k < k0 + K_GEMM_BLOCK; k++) {
            real x = a[place_in_matrix(s->ta, s->lda, i, k)];
            real y = b[place_in_matrix(s->tb, s->ldb, k, j)];
            block = FMA(x, y, block);
        }
        sum = k0 == 0 && !s->add ? block : sum + block;
    }
    return sum;
}

/* Does the same in bfloat16. */
static real dot_bf16(const KGemm *s, const real *a, const real *b, int64_t i, int64_t j, real sum)
{
    for (int64_t k0 = 0; k0 < s->k; k0 += K_BF16_BLOCK) {
        real part[2] = { 0, 0 };        /* of even and of odd k */
        for (int64_t k = k0; k < k0 + K_BF16_BLOCK; k++) {
            real x = k < s->k ? bf16_round((float)a[place_in_matrix(s->ta, s->lda, i, k)]) : 0;
            real y = k < s->k ? rounded_b(s, b, k, j) : 0;
            part[k % 2] = multiply_add(x, y, part[k % 2]);
        }
        sum = result(result(sum) + result(part[0] + part[1]));
    }
    return sum;
}

void ref_gemm(const KGemm *shape, real *c, const real *a, const real *b)
{
    const KGemm s = *shape;
    for (int64_t p = 0; p < s.batch; p++) {
        for (int64_t i = 0; i < s.m; i++) {
            for (int64_t j = 0; j < s.n; j++) {
                int64_t at = i * s.ldc + j;
                real v = s.add ? c[at] : 0;
                v = s.bf16 ? dot_bf16(&s, a, b, i, j, v) : dot(&s, a, b, i, j, v);
                if (s.bias) {
                    v += s.bias[j];
                }
                if (s.pre) {
                    s.pre[p * s.step_c + at] = v;
                }
                c[at] = (real)ref_unary_1(s.act, v, 0, 0);
            }
        }
        a += s.step_a;
        b += s.step_b;
        c += s.step_c;
    }
}

void ref_gemm_bf16(const KGemm *s, real *c, const real *a, const real *b)
{
    KGemm one = *s;
    one.bf16 = true;
    one.batch = 1;
    ref_gemm(&one, c, a, b);
}
