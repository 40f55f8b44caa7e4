/* attention.h: what a Transformer is made of, beside the layers of nn.h (Vaswani et al. 2017, "Attention Is All You
 * Need"; section numbers below are the paper's).
 *
 * Shapes: B batch, T target time, S source time, D model width, H heads, K = D/H width of a head. */
#ifndef KAERU_ATTENTION_H
#define KAERU_ATTENTION_H

#include "kaeru/nn.h"

#pragma GCC visibility push(default)

/* ---- masks: AG_BOOL, true = may be seen -------------------------------------------------------------------------- */

/* (1,n,n): position i sees 0..i. */
Tensor *nn_causal_mask_at(Site at, int64_t n);
/* ids (B,S) -> (B,1,S): every position sees those that are not padding. */
Tensor *nn_padding_mask_at(Site at, Tensor *ids, int32_t padding);
/* Both: ids (B,T) -> (B,T,T). */
Tensor *nn_causal_padding_mask_at(Site at, Tensor *ids, int32_t padding);
/* Rows of the mask as text, "#" for seen and "." for hidden, one matrix after another. */
void nn_mask_print(FILE *out, Tensor *mask);

/* ---- attention (3.2) --------------------------------------------------------------------------------------------- */

/* Scaled dot-product attention (3.2.1): softmax(q k^T / sqrt(K)) v. q (..,T,K), k and v (..,S,K), mask broadcast to
 * (..,T,S) or NULL; what is hidden gets exactly 0 weight, and a row that sees nothing gives zeros (with the notebook's
 * -1e9: the mean). dropout (may be NULL) acts on the weights. The weights (..,T,S) go to *weights unless that is NULL.
 * -> (..,T,K) */
Tensor *nn_attention_at(Site at, Tensor *q, Tensor *k, Tensor *v, Tensor *mask, Dropout *dropout, Tensor **weights);

/* How well a query q fits a key k. The Transformer uses the first; the others are those of the older Seq2Seq models. */
typedef enum {
    NN_SCORE_SCALED_DOT,        /* q.k / sqrt(K) */
    NN_SCORE_DOT,               /* q.k                        Luong et al. 2015 */
    NN_SCORE_GENERAL,           /* k.(W q)                    Luong et al. 2015 */
    NN_SCORE_ADDITIVE           /* v.tanh(W1 k + W2 q)        Bahdanau et al. 2015 */
} ScoreKind;
typedef struct { Module module; ScoreKind kind; Linear *w1, *w2, *v; } Score;
/* Widths of queries and keys (equal for the dot products), and of the hidden layer of the additive one. */
Score *nn_score_new_at(Site at, ScoreKind kind, int64_t query, int64_t key, int64_t hidden);
Tensor *nn_score_at(Site at, Score *s, Tensor *q, Tensor *k);                 /* (..,T,Kq) (..,S,Kk) -> (..,T,S) */

/* ---- what generation keeps ----------------------------------------------------------------------------------------
 * While a model writes token after token, the keys and values of what it has read do not change. A cache holds them for
 * each attention layer, so that a step costs one position instead of all. No gradients. */
typedef struct {
    Tensor *key, *value;        /* (B,n,D), n growing up to room; owned by the cache; NULL before the first use */
    int64_t length;             /* positions filled */
    bool fixed;                 /* filled once and then only read: the source in cross-attention */
} KeysValues;
typedef struct { int n; int64_t room; KeysValues *layer; } Cache;
/* For n attention layers of up to `room` positions. */
Cache *nn_cache_new_at(Site at, int n, int64_t room);
/* Puts new positions (B,t,D) behind those that a layer has; gives all it has. Attention does this by itself. */
void nn_cache_append_at(Site at, Cache *c, int layer, Tensor *key, Tensor *value);
void nn_cache_read_at(Site at, Cache *c, int layer, Tensor **key, Tensor **value);
/* Row i of the batch becomes what row rows[i] was, n rows: for beam search. */
void nn_cache_select(Cache *c, const int32_t *rows, int64_t n);
/* Forgets everything but the last `keep` positions of the layers that are not fixed. */
void nn_cache_keep_last(Cache *c, int64_t keep);

/* ---- multi-head attention (3.2.2) -------------------------------------------------------------------------------- */

/* Projects queries, keys and values, splits them into heads, attends in each, joins the heads and projects again. The
 * four projections are linears 0 to 3. With keep_weights set, `weights` holds (B,H,T,S) after each call, until its
 * scope ends. A score other than the scaled dot product works on the heads' K entries. */
typedef struct {
    Module module;
    ModuleList *linears;
    Dropout *dropout;
    Score *score;               /* NULL: scaled dot product */
    int heads;                  /* h in the paper and the notebook */
    int64_t head_width;         /* d_k there */
    bool keep_weights;
    Tensor *weights;            /* attn in the notebook, which always keeps them; after dropout */
} MultiHeadAttention;
MultiHeadAttention *nn_multi_head_attention_new_with_at(Site at, int heads, int64_t width, double dropout, ScoreKind score);
/* query (B,T,D), key and value (B,S,D), mask broadcast to (B,T,S) or NULL -> (B,T,D) */
Tensor *nn_multi_head_attention_at(Site at, MultiHeadAttention *a, Tensor *query, Tensor *key, Tensor *value, Tensor *mask);
/* The same with a cache (may be NULL): key and value are new positions behind what its layer holds, unless that is
 * fixed and filled. */
Tensor *nn_multi_head_attention_cached_at(Site at, MultiHeadAttention *a, Tensor *query, Tensor *key, Tensor *value, Tensor *mask,
                                         Cache *cache, int layer);
#define nn_multi_head_attention_new(heads, width, dropout) \
    nn_multi_head_attention_new_with(heads, width, dropout, NN_SCORE_SCALED_DOT)

/* ---- positions (3.5) --------------------------------------------------------------------------------------------- */

/* dropout(x + pe[position]): sinusoidal, pe(pos, 2i) = sin(pos / 10000^(2i/D)), pe(pos, 2i+1) = cos of the same, or
 * learned. A buffer or parameter `pe` (1,max_len,D). */
typedef struct { Module module; Dropout *dropout; Tensor *pe; } PositionalEncoding;
PositionalEncoding *nn_positional_encoding_new_with_at(Site at, int64_t width, double dropout, int64_t max_len,
                                                       bool learned);
Tensor *nn_positional_encoding_at(Site at, PositionalEncoding *p, Tensor *x);                     /* (B,T,D) -> (B,T,D) */
/* The same for positions start..start+T-1. */
Tensor *nn_positional_encoding_from_at(Site at, PositionalEncoding *p, Tensor *x, int64_t start);
#define nn_positional_encoding_new(width, dropout, max_len) \
    nn_positional_encoding_new_with(width, dropout, max_len, false)
#define nn_positional_encoding_new_learned(width, dropout, max_len) \
    nn_positional_encoding_new_with(width, dropout, max_len, true)

/* ---- feed-forward (3.3) and the connection around each sublayer (3.1) -------------------------------------------- */

/* w_2(dropout(activation(w_1(x)))), position by position. */
typedef struct { Module module; Linear *w_1, *w_2; Dropout *dropout; AgActivation activation; } PositionwiseFeedForward;
PositionwiseFeedForward *nn_positionwise_feed_forward_new_at(Site at, int64_t width, int64_t hidden, double dropout,
                                                             AgActivation activation);
Tensor *nn_positionwise_feed_forward_at(Site at, PositionwiseFeedForward *f, Tensor *x);          /* (..,D) -> (..,D) */

/* The skip connection around a sublayer f, in the two places where the norm can stand:
 *     NN_PRE_NORM    x + dropout(f(norm(x)))        the Annotated Transformer, GPT
 *     NN_POST_NORM   norm(x + dropout(f(x)))        the original paper
 * In use:  h = nn_sublayer_in(s, x);   h = f(h);   x = nn_sublayer_out(s, x, h); */
typedef enum { NN_PRE_NORM, NN_POST_NORM } NormPlace;
typedef struct { Module module; LayerNorm *norm; Dropout *dropout; NormPlace place; } SublayerConnection;
SublayerConnection *nn_sublayer_connection_new_at(Site at, int64_t width, double dropout, NormPlace place, AgNorm kind);
Tensor *nn_sublayer_in_at(Site at, SublayerConnection *s, Tensor *x);
Tensor *nn_sublayer_out_at(Site at, SublayerConnection *s, Tensor *x, Tensor *h);

#pragma GCC visibility pop

#endif
