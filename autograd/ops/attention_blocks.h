/* attention_blocks.h: attention of several heads on arrays. ops_attention.c makes an operation of
 * it.
 *
 * These functions have names of kernels, but they are not in kernels.h: they are composed of
 * kernels, and so they are the same for all instruction sets. */
#ifndef KAERU_ATTENTION_BLOCKS_H
#define KAERU_ATTENTION_BLOCKS_H

#include <math.h>

#include "kernels.h"

/* The distances, in items, between the sentences, the heads and the rows of an array. */
typedef struct { int64_t b, h, t; } KSteps;

/* For each of b sentences and h heads: y = dropout(softmax(scale Q K^T)) V with Q (t, k), K and V
 * (s, k), y (t, k). A key that is masked has weight 0. A row whose keys are all masked gives
 * zeros. */
typedef struct {
    int64_t b, h, t, s, k;
    int64_t group;              /* so many heads in a row share a head of K and V */
    bool causal;                /* query i sees keys 0..i + s - t */
    int64_t window;             /* only the last `window` of these; 0: all; only with causal */
    KSteps q, kv, y;            /* of Q, of both K and V, and of y */
    double scale;
    bool bf16;                  /* all products are in bfloat16 (kernels.h) */
    const uint8_t *mask;        /* true: seen; NULL: no mask */
    const real *bias;           /* added to the scores; NULL: none */
    real *dbias;                /* backward: its gradient (b, h, t, s), which is zero before */
    int64_t mask_b, mask_h, mask_t, mask_s;     /* the strides of the mask or the bias */
    double dropout;
    uint64_t seed, counter;     /* of the random numbers: b h t ((s + 3) / 4) blocks of four */
    const uint32_t *k_pairs, *v_pairs;          /* K and V in bfloat16 (b_pairs of KGemm) in place
                                                   of k and v: forward, with bf16 and an even k;
                                                   NULL: none */
} KAttention;

/* Returns whether query t of head h sees key s. */
static inline bool attention_sees(const KAttention *a, int64_t b, int64_t h, int64_t t, int64_t s)
{
    int64_t last = t + a->s - a->t;
    int64_t at = b * a->mask_b + h * a->mask_h + t * a->mask_t + s * a->mask_s;
    if (a->causal && s > last) return false;
    if (a->window > 0 && s <= last - a->window) return false;
    if (a->bias) return a->bias[at] != (real)-INFINITY;
    return !a->mask || a->mask[at];
}

/* Returns for how many reals k_attention needs scratch memory, its argument `work`. */
int64_t k_attention_work(const KAttention *a);
void k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v,
                 real *work);
int64_t k_attention_backward_work(const KAttention *a);
/* Computes dq, dk and dv, which have the strides of q, k and v. Each may be NULL. */
void k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv,
                          bool add_v, const real *dy, const real *q, const real *k, const real *v,
                          real *work);

#endif
