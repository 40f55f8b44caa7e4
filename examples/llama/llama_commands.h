/* llama_commands.h: what the commands of llama share. */
#ifndef KAERU_EXAMPLES_LLAMA_COMMANDS_H
#define KAERU_EXAMPLES_LLAMA_COMMANDS_H

#include "common/writing.h"

/* The commands: each reads its options from argv[1] on and returns the exit status. */
int llama_generate(int argc, char **argv);
int llama_finetune(int argc, char **argv);

/* A folder, a slash and a name; free it with ag_free. */
char *path_in(const char *folder, const char *name);
/* These end the program with the library's message if a file cannot be used, or if the two do not fit together. */
Llama *model_of_folder(const char *folder, KaeruVocab **v);
Writer llama_writer(Llama *m, const KaeruVocab *v);

#endif
