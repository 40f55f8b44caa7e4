/* transformer.h: the Transformer of "Attention Is All You Need" (Vaswani et al. 2017), with the
 * classes of the Annotated Transformer (Harvard NLP, 2022).
 *
 *     Transformer *m = transformer_new(src_vocab, tgt_vocab, transformer_defaults());
 *     Tensor *src_mask = nn_padding_mask(src, PAD);
 *     Tensor *tgt_mask = nn_causal_padding_mask(tgt, PAD);
 *     Tensor *x = transformer_forward(m, src, tgt, src_mask, tgt_mask);
 *     Tensor *log_p = transformer_generator(m->generator, x);         // (B,T,V)
 *
 * models/transformer.c is the model itself, to be read with the notebook beside it. Its first lines
 * list the names in both.
 *
 * Shapes: B batch, S source time, T target time, D = d_model, V vocabulary. Ids are AG_INT. Masks
 * are AG_BOOL; true means that a position may be attended to. */
#ifndef KAERU_TRANSFORMER_H
#define KAERU_TRANSFORMER_H

#include "kaeru/attention.h"
#include "kaeru/fields.h"

AG_PUBLIC_BEGIN

/* The options of transformer_new. */
typedef struct TransformerOptions {
    int N;                                  /* layers of each stack */
    int64_t d_model, d_ff;
    int h;                                  /* heads */
    double dropout;
    NnNormPlace norm_place;
    AgNorm norm;
    AgActivation activation;
    int64_t max_len;                        /* the largest number of positions */
    bool learned_positions;
    bool share_embeddings;                  /* one matrix for source, target and generator (section
                                               3.4 of the paper); the vocabularies must be equal */
} TransformerOptions;
extern const NnFields transformer_fields;   /* their limits and defaults, for nn_fields_check */
/* Returns the notebook's values: N 6, d_model 512, d_ff 2048, h 8, dropout 0.1, pre-norm with the
 * notebook's layer norm, ReLU, max_len 5000, no shared embeddings. */
static inline TransformerOptions transformer_defaults(void)
{
    TransformerOptions o;
    nn_fields_defaults(&transformer_fields, &o);
    return o;
}

/* ---- the parts ------------------------------------------------------------------------------- */

/* A linear layer and log-softmax: (..,D) -> (..,V) log-probabilities. */
typedef struct { Module module; Linear *proj; } TransformerGenerator;
TransformerGenerator *transformer_generator_new(int64_t d_model, int64_t vocab);
Tensor *transformer_generator(TransformerGenerator *g, Tensor *x);

/* Embeddings times sqrt(D): ids (B,T) -> (B,T,D). */
typedef struct { Module module; Embedding *lut; int64_t d_model; } TransformerEmbeddings;
TransformerEmbeddings *transformer_embeddings_new(int64_t d_model, int64_t vocab);
Tensor *transformer_embeddings(TransformerEmbeddings *e, Tensor *ids);

/* Self-attention and feed-forward, each in a SublayerConnection: x (B,S,D), mask (B,1,S) ->
 * (B,S,D). */
typedef struct {
    Module module;
    MultiHeadAttention *self_attn;
    PositionwiseFeedForward *feed_forward;
    ModuleList *sublayer;
} TransformerEncoderLayer;
TransformerEncoderLayer *transformer_encoder_layer_new(const TransformerOptions *o);
Tensor *transformer_encoder_layer(TransformerEncoderLayer *l, Tensor *x, Tensor *mask);

/* A stack of N layers: x (B,S,D), mask (B,1,S) -> (B,S,D). With pre-norm, a norm follows the last
 * layer. With post-norm, each layer ends with a norm, and `norm` is NULL. */
typedef struct { Module module; ModuleList *layers; LayerNorm *norm; } TransformerEncoder;
TransformerEncoder *transformer_encoder_new(const TransformerOptions *o);
Tensor *transformer_encoder(TransformerEncoder *e, Tensor *x, Tensor *mask);

/* Self-attention, attention to the encoder's output (memory), and feed-forward, each in a
 * SublayerConnection: x (B,T,D), memory (B,S,D), src_mask (B,1,S), tgt_mask (B,T,T) -> (B,T,D). */
typedef struct {
    Module module;
    MultiHeadAttention *self_attn, *src_attn;
    PositionwiseFeedForward *feed_forward;
    ModuleList *sublayer;
} TransformerDecoderLayer;
TransformerDecoderLayer *transformer_decoder_layer_new(const TransformerOptions *o);
/* The cache may be NULL. Layer number `layer` uses its entries 2 layer (self-attention) and 2 layer
 * + 1 (attention to memory). */
Tensor *transformer_decoder_layer(TransformerDecoderLayer *l, Tensor *x, Tensor *memory,
                                  Tensor *src_mask, Tensor *tgt_mask, NnCache *cache, int layer);

/* A stack of N decoder layers, with a norm as in TransformerEncoder. The cache, which may be NULL,
 * is that of transformer_cache_new. */
typedef struct { Module module; ModuleList *layers; LayerNorm *norm; } TransformerDecoder;
TransformerDecoder *transformer_decoder_new(const TransformerOptions *o);
Tensor *transformer_decoder(TransformerDecoder *d, Tensor *x, Tensor *memory, Tensor *src_mask,
                            Tensor *tgt_mask, NnCache *cache);

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct Transformer {
    Module module;
    TransformerEncoder *encoder;
    TransformerDecoder *decoder;
    Sequential *src_embed, *tgt_embed;      /* TransformerEmbeddings, PositionalEncoding */
    TransformerGenerator *generator;
} Transformer;

/* Returns a new model. Every weight matrix, including the embeddings, is initialized by
 * nn_init_xavier_uniform. Free the model with ag_free. */
Transformer *transformer_new(int64_t src_vocab, int64_t tgt_vocab, TransformerOptions options);

/* Returns the output of the decoder, to which the generator is not applied: (B,S) (B,T) (B,1,S)
 * (B,T,T) -> (B,T,D). A mask that is NULL lets all positions be seen: without a tgt_mask, the
 * decoder also sees the words that it has to predict. */
Tensor *transformer_forward(Transformer *m, Tensor *src, Tensor *tgt, Tensor *src_mask,
                            Tensor *tgt_mask);
/* Returns the output of the encoder, which is called memory: (B,S) (B,1,S) -> (B,S,D). */
Tensor *transformer_encode(Transformer *m, Tensor *src, Tensor *src_mask);
/* Returns the output of the decoder: (B,S,D) (B,1,S) (B,T) (B,T,T) -> (B,T,D). */
Tensor *transformer_decode(Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt,
                           Tensor *tgt_mask);

/* Returns the output of the decoder for new words: tgt (B,t) -> (B,t,D). Their positions come after
 * those in the cache, which transformer_cache_new has made, and are added to it. */
Tensor *transformer_decode_next(Transformer *m, Tensor *memory, Tensor *src_mask, Tensor *tgt,
                                NnCache *cache);

/* Returns an empty cache for up to `capacity` target positions of this model's decoder. Free it
 * with ag_free. */
NnCache *transformer_cache_new(Transformer *m, int64_t capacity);

/* Sets whether each attention layer keeps its attention weights after a call
 * (MultiHeadAttention.weights). */
void transformer_keep_weights(Transformer *m, bool keep);

/* ---- encoder only: predicts masked tokens (Devlin et al. 2018) ------------------------------- */

typedef struct {
    Module module;
    TransformerEncoder *encoder;
    Sequential *embed;                      /* TransformerEmbeddings, PositionalEncoding */
    TransformerGenerator *generator;
} TransformerEncoderOnly;
TransformerEncoderOnly *transformer_encoder_only_new(int64_t vocab, TransformerOptions options);
/* Returns log-probabilities: (B,S) (B,1,S) -> (B,S,V). */
Tensor *transformer_encoder_only(TransformerEncoderOnly *m, Tensor *ids, Tensor *mask);

#include "kaeru/calls/transformer.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/transformer_files.h"
#endif

#endif
