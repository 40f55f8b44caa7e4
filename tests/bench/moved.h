/* moved.h: the bytes that a kernel reads and writes: MOVED_<name>, from the parameters of k_<name> in kernels.def. Each array
 * counts once, although a product of matrices reads parts of its operands again and again, from a cache. */
#ifndef KAERU_BENCH_MOVED_H
#define KAERU_BENCH_MOVED_H

#include "kernels.h"

static inline double walked(const KWalk *walk)
{
    double items = 1;
    for (int i = 0; i < walk->ndim; i++) items *= (double)walk->dim[i];
    return items;
}

static inline double multiplied(const KGemm *s)
{
    double b = (double)s->n * (double)s->k * (s->packed_b || s->b_pairs ? 2 : 4);
    return (double)s->batch * (4 * (double)s->m * (double)(s->k + s->n) + b);
}

static inline double patched(const KPatches *p)
{
    return 4 * (double)p->c * ((double)p->h * (double)p->w + (double)p->kh * (double)p->kw * (double)p->rows * (double)p->ow);
}

#define MOVED_fill                   4.0 * n
#define MOVED_axpy                   12.0 * n
#define MOVED_difference             12.0 * n
#define MOVED_all_finite             4.0 * n
#define MOVED_squared_distance       (b ? 8.0 : 4.0) * n
#define MOVED_binary                 12.0 * walked(walk)
#define MOVED_binary_backward        12.0 * walked(walk)
#define MOVED_select                 9.0 * walked(walk)
#define MOVED_copy                   2.0 * size * walked(walk)
#define MOVED_copy_add               12.0 * walked(walk)
#define MOVED_uniform                4.0 * n
#define MOVED_normal                 4.0 * n
#define MOVED_normalize              8.0 * outer * channels * inner
#define MOVED_dropout                8.0 * n
#define MOVED_gather_rows            8.0 * rows * width
#define MOVED_scatter_add_rows       12.0 * rows * width
#define MOVED_gemm                   multiplied(shape)
#define MOVED_pack_b                 6.0 * job->n * job->k
#define MOVED_gemm_bf16              multiplied(s)
#define MOVED_max                    4.0 * outer * n * inner
#define MOVED_layer_norm             8.0 * rows * n
#define MOVED_layer_norm_backward    12.0 * rows * n
#define MOVED_rms_norm               8.0 * rows * n
#define MOVED_rms_norm_backward      12.0 * rows * n
#define MOVED_adam                   28.0 * n
#define MOVED_sgd                    20.0 * n
#define MOVED_rope                   16.0 * shape->rows * shape->heads * shape->n
#define MOVED_patches                patched(p)
#define MOVED_patches_add            patched(p)
#define MOVED_sum                    4.0 * outer * n * inner
#define MOVED_sum_normalized         8.0 * rows * n
#define MOVED_var                    4.0 * outer * n * inner
#define MOVED_softmax                8.0 * rows * n
#define MOVED_softmax_backward       12.0 * rows * n
#define MOVED_log_softmax            8.0 * rows * n
#define MOVED_log_softmax_backward   12.0 * rows * n
#define MOVED_cross_entropy          4.0 * rows * n
#define MOVED_cross_entropy_backward 8.0 * rows * n
#define MOVED_unary                  8.0 * n
#define MOVED_unary_backward         12.0 * n

#endif
