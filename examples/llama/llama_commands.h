/* llama_commands.h: what the commands of llama share. */
#ifndef KAERU_EXAMPLES_LLAMA_COMMANDS_H
#define KAERU_EXAMPLES_LLAMA_COMMANDS_H

#include "common/writing.h"

/* The commands: each reads its options from argv[1] on and returns the exit status. */
int llama_generate(int argc, char **argv);

#endif
