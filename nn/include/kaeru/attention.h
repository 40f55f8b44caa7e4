/* attention.h: the layers of a Transformer that are not in nn.h (Vaswani et al. 2017, "Attention Is All You Need"; section
 * numbers are those of the paper).
 *
 * Shapes: B batch, T target time, S source time, D model width, H heads, K = D/H width of a head. */
#ifndef KAERU_ATTENTION_H
#define KAERU_ATTENTION_H

#include <stdio.h>

#include "kaeru/nn.h"

AG_PUBLIC_BEGIN

/* ---- masks: AG_BOOL, true = visible ------------------------------------------------------------------------------
 * as in ag_masked_softmax and all operations and layers of attention. ag_masked_fill replaces where its mask is true, so it
 * needs the opposite: ag_masked_fill(scores, ag_not(mask), -INFINITY). A mask with fewer dimensions is one of the last: (B,S)
 * is read as (T,S). What hides keys is (B,1,S), for ag_attention (B,1,1,S). All but ag_masked_softmax also take a mask of
 * reals, which is added to the scaled scores, as in ALiBi and T5. */

/* (1,n,n): for position i, positions 0..i are visible. */
Tensor *nn_causal_mask(int64_t n);

/* ids (B,S) -> (B,1,S): all positions that are not padding are visible. */
Tensor *nn_padding_mask(Tensor *ids, int32_t padding);
/* Both: ids (B,T) -> (B,T,T). */
Tensor *nn_causal_padding_mask(Tensor *ids, int32_t padding);

/* Prints the mask, one matrix after another: "#" for visible, "." for hidden. */
void nn_mask_print(FILE *out, Tensor *mask);

/* ---- attention (3.2) --------------------------------------------------------------------------------------------- */

/* Scaled dot-product attention (3.2.1): softmax(q k^T / sqrt(K)) v: q (..,T,K), k and v (..,S,K) -> (..,T,K). mask, broadcast
 * to (..,T,S), may be NULL. Hidden positions have weight 0 exactly. If all are hidden, the result is 0; the Annotated
 * Transformer, which sets hidden scores to -1e9, gets the mean of v. dropout is applied to the weights; it may be NULL. If
 * `weights` is not NULL, *weights receives the weights (..,T,S). */
Tensor *nn_attention(Tensor *q, Tensor *k, Tensor *v, Tensor *mask, Dropout *dropout, Tensor **weights);

/* The score of a query q and a key k. Transformers use the scaled dot product, earlier Seq2Seq models the others. */
typedef enum {
    NN_SCORE_SCALED_DOT,        /* q.k / sqrt(K) */
    NN_SCORE_DOT,               /* q.k                        Luong et al. 2015 */
    NN_SCORE_GENERAL,           /* k.(W q)                    Luong et al. 2015 */
    NN_SCORE_ADDITIVE           /* v.tanh(W1 k + W2 q)        Bahdanau et al. 2015 */
} NnScoreKind;
typedef struct { Module module; NnScoreKind kind; Linear *w1, *w2, *v; } NnScore;
/* `query` and `key` are widths, which must be equal for the dot products. `hidden` is for the additive score only. */
NnScore *nn_score_new(NnScoreKind kind, int64_t query, int64_t key, int64_t hidden);
Tensor *nn_score(NnScore *s, Tensor *q, Tensor *k);             /* (..,T,Kq) (..,S,Kk) -> (..,T,S) */

/* ---- the cache of keys and values ----------------------------------------------------------------------------------
 * In generation, the keys and values of earlier tokens do not change. A cache stores them for each attention layer, so a step
 * computes only the new position. It stores no gradients.
 *
 * A cache that is made while products are in bfloat16 (ag_precision) keeps keys and values in bfloat16: half of the memory,
 * which is also faster to read. Products in bfloat16 round them anyway, so that no result changes. With products in float32,
 * such a cache gives the rounded numbers. To avoid this, set `bf16` to false before the first use; later it must not change.
 * Keys and values of an odd width D are always stored in float32. */
typedef struct {
    Tensor *key, *value;        /* (B,n,D), of which the first `length` positions are valid: read them by the functions
                                   below. n grows up to `capacity`. Owned by the cache; NULL before the first use. In
                                   bfloat16: AG_INT (B,n,D/2), see ag_to_bf16 */
    int64_t length;             /* the number of positions stored */
    bool fixed;                 /* set by the caller: filled once, then only read (the source in cross-attention) */
} NnKeysValues;
typedef struct {
    int n;
    int64_t capacity;
    NnKeysValues *layer;
    bool bf16;
    bool shifted;               /* nn_cache_keep_last has kept some positions and removed those before them */
} NnCache;
/* A cache for n attention layers and up to `capacity` positions. Free it with ag_free. */
NnCache *nn_cache_new(int n, int64_t capacity);

/* The first function appends new positions (B,t,D) to a layer, the second one copies all positions of a layer (B,S,D), as
 * reals. */
void nn_cache_append(NnCache *c, int layer, Tensor *key, Tensor *value);
void nn_cache_read(NnCache *c, int layer, Tensor **key, Tensor **value);
/* ag_attention of q (B,T,D) to all positions of a layer, without copying them. Gradients reach q and a
 * mask of reals alone. */
Tensor *nn_cache_attention(NnCache *c, int layer, Tensor *q, Tensor *mask, AgAttention how);
/* Whether a layer is fixed and filled. */
bool nn_cache_is_filled(const NnCache *c, int layer);

/* Replaces the batch by its rows rows[0..n): for beam search. A cache whose memory was missing in this is of no more use. */
void nn_cache_select(NnCache *c, const int32_t *rows, int64_t n);
/* Removes all but the last `keep` positions of the layers that are not fixed. Language models and transformer_decode_next count
 * positions from the first one that is left, so for them keep must be 0: with others they report a usage error. */
void nn_cache_keep_last(NnCache *c, int64_t keep);

/* ---- multi-head attention (3.2.2) -------------------------------------------------------------------------------- */

/* Projects queries, keys and values (linears 0, 1 and 2), splits them into heads, computes softmax(q k^T / sqrt(K)) v in
 * each head, joins the heads and projects the result (linear 3). If keep_weights is set, each call sets `weights` (B,H,T,S),
 * which is valid until the scope of the call ends. Each head computes its own scores, from queries and keys of width K. */
typedef struct {
    Module module;
    ModuleList *linears;
    Dropout *dropout;
    NnScore *score;             /* NULL: scaled dot product */
    int heads;                  /* h in the paper */
    int64_t head_width;         /* d_k in the paper */
    bool keep_weights;
    Tensor *weights;            /* after dropout; `attn` in the Annotated Transformer */
} MultiHeadAttention;
MultiHeadAttention *nn_multi_head_attention_new_with(int heads, int64_t width, double dropout, NnScoreKind score);
#define nn_multi_head_attention_new(heads, width, dropout) \
    nn_multi_head_attention_new_with(heads, width, dropout, NN_SCORE_SCALED_DOT)
/* query (B,T,D), key and value (B,S,D), mask broadcast to (B,T,S) or NULL -> (B,T,D). With a cache, which may be NULL, the keys
 * and values of the new positions are appended to those of entry `layer` in the cache. If this entry is fixed and filled, `key`
 * and `value` are not used. */
Tensor *nn_multi_head_attention_cached(MultiHeadAttention *a, Tensor *query, Tensor *key, Tensor *value, Tensor *mask,
                                       NnCache *cache, int layer);
#define nn_multi_head_attention(a, query, key, value, mask) \
    nn_multi_head_attention_cached(a, query, key, value, mask, NULL, 0)

/* ---- positions (3.5) --------------------------------------------------------------------------------------------- */

/* dropout(x + pe[position]). pe (1,max_len,D) is a learned parameter, or a buffer of sinusoids:
 *
 *     pe(t, 2i) = sin(t / 10000^(2i/D))        pe(t, 2i + 1) = cos(t / 10000^(2i/D)) */
typedef struct { Module module; Dropout *dropout; Tensor *pe; } PositionalEncoding;
PositionalEncoding *nn_positional_encoding_new_with(int64_t width, double dropout, int64_t max_len, bool learned);
/* (B,T,D) -> (B,T,D). The positions are start to start+T-1. */
Tensor *nn_positional_encoding_from(PositionalEncoding *p, Tensor *x, int64_t start);
#define nn_positional_encoding(p, x) nn_positional_encoding_from(p, x, 0)
#define nn_positional_encoding_new(width, dropout, max_len) \
    nn_positional_encoding_new_with(width, dropout, max_len, false)
#define nn_positional_encoding_new_learned(width, dropout, max_len) \
    nn_positional_encoding_new_with(width, dropout, max_len, true)

/* ---- feed-forward (3.3) and the connection around each sublayer (3.1) -------------------------------------------- */

/* w_2(dropout(activation(w_1(x)))), at each position. */
typedef struct { Module module; Linear *w_1, *w_2; Dropout *dropout; AgActivation activation; } PositionwiseFeedForward;
PositionwiseFeedForward *nn_positionwise_feed_forward_new(int64_t width, int64_t hidden, double dropout,
                                                          AgActivation activation);
Tensor *nn_positionwise_feed_forward(PositionwiseFeedForward *f, Tensor *x);        /* (..,D) -> (..,D) */

/* The skip connection around a sublayer f, with the norm in one of two places:
 *     NN_PRE_NORM    x + dropout(f(norm(x)))        the Annotated Transformer, GPT
 *     NN_POST_NORM   norm(x + dropout(f(x)))        the original paper
 * To use it:  h = nn_sublayer_in(s, x);   h = f(h);   x = nn_sublayer_out(s, x, h); */
typedef enum { NN_PRE_NORM, NN_POST_NORM } NnNormPlace;
typedef struct { Module module; LayerNorm *norm; Dropout *dropout; NnNormPlace place; } SublayerConnection;
SublayerConnection *nn_sublayer_connection_new(int64_t width, double dropout, NnNormPlace place, AgNorm kind);
Tensor *nn_sublayer_in(SublayerConnection *s, Tensor *x);
Tensor *nn_sublayer_out(SublayerConnection *s, Tensor *x, Tensor *h);

#include "kaeru/calls/attention.h"

AG_PUBLIC_END

#endif
