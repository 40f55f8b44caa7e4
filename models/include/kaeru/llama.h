/* llama.h: the decoder of today: Llama 3 (Grattafiori et al. 2024), SmolLM2, Qwen2 and Qwen3, which differ in their options.
 * RMSNorm, rotary positions, SwiGLU, fewer heads of keys and values than of queries. Modules and parameters have the names of
 * Hugging Face's models ("model.layers.0.self_attn.q_proj.weight"). Read models/llama/llama.c.
 *
 * Shapes: B batch, T time, S time including the positions in the cache, D width, H heads, H' heads of keys and values, K width
 * of a head, F hidden width, V vocabulary. Ids are AG_INT. */
#ifndef KAERU_LLAMA_H
#define KAERU_LLAMA_H

#include "kaeru/attention.h"
#include "kaeru/fields.h"
#include "kaeru/rms_norm.h"

AG_PUBLIC_BEGIN

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

enum { LLAMA_ENDS = 16 };                /* the most tokens, each of which ends a text */
typedef struct {
    int64_t layers, heads, kv_heads;        /* heads is a multiple of kv_heads */
    int64_t head_width;                     /* even; heads times head_width may differ from width */
    int64_t width, hidden, vocab;
    int64_t context;                        /* the largest number of positions */
    double eps;                             /* of the norms */
    double rope_base;                       /* of the rotary positions: 10000, 500000, 1e6 */
    /* Llama 3's scaling of the frequencies, if rope_factor is not 1. Those with a wavelength above rope_context / rope_low
     * positions are multiplied by 1 / rope_factor, those below rope_context / rope_high by 1. Between the two, this factor
     * changes linearly with 1 / wavelength. */
    double rope_factor, rope_low, rope_high, rope_context;
    double dropout;                         /* of the attention weights, in training */
    bool qkv_bias, out_bias;                /* biases in attention; Qwen2: the first */
    bool head_norms;                        /* queries and keys are normalized in each head: Qwen3 */
    bool tied;                              /* one table for input and output */
    int64_t begin, end[LLAMA_ENDS];         /* the tokens before and after a text, for programs; -1: none */
    int64_t pad;                            /* the token that fills up texts for other libraries: kept for files; -1: none */
    bool recompute;                         /* backward computes most values again (AG_PRODUCTS): less memory. Not saved */
    bool frozen;                            /* matrices are kept in bfloat16 alone: set by llama_open_with. Not saved */
} LlamaOptions;
/* Their limits and defaults, for nn_fields_check and the settings "llama.layers", ... of checkpoints. */
extern const NnFields llama_fields;
/* The sizes of SmolLM2-135M: 30 layers, 9 heads and 3 of keys and values, width 576, hidden 1536, vocabulary 49152, context
 * 8192, tied, eps 1e-5, base 100000. */
static inline LlamaOptions llama_defaults(void)
{
    LlamaOptions o;
    nn_fields_defaults(&llama_fields, &o);
    return o;
}

/* The number of parameters of such a model, as a double: sizes from a file may exceed every integer type. */
double llama_size(const LlamaOptions *o);

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct {
    Module module;
    Linear *q_proj, *k_proj, *v_proj, *o_proj;  /* D -> HK, D -> H'K, D -> H'K, HK -> D */
    RMSNorm *q_norm, *k_norm;                   /* of each head; NULL without head_norms */
    int heads, kv_heads;
    double dropout;
} LlamaAttention;

typedef struct { Module module; Linear *gate_proj, *up_proj, *down_proj; } LlamaMlp;        /* D -> F, D -> F, F -> D */

typedef struct {
    Module module;
    LlamaAttention *self_attn;
    LlamaMlp *mlp;
    RMSNorm *input_layernorm, *post_attention_layernorm;
} LlamaLayer;

typedef struct {
    Module module;
    Embedding *embed_tokens;                    /* (V,D) */
    ModuleList *layers;                         /* of LlamaLayer */
    RMSNorm *norm;
} LlamaBody;

typedef struct {
    Module module;
    const struct LmFunctions *lm;               /* what kaeru/lm.h needs of it */
    LlamaBody *model;
    Linear *lm_head;                            /* D -> V; if tied, with the weight of embed_tokens */
    Tensor *frequencies;                        /* (K/2) of the rotary positions, a buffer that is not saved */
    LlamaOptions options;
} Llama;

/* Matrices are initialized from normal(0, 0.02), biases with 0, norms with 1. Options that nn_fields_check rejects are a usage
 * error. Free with ag_free. */
Llama *llama_new(LlamaOptions options);

/* ids (B,T), T at most the context -> (B,T,V) logits of the token after each id */
Tensor *llama_forward(Llama *m, Tensor *ids);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A model with the sizes and weights of a checkpoint (see checkpoint.h). NULL with ag_error() if this fails. */
Llama *llama_load(const char *path);

/* A model from a folder in Hugging Face's layout: config.json of a Llama, Qwen2 or Qwen3, and model.safetensors, or the files
 * of model.safetensors.index.json, in F32, F16 or BF16. NULL with ag_error() if this fails, also if the config asks for what
 * this model does not have, such as windows or other scalings of the frequencies. */
Llama *llama_open(const char *folder);

/* How llama_open_with keeps the weights. */
typedef enum {
    LLAMA_REALS,        /* as reals, to be trained */
    LLAMA_FROZEN,       /* if the files have them in BF16 and products are in bfloat16: frozen, matrices of type AG_PACKED, two
                           bytes a number (nn_freeze_bf16); otherwise as reals */
    LLAMA_ROUNDED       /* frozen and packed; weights of other types than BF16 are rounded */
} LlamaWeights;
typedef struct {
    LlamaWeights weights;
    /* NULL, or how many bytes the program will need beside the weights: if memory is too small, opening fails at once */
    double (*more_bytes)(const LlamaOptions *o);
    void (*progress)(void *arg, double share);  /* NULL, or told the share of the tensors that were read; arg: for it */
    void *arg;
} LlamaOpening;
Llama *llama_open_with(const char *folder, LlamaOpening how);

/* Whether all matrices of the folder's files are in BF16. False with ag_error() also if they cannot be read. */
bool llama_is_bf16(const char *folder);

/* Writes config.json and model.safetensors into a folder, which must exist, for llama_open and Hugging Face's library. A kill
 * leaves both old files, both new ones, or no config.json: weights and config always belong together.
 * False with ag_error() also if the model has adapters (nn_lora_merge). */
bool llama_write(Llama *m, const char *folder) AG_MUST_CHECK;
/* The same with all weights rounded to bfloat16, as BF16. */
bool llama_write_bf16(Llama *m, const char *folder) AG_MUST_CHECK;

#include "kaeru/calls/llama.h"

AG_PUBLIC_END

#endif
