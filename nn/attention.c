/* attention.c: attention of one head, score functions, and multi-head attention (Vaswani et al. 2017, 3.2). */
#include <math.h>

#include "kaeru/autograd.h"
#include "kaeru/attention.h"

/* ---- one head ---------------------------------------------------------------------------------------------------- */

/* The weights are the softmax of the scaled and masked scores. The result is the weighted sum of the values. */
static Tensor *attend(AgSite at, Tensor *scores, double scale, Tensor *v, Tensor *mask, Dropout *dropout, Tensor **weights)
{
    Tensor *p = ag_masked_softmax_at(at, scores, mask, scale);
    if (dropout) p = nn_dropout(dropout, p);
    if (weights) *weights = p;
    return ag_matmul_at(at, p, v);
}

Tensor *nn_attention_at(AgSite at, Tensor *q, Tensor *k, Tensor *v, Tensor *mask, Dropout *dropout, Tensor **weights)
{
    AG_LAYER(at);
    double scale = 1 / sqrt((double)tensor_dim_at(at, q, -1));
    return attend(at, ag_matmul_at(at, q, ag_transpose_at(at, k, -2, -1)), scale, v, mask, dropout, weights);
}

/* ---- score functions --------------------------------------------------------------------------------------------- */

NnScore *nn_score_new_at(AgSite at, NnScoreKind kind, int64_t query, int64_t key, int64_t hidden)
{
    if ((int)kind < NN_SCORE_SCALED_DOT || kind > NN_SCORE_ADDITIVE)
        ag_usage_error(at, "nn_score_new", "%d is not a NnScoreKind", (int)kind);
    if (query < 1 || key < 1 || (kind == NN_SCORE_ADDITIVE && hidden < 1))
        ag_usage_error(at, "nn_score_new", "widths %lld and %lld, hidden %lld: expected 1 or more", (long long)query,
                       (long long)key, (long long)hidden);
    if ((kind == NN_SCORE_SCALED_DOT || kind == NN_SCORE_DOT) && query != key)
        ag_usage_error(at, "nn_score_new", "a dot product needs equal widths, these are %lld and %lld", (long long)query,
                       (long long)key);
    NnScore *s = (NnScore *)nn_new_sized_at(at, sizeof *s, "Score");
    s->kind = kind;
    if (kind == NN_SCORE_GENERAL) nn_child(s, w1, nn_linear_new_with_at(at, query, key, false));
    if (kind == NN_SCORE_ADDITIVE) {
        nn_child(s, w1, nn_linear_new_with_at(at, key, hidden, false));
        nn_child(s, w2, nn_linear_new_with_at(at, query, hidden, false));
        nn_child(s, v, nn_linear_new_with_at(at, hidden, 1, false));
    }
    return s;
}

Tensor *nn_score_at(AgSite at, NnScore *s, Tensor *q, Tensor *k)
{
    NN_LAYER(at, s);
    if (s->kind == NN_SCORE_ADDITIVE) {
        Tensor *keys = ag_unsqueeze(nn_linear(s->w1, k), -3);               /* (..,1,S,hidden) */
        Tensor *queries = ag_unsqueeze(nn_linear(s->w2, q), -2);            /* (..,T,1,hidden) */
        return ag_squeeze(nn_linear(s->v, ag_tanh(ag_add(queries, keys))), -1);
    }
    if (s->kind == NN_SCORE_GENERAL) q = nn_linear(s->w1, q);
    /* a single query is transposed instead of all keys */
    Tensor *scores = tensor_dim(q, -2) == 1 ? ag_transpose(ag_matmul(k, ag_transpose(q, -2, -1)), -2, -1)
                                            : ag_matmul(q, ag_transpose(k, -2, -1));
    return s->kind == NN_SCORE_SCALED_DOT ? ag_scale(scores, 1 / sqrt((double)tensor_dim(q, -1))) : scores;
}

/* ---- multi-head attention ---------------------------------------------------------------------------------------- */

MultiHeadAttention *nn_multi_head_attention_new_with_at(AgSite at, int heads, int64_t width, double dropout, NnScoreKind score)
{
    if (heads < 1 || width < 1 || width % heads != 0)
        ag_usage_error(at, "nn_multi_head_attention_new", "a width of %lld is not divisible by %d heads",
                       (long long)width, heads);
    MultiHeadAttention *a = (MultiHeadAttention *)nn_new_sized_at(at, sizeof *a, "MultiHeadAttention");
    a->heads = heads;
    a->head_width = width / heads;
    nn_child(a, linears, nn_list_new_at(at));
    for (int i = 0; i < 4; i++) nn_list_add_at(at, a->linears, nn_linear_new_with_at(at, width, width, true));
    nn_child(a, dropout, nn_dropout_new_at(at, dropout));
    if (score != NN_SCORE_SCALED_DOT)
        nn_child(a, score, nn_score_new_at(at, score, a->head_width, a->head_width, a->head_width));
    return a;
}

/* (B,T,D) -> (B,H,T,K) */
static Tensor *split_heads(MultiHeadAttention *a, Tensor *x)
{
    return ag_transpose(ag_reshape(x, SHAPE(tensor_dim(x, 0), tensor_dim(x, 1), a->heads, a->head_width)), 1, 2);
}

/* The same as ag_attention, in separate operations: for keep_weights, since ag_attention does not store the weights, and for
 * other scores.
 * (B,T,D) (B,S,D) (B,S,D) -> (B,T,D) */
static Tensor *attend_in_steps(MultiHeadAttention *a, Tensor *q, Tensor *k, Tensor *v, Tensor *mask)
{
    AgShape shape = tensor_shape(q);
    Tensor **weights = a->keep_weights ? &a->weights : NULL;
    q = split_heads(a, q);
    k = split_heads(a, k);
    v = split_heads(a, v);
    Tensor *x = a->score ? attend(AG_HERE, nn_score(a->score, q, k), 1, v, mask, a->dropout, weights)
                         : nn_attention(q, k, v, mask, a->dropout, weights);
    return ag_reshape(ag_transpose(x, 1, 2), shape);
}

Tensor *nn_multi_head_attention_cached_at(AgSite at, MultiHeadAttention *a, Tensor *query, Tensor *key, Tensor *value,
                                          Tensor *mask, NnCache *cache, int layer)
{
    NN_LAYER(at, a);
    /* 1) the projections of query, key and value */
    bool filled = cache && nn_cache_is_filled(cache, layer);
    Tensor *q = nn_linear(nn_item(Linear, a->linears, 0), query);
    Tensor *k = filled ? NULL : nn_linear(nn_item(Linear, a->linears, 1), key);
    Tensor *v = filled ? NULL : nn_linear(nn_item(Linear, a->linears, 2), value);
    if (cache && !filled) nn_cache_append(cache, layer, k, v);
    /* 2) attention in each head, then the heads are joined */
    if (mask && tensor_ndim(mask) == 3) mask = ag_unsqueeze(mask, 1);       /* (B,1,T,S): the same for each head */
    AgAttention how = { .heads = a->heads, .dropout = a->dropout->module.training ? a->dropout->p : 0 };
    bool in_steps = a->keep_weights || a->score;
    if (cache && in_steps) nn_cache_read(cache, layer, &k, &v);
    Tensor *x = in_steps ? attend_in_steps(a, q, k, v, mask) :
                cache ? nn_cache_attention(cache, layer, q, mask, how) : ag_attention(q, k, v, mask, how);
    /* 3) the last projection */
    return nn_linear(nn_item(Linear, a->linears, 3), x);
}

Tensor *nn_multi_head_attention_at(AgSite at, MultiHeadAttention *a, Tensor *query, Tensor *key, Tensor *value, Tensor *mask)
{
    NN_LAYER(at, a);
    return nn_multi_head_attention_cached_at(at, a, query, key, value, mask, NULL, 0);
}
