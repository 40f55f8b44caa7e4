/* transformer.c: the Transformer of "Attention Is All You Need" (Vaswani et al. 2017). It has the
 * classes of the Annotated Transformer in the same order. Read it with the notebook beside it.
 *
 *     src (B,S) -> src_embed -> encoder -> memory (B,S,D)
 *     tgt (B,T) -> tgt_embed -> decoder, which also reads memory -> (B,T,D)
 *     (B,T,D) -> generator -> (B,T,V): the log-probabilities of the next word
 *
 * B is the batch, S and T are the lengths of source and target, D is d_model, V the vocabulary. A
 * comment (B,S,D) (B,1,S) -> (B,S,D) above a function gives the shapes of its tensors.
 *
 * Names in the notebook and here:
 *     EncoderDecoder, forward     Transformer, transformer_forward
 *     encode, decode              transformer_encode, transformer_decode
 *     make_model                  transformer_new
 *     EncoderLayer                TransformerEncoderLayer, transformer_encoder_layer; likewise
 *                                 Encoder, DecoderLayer, Decoder, Generator, Embeddings
 * The constructor of a class is followed by its forward function: layer(x, mask) in the notebook is
 * transformer_encoder_layer(l, x, mask) here. Only the notebook's EncoderDecoder has no
 * constructor; its make_model builds it. Python writes:
 *     nn_new(T)                   super().__init__()
 *     nn_child(g, proj, x)        self.proj = x
 *     nn_item(T, list, i)         list[i]
 *     ag_...                      functions of torch
 * AG_LAYER and NN_LAYER have no counterpart. Messages of errors in a function that begins with one
 * of them name the function. NN_LAYER also checks the module.
 *
 * Classes of the notebook that other models use, too, are in the folder nn:
 *     LayerNorm                   nn_layer_norm                      layers.c
 *     subsequent_mask             nn_causal_mask                     attention.c
 *     SublayerConnection          nn_sublayer_in, nn_sublayer_out    attention.c
 *     attention                   nn_attention                       attention.c
 *     MultiHeadedAttention        nn_multi_head_attention            attention.c
 *     PositionwiseFeedForward     nn_positionwise_feed_forward       attention.c
 *     PositionalEncoding          nn_positional_encoding             attention.c
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
    NN_LAYER_OF(m, "Transformer");
    Tensor *memory = transformer_encode(m, src, src_mask);
    return transformer_decode(m, memory, src_mask, tgt, tgt_mask);
}

/* (B,S) (B,1,S) -> (B,S,D) */
Tensor *transformer_encode(Transformer *m, Tensor *src, Tensor *src_mask)
{
    NN_LAYER_OF(m, "Transformer");
    Tensor *x = nn_sequential(m->src_embed, src);
    return transformer_encoder(m->encoder, x, src_mask);
}

/* (B,S,D) (B,1,S) (B,T) (B,T,T) -> (B,T,D) */
Tensor *transformer_decode(Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt,
                           Tensor *tgt_mask)
{
    NN_LAYER_OF(m, "Transformer");
    Tensor *x = nn_sequential(m->tgt_embed, tgt);
    return transformer_decoder(m->decoder, x, memory, src_mask, tgt_mask, NULL);
}

/* ---- Generator ------------------------------------------------------------------------------- */

TransformerGenerator *transformer_generator_new(int64_t d_model, int64_t vocab)
{
    AG_LAYER;
    TransformerGenerator *g = nn_new(TransformerGenerator);
    nn_child(g, proj, nn_linear_new(d_model, vocab));
    return g;
}

/* (..,D) -> (..,V) */
Tensor *transformer_generator(TransformerGenerator *g, Tensor *x)
{
    NN_LAYER_OF(g, "TransformerGenerator");
    return ag_log_softmax(nn_linear(g->proj, x), -1);
}

/* ---- Encoder --------------------------------------------------------------------------------- */

/* Checks the options of a model, an encoder or a decoder. */
static void check_options(const char *what, const TransformerOptions *o)
{
    ag_check_pointer(what, "o", o);
    if (!nn_fields_check(&transformer_fields, o)) {
        ag_usage_error(what, "%s", ag_error());
    }
}

TransformerEncoder *transformer_encoder_new(const TransformerOptions *o)
{
    AG_LAYER;
    check_options(__func__, o);
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
    NN_LAYER_OF(e, "TransformerEncoder");
    for (int i = 0; i < e->layers->n; i++) {
        TransformerEncoderLayer *layer = nn_item(TransformerEncoderLayer, e->layers, i);
        x = transformer_encoder_layer(layer, x, mask);
    }
    return e->norm ? nn_layer_norm(e->norm, x) : x;
}

/* Returns n connections, one for each sublayer of a layer. */
static ModuleList *sublayer_connections_new(int n, const TransformerOptions *o)
{
    ModuleList *list = nn_list_new();
    for (int i = 0; i < n; i++) {
        nn_list_add(list, nn_sublayer_connection_new(o->d_model, o->dropout, o->norm_place,
                                                     o->norm));
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
    nn_child(l, sublayer, sublayer_connections_new(2, o));
    return l;
}

/* Computes the left half of the paper's Figure 1: (B,S,D) (B,1,S) -> (B,S,D). Each sublayer reads h
 * and is added to x: x = x + self_attn(h), x = x + feed_forward(h). */
Tensor *transformer_encoder_layer(TransformerEncoderLayer *l, Tensor *x, Tensor *mask)
{
    NN_LAYER_OF(l, "TransformerEncoderLayer");
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
 * The cache is not in the notebook. It stores keys and values in generation: see
 * transformer_decode_next below. In training it is NULL. */

TransformerDecoder *transformer_decoder_new(const TransformerOptions *o)
{
    AG_LAYER;
    check_options(__func__, o);
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

/* (B,T,D) (B,S,D) (B,1,S) (B,T,T) -> (B,T,D) */
Tensor *transformer_decoder(TransformerDecoder *d, Tensor *x, Tensor *memory, Tensor *src_mask,
                            Tensor *tgt_mask, NnCache *cache)
{
    NN_LAYER_OF(d, "TransformerDecoder");
    for (int i = 0; i < d->layers->n; i++) {
        TransformerDecoderLayer *layer = nn_item(TransformerDecoderLayer, d->layers, i);
        x = transformer_decoder_layer(layer, x, memory, src_mask, tgt_mask, cache, i);
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
    nn_child(l, sublayer, sublayer_connections_new(3, o));
    return l;
}

/* Computes the right half of the paper's Figure 1: (B,T,D) (B,S,D) (B,1,S) (B,T,T) -> (B,T,D). Each
 * layer has two entries in the cache: one for the keys and values of the target, one for those of
 * memory. */
Tensor *transformer_decoder_layer(TransformerDecoderLayer *l, Tensor *x, Tensor *memory,
                                  Tensor *src_mask, Tensor *tgt_mask, NnCache *cache, int layer)
{
    NN_LAYER_OF(l, "TransformerDecoderLayer");
    if (layer < 0 || layer > INT32_MAX / 2 - 1) {
        ag_usage_error(__func__, "layer %d, counted from 0", layer);
    }
    int entry = 2 * layer;
    SublayerConnection *sublayer0 = nn_item(SublayerConnection, l->sublayer, 0);
    Tensor *h = nn_sublayer_in(sublayer0, x);
    h = nn_multi_head_attention_cached(l->self_attn, h, h, h, tgt_mask, cache, entry);
    x = nn_sublayer_out(sublayer0, x, h);

    SublayerConnection *sublayer1 = nn_item(SublayerConnection, l->sublayer, 1);
    h = nn_sublayer_in(sublayer1, x);
    h = nn_multi_head_attention_cached(l->src_attn, h, memory, memory, src_mask, cache, entry + 1);
    x = nn_sublayer_out(sublayer1, x, h);

    SublayerConnection *sublayer2 = nn_item(SublayerConnection, l->sublayer, 2);
    h = nn_sublayer_in(sublayer2, x);
    h = nn_positionwise_feed_forward(l->feed_forward, h);
    return nn_sublayer_out(sublayer2, x, h);
}

/* ---- Embeddings ------------------------------------------------------------------------------ */

/* Defines transformer_embeddings_forward, which a Sequential calls as module.forward: it knows its
 * layers only as modules. */
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

/* (B,T) -> (B,T,D) */
Tensor *transformer_embeddings(TransformerEmbeddings *e, Tensor *ids)
{
    NN_LAYER_OF(e, "TransformerEmbeddings");
    if (e->d_model < 1) {
        ag_usage_error(__func__, "d_model is %lld, expected 1 or more", (long long)e->d_model);
    }
    return ag_scale(nn_embedding(e->lut, ids), sqrt((double)e->d_model));
}

/* ---- make_model ------------------------------------------------------------------------------ */

static void check_vocabulary(const char *what, int64_t vocab)
{
    if (vocab < 1) {
        ag_usage_error(what, "vocabulary %lld, expected 1 or more", (long long)vocab);
    }
}

static Sequential *embed_and_position(int64_t vocab, const TransformerOptions *o)
{
    Sequential *s = nn_sequential_new();
    nn_sequential_add(s, transformer_embeddings_new(o->d_model, vocab));
    nn_sequential_add(s, nn_positional_encoding_new_with(o->d_model, o->dropout, o->max_len,
                                                         o->learned_positions));
    return s;
}

/* Returns the embeddings in what embed_and_position has made. */
static TransformerEmbeddings *embeddings_in(const Sequential *embed)
{
    return nn_item(TransformerEmbeddings, embed, 0);
}

/* Makes source embedding, target embedding and generator share one matrix (section 3.4 of the
 * paper). */
static void share_embeddings(Transformer *m)
{
    Tensor *table = embeddings_in(m->src_embed)->lut->weight;
    nn_tie(embeddings_in(m->tgt_embed)->lut, weight, table);
    nn_tie(m->generator->proj, weight, table);
}

/* Initializes every matrix by the method of Glorot and Bengio (2010). The positions have three
 * dimensions and keep their values. */
static void xavier_uniform(void *model)
{
    NnParameters *p = nn_parameters(model);
    for (int i = 0; i < p->n; i++) {
        Tensor *w = p->item[i].tensor;
        if (tensor_ndim(w) == 2) {
            nn_init_xavier_uniform(w, 1);
        }
    }
    ag_free(p);
}

Transformer *transformer_new(int64_t src_vocab, int64_t tgt_vocab, TransformerOptions o)
{
    AG_LAYER;
    check_vocabulary(__func__, src_vocab);
    check_vocabulary(__func__, tgt_vocab);
    check_options(__func__, &o);
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

/* ---- beyond the notebook: generation with a cache, attention weights, an encoder alone ------- */

/* Makes two entries for each layer of the decoder: entry 2 i for the keys and values of the target,
 * which grow with it, entry 2 i + 1 for those of memory, which are stored once. */
NnCache *transformer_cache_new(Transformer *m, int64_t capacity)
{
    NN_LAYER_OF(m, "Transformer");
    NnCache *cache = nn_cache_new(2 * m->decoder->layers->n, capacity);
    for (int i = 0; i < m->decoder->layers->n; i++) {
        cache->layer[2 * i + 1].fixed = true;
    }
    return cache;
}

/* (B,S,D) (B,1,S) (B,t) -> (B,t,D) */
Tensor *transformer_decode_next(Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt,
                                NnCache *cache)
{
    NN_LAYER_OF(m, "Transformer");
    ag_check_object(__func__, "the cache", cache);
    if (cache->n != 2 * m->decoder->layers->n) {
        ag_usage_error(__func__, "a cache for %d attention layers, expected one for the model's %d",
                       cache->n, 2 * m->decoder->layers->n);
    }
    check_alive(__func__, "tgt", tgt);
    int64_t past = cache_past(__func__, cache);
    int64_t t = tensor_dim(tgt, 1);
    Tensor *x = transformer_embeddings(embeddings_in(m->tgt_embed), tgt);
    x = nn_positional_encoding_from(nn_item(PositionalEncoding, m->tgt_embed, 1), x, past);
    /* A single new position attends to all earlier positions and to itself, so it needs no mask.
     * For more, these are the last t rows of the causal mask. */
    Tensor *mask = NULL;
    if (t != 1) {
        mask = ag_slice(nn_causal_mask(past + t), 1, past, past + t);
    }
    return transformer_decoder(m->decoder, x, memory, src_mask, mask, cache);
}

void transformer_keep_weights(Transformer *m, bool keep)
{
    NN_LAYER_OF(m, "Transformer");
    for (int i = 0; i < m->encoder->layers->n; i++) {
        TransformerEncoderLayer *l = nn_item(TransformerEncoderLayer, m->encoder->layers, i);
        l->self_attn->keep_weights = keep;
    }
    for (int i = 0; i < m->decoder->layers->n; i++) {
        TransformerDecoderLayer *l = nn_item(TransformerDecoderLayer, m->decoder->layers, i);
        l->self_attn->keep_weights = keep;
        l->src_attn->keep_weights = keep;
    }
}

TransformerEncoderOnly *transformer_encoder_only_new(int64_t vocab, TransformerOptions o)
{
    AG_LAYER;
    check_vocabulary(__func__, vocab);
    check_options(__func__, &o);
    TransformerEncoderOnly *m = nn_new(TransformerEncoderOnly);
    nn_child(m, encoder, transformer_encoder_new(&o));
    nn_child(m, embed, embed_and_position(vocab, &o));
    nn_child(m, generator, transformer_generator_new(o.d_model, vocab));
    if (o.share_embeddings) {
        nn_tie(m->generator->proj, weight, embeddings_in(m->embed)->lut->weight);
    }
    xavier_uniform(m);
    return m;
}

/* (B,S) (B,1,S) -> (B,S,V) */
Tensor *transformer_encoder_only(TransformerEncoderOnly *m, Tensor *ids, Tensor *mask)
{
    NN_LAYER_OF(m, "TransformerEncoderOnly");
    Tensor *x = nn_sequential(m->embed, ids);
    x = transformer_encoder(m->encoder, x, mask);
    return transformer_generator(m->generator, x);
}
