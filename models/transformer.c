/* transformer.c: the Transformer of "Attention Is All You Need" (Vaswani et al. 2017). It has the
 * classes of the Annotated Transformer in the same order. Read it with the notebook beside it.
 * Names in the notebook and here:
 *     EncoderDecoder, forward     Transformer, transformer_forward
 *     encode, decode              transformer_encode, transformer_decode
 *     make_model                  transformer_new
 *     EncoderLayer                TransformerEncoderLayer, transformer_encoder_layer; likewise
 *                                 Encoder, DecoderLayer, Decoder, Generator, Embeddings
 * The constructor of a class is followed by its forward function: layer(x, mask) in the notebook is
 * transformer_encoder_layer(l, x, mask) here. Only the notebook's EncoderDecoder has no
 * constructor; its make_model builds it. Python writes:
 *     nn_new(T)               super().__init__()
 *     nn_child(g, proj, x)    self.proj = x
 *     nn_item(T, list, i)     list[i]
 *     ag_...                  functions of torch
 *     x(...)                  def x(...); NN_LAYER records the layer for error messages
 *
 * Some of the notebook's classes are also for other models. They are in the folder nn, under these
 * names:
 *     LayerNorm                   nn_layer_norm                       layers.c
 *     subsequent_mask             nn_causal_mask                      attention.c
 *     SublayerConnection          nn_sublayer_in, nn_sublayer_out     attention.c
 *     attention                   nn_attention                        attention.c
 *     MultiHeadedAttention        nn_multi_head_attention             attention.c,
 *                                                                    nn_multi_head_attention_cached
 *     PositionwiseFeedForward     nn_positionwise_feed_forward        attention.c
 *     PositionalEncoding          nn_positional_encoding              attention.c
 *
 * Differences from the notebook:
 *   - A SublayerConnection does not take its sublayer as a function. nn_sublayer_in is called
 *     before the sublayer, nn_sublayer_out after it.
 *   - Layers are not cloned. Each one is constructed from TransformerOptions, so their initial
 *     biases differ.
 *   - TransformerOptions.dropout is also the dropout of the attention weights, which is always 0.1
 *     in the notebook's make_model. */
#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/init.h"
#include "kaeru/transformer.h"
#include "language.h"

#include <math.h>

/* ---- EncoderDecoder -------------------------------------------------------------------------- */

/* (B,S) (B,T) (B,1,S) (B,T,T) -> (B,T,D) */
Tensor *transformer_forward(Transformer *m, Tensor *src, Tensor *tgt, Tensor *src_mask,
                            Tensor *tgt_mask)
{
    NN_LAYER(m);
    return transformer_decode(m, transformer_encode(m, src, src_mask), src_mask, tgt, tgt_mask);
}

Tensor *transformer_encode(Transformer *m, Tensor *src, Tensor *src_mask)
{
    NN_LAYER(m);
    return transformer_encoder(m->encoder, nn_sequential(m->src_embed, src), src_mask);
}

Tensor *transformer_decode(Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt,
                           Tensor *tgt_mask)
{
    NN_LAYER(m);
    return transformer_decoder(m->decoder, nn_sequential(m->tgt_embed, tgt), memory, src_mask,
                               tgt_mask, NULL);
}

/* ---- Generator ------------------------------------------------------------------------------- */

TransformerGenerator *transformer_generator_new(int64_t d_model, int64_t vocab)
{
    AG_LAYER;
    TransformerGenerator *g = nn_new(TransformerGenerator);
    nn_child(g, proj, nn_linear_new(d_model, vocab));
    return g;
}

Tensor *transformer_generator(TransformerGenerator *g, Tensor *x)       /* (..,D) -> (..,V) */
{
    NN_LAYER(g);
    return ag_log_softmax(nn_linear(g->proj, x), -1);
}

/* ---- Encoder --------------------------------------------------------------------------------- */

static void check_sizes(const char *what, const TransformerOptions *o)
{
    if (!nn_fields_check(&transformer_fields, o)) {
        ag_usage_error(what, "%s", ag_error());
    }
}

TransformerEncoder *transformer_encoder_new(const TransformerOptions *o)
{
    AG_LAYER;
    ag_check_pointer(__func__, "o", o);
    check_sizes(__func__, o);
    TransformerEncoder *e = nn_new(TransformerEncoder);
    nn_child(e, layers, nn_list_new());
    for (int i = 0; i < o->N; i++) {
        nn_list_add(e->layers, transformer_encoder_layer_new(o));
    }
    if (o->norm_place == NN_PRE_NORM) {
        nn_child(e, norm, nn_layer_norm_new_kind(o->d_model, o->norm));
    }
    return e;
}

/* (B,S,D) (B,1,S) -> (B,S,D) */
Tensor *transformer_encoder(TransformerEncoder *e, Tensor *x, Tensor *mask)
{
    NN_LAYER(e);
    for (int i = 0; i < e->layers->n; i++) {
        x = transformer_encoder_layer(nn_item(TransformerEncoderLayer, e->layers, i), x, mask);
    }
    return e->norm ? nn_layer_norm(e->norm, x) : x;
}

static ModuleList *sublayer_connections(int n, const TransformerOptions *o)
{
    ModuleList *list = nn_list_new();
    for (int i = 0; i < n; i++) {
        nn_list_add(list,
                    nn_sublayer_connection_new(o->d_model, o->dropout, o->norm_place, o->norm));
    }
    return list;
}

TransformerEncoderLayer *transformer_encoder_layer_new(const TransformerOptions *o)
{
    AG_LAYER;
    ag_check_pointer(__func__, "o", o);
    TransformerEncoderLayer *l = nn_new(TransformerEncoderLayer);
    nn_child(l, self_attn, nn_multi_head_attention_new(o->h, o->d_model, o->dropout));
    nn_child(l, feed_forward,
             nn_positionwise_feed_forward_new(o->d_model, o->d_ff, o->dropout, o->activation));
    nn_child(l, sublayer, sublayer_connections(2, o));
    return l;
}

/* The left half of the paper's Figure 1. */
Tensor *transformer_encoder_layer(TransformerEncoderLayer *l, Tensor *x, Tensor *mask)
{
    NN_LAYER(l);
    SublayerConnection *sublayer0 = nn_item(SublayerConnection, l->sublayer, 0);
    Tensor *h = nn_sublayer_in(sublayer0, x);
    h = nn_multi_head_attention(l->self_attn, h, h, h, mask);
    x = nn_sublayer_out(sublayer0, x, h);

    SublayerConnection *sublayer1 = nn_item(SublayerConnection, l->sublayer, 1);
    h = nn_sublayer_in(sublayer1, x);
    h = nn_positionwise_feed_forward(l->feed_forward, h);
    return nn_sublayer_out(sublayer1, x, h);
}

/* ---- Decoder ------------------------------------------------------------------------------------
 * The cache is not in the notebook. It is for generation (see transformer_decode_next below); in
 * training it is NULL. */

TransformerDecoder *transformer_decoder_new(const TransformerOptions *o)
{
    AG_LAYER;
    ag_check_pointer(__func__, "o", o);
    check_sizes(__func__, o);
    TransformerDecoder *d = nn_new(TransformerDecoder);
    nn_child(d, layers, nn_list_new());
    for (int i = 0; i < o->N; i++) {
        nn_list_add(d->layers, transformer_decoder_layer_new(o));
    }
    if (o->norm_place == NN_PRE_NORM) {
        nn_child(d, norm, nn_layer_norm_new_kind(o->d_model, o->norm));
    }
    return d;
}

Tensor *transformer_decoder(TransformerDecoder *d, Tensor *x, Tensor *memory, Tensor *src_mask,
                            Tensor *tgt_mask, NnCache *cache)
{
    NN_LAYER(d);
    for (int i = 0; i < d->layers->n; i++) {
        x = transformer_decoder_layer(nn_item(TransformerDecoderLayer, d->layers, i), x, memory,
                                      src_mask, tgt_mask, cache, i);
    }
    return d->norm ? nn_layer_norm(d->norm, x) : x;
}

TransformerDecoderLayer *transformer_decoder_layer_new(const TransformerOptions *o)
{
    AG_LAYER;
    ag_check_pointer(__func__, "o", o);
    TransformerDecoderLayer *l = nn_new(TransformerDecoderLayer);
    nn_child(l, self_attn, nn_multi_head_attention_new(o->h, o->d_model, o->dropout));
    nn_child(l, src_attn, nn_multi_head_attention_new(o->h, o->d_model, o->dropout));
    nn_child(l, feed_forward,
             nn_positionwise_feed_forward_new(o->d_model, o->d_ff, o->dropout, o->activation));
    nn_child(l, sublayer, sublayer_connections(3, o));
    return l;
}

/* The right half of the paper's Figure 1. Each layer has two entries in the cache. */
Tensor *transformer_decoder_layer(TransformerDecoderLayer *l, Tensor *x, Tensor *memory,
                                  Tensor *src_mask, Tensor *tgt_mask, NnCache *cache, int layer)
{
    NN_LAYER(l);
    if (layer < 0 || layer > INT32_MAX / 2 - 1) {
        ag_usage_error(__func__, "layer %d, counted from 0", layer);
    }
    Tensor *m = memory;
    SublayerConnection *sublayer0 = nn_item(SublayerConnection, l->sublayer, 0);
    Tensor *h = nn_sublayer_in(sublayer0, x);
    h = nn_multi_head_attention_cached(l->self_attn, h, h, h, tgt_mask, cache, 2 * layer);
    x = nn_sublayer_out(sublayer0, x, h);

    SublayerConnection *sublayer1 = nn_item(SublayerConnection, l->sublayer, 1);
    h = nn_sublayer_in(sublayer1, x);
    h = nn_multi_head_attention_cached(l->src_attn, h, m, m, src_mask, cache, 2 * layer + 1);
    x = nn_sublayer_out(sublayer1, x, h);

    SublayerConnection *sublayer2 = nn_item(SublayerConnection, l->sublayer, 2);
    h = nn_sublayer_in(sublayer2, x);
    h = nn_positionwise_feed_forward(l->feed_forward, h);
    return nn_sublayer_out(sublayer2, x, h);
}

/* ---- Embeddings ------------------------------------------------------------------------------ */

/* For Sequential, which knows its layers only as modules and calls module.forward. */
NN_FORWARD(TransformerEmbeddings, transformer_embeddings)

TransformerEmbeddings *transformer_embeddings_new(int64_t d_model, int64_t vocab)
{
    AG_LAYER;
    TransformerEmbeddings *e = nn_new(TransformerEmbeddings);
    e->module.forward = transformer_embeddings_forward;
    nn_child(e, lut, nn_embedding_new(vocab, d_model));
    e->d_model = d_model;
    return e;
}

Tensor *transformer_embeddings(TransformerEmbeddings *e, Tensor *ids)   /* (B,T) -> (B,T,D) */
{
    NN_LAYER(e);
    if (e->d_model < 1) {
        ag_usage_error(__func__, "d_model is %lld, expected 1 or more", (long long)e->d_model);
    }
    return ag_scale(nn_embedding(e->lut, ids), sqrt((double)e->d_model));
}

/* ---- make_model ------------------------------------------------------------------------------ */

static void check_options(const char *what, int64_t vocab, const TransformerOptions *o)
{
    if (vocab < 1) {
        ag_usage_error(what, "vocabulary %lld, expected 1 or more", (long long)vocab);
    }
    check_sizes(what, o);
}

static Sequential *embed_and_position(int64_t vocab, const TransformerOptions *o)
{
    Sequential *s = nn_sequential_new();
    nn_sequential_add(s, transformer_embeddings_new(o->d_model, vocab));
    nn_sequential_add(s,
                      o->learned_positions
                          ? nn_positional_encoding_new_learned(o->d_model, o->dropout, o->max_len)
                          : nn_positional_encoding_new(o->d_model, o->dropout, o->max_len));
    return s;
}

/* Source embedding, target embedding and generator share one matrix (section 3.4 of the paper). */
static void share_embeddings(Transformer *m)
{
    Tensor *table = nn_item(TransformerEmbeddings, m->src_embed, 0)->lut->weight;
    nn_tie(nn_item(TransformerEmbeddings, m->tgt_embed, 0)->lut, weight, table);
    nn_tie(m->generator->proj, weight, table);
}

/* Initializes every matrix by the method of Glorot and Bengio (2010). The positions have three
 * dimensions and keep their values. */
static void xavier_uniform(void *model)
{
    NnParameters *p = nn_parameters(model);
    for (int i = 0; i < p->n; i++) {
        if (tensor_ndim(p->item[i].tensor) == 2) {
            nn_init_xavier_uniform(p->item[i].tensor, 1);
        }
    }
    ag_free(p);
}

Transformer *transformer_new(int64_t src_vocab, int64_t tgt_vocab, TransformerOptions o)
{
    AG_LAYER;
    check_options(__func__, src_vocab < tgt_vocab ? src_vocab : tgt_vocab, &o);
    if (o.share_embeddings && src_vocab != tgt_vocab) {
        ag_usage_error(__func__, "share_embeddings needs equal vocabularies, these have %lld and "
                       "%lld words", (long long)src_vocab, (long long)tgt_vocab);
    }
    Transformer *m = nn_new(Transformer);
    nn_child(m, encoder, transformer_encoder_new(&o));
    nn_child(m, decoder, transformer_decoder_new(&o));
    nn_child(m, src_embed, embed_and_position(src_vocab, &o));
    nn_child(m, tgt_embed, embed_and_position(tgt_vocab, &o));
    nn_child(m, generator, transformer_generator_new(o.d_model, tgt_vocab));
    if (o.share_embeddings) {
        share_embeddings(m);
    }
    xavier_uniform(m);
    return m;
}

/* ---- beyond the notebook: generation with a cache, attention weights, an encoder-only model */

NnCache *transformer_cache_new(Transformer *m, int64_t capacity)
{
    NN_LAYER(m);
    NnCache *cache = nn_cache_new(2 * m->decoder->layers->n, capacity);
    for (int i = 0; i < m->decoder->layers->n; i++) {
        cache->layer[2 * i + 1].fixed = true;
    }
    return cache;
}

Tensor *transformer_decode_next(Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt,
                                NnCache *cache)
{
    NN_LAYER(m);
    ag_check_object(__func__, "the cache", cache);
    if (cache->n != 2 * m->decoder->layers->n) {
        ag_usage_error(__func__, "a cache for %d attention layers, expected one for the model's %d",
                       cache->n, 2 * m->decoder->layers->n);
    }
    check_alive(__func__, "tgt", tgt);
    int64_t past = cache_past(__func__, cache), t = tensor_dim(tgt, 1);
    Tensor *x = transformer_embeddings(nn_item(TransformerEmbeddings, m->tgt_embed, 0), tgt);
    x = nn_positional_encoding_from(nn_item(PositionalEncoding, m->tgt_embed, 1), x, past);
    /* A single new position attends to all earlier positions and to itself, so it needs no mask. */
    Tensor *mask = t == 1 ? NULL : ag_slice(nn_causal_mask(past + t), 1, past, past + t);
    return transformer_decoder(m->decoder, x, memory, src_mask, mask, cache);
}

void transformer_keep_weights(Transformer *m, bool keep)
{
    NN_LAYER(m);
    for (int i = 0; i < m->encoder->layers->n; i++) {
        nn_item(TransformerEncoderLayer, m->encoder->layers, i)->self_attn->keep_weights = keep;
    }
    for (int i = 0; i < m->decoder->layers->n; i++) {
        nn_item(TransformerDecoderLayer, m->decoder->layers, i)->self_attn->keep_weights = keep;
        nn_item(TransformerDecoderLayer, m->decoder->layers, i)->src_attn->keep_weights = keep;
    }
}

TransformerEncoderOnly *transformer_encoder_only_new(int64_t vocab, TransformerOptions o)
{
    AG_LAYER;
    check_options(__func__, vocab, &o);
    TransformerEncoderOnly *m = nn_new(TransformerEncoderOnly);
    nn_child(m, encoder, transformer_encoder_new(&o));
    nn_child(m, embed, embed_and_position(vocab, &o));
    nn_child(m, generator, transformer_generator_new(o.d_model, vocab));
    if (o.share_embeddings) {
        nn_tie(m->generator->proj, weight,
               nn_item(TransformerEmbeddings, m->embed, 0)->lut->weight);
    }
    xavier_uniform(m);
    return m;
}

Tensor *transformer_encoder_only(TransformerEncoderOnly *m, Tensor *ids, Tensor *mask)
{
    NN_LAYER(m);
    return transformer_generator(m->generator,
                                 transformer_encoder(m->encoder, nn_sequential(m->embed, ids),
                                                     mask));
}
