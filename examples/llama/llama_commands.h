/* llama_commands.h: what the commands of llama share. */
#ifndef KAERU_EXAMPLES_LLAMA_COMMANDS_H
#define KAERU_EXAMPLES_LLAMA_COMMANDS_H

#include "common/writing.h"

/* The commands: each reads its options from argv[1] on and returns the exit status. */
int llama_generate(int argc, char **argv);
int llama_finetune(int argc, char **argv);

/* These end the program with the library's message if a file cannot be used, or if the two do not fit together. more_bytes: see
 * LlamaOpening. */
Llama *model_of_folder(const char *folder, KaeruVocab **v, LlamaWeights weights,
                       double (*more_bytes)(const LlamaOptions *o));
Writer llama_writer(Llama *m, const KaeruVocab *v);
/* --weights: how the weights are kept. */
extern const char *weights_option;
#define WEIGHTS_OPTION \
    NN_TEXT_OPTION("weights", "KIND", weights_option, \
                   "in memory: auto (the default): bfloat16 if the files and products are; float32; bf16: rounded to it")
LlamaWeights chosen_weights(void);

#endif
