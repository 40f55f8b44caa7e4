/* gpt.c: the GPT-2 model (Radford et al. 2019). Token and position embeddings are added. The sum
 * passes through the blocks and a layer norm. The logit of each token is the dot product of the
 * result and that token's embedding. */
#include "kaeru/autograd.h"
#include "kaeru/gpt.h"
#include "language.h"

#include <math.h>

/* ---- attention: each position attends to itself and to those before it ----------------------- */

/* softmax(q k^T / sqrt(K)) v in each head, where position t attends to 0..t. nn/attention.c has the
 * same in separate steps. With a cache, the keys and values of earlier calls come before those of
 * x. */
/* (B,T,D) -> (B,T,D) */
static Tensor *attention(GPTAttention *a, Tensor *x, NnCache *cache, int layer)
{
    AgAttention how = { .heads = a->heads, .causal = true,
                        .dropout = a->module.training ? a->dropout : 0 };
    Tensor *qkv = nn_linear(a->c_attn, x), *y;                              /* (B,T,3D) */
    if (cache) {
        Tensor *part[3];
        Tensor *q = ag_split(qkv, 3, -1, part);                         /* q, k and v: (B,T,D) */
        nn_cache_append(cache, layer, part[1], part[2]);
        y = nn_cache_attention(cache, layer, q, NULL, how);
    } else {
        y = ag_self_attention(qkv, NULL, how);
    }
    return nn_dropout(a->resid_dropout, nn_linear(a->c_proj, y));
}

/* ---- feed-forward: each position by itself --------------------------------------------------- */

static Tensor *mlp(GPTMlp *m, Tensor *x)                                    /* (B,T,D) -> (B,T,D) */
{
    x = nn_linear_activate(m->c_fc, x, AG_GELU);                            /* (B,T,4D) */
    return nn_dropout(m->dropout, nn_linear(m->c_proj, x));
}

/* (B,T,D) -> (B,T,D) */
static Tensor *block(GPTBlock *b, Tensor *x, NnCache *cache, int layer)
{
    x = ag_add(x, attention(b->attn, nn_layer_norm(b->ln_1, x), cache, layer));
    return ag_add(x, mlp(b->mlp, nn_layer_norm(b->ln_2, x)));
}

/* ---- the model ------------------------------------------------------------------------------- */

static LmSizes sizes(const void *self)
{
    const GPT *m = self;
    return (LmSizes){ m->options.vocab, m->options.context, m->options.layers, m->lm_head };
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

static Tensor *body(void *self, Tensor *ids, NnCache *cache)                /* (B,T) -> (B,T,D) */
{
    GPT *m = self;
    int64_t past = lm_past("gpt_forward", ids, cache, m->options.context), n = tensor_dim(ids, 1);
    AgMark begin = ag_mark();
    Tensor *token = nn_embedding(m->wte, ids);                              /* (B,T,D) */
    Tensor *x = ag_recompute(begin, nn_dropout(m->drop, ag_add(token, positions(m, past, n))),
                             AG_CHEAP);
    for (int i = 0; i < m->h->n; i++) {
        GPTBlock *b = nn_item(GPTBlock, m->h, i);
        begin = ag_mark();
        if (ag_recording()) {
            x = ag_recompute(begin, block(b, x, cache, i),
                             m->options.recompute ? AG_PRODUCTS : AG_CHEAP);
        } else {                    /* the scope frees the values within a block for the next one */
            AgScope s = ag_begin(AG_NO_GRAD);
            x = ag_end_return(s, block(b, x, cache, i));
        }
    }
    return nn_layer_norm(m->ln_f, x);
}

Tensor *gpt_forward(GPT *m, Tensor *ids)
{
    NN_LAYER(m);
    return nn_linear(m->lm_head, body(m, ids, NULL));                       /* (B,T,V) */
}

/* ---- construction ---------------------------------------------------------------------------- */

#define DEVIATION 0.02

static Linear *linear_new(int64_t in, int64_t out, const GPTOptions *o, double deviation)
{
    Linear *l = nn_linear_new_with(in, out, o->bias);
    ag_fill_normal(l->weight, 0, deviation);
    if (o->bias) {
        ag_fill(l->bias, 0);
    }
    return l;
}

/* The last layer of a residual branch. The residual stream is the sum of 2 branches per block, so
 * smaller initial weights keep it from growing with the number of blocks. */
static Linear *branch_end_new(int64_t in, int64_t out, const GPTOptions *o)
{
    return linear_new(in, out, o, DEVIATION / sqrt(2.0 * (double)o->layers));
}

static LayerNorm *norm_new(const GPTOptions *o)
{
    return nn_layer_norm_new_with(o->width, (AgNorm){ o->eps, true, false }, o->bias);
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

GPT *gpt_new(GPTOptions options)
{
    AG_LAYER;
    static const LmFunctions functions = {
        sizes, body, &gpt_fields, offsetof(GPT, options), "transformer.", true,
    };
    if (!nn_fields_check(&gpt_fields, &options)) {
        ag_usage_error(__func__, "%s", ag_error());
    }
    GPT *m = (GPT *)nn_new_sized(sizeof *m, "GPT");
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
