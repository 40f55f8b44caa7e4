/* gpt_files.h: a GPT from a checkpoint, and in the files of Hugging Face's GPT-2. Programs get it with kaeru/gpt.h. */
#ifndef KAERU_GPT_FILES_H
#define KAERU_GPT_FILES_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

typedef struct GPT GPT;

/* A model with the sizes and weights of a checkpoint (see checkpoint.h), whose settings must contain the sizes. NULL with
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

#include "kaeru/calls/gpt_files.h"

AG_PUBLIC_END

#endif
