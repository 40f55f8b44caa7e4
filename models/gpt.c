/* gpt.c: the GPT-2 model (Radford et al. 2019), a Transformer that predicts the next token.
 *
 *     ids (B,T) -> embed -> block, once for each layer -> layer norm (B,T,D) -> lm_head (B,T,V)
 *     block:   x = x + attention(norm(x)),   x = x + mlp(norm(x))
 *
 * B is the batch, T the time, D the width, V the vocabulary. lm_head has the weights of the token
 * embedding: the logit of a token is the dot product of the last norm's output and that token's
 * embedding. The parts stand before the whole, and the constructors in the same order after them.
 * The struct of each part is in gpt.h. Read language.c next: the loss, and the use of the cache. */
#include "kaeru/autograd.h"
#include "kaeru/gpt.h"
#include "language.h"

#include <math.h>

/* ---- attention: each position attends to itself and to those before it ----------------------- */

/* Returns softmax(q k^T / sqrt(K)) v of each head, where position t attends to 0..t: (B,T,D) ->
 * (B,T,D). K is the width of a head. nn/attention.c has the same in separate steps. With a cache,
 * the keys and values of earlier calls come before those of x. */
static Tensor *attention(GPTAttention *a, Tensor *x, NnCache *cache, int layer)
{
    double dropout = a->module.training ? a->dropout : 0;
    AgAttention how = { .heads = a->heads, .causal = true, .dropout = dropout };
    Tensor *qkv = nn_linear(a->c_attn, x);      /* (B,T,3D): q, k and v side by side */
    Tensor *y;                                  /* (B,T,D) */
    if (cache) {
        Tensor *part[3];                        /* q, k and v: (B,T,D) each */
        ag_split(qkv, 3, -1, part);
        nn_cache_append(cache, layer, part[1], part[2]);
        y = nn_cache_attention(cache, layer, part[0], NULL, how);
    } else {
        y = ag_self_attention(qkv, NULL, how);
    }
    return nn_dropout(a->resid_dropout, nn_linear(a->c_proj, y));
}

/* ---- feed-forward: each position by itself --------------------------------------------------- */

/* (B,T,D) -> (B,T,D) */
static Tensor *mlp(GPTMlp *m, Tensor *x)
{
    Tensor *h = nn_linear_activate(m->c_fc, x, AG_GELU);        /* (B,T,4D) */
    return nn_dropout(m->dropout, nn_linear(m->c_proj, h));
}

/* ---- the model ------------------------------------------------------------------------------- */

/* (B,T,D) -> (B,T,D) */
static Tensor *block(GPTBlock *b, Tensor *x, NnCache *cache, int layer)
{
    x = ag_add(x, attention(b->attn, nn_layer_norm(b->ln_1, x), cache, layer));
    return ag_add(x, mlp(b->mlp, nn_layer_norm(b->ln_2, x)));
}

/* Returns block(b, x), and saves memory. In training, large values that take little time are
 * released, and with `recompute` most values; backward computes them again. Outside training, all
 * values but the result are freed at once. */
static Tensor *lean_block(GPTBlock *b, Tensor *x, NnCache *cache, int layer, bool recompute)
{
    if (ag_recording()) {
        AgMark begin = ag_mark();
        Tensor *y = block(b, x, cache, layer);
        return ag_recompute(begin, y, recompute ? AG_PRODUCTS : AG_CHEAP);
    }
    AgScope s = ag_begin(AG_NO_GRAD);
    return ag_end_return(s, block(b, x, cache, layer));
}

/* Returns the embeddings of n positions from `first` on: (n,D). A frozen table (nn_freeze_bf16) is
 * read row by row. */
static Tensor *positions(const GPT *m, int64_t first, int64_t n)
{
    if (tensor_dtype(m->wpe->weight) == AG_REAL) {
        return ag_slice(m->wpe->weight, 0, first, first + n);
    }
    Tensor *numbers = tensor_arange((double)first, (double)(first + n), 1);
    return nn_embedding(m->wpe, ag_cast(numbers, AG_INT));
}

/* Returns the sum of the embeddings of the tokens and of their positions, which are `first` and
 * those after it: (B,T) -> (B,T,D). */
static Tensor *embed(GPT *m, Tensor *ids, int64_t first)
{
    AgMark begin = ag_mark();
    Tensor *token = nn_embedding(m->wte, ids);                          /* (B,T,D) */
    Tensor *position = positions(m, first, tensor_dim(ids, 1));         /* (T,D) */
    Tensor *x = nn_dropout(m->drop, ag_add(token, position));
    return ag_recompute(begin, x, AG_CHEAP);
}

/* Returns the input of the output layer: (B,T) -> (B,T,D). */
static Tensor *body(void *self, Tensor *ids, NnCache *cache)
{
    GPT *m = self;
    int64_t past = lm_past("gpt_forward", ids, cache, m->options.context);
    Tensor *x = embed(m, ids, past);
    for (int i = 0; i < m->h->n; i++) {
        x = lean_block(nn_item(GPTBlock, m->h, i), x, cache, i, m->options.recompute);
    }
    return nn_layer_norm(m->ln_f, x);
}

/* (B,T) -> (B,T,V) */
Tensor *gpt_forward(GPT *m, Tensor *ids)
{
    NN_LAYER_OF(m, "GPT");
    return nn_linear(m->lm_head, body(m, ids, NULL));
}

/* ---- construction ---------------------------------------------------------------------------- */

#define DEVIATION 0.02          /* the standard deviation of the initial weights */

/* Returns a layer with normal weights and, if the model has biases, a bias of 0. */
static Linear *linear_new(int64_t in, int64_t out, const GPTOptions *o, double deviation)
{
    Linear *l = nn_linear_new_with(in, out, o->bias);
    ag_fill_normal(l->weight, 0, deviation);
    if (o->bias) {
        ag_fill(l->bias, 0);
    }
    return l;
}

/* Returns the last layer of an attention or an mlp. Each block adds two of them to x, so smaller
 * initial weights keep x from growing with the number of blocks. */
static Linear *branch_end_new(int64_t in, int64_t out, const GPTOptions *o)
{
    return linear_new(in, out, o, DEVIATION / sqrt(2.0 * (double)o->layers));
}

static LayerNorm *norm_new(const GPTOptions *o)
{
    return nn_layer_norm_new_with(o->width, (AgNorm){ .eps = o->eps, .eps_inside = true }, o->bias);
}

static Embedding *table_new(int64_t rows, const GPTOptions *o)
{
    Embedding *e = nn_embedding_new(rows, o->width);
    ag_fill_normal(e->weight, 0, DEVIATION);
    return e;
}

static GPTAttention *attention_new(const GPTOptions *o)
{
    GPTAttention *a = nn_new(GPTAttention);
    a->heads = (int)o->heads;
    a->dropout = o->dropout;
    nn_child(a, c_attn, linear_new(o->width, 3 * o->width, o, DEVIATION));
    nn_child(a, c_proj, branch_end_new(o->width, o->width, o));
    nn_child(a, resid_dropout, nn_dropout_new(o->dropout));
    return a;
}

static GPTMlp *mlp_new(const GPTOptions *o)
{
    GPTMlp *m = nn_new(GPTMlp);
    nn_child(m, c_fc, linear_new(o->width, 4 * o->width, o, DEVIATION));
    nn_child(m, c_proj, branch_end_new(4 * o->width, o->width, o));
    nn_child(m, dropout, nn_dropout_new(o->dropout));
    return m;
}

static GPTBlock *block_new(const GPTOptions *o)
{
    GPTBlock *b = nn_new(GPTBlock);
    nn_child(b, ln_1, norm_new(o));
    nn_child(b, attn, attention_new(o));
    nn_child(b, ln_2, norm_new(o));
    nn_child(b, mlp, mlp_new(o));
    return b;
}

static LmSizes sizes(const void *self)
{
    const GPT *m = self;
    return (LmSizes){ m->options.vocab, m->options.context, m->options.layers, m->lm_head };
}

/* What a GPT has in common with other language models: models/language.h. */
static const LmFunctions functions = {
    .get_sizes = sizes, .run_body = body,
    .fields = &gpt_fields, .options = offsetof(GPT, options),
    .prefix = "transformer.", .transposed = true,
};

GPT *gpt_new(GPTOptions options)
{
    AG_LAYER;
    if (!nn_fields_check(&gpt_fields, &options)) {
        ag_usage_error(__func__, "%s", ag_error());
    }
    GPT *m = nn_new(GPT);
    m->module.forward = lm_forward;
    m->lm = &functions;
    m->options = options;
    nn_child(m, wte, table_new(options.vocab, &options));
    nn_child(m, wpe, table_new(options.context, &options));
    nn_child(m, drop, nn_dropout_new(options.dropout));
    nn_child(m, h, nn_list_new());
    for (int64_t i = 0; i < options.layers; i++) {
        nn_list_add(m->h, block_new(&options));
    }
    nn_child(m, ln_f, norm_new(&options));
    nn_child(m, lm_head, nn_new(Linear));
    nn_tie(m->lm_head, weight, m->wte->weight);
    return m;
}
