/* gpt.h: a decoder-only Transformer that predicts the next token (Radford et al. 2018), in the form
 * of GPT-2 (Radford et al. 2019): pre-norm, learned positions, GELU, one embedding table for input
 * and output.
 *
 *     GPTOptions o = gpt_defaults();
 *     o.layers = 4;
 *     GPT *m = gpt_new(o);
 *     Tensor *logits = gpt_forward(m, ids);               // (B,T) -> (B,T,V)
 *
 * Modules and parameters have the names of Hugging Face's GPT-2. kaeru/language.h has the loss,
 * kaeru/lm.h training and generation. models/gpt.c is the model itself, to be read.
 *
 * Shapes: B batch, T time, S time including the positions in the cache, D width, H heads, K = D/H,
 * V vocabulary. Ids are AG_INT. */
#ifndef KAERU_GPT_H
#define KAERU_GPT_H

#include "kaeru/attention.h"
#include "kaeru/fields.h"

AG_PUBLIC_BEGIN

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct {
    int64_t layers, heads, width, vocab;
    int64_t context;            /* the largest number of positions */
    double dropout;
    bool bias;                  /* whether linear layers and norms have biases */
    double eps;                 /* eps of the norms */
    bool recompute;             /* whether backward computes most values of a block again
                                   (AG_PRODUCTS): less memory, more time. Not saved in files. */
} GPTOptions;
/* The limits and defaults of the options, for nn_fields_check and for the settings "gpt.layers",
 * "gpt.heads", ... of checkpoints. */
extern const NnFields gpt_fields;
/* Returns the options of the smallest GPT-2: 12 layers, 12 heads, width 768, vocabulary 50257,
 * context 1024, dropout 0.1, biases, eps 1e-5. */
static inline GPTOptions gpt_defaults(void)
{
    GPTOptions o;
    nn_fields_defaults(&gpt_fields, &o);
    return o;
}

/* Returns the number of parameters of such a model. It is a double, since sizes from a file may
 * exceed every integer type. */
double gpt_size(const GPTOptions *o);

/* ---- the model ------------------------------------------------------------------------------- */

/* Causal self-attention: each position attends to itself and to those before it. */
typedef struct {
    Module module;
    Linear *c_attn;                         /* D -> 3D: q, k and v side by side */
    Linear *c_proj;                         /* D -> D */
    Dropout *resid_dropout;
    int heads;
    double dropout;                         /* of the attention weights, in training */
} GPTAttention;

/* The feed-forward network of each position: D -> 4D -> D. */
typedef struct { Module module; Linear *c_fc, *c_proj; Dropout *dropout; } GPTMlp;

/* x + attn(ln_1(x)), then x + mlp(ln_2(x)). */
typedef struct {
    Module module;
    LayerNorm *ln_1;
    GPTAttention *attn;
    LayerNorm *ln_2;
    GPTMlp *mlp;
} GPTBlock;

typedef struct GPT {
    Module module;
    const struct LmFunctions *lm;           /* the functions that language.h and lm.h call */
    Embedding *wte, *wpe;                   /* tokens (V,D), positions (context,D) */
    Dropout *drop;
    ModuleList *h;                          /* the blocks: items are GPTBlock */
    LayerNorm *ln_f;
    Linear *lm_head;                        /* D -> V, with the weight of wte */
    GPTOptions options;
} GPT;

/* Returns a new model. Weights start normal with deviation 0.02, those of each c_proj with 0.02 /
 * sqrt(2 layers). Biases start at 0. Options that nn_fields_check rejects are a usage error. Free
 * the model with ag_free. */
GPT *gpt_new(GPTOptions options);

/* Returns the logits of the token after each id: (B,T) -> (B,T,V). T is at most the context. */
Tensor *gpt_forward(GPT *m, Tensor *ids);

#include "kaeru/calls/gpt.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/gpt_files.h"
#endif

#endif
