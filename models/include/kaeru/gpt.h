/* gpt.h: a decoder-only Transformer that predicts the next token (Radford et al. 2018), in the form of GPT-2 (Radford
 * et al. 2019): norms first, learned positions, GELU, one table for input and output. Names of modules and parameters
 * are those of Hugging Face's GPT-2. Read models/gpt.c.
 *
 * Shapes: B batch, T time, S time with the past, D width, H heads, K = D/H, V vocabulary. Ids are AG_INT. */
#ifndef KAERU_GPT_H
#define KAERU_GPT_H

#include "kaeru/attention.h"

#pragma GCC visibility push(default)

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t layers, heads, width, vocab;
    int64_t context;            /* positions, the most that the model can look back on */
    double dropout;
    bool bias;                  /* of linear layers and norms */
    double eps;                 /* of the norms */
} GPTOptions;
/* GPT-2's smallest: 12 layers, 12 heads, width 768, vocabulary 50257, context 1024, dropout 0.1, biases, eps 1e-5. */
GPTOptions gpt_defaults(void);
/* Whether they make a model; false with ag_error(): "a width of 100 does not divide into 3 heads". */
bool gpt_check(const GPTOptions *o);
/* How many parameters that model has. A double: what a file says may be beyond every integer. */
double gpt_size(const GPTOptions *o);
/* The same as texts "gpt.layers", "gpt.heads", ..., for checkpoints; reading checks them. */
void gpt_to_settings(const GPTOptions *o, Settings *s);
bool gpt_from_settings(GPTOptions *o, const Settings *s);

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct {
    Module module;
    Linear *c_attn, *c_proj;                /* D -> 3D: q, k and v side by side; D -> D */
    Dropout *resid_dropout;
    int heads;
    double dropout;                         /* of the attention's weights, in training */
} GPTAttention;

typedef struct { Module module; Linear *c_fc, *c_proj; Dropout *dropout; } GPTMlp;          /* D -> 4D -> D */

typedef struct { Module module; LayerNorm *ln_1; GPTAttention *attn; LayerNorm *ln_2; GPTMlp *mlp; } GPTBlock;

typedef struct {
    Module module;
    Embedding *wte, *wpe;                   /* tokens (V,D), the output layer too; positions (context,D) */
    Dropout *drop;
    ModuleList *h;                          /* of GPTBlock */
    LayerNorm *ln_f;
    GPTOptions options;
} GPT;

/* Weights are normal(0, 0.02); of layers that end a residual branch, normal(0, 0.02 / sqrt(2 layers)); biases 0.
 * Options that gpt_check refuses are misuse. Free with nn_free. */
GPT *gpt_new_at(Site at, GPTOptions options);
/* ids (B,T), T at most the context -> (B,T,V) logits of the token that follows each */
Tensor *gpt_at(Site at, GPT *m, Tensor *ids);
/* The mean of -log p(target): ids and targets (B,T); target -100 counts for nothing -> scalar */
Tensor *gpt_loss_at(Site at, GPT *m, Tensor *ids, Tensor *targets);

/* ---- one token after another ------------------------------------------------------------------------------------- */

/* Room for the keys and values of all layers and `context` positions. Free with ag_free. */
Cache *gpt_cache_new_at(Site at, const GPT *m);
/* ids (B,T) behind those that the cache has -> (B,V) logits of what follows the last of them; the cache has them, too,
 * then. No gradients. */
Tensor *gpt_next_at(Site at, GPT *m, Tensor *ids, Cache *cache);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A model with sizes and weights of a checkpoint (see nn.h) whose settings have them. NULL with ag_error(). */
GPT *gpt_load(const char *path);
/* A model from GPT-2's files in Hugging Face's layout: config.json and model.safetensors. The matrices of its layers
 * lie there transposed, as (in, out). Names may begin with "transformer."; masks (h.0.attn.bias) are passed over, and
 * lm_head.weight must be the token table. Without ln_f.bias, the model has no biases. NULL with ag_error(). */
GPT *gpt_open(const char *weights_path, const char *config_path);
/* Replaces (or makes) the two files, which gpt_open and Hugging Face's library open. Biases that the model does not
 * have are written as zeros, since that library knows no GPT-2 without. */
bool gpt_write(GPT *m, const char *weights_path, const char *config_path);

#include "kaeru/models_at.h"

#pragma GCC visibility pop

#endif
