/* gemm.c: the matrix product as plain loops, in the order of operations that kernels.h defines:
 * k_gemm must return the same bits. See plain.h. */
#include "plain.h"

#include <math.h>

#include "bf16.h"

/* multiply_add and result: in bfloat16; the double build rounds the operands alone. */
#ifdef KAERU_DOUBLE
#define FMA fma
static real multiply_add(real a, real b, real c) { return FMA(a, b, c); }
static real result(real x)                       { return x; }
#else
#define FMA fmaf
static real multiply_add(real a, real b, real c) { return bf16_multiply_add(a, b, c); }
static real result(real x)                       { return bf16_result(x); }
#endif

/* The place of row p and column j of op(B) in panels for k products. */
static int64_t place_in_panels(int64_t k, int64_t p, int64_t j)
{
    return k_packed_items(j / K_PANEL * K_PANEL, k) + p / 2 * K_PANEL + j % K_PANEL;
}

/* Row p and column j of op(B), rounded. */
static real rounded_b(const KGemm *s, const real *b, int64_t p, int64_t j)
{
    int64_t at = s->tb ? j * s->ldb + p : p * s->ldb + j;
    if (s->packed_b && !s->tb) {
        return bf16_flush(bf16_of_pair(s->packed_b[place_in_panels(s->ldb, j, p)], j % 2));
    }
    if (s->packed_b) {
        return bf16_flush(bf16_of_pair(s->packed_b[place_in_panels(s->k, p, j)], p % 2));
    }
    if (s->b_pairs) return bf16_flush(bf16_of_pair(s->b_pairs[at / 2], at % 2));
    return bf16_round((float)b[at]);
}

void ref_pack_b(const KPackB *job)
{
    memset(job->to, 0, (size_t)k_packed_items(job->n, job->k) * sizeof *job->to);
    for (int64_t j = 0; j < job->n; j++) {
        for (int64_t p = 0; p < job->k; p++) {
            float x = bf16_round((float)job->b[j * job->ldb + p]);
            job->to[place_in_panels(job->k, p, j)] |= p % 2 ? bf16_pair(0, x) : bf16_pair(x, 0);
        }
    }
}

static real dot_bf16(const KGemm *s, const real *a, const real *b, int64_t i, int64_t j, real sum)
{
    for (int64_t k0 = 0; k0 < s->k; k0 += K_BF16_BLOCK) {
        real part[2] = { 0, 0 };
        for (int64_t k = k0; k < k0 + K_BF16_BLOCK; k++) {
            real x = k < s->k ? bf16_round((float)a[s->ta ? k * s->lda + i : i * s->lda + k]) : 0;
            real y = k < s->k ? rounded_b(s, b, k, j) : 0;
            part[k % 2] = multiply_add(x, y, part[k % 2]);
        }
        sum = result(result(sum) + result(part[0] + part[1]));
    }
    return sum;
}

/* Row i of op(A) times column j of op(B), added to `sum` block by block. */
static real dot(const KGemm *s, const real *a, const real *b, int64_t i, int64_t j, real sum)
{
    if (s->bf16) return dot_bf16(s, a, b, i, j, sum);
    for (int64_t k0 = 0; k0 < s->k; k0 += K_GEMM_BLOCK) {
        real block = 0;
        for (int64_t k = k0; k < s->k && k < k0 + K_GEMM_BLOCK; k++) {
            block = FMA(a[s->ta ? k * s->lda + i : i * s->lda + k],
                        b[s->tb ? j * s->ldb + k : k * s->ldb + j], block);
        }
        sum = k0 == 0 && !s->add ? block : sum + block;
    }
    return sum;
}

void ref_gemm(const KGemm *shape, real *c, const real *a, const real *b)
{
    const KGemm s = *shape;
    for (int64_t p = 0; p < s.batch; p++, a += s.step_a, b += s.step_b, c += s.step_c) {
        for (int64_t i = 0; i < s.m; i++) {
            for (int64_t j = 0; j < s.n; j++) {
                int64_t at = i * s.ldc + j;
                real v = dot(&s, a, b, i, j, s.add ? c[at] : 0);
                if (s.bias) {
                    v += s.bias[j];
                }
                if (s.pre) {
                    s.pre[p * s.step_c + at] = v;
                }
                c[at] = ref_unary_1(s.act, v, 0, 0);
            }
        }
    }
}

void ref_gemm_bf16(const KGemm *s, real *c, const real *a, const real *b)
{
    KGemm one = *s;
    one.bf16 = true;
    one.batch = 1;
    ref_gemm(&one, c, a, b);
}
