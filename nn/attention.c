/* attention.c: the layers of a Transformer, in the order of attention.h: masks, attention,
 * positions, the feed-forward network and the connection around each sublayer (Vaswani et al.
 * 2017). attention.h tells what each of them computes.
 *
 * Attention is here in single operations: nn_attention is the formula of the paper. A layer uses
 * ag_attention (autograd/ops/ops_attention.c), which computes the same for all heads at once and
 * does not store the weights. The cache is in cache.c. Read models/transformer.c next. */
#include <math.h>

#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/attention.h"

/* ---- masks: true means visible --------------------------------------------------------------- */

Tensor *nn_causal_mask(int64_t n)
{
    if (n < 0) {
        ag_usage_error(__func__, "n is %lld, expected 0 or more", (long long)n);
    }
    Tensor *mask = tensor_bools(SHAPE(1, n, n), NULL);
    uint8_t *visible = tensor_mutable_bool_data(mask);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            visible[i * n + j] = 1;
        }
    }
    return mask;
}

Tensor *nn_padding_mask(Tensor *ids, int32_t padding)
{
    AG_LAYER;
    check_tensor(__func__, "ids", ids, AG_INT);
    if (tensor_ndim(ids) != 2) {
        ag_usage_error(__func__, "ids %s, expected (B,T)", ag_shape_string(tensor_shape(ids)));
    }
    return ag_unsqueeze(ag_compare_scalar(AG_NE, ids, padding), 1);
}

Tensor *nn_causal_padding_mask(Tensor *ids, int32_t padding)
{
    AG_LAYER;
    Tensor *own = nn_padding_mask(ids, padding);
    return ag_and(own, nn_causal_mask(tensor_dim(ids, 1)));
}

/* ---- one head -------------------------------------------------------------------------------- */

/* Returns the sum of the values, weighted by the softmax of the scaled and masked scores: (..,T,S)
 * (..,S,K) -> (..,T,K). */
static Tensor *attend_by_scores(Tensor *scores, double scale, Tensor *v, Tensor *mask,
                                Dropout *dropout, Tensor **weights)
{
    if (mask && tensor_dtype(mask) == AG_REAL) {    /* such a mask is added to the scaled scores */
        scores = ag_add(ag_scale(scores, scale), mask);
        scale = 1;
        mask = NULL;
    }
    Tensor *p = ag_masked_softmax(scores, mask, scale);
    if (dropout) {
        p = nn_dropout(dropout, p);
    }
    if (weights) {
        *weights = p;
    }
    return ag_matmul(p, v);
}

Tensor *nn_attention(Tensor *q, Tensor *k, Tensor *v, Tensor *mask, Dropout *dropout,
                     Tensor **weights)
{
    AG_LAYER;
    check_alive(__func__, "q", q);
    if (mask) {
        check_alive(__func__, "mask", mask);
    }
    Tensor *scores = ag_matmul(q, ag_transpose(k, -2, -1));         /* (..,T,S) */
    double scale = 1 / sqrt((double)tensor_dim(q, -1));
    return attend_by_scores(scores, scale, v, mask, dropout, weights);
}

/* ---- score functions ------------------------------------------------------------------------- */

NnScore *nn_score_new(NnScoreKind kind, int64_t query, int64_t key, int64_t hidden)
{
    AG_LAYER;
    if ((int)kind < NN_SCORE_SCALED_DOT || kind > NN_SCORE_ADDITIVE) {
        ag_usage_error(__func__, "%d is not a NnScoreKind", (int)kind);
    }
    if (query < 1 || key < 1 || (kind == NN_SCORE_ADDITIVE && hidden < 1)) {
        ag_usage_error(__func__, "widths %lld and %lld, hidden %lld: expected 1 or more",
                       (long long)query, (long long)key, (long long)hidden);
    }
    if ((kind == NN_SCORE_SCALED_DOT || kind == NN_SCORE_DOT) && query != key) {
        ag_usage_error(__func__, "a dot product needs equal widths, these are %lld and %lld",
                       (long long)query, (long long)key);
    }
    NnScore *s = (NnScore *)nn_new_sized(sizeof *s, "Score");
    s->kind = kind;
    if (kind == NN_SCORE_GENERAL) {
        nn_child(s, w1, nn_linear_new_no_bias(query, key));
    }
    if (kind == NN_SCORE_ADDITIVE) {
        nn_child(s, w1, nn_linear_new_no_bias(key, hidden));
        nn_child(s, w2, nn_linear_new_no_bias(query, hidden));
        nn_child(s, v, nn_linear_new_no_bias(hidden, 1));
    }
    return s;
}

/* (..,T,Kq) (..,S,Kk) -> (..,T,S) */
Tensor *nn_score(NnScore *s, Tensor *q, Tensor *k)
{
    NN_LAYER_OF(s, "Score");
    check_alive(__func__, "q", q);
    check_alive(__func__, "k", k);
    if (s->kind == NN_SCORE_ADDITIVE) {
        Tensor *keys = ag_unsqueeze(nn_linear(s->w1, k), -3);               /* (..,1,S,hidden) */
        Tensor *queries = ag_unsqueeze(nn_linear(s->w2, q), -2);            /* (..,T,1,hidden) */
        return ag_squeeze(nn_linear(s->v, ag_tanh(ag_add(queries, keys))), -1);
    }
    if (s->kind == NN_SCORE_GENERAL) {
        q = nn_linear(s->w1, q);
    }
    Tensor *scores;
    if (tensor_dim(q, -2) == 1) {       /* a single query is transposed instead of all keys */
        scores = ag_transpose(ag_matmul(k, ag_transpose(q, -2, -1)), -2, -1);
    } else {
        scores = ag_matmul(q, ag_transpose(k, -2, -1));
    }
    if (s->kind != NN_SCORE_SCALED_DOT) return scores;
    return ag_scale(scores, 1 / sqrt((double)tensor_dim(q, -1)));
}

/* ---- multi-head attention -------------------------------------------------------------------- */

MultiHeadAttention *nn_multi_head_attention_new_with(int heads, int64_t width, double dropout,
                                                     NnScoreKind score)
{
    AG_LAYER;
    if (heads < 1 || width < 1 || width % heads != 0) {
        ag_usage_error(__func__, "a width of %lld is not divisible by %d heads", (long long)width,
                       heads);
    }
    MultiHeadAttention *a = nn_new(MultiHeadAttention);
    a->heads = heads;
    a->head_width = width / heads;
    nn_child(a, linears, nn_list_new());
    for (int i = 0; i < 4; i++) {
        nn_list_add(a->linears, nn_linear_new(width, width));
    }
    nn_child(a, dropout, nn_dropout_new(dropout));
    if (score != NN_SCORE_SCALED_DOT) {
        nn_child(a, score, nn_score_new(score, a->head_width, a->head_width, a->head_width));
    }
    return a;
}

/* (B,T,D) -> (B,H,T,K) */
static Tensor *split_heads(MultiHeadAttention *a, Tensor *x)
{
    AgShape shape = SHAPE(tensor_dim(x, 0), tensor_dim(x, 1), a->heads, a->head_width);
    return ag_transpose(ag_reshape(x, shape), 1, 2);
}

/* Computes attention in single operations: (B,T,D) (B,S,D) (B,S,D) -> (B,T,D). It is for what
 * ag_attention cannot do: keep_weights, and scores other than the scaled dot product (a->score). */
static Tensor *attend_in_steps(MultiHeadAttention *a, Tensor *q, Tensor *k, Tensor *v, Tensor *mask)
{
    AgShape shape = tensor_shape(q);
    Tensor **weights = a->keep_weights ? &a->weights : NULL;
    q = split_heads(a, q);
    k = split_heads(a, k);
    v = split_heads(a, v);
    Tensor *x;                                                      /* (B,H,T,K) */
    if (a->score) {
        x = attend_by_scores(nn_score(a->score, q, k), 1, v, mask, a->dropout, weights);
    } else {
        x = nn_attention(q, k, v, mask, a->dropout, weights);
    }
    return ag_reshape(ag_transpose(x, 1, 2), shape);
}

/* (B,T,D) (B,S,D) (B,S,D) -> (B,T,D) */
Tensor *nn_multi_head_attention_cached(MultiHeadAttention *a, Tensor *query, Tensor *key,
                                       Tensor *value, Tensor *mask, NnCache *cache, int layer)
{
    NN_LAYER_OF(a, "MultiHeadAttention");
    if (mask) {
        check_alive(__func__, "mask", mask);
    }
    /* 1) the projections of query, key and value; a cache keeps the last two */
    bool filled = cache && nn_cache_is_filled(cache, layer);
    Tensor *q = nn_linear(nn_item(Linear, a->linears, 0), query);
    Tensor *k = filled ? NULL : nn_linear(nn_item(Linear, a->linears, 1), key);
    Tensor *v = filled ? NULL : nn_linear(nn_item(Linear, a->linears, 2), value);
    if (cache && !filled) {
        nn_cache_append(cache, layer, k, v);
    }
    /* 2) attention in each head, then the heads are joined */
    if (mask && tensor_ndim(mask) == 3) {
        mask = ag_unsqueeze(mask, 1);       /* (B,1,T,S): the same for each head */
    }
    double dropout = a->dropout->module.training ? a->dropout->p : 0;
    AgAttention how = { .heads = a->heads, .dropout = dropout };
    bool in_steps = a->keep_weights || a->score;
    if (in_steps && cache) {
        nn_cache_read(cache, layer, &k, &v);
    }
    Tensor *x;                              /* (B,T,D) */
    if (in_steps) {
        x = attend_in_steps(a, q, k, v, mask);
    } else if (cache) {
        x = nn_cache_attention(cache, layer, q, mask, how);
    } else {
        x = ag_attention(q, k, v, mask, how);
    }
    /* 3) the last projection */
    return nn_linear(nn_item(Linear, a->linears, 3), x);
}

/* ---- positions ------------------------------------------------------------------------------- */

/* Adds the positions from 0 on: module.forward of a PositionalEncoding. */
static Tensor *positional_encoding_forward(void *self, Tensor *x)
{
    return nn_positional_encoding_from(self, x, 0);
}

/* Fills pe (1,max_len,D) by the formula of the paper: pe(pos, 2i) = sin(pos / 10000^(2i/D)) and
 * pe(pos, 2i+1) = cos(pos / 10000^(2i/D)). */
static void fill_sinusoidal(Tensor *pe)
{
    int64_t max_len = tensor_dim(pe, 1);
    int64_t width = tensor_dim(pe, 2);
    ag_real *value = tensor_mutable_data(pe);
    for (int64_t d = 0; d < width; d++) {
        double frequency = ag_math_exp(-(double)(d - d % 2) / (double)width * ag_math_log(10000));
        for (int64_t pos = 0; pos < max_len; pos++) {
            double angle = (double)pos * frequency;
            double wave = d % 2 == 0 ? ag_math_sin(angle) : ag_math_cos(angle);
            value[pos * width + d] = (ag_real)wave;
        }
    }
}

PositionalEncoding *nn_positional_encoding_new_with(int64_t width, double dropout, int64_t max_len,
                                                    bool learned)
{
    AG_LAYER;
    if (width < 1 || max_len < 1) {
        ag_usage_error(__func__, "width %lld and max_len %lld, expected 1 or more",
                       (long long)width, (long long)max_len);
    }
    PositionalEncoding *p = nn_new(PositionalEncoding);
    p->module.forward = positional_encoding_forward;
    nn_child(p, dropout, nn_dropout_new(dropout));
    if (learned) {
        ag_fill_normal(nn_param(p, pe, SHAPE(1, max_len, width)), 0, 0.02);
    } else {
        fill_sinusoidal(nn_buffer(p, pe, SHAPE(1, max_len, width)));
    }
    return p;
}

/* (B,T,D) -> (B,T,D) */
Tensor *nn_positional_encoding_from(PositionalEncoding *p, Tensor *x, int64_t start)
{
    NN_LAYER_OF(p, "PositionalEncoding");
    int64_t max_len = tensor_dim(p->pe, 1), width = tensor_dim(p->pe, 2);
    check_alive(__func__, "x", x);
    if (tensor_ndim(x) != 3 || tensor_dim(x, 2) != width) {
        ag_usage_error(__func__, "x %s, expected (B,T,%lld)", ag_shape_string(tensor_shape(x)),
                       (long long)width);
    }
    int64_t length = tensor_dim(x, 1);
    if (start < 0 || start > max_len - length) {
        ag_usage_error(__func__, "x %s from position %lld on: the table has %lld positions",
                       ag_shape_string(tensor_shape(x)), (long long)start, (long long)max_len);
    }
    Tensor *positions = ag_slice(p->pe, 1, start, start + length);      /* (1,T,D) */
    return nn_dropout(p->dropout, ag_add(x, positions));
}

/* ---- sublayers: the feed-forward network, and the skip connection around each ---------------- */

NN_FORWARD(PositionwiseFeedForward, nn_positionwise_feed_forward)

PositionwiseFeedForward *nn_positionwise_feed_forward_new(int64_t width, int64_t hidden,
                                                          double dropout, AgActivation activation)
{
    AG_LAYER;
    if ((int)activation < AG_IDENTITY || activation > AG_SILU) {
        ag_usage_error(__func__, "%d is not an AgActivation", (int)activation);
    }
    PositionwiseFeedForward *f = nn_new(PositionwiseFeedForward);
    f->module.forward = nn_positionwise_feed_forward_forward;
    f->activation = activation;
    nn_child(f, w_1, nn_linear_new(width, hidden));
    nn_child(f, w_2, nn_linear_new(hidden, width));
    nn_child(f, dropout, nn_dropout_new(dropout));
    return f;
}

Tensor *nn_positionwise_feed_forward(PositionwiseFeedForward *f, Tensor *x)
{
    NN_LAYER_OF(f, "PositionwiseFeedForward");
    Tensor *hidden = nn_linear_activate(f->w_1, x, f->activation);
    return nn_linear(f->w_2, nn_dropout(f->dropout, hidden));
}

SublayerConnection *nn_sublayer_connection_new(int64_t width, double dropout, NnNormPlace place,
                                               AgNorm kind)
{
    AG_LAYER;
    if (place != NN_PRE_NORM && place != NN_POST_NORM) {
        ag_usage_error(__func__, "%d is not a NnNormPlace", (int)place);
    }
    SublayerConnection *s = nn_new(SublayerConnection);
    s->place = place;
    nn_child(s, norm, nn_layer_norm_new_kind(width, kind));
    nn_child(s, dropout, nn_dropout_new(dropout));
    return s;
}

Tensor *nn_sublayer_in(SublayerConnection *s, Tensor *x)
{
    NN_LAYER_OF(s, "SublayerConnection");
    return s->place == NN_PRE_NORM ? nn_layer_norm(s->norm, x) : x;
}

Tensor *nn_sublayer_out(SublayerConnection *s, Tensor *x, Tensor *h)
{
    NN_LAYER_OF(s, "SublayerConnection");
    check_alive(__func__, "x", x);
    check_tensor(__func__, "h", h, AG_REAL);
    Tensor *y = ag_add(x, nn_dropout(s->dropout, h));
    return s->place == NN_POST_NORM ? nn_layer_norm(s->norm, y) : y;
}
