/* bert.c: the model. */
#include "bert.h"

static LayerNorm *norm_new(const BertOptions *o)
{
    return nn_layer_norm_new_kind(o->width, ((AgNorm){ o->eps, true, false }));
}

static BertOutput *output_new(const BertOptions *o, int64_t in)
{
    BertOutput *out = nn_new(BertOutput);
    nn_child(out, dense, nn_linear_new(in, o->width));
    nn_child(out, LayerNorm, norm_new(o));
    return out;
}

static BertDense *dense_new(int64_t in, int64_t out)
{
    BertDense *d = nn_new(BertDense);
    nn_child(d, dense, nn_linear_new(in, out));
    return d;
}

static BertLayer *layer_new(const BertOptions *o)
{
    BertLayer *l = nn_new(BertLayer);
    BertAttention *a = nn_new(BertAttention);
    BertSelf *s = nn_new(BertSelf);
    nn_child(s, query, nn_linear_new(o->width, o->width));
    nn_child(s, key, nn_linear_new(o->width, o->width));
    nn_child(s, value, nn_linear_new(o->width, o->width));
    nn_child(a, self, s);
    nn_child(a, output, output_new(o, o->width));
    nn_child(l, attention, a);
    nn_child(l, intermediate, dense_new(o->width, o->hidden));
    nn_child(l, output, output_new(o, o->hidden));
    return l;
}

Bert *bert_new(BertOptions o, bool pooler)
{
    Bert *b = nn_new(Bert);
    BertEmbeddings *e = nn_new(BertEmbeddings);
    BertEncoder *c = nn_new(BertEncoder);
    nn_child(e, word_embeddings, nn_embedding_new(o.vocab, o.width));
    nn_child(e, position_embeddings, nn_embedding_new(o.positions, o.width));
    nn_child(e, token_type_embeddings, nn_embedding_new(o.types, o.width));
    nn_child(e, LayerNorm, norm_new(&o));
    nn_child(c, layer, nn_list_new());
    for (int64_t i = 0; i < o.layers; i++) {
        nn_list_add(c->layer, layer_new(&o));
    }
    nn_child(b, embeddings, e);
    nn_child(b, encoder, c);
    if (pooler) {
        nn_child(b, pooler, dense_new(o.width, o.width));
        tensor_set_requires_grad(b->pooler->dense->weight, false);
        tensor_set_requires_grad(b->pooler->dense->bias, false);
    }
    b->options = o;
    return b;
}

/* Attention to all tokens of both sides; then a network for each token. Each has the sum with its
 * input normalized, as in the first Transformer. */
static Tensor *layer(BertLayer *l, Tensor *x, Tensor *mask, int heads)
{
    BertSelf *s = l->attention->self;
    BertOutput *o = l->attention->output;
    Tensor *h = ag_attention(nn_linear(s->query, x), nn_linear(s->key, x), nn_linear(s->value, x),
                             mask, (AgAttention){ .heads = heads });
    x = nn_layer_norm(o->LayerNorm, ag_add(x, nn_linear(o->dense, h)));
    h = nn_linear_activate(l->intermediate->dense, x, AG_GELU_ERF);
    return nn_layer_norm(l->output->LayerNorm, ag_add(x, nn_linear(l->output->dense, h)));
}

Tensor *bert(Bert *b, Tensor *ids, Tensor *mask)
{
    BertEmbeddings *e = b->embeddings;
    int64_t B = tensor_dim(ids, 0), T = tensor_dim(ids, 1);
    Tensor *place = ag_add(ag_slice(e->token_type_embeddings->weight, 0, 0, 1),
                           ag_slice(e->position_embeddings->weight, 0, 0, T));
    Tensor *x = nn_layer_norm(e->LayerNorm, ag_add(nn_embedding(e->word_embeddings, ids), place));
    mask = ag_reshape(mask, SHAPE(B, 1, 1, T));
    for (int i = 0; i < b->encoder->layer->n; i++) {
        x = layer(nn_item(BertLayer, b->encoder->layer, i), x, mask, (int)b->options.heads);
    }
    return x;
}
