/* attention.h: the layers of a Transformer that are not in nn.h: masks, attention, the cache of
 * keys and values, positions, the feed-forward network (Vaswani et al. 2017, "Attention Is All You
 * Need"; section numbers are those of the paper).
 *
 *     MultiHeadAttention *a = nn_multi_head_attention_new(8, 512, 0.1);
 *     Tensor *y = nn_multi_head_attention(a, x, x, x, nn_causal_mask(T));     // (B,T,D) -> (B,T,D)
 *
 * Shapes: B batch, T target time, S source time, D model width, H heads, K = D/H width of a
 * head. */
#ifndef KAERU_ATTENTION_H
#define KAERU_ATTENTION_H

#include "kaeru/nn.h"

AG_PUBLIC_BEGIN

/* ---- masks --------------------------------------------------------------------------------------
 * A mask is AG_BOOL; true means visible, in ag_masked_softmax and in all operations and layers of
 * attention. ag_masked_fill replaces values where its mask is true, so it needs the opposite:
 * ag_masked_fill(scores, ag_not(mask), -INFINITY).
 *
 * A mask is broadcast, as in all operations: one with fewer dimensions has the last ones, so that
 * (B,S) is read as (T,S). A mask that hides keys is (B,1,S), for ag_attention (B,1,1,S). All
 * functions but ag_masked_softmax also take a mask of reals, which is added to the scaled scores,
 * as in ALiBi and T5. */

/* Returns a mask (1,n,n) that shows positions 0 to i to position i. */
Tensor *nn_causal_mask(int64_t n);

/* Returns a mask that shows all positions that are not padding: ids (B,S) -> (B,1,S). */
Tensor *nn_padding_mask(Tensor *ids, int32_t padding);
/* Returns a mask that shows what both of these masks show: ids (B,T) -> (B,T,T). */
Tensor *nn_causal_padding_mask(Tensor *ids, int32_t padding);

/* ---- attention (3.2) ------------------------------------------------------------------------- */

/* Returns softmax(q k^T / sqrt(K)) v, the scaled dot-product attention (3.2.1): q (..,T,K), k and v
 * (..,S,K) -> (..,T,K). The mask is broadcast to (..,T,S); NULL shows all. Hidden positions have
 * weight 0 exactly. If all are hidden, the result is 0; the Annotated Transformer, which sets
 * hidden scores to -1e9, gets the mean of v. dropout is applied to the weights; it may be NULL. If
 * `weights` is not NULL, *weights receives the weights (..,T,S). */
Tensor *nn_attention(Tensor *q, Tensor *k, Tensor *v, Tensor *mask, Dropout *dropout,
                     Tensor **weights);

/* The kinds of scores of a query q and a key k. Transformers use the scaled dot product, earlier
 * Seq2Seq models the others. */
typedef enum {
    NN_SCORE_SCALED_DOT,        /* q.k / sqrt(K) */
    NN_SCORE_DOT,               /* q.k                        Luong et al. 2015 */
    NN_SCORE_GENERAL,           /* k.(W q)                    Luong et al. 2015 */
    NN_SCORE_ADDITIVE           /* v.tanh(W1 k + W2 q)        Bahdanau et al. 2015 */
} NnScoreKind;
typedef struct { Module module; NnScoreKind kind; Linear *w1, *w2, *v; } NnScore;
/* Returns a new score. `query` and `key` are widths, which must be equal for the dot products.
 * `hidden` is the width of the additive score; the others ignore it. */
NnScore *nn_score_new(NnScoreKind kind, int64_t query, int64_t key, int64_t hidden);
/* Returns the scores of all queries and keys: (..,T,Kq) (..,S,Kk) -> (..,T,S). */
Tensor *nn_score(NnScore *s, Tensor *q, Tensor *k);

/* ---- the cache of keys and values ---------------------------------------------------------------
 * In generation, the keys and values of earlier tokens do not change. A cache stores them for each
 * attention layer, so that a step computes only the new position. It stores no gradients.
 *
 * A cache that is made while products are in bfloat16 (ag_precision) keeps keys and values in
 * bfloat16. This takes half of the memory, which is also faster to read. Products in bfloat16 round
 * them anyway, so no result changes. If products are later in float32, such a cache gives the
 * rounded numbers. To avoid this, set `bf16` to false before the first use; later it must not
 * change. Keys and values of an odd width D are always stored in float32. */

/* The keys and values of one layer. The arrays (B,n,D) have more positions than are stored; n grows
 * up to the capacity. Read them by the functions below. In bfloat16 they are AG_INT (B,n,D/2): see
 * ag_to_bf16. */
typedef struct {
    Tensor *key, *value;        /* owned by the cache; NULL before the first use */
    int64_t length;             /* the number of positions stored */
    bool fixed;                 /* set by the caller for a layer that is filled once and then only
                                   read: the source in cross-attention */
} NnKeysValues;
typedef struct {
    int n;                      /* the number of layers */
    int64_t capacity;           /* the largest number of positions */
    NnKeysValues *layer;
    bool bf16;
    bool shifted;               /* whether nn_cache_keep_last has kept some positions and removed
                                   those before them */
} NnCache;
/* Returns an empty cache for n attention layers and up to `capacity` positions. Free it with
 * ag_free. */
NnCache *nn_cache_new(int n, int64_t capacity);

/* Appends new positions (B,t,D) to a layer. */
void nn_cache_append(NnCache *c, int layer, Tensor *key, Tensor *value);
/* Copies all positions of a layer (B,S,D), as reals, to *key and *value. */
void nn_cache_read(NnCache *c, int layer, Tensor **key, Tensor **value);
/* Returns ag_attention of q (B,T,D) to all positions of a layer, without a copy of them. Only q and
 * a mask of reals get gradients. */
Tensor *nn_cache_attention(NnCache *c, int layer, Tensor *q, Tensor *mask, AgAttention how);
/* Returns whether a layer is fixed and filled. */
bool nn_cache_is_filled(const NnCache *c, int layer);

/* ---- multi-head attention (3.2.2) ------------------------------------------------------------ */

/* Projects queries, keys and values (linears 0, 1 and 2), splits them into heads, computes
 * softmax(q k^T / sqrt(K)) v in each head, joins the heads and projects the result (linear 3). If
 * keep_weights is set, each call sets `weights` (B,H,T,S), which is valid until the scope of the
 * call ends. */
typedef struct {
    Module module;
    ModuleList *linears;
    Dropout *dropout;
    NnScore *score;             /* of each head; NULL for the scaled dot product */
    int heads;                  /* h in the paper */
    int64_t head_width;         /* K, d_k in the paper */
    bool keep_weights;
    Tensor *weights;            /* after dropout; `attn` in the Annotated Transformer */
} MultiHeadAttention;
MultiHeadAttention *nn_multi_head_attention_new_with(int heads, int64_t width, double dropout,
                                                     NnScoreKind score);
#define nn_multi_head_attention_new(heads, width, dropout) \
    nn_multi_head_attention_new_with(heads, width, dropout, NN_SCORE_SCALED_DOT)
/* Returns the attention of query (B,T,D) to key and value (B,S,D): (B,T,D). The mask is broadcast
 * to (B,T,S); NULL shows all. The cache may be NULL. With a cache, the keys and values of the new
 * positions are appended to those of its entry `layer`, and the query attends to all of them. If
 * this entry is fixed and filled, `key` and `value` are not used. */
Tensor *nn_multi_head_attention_cached(MultiHeadAttention *a, Tensor *query, Tensor *key,
                                       Tensor *value, Tensor *mask, NnCache *cache, int layer);
#define nn_multi_head_attention(a, query, key, value, mask) \
    nn_multi_head_attention_cached(a, query, key, value, mask, NULL, 0)

/* ---- positions (3.5) ------------------------------------------------------------------------- */

/* Adds a vector for each position: dropout(x + pe[position]). pe (1,max_len,D) is a learned
 * parameter, or a buffer of sinusoids:
 *
 *     pe(t, 2i) = sin(t / 10000^(2i/D))        pe(t, 2i + 1) = cos(t / 10000^(2i/D)) */
typedef struct { Module module; Dropout *dropout; Tensor *pe; } PositionalEncoding;
PositionalEncoding *nn_positional_encoding_new_with(int64_t width, double dropout, int64_t max_len,
                                                    bool learned);
/* Returns dropout(x + pe) for the positions from `start` on: (B,T,D) -> (B,T,D). */
Tensor *nn_positional_encoding_from(PositionalEncoding *p, Tensor *x, int64_t start);
#define nn_positional_encoding(p, x) nn_positional_encoding_from(p, x, 0)
#define nn_positional_encoding_new(width, dropout, max_len) \
    nn_positional_encoding_new_with(width, dropout, max_len, false)
#define nn_positional_encoding_new_learned(width, dropout, max_len) \
    nn_positional_encoding_new_with(width, dropout, max_len, true)

/* ---- feed-forward (3.3) and the connection around each sublayer (3.1) ------------------------ */

/* Computes w_2(dropout(activation(w_1(x)))) at each position: (..,D) -> (..,D). */
typedef struct {
    Module module;
    Linear *w_1, *w_2;
    Dropout *dropout;
    AgActivation activation;
} PositionwiseFeedForward;
PositionwiseFeedForward *nn_positionwise_feed_forward_new(int64_t width, int64_t hidden,
                                                          double dropout, AgActivation activation);
Tensor *nn_positionwise_feed_forward(PositionwiseFeedForward *f, Tensor *x);

/* The skip connection around a sublayer f, with the norm in one of two places:
 *     NN_PRE_NORM    x + dropout(f(norm(x)))        the Annotated Transformer, GPT
 *     NN_POST_NORM   norm(x + dropout(f(x)))        the original paper
 * To use it:
 *     Tensor *h = f(nn_sublayer_in(s, x));
 *     x = nn_sublayer_out(s, x, h); */
typedef enum { NN_PRE_NORM, NN_POST_NORM } NnNormPlace;
typedef struct {
    Module module;
    LayerNorm *norm;
    Dropout *dropout;
    NnNormPlace place;
} SublayerConnection;
SublayerConnection *nn_sublayer_connection_new(int64_t width, double dropout, NnNormPlace place,
                                               AgNorm kind);
/* Returns the input of the sublayer: norm(x) with NN_PRE_NORM, x with NN_POST_NORM. */
Tensor *nn_sublayer_in(SublayerConnection *s, Tensor *x);
/* Returns the result, where h is the output of the sublayer. */
Tensor *nn_sublayer_out(SublayerConnection *s, Tensor *x, Tensor *h);

#include "kaeru/calls/attention.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/cache.h"
#include "kaeru/summary.h"
#endif

#endif
