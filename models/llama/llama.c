/* llama.c: the decoder of Llama 3, SmolLM2, Qwen2 and Qwen3. The token embeddings pass through the layers and a norm. Each
 * layer adds to its input what attention, and then a feed-forward network, make of the normalized input. Positions are in
 * attention alone, which turns queries and keys by angles that grow with the position. */
#include "kaeru/autograd.h"
#include "kaeru/llama.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "language.h"
#include "llama_parts.h"

#define PI 3.14159265358979323846

/* ---- attention: each position attends to itself and to those before it ------------------------------------------- */

/* Qwen3: RMSNorm of each head by itself. */
static Tensor *normalize_heads(RMSNorm *norm, Tensor *x, int heads)             /* (B,T,HK) -> (B,T,HK) */
{
    AgShape shape = tensor_shape(x);
    Tensor *parts = ag_reshape(x, SHAPE(shape.dim[0], shape.dim[1], heads, shape.dim[2] / heads));
    return ag_reshape(nn_rms_norm(norm, parts), shape);
}

/* softmax(q k^T / sqrt(K)) v in each head, where H/H' heads of queries share one head of keys and values. `table` has the
 * angles of the positions. With a cache, the keys and values of earlier calls come before those of x. */
static Tensor *attention(LlamaAttention *a, Tensor *x, Tensor *table, NnCache *cache, int layer)    /* (B,T,D) -> (B,T,D) */
{
    Tensor *q = nn_linear(a->q_proj, x), *k = nn_linear(a->k_proj, x), *v = nn_linear(a->v_proj, x);
    if (a->q_norm) {
        q = normalize_heads(a->q_norm, q, a->heads);
        k = normalize_heads(a->k_norm, k, a->kv_heads);
    }
    q = ag_rope(q, table, a->heads, false);                                     /* (B,T,HK) */
    k = ag_rope(k, table, a->kv_heads, false);                                  /* (B,T,H'K) */
    AgAttention how = { .heads = a->heads, .kv_heads = a->kv_heads, .causal = true,
                        .dropout = a->module.training ? a->dropout : 0 };
    if (cache) nn_cache_append(cache, layer, k, v);
    Tensor *y = cache ? nn_cache_attention(cache, layer, q, NULL, how) : ag_attention(q, k, v, NULL, how);
    return nn_linear(a->o_proj, y);                                             /* y: (B,T,HK) */
}

/* ---- feed-forward: each position by itself (SwiGLU, Shazeer 2020) ------------------------------------------------ */

static Tensor *gated_mlp(LlamaMlp *m, Tensor *x)                                /* (B,T,D) -> (B,T,D) */
{
    Tensor *gate = nn_linear_activate(m->gate_proj, x, AG_SILU);                /* (B,T,F) */
    return nn_linear(m->down_proj, ag_mul(gate, nn_linear(m->up_proj, x)));
}

static Tensor *block(LlamaLayer *l, Tensor *x, Tensor *table, NnCache *cache, int layer)            /* (B,T,D) -> (B,T,D) */
{
    x = ag_add(x, attention(l->self_attn, nn_rms_norm(l->input_layernorm, x), table, cache, layer));
    return ag_add(x, gated_mlp(l->mlp, nn_rms_norm(l->post_attention_layernorm, x)));
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static LmSizes sizes(const void *self)
{
    const Llama *m = self;
    return (LmSizes){ m->options.vocab, m->options.context, m->options.layers, m->lm_head };
}

static Tensor *body(void *self, Tensor *ids, NnCache *cache)                    /* (B,T) -> (B,T,D) */
{
    Llama *m = self;
    int64_t past = lm_past("llama_forward", ids, cache, m->options.context), n = tensor_dim(ids, 1);
    Tensor *table = ag_rope_table(m->frequencies, past, n);                     /* (T,K) */
    Tensor *x = nn_embedding(m->model->embed_tokens, ids);                      /* (B,T,D) */
    for (int i = 0; i < m->model->layers->n; i++) {
        LlamaLayer *l = nn_item(LlamaLayer, m->model->layers, i);
        AgMark begin = ag_mark();
        if (ag_recording()) {
            x = ag_recompute(begin, block(l, x, table, cache, i), m->options.recompute ? AG_PRODUCTS : AG_CHEAP);
        } else {                                /* the scope frees the values within a layer for the next one */
            AgScope s = ag_begin(AG_NO_GRAD);
            x = ag_end_return(s, block(l, x, table, cache, i));
        }
    }
    return nn_rms_norm(m->model->norm, x);
}

Tensor *llama_forward(Llama *m, Tensor *ids)
{
    NN_LAYER_OF(m, "Llama");
    return nn_linear(m->lm_head, body(m, ids, NULL));                           /* (B,T,V) */
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

/* A matrix of zeros: llama_new gives it its first values, llama_open those of a file. */
static void add_matrix(Module *layer, Tensor **weight, AgShape shape, bool frozen)
{
    bool packed = frozen && shape.dim[1] % 2 == 0;
    nn_add_tensor(layer, weight, shape, packed ? AG_PACKED : AG_REAL, !packed, true, "weight");
}

static Linear *linear_new(int64_t in, int64_t out, bool bias, bool frozen)
{
    Linear *l = nn_new(Linear);
    add_matrix(&l->module, &l->weight, SHAPE(out, in), frozen);
    if (bias) nn_param(l, bias, SHAPE(out));
    return l;
}

static LlamaAttention *attention_new(const LlamaOptions *o)
{
    LlamaAttention *a = nn_new(LlamaAttention);
    int64_t queries = o->heads * o->head_width, keys = o->kv_heads * o->head_width;
    a->heads = (int)o->heads;
    a->kv_heads = (int)o->kv_heads;
    a->dropout = o->dropout;
    nn_child(a, q_proj, linear_new(o->width, queries, o->qkv_bias, o->frozen));
    nn_child(a, k_proj, linear_new(o->width, keys, o->qkv_bias, o->frozen));
    nn_child(a, v_proj, linear_new(o->width, keys, o->qkv_bias, o->frozen));
    nn_child(a, o_proj, linear_new(queries, o->width, o->out_bias, o->frozen));
    if (o->head_norms) {
        nn_child(a, q_norm, nn_rms_norm_new_with(o->head_width, o->eps));
        nn_child(a, k_norm, nn_rms_norm_new_with(o->head_width, o->eps));
    }
    return a;
}

static LlamaMlp *mlp_new(const LlamaOptions *o)
{
    LlamaMlp *m = nn_new(LlamaMlp);
    nn_child(m, gate_proj, linear_new(o->width, o->hidden, false, o->frozen));
    nn_child(m, up_proj, linear_new(o->width, o->hidden, false, o->frozen));
    nn_child(m, down_proj, linear_new(o->hidden, o->width, false, o->frozen));
    return m;
}

static LlamaLayer *layer_new(const LlamaOptions *o)
{
    LlamaLayer *l = nn_new(LlamaLayer);
    nn_child(l, self_attn, attention_new(o));
    nn_child(l, mlp, mlp_new(o));
    nn_child(l, input_layernorm, nn_rms_norm_new_with(o->width, o->eps));
    nn_child(l, post_attention_layernorm, nn_rms_norm_new_with(o->width, o->eps));
    return l;
}

static LlamaBody *body_new(const LlamaOptions *o)
{
    LlamaBody *b = nn_new(LlamaBody);
    nn_child(b, embed_tokens, nn_new(Embedding));
    add_matrix(&b->embed_tokens->module, &b->embed_tokens->weight, SHAPE(o->vocab, o->width), o->frozen);
    nn_child(b, layers, nn_list_new());
    for (int64_t i = 0; i < o->layers; i++) nn_list_add(b->layers, layer_new(o));
    nn_child(b, norm, nn_rms_norm_new_with(o->width, o->eps));
    return b;
}

/* Llama 3's frequency for long texts, from that of the model's first training, whose context was rope_context. Each step is
 * rounded to float, in the order of the library `transformers`, so that both get the same frequencies. */
static float scaled_frequency(const LlamaOptions *o, float frequency)
{
    float wavelength = 1 / frequency * (float)(2 * PI), turns = 1 / wavelength * (float)o->rope_context;
    float kept = (turns - (float)o->rope_low) / (float)(o->rope_high - o->rope_low);
    if (turns > (float)o->rope_high) kept = 1;
    if (turns < (float)o->rope_low) kept = 0;
    return (1 - kept) * frequency / (float)o->rope_factor + kept * frequency;
}

static void set_frequencies(Llama *m)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *f = ag_rope_frequencies(m->options.head_width, m->options.rope_base);
    ag_real *values = tensor_mutable_data(f);
    for (int64_t i = 0; m->options.rope_factor != 1 && i < tensor_numel(f); i++)
        values[i] = (ag_real)scaled_frequency(&m->options, (float)values[i]);
    tensor_copy(m->frequencies, f);
    ag_end(s);
}

Llama *llama_of_zeros(LlamaOptions options)
{
    static const LmFunctions functions = { sizes, body, &llama_fields, offsetof(Llama, options), "model.", false };
    Llama *m = nn_new(Llama);
    m->module.forward = lm_forward;
    m->lm = &functions;
    m->options = options;
    nn_child(m, model, body_new(&options));
    nn_child(m, lm_head, options.tied ? nn_new(Linear) : linear_new(options.width, options.vocab, false, options.frozen));
    if (options.tied) nn_tie(m->lm_head, weight, m->model->embed_tokens->weight);
    nn_buffer_with(m, frequencies, SHAPE(options.head_width / 2), AG_REAL, false);
    set_frequencies(m);
    return m;
}

Llama *llama_new(LlamaOptions options)
{
    AG_LAYER;
    if (!nn_fields_check(&llama_fields, &options)) ag_usage_error(__func__, "%s", ag_error());
    options.frozen = false;
    Llama *m = llama_of_zeros(options);
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        if (tensor_ndim(p->item[i].tensor) >= 2) ag_fill_normal(p->item[i].tensor, 0, 0.02);
    ag_free(p);
    return m;
}
