/* gpt.c: a GPT that trains on your text, writes, and opens GPT-2's weights. */
#include <string.h>

#include "gpt/gpt.h"

static const struct { const char *name; int (*run)(int argc, char **argv); const char *does; } commands[] = {
    { "train", gpt_train, "learns from a text (without --data: from kaeru's own sources) and then writes some" },
    { "sample", gpt_sample, "lets a trained model write" },
    { "generate", gpt_generate_command, "lets GPT-2 write, from its files in Hugging Face's layout" },
    { "eval", gpt_eval, "measures the loss on the part of a text that is held out" },
    { "tokenize", gpt_tokenize, "turns a text into a file of tokens, which trains faster and needs less memory" },
    { "export", gpt_export, "writes a trained model's files in Hugging Face's layout" },
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
    fprintf(out, "usage: gpt COMMAND [options]\n\nA decoder-only Transformer in the form of GPT-2. Commands:\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].does);
    }
    fprintf(out, "\ngpt COMMAND --help lists its options. For a start:\n"
                 "  gpt train                      a minute of C\n"
                 "  gpt train --data story.txt     any text in UTF-8\n"
                 "  gpt train --resume             goes on where a run was stopped\n"
                 "  gpt sample --prompt 'static'\n");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_usage(stdout);
        return example_end();
    }
    fprintf(stderr, "gpt: unknown command '%s' (gpt --help lists the commands)\n", name);
    return 2;
}
