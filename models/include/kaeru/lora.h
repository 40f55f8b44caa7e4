/* lora.h: fine-tuning with few parameters (Hu et al. 2021, "LoRA"): a Linear computes W x + (alpha / rank) B A x, where W is
 * frozen, and A (rank,in) and B (out,rank) are trained. Frozen weights need no gradients and no state of an optimizer.
 *
 *     static const char *const targets[] = { "q_proj", "v_proj", NULL };
 *     if (!nn_lora_add(model, (NnLoraOptions){ .rank = 8, .alpha = 16, .targets = targets })) return false;
 *     Optimizer *o = nn_adamw_new(model, 1e-4);           ... train ...
 *     if (!nn_lora_save(model, "adapter")) return false;  for the library peft, and nn_lora_load
 *     nn_lora_merge(model);                               the model is as before, with the adapters in its weights
 *
 * An adapter acts in nn_linear; code that reads Linear.weight itself does not see it. Its parameters have names as if they were
 * parts of the Linear: "q_proj.lora_A.weight". */
#ifndef KAERU_LORA_H
#define KAERU_LORA_H

#include "kaeru/nn.h"

AG_PUBLIC_BEGIN

/* An adapter, which is Linear.adapter: in -> rank -> out, in training with dropout before. alpha may be changed. */
typedef struct { Module module; Linear *lora_A, *lora_B; Dropout *lora_dropout; double alpha; } Lora;

/* targets: the names of the Linears to adapt, which end with NULL: "q_proj" is each Linear of that name, however deep. */
typedef struct { int64_t rank; double alpha, dropout; const char *const *targets; } NnLoraOptions;
/* Freezes all parameters of the module except those of adapters, and adds adapters to the named Linears. A starts uniform
 * in +-1/sqrt(in), B at 0, so that the module computes the same as before. More calls add more adapters, which may have another
 * rank and alpha. False with ag_error(), and nothing has changed, if a target is the name of no Linear, or of one whose weight
 * is tied to another module's. A Linear that has an adapter of any kind, a rank below 1, or a dropout outside [0, 1) is a
 * usage error, and nothing has changed. */
bool nn_lora_add(void *module, NnLoraOptions options) AG_MUST_CHECK;

/* Adds the adapters to the weights and removes them, but leaves those that are not LoRA; ag_precision does not matter. The
 * weights stay frozen. Optimizers of the module are not valid afterwards. Parameters that are tied to the weight of a Linear
 * change, too. */
void nn_lora_merge(void *module);

/* Writes adapter_config.json and adapter_model.safetensors into a folder, which must exist, for the library peft. The names are
 * those of the module, and target_modules is one regular expression that matches the Linears with adapters alone. A Llama and
 * a GPT have the names of the classes that transformers' AutoModelForCausalLM makes, such as LlamaForCausalLM and
 * GPT2LMHeadModel, a list as target_modules, and the task type CAUSAL_LM; other modules have no task type. A kill leaves both
 * old files, both new ones, or no adapter_config.json: weights and config always belong together. False with ag_error() if
 * the files cannot be written, if a Linear has an adapter that is not LoRA, or if the adapters do not have the same dropout:
 * peft has one for all. A module that is itself a Linear is a usage error, here and in nn_lora_load: it has no name for the
 * file. */
bool nn_lora_save(void *module, const char *folder) AG_MUST_CHECK;
/* base: the folder or the name of the model without adapters, from which peft's AutoPeftModelForCausalLM opens it. It is null
 * in the file if this is NULL, or is not UTF-8. */
typedef struct { const char *base; } NnLoraSaveOptions;
/* nn_lora_save with options. */
bool nn_lora_save_with(void *module, const char *folder, NnLoraSaveOptions options) AG_MUST_CHECK;

/* Adds the adapters of a folder that nn_lora_save or peft wrote, and freezes the other parameters. False with ag_error() if
 * the files cannot be read or do not fit; the module then has no adapters. The file of weights says which Linears have
 * adapters, and of what rank. An adapter that peft would ignore because of target_modules, exclude_modules or
 * layers_to_transform is refused; what only a regular expression decides is not compared, unless it is names with | between
 * them. The names may be those of transformers' class with the output layer or without it. If the file has a copy of a weight
 * of the model ("lm_head.base_layer.weight", which peft adds to an adapter of the output layer), it replaces the weight, as in
 * peft, rounded if the weight is of type AG_PACKED. A tensor that peft would ignore is refused by its name, such as
 * "lm_head.weight" if the output layer has an adapter. A message with the name of the setting refuses: DoRA, rsLoRA, aLoRA,
 * biases and whatever else peft computes in another way; init_lora_weights that changes the model's weights, as PiSSA does;
 * keys of alpha_pattern that are more than a name or its end; values that peft does not take; and settings that are unknown
 * here, unless they are null or false. An empty value of a setting that peft then does not use is accepted. Without
 * lora_alpha, alpha is 8, as in peft. */
bool nn_lora_load(void *module, const char *folder) AG_MUST_CHECK;

#include "kaeru/calls/lora.h"

AG_PUBLIC_END
#endif
