/* attention_blocks.h: attention, composed of kernels. */
#ifndef KAERU_ATTENTION_BLOCKS_H
#define KAERU_ATTENTION_BLOCKS_H

#include "kernels.h"

/* For each of b sentences and h heads: y = dropout(softmax(scale Q K^T)) V with Q (t, k), K and V
 * (s, k), y (t, k). The rows of a head need not be dense: each array has strides between sentences,
 * heads and rows (K and V share theirs). A key that is masked has weight 0, and a row whose keys
 * are all masked gives zeros: by mask (true = seen, NULL: all, with strides for sentence, head,
 * query and key), and with `causal` query i sees keys 0..i + s - t, or with `window` the last
 * `window` of them. With k_pairs and v_pairs, K and V are in bfloat16 instead of k and v (b_pairs
 * of KGemm): forward, with bf16 and an even k. `group` heads next to each other share a head of K
 * and V: there are h / group of those. */
typedef struct { int64_t b, h, t; } KSteps;
typedef struct {
    int64_t b, h, t, s, k, group, window;         /* window: 0: none; only with causal */
    KSteps q, kv, y;
    double scale;
    bool causal, bf16;                          /* bf16: of all products (kernels.h) */
    const uint8_t *mask;
    const real *bias;                           /* added to the scores, with the mask's strides;
                                                   NULL: none */
    real *dbias;                                /* backward: gets its gradient (b, h, t, s), zeros
                                                   at first */
    int64_t mask_b, mask_h, mask_t, mask_s;
    double dropout;                             /* its random numbers: (seed, counter) and b h t
                                                   ((s+3)/4) blocks of them */
    uint64_t seed, counter;
    const uint32_t *k_pairs, *v_pairs;          /* NULL: none */
} KAttention;
/* work: scratch memory for as many reals as the function before it returns. */
int64_t k_attention_work(const KAttention *a);
void k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v,
                 real *work);
/* dq, dk and dv have the strides of q, k and v; each may be NULL. */
int64_t k_attention_backward_work(const KAttention *a);
void k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv,
                          bool add_v, const real *dy, const real *q, const real *k, const real *v,
                          real *work);

#endif
