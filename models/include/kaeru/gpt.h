/* gpt.h: a decoder-only Transformer that predicts the next token (Radford et al. 2018), in the form of GPT-2 (Radford
 * et al. 2019): pre-norm, learned positions, GELU, one embedding table for input and output. Modules and parameters have
 * the names of Hugging Face's GPT-2. kaeru/lm.h has its loss, training and generation. Read models/gpt.c.
 *
 * Shapes: B batch, T time, S time including the positions in the cache, D width, H heads, K = D/H, V vocabulary. Ids are
 * AG_INT. */
#ifndef KAERU_GPT_H
#define KAERU_GPT_H

#include "kaeru/attention.h"
#include "kaeru/fields.h"

AG_PUBLIC_BEGIN

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t layers, heads, width, vocab;
    int64_t context;            /* the largest number of positions */
    double dropout;
    bool bias;                  /* whether linear layers and norms have biases */
    double eps;                 /* of the norms */
    bool recompute;             /* backward computes most values of a block again (AG_PRODUCTS): less memory. Not saved. */
} GPTOptions;
/* Their limits and defaults, for nn_fields_check and the settings "gpt.layers", "gpt.heads", ... of checkpoints. */
extern const NnFields gpt_fields;
/* The smallest GPT-2: 12 layers, 12 heads, width 768, vocabulary 50257, context 1024, dropout 0.1, biases, eps 1e-5. */
static inline GPTOptions gpt_defaults(void)
{
    GPTOptions o;
    nn_fields_defaults(&gpt_fields, &o);
    return o;
}

/* The number of parameters of such a model. It is a double, because sizes from a file may exceed every integer type. */
double gpt_size(const GPTOptions *o);

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct {
    Module module;
    Linear *c_attn, *c_proj;                /* D -> 3D: q, k and v side by side; D -> D */
    Dropout *resid_dropout;
    int heads;
    double dropout;                         /* of the attention weights, in training */
} GPTAttention;

typedef struct { Module module; Linear *c_fc, *c_proj; Dropout *dropout; } GPTMlp;          /* D -> 4D -> D */

typedef struct { Module module; LayerNorm *ln_1; GPTAttention *attn; LayerNorm *ln_2; GPTMlp *mlp; } GPTBlock;

typedef struct {
    Module module;
    const struct LmFunctions *lm;           /* what kaeru/lm.h needs of it */
    Embedding *wte, *wpe;                   /* tokens (V,D), positions (context,D) */
    Dropout *drop;
    ModuleList *h;                          /* of GPTBlock */
    LayerNorm *ln_f;
    Linear *lm_head;                        /* D -> V, with the weight of wte */
    GPTOptions options;
} GPT;

/* Weights are initialized from normal(0, 0.02), in the last layer of a residual branch from normal(0, 0.02 / sqrt(2 layers)).
 * Biases start at 0. Options that nn_fields_check rejects are a usage error. Free with ag_free. */
GPT *gpt_new(GPTOptions options);

/* ids (B,T), T at most the context -> (B,T,V) logits of the token after each id */
Tensor *gpt_forward(GPT *m, Tensor *ids);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A model with the sizes and weights of a checkpoint (see module.h), whose settings must contain the sizes. NULL with
 * ag_error() if this fails. */
GPT *gpt_load(const char *path);

/* A model from GPT-2's files in Hugging Face's layout, model.safetensors and config.json. There, the matrices of the
 * layers are stored transposed, as (in, out). Names may begin with "transformer.". Masks (h.0.attn.bias) are ignored. If
 * lm_head.weight exists, it must equal the token table. If ln_f.bias is missing, the model has no biases. NULL with
 * ag_error() if this fails. */
GPT *gpt_open(const char *weights_path, const char *config_path);

/* Writes the two files, which gpt_open and Hugging Face's library can open. If the model has no biases, the file has
 * biases of 0, because the library's GPT-2 always has biases. A kill leaves both old files, both new ones, or no config:
 * weights and config always belong together. False with ag_error() also if the model has adapters (nn_lora_merge). */
bool gpt_write(GPT *m, const char *weights_path, const char *config_path) AG_MUST_CHECK;

#include "kaeru/calls/gpt.h"

AG_PUBLIC_END

#endif
