/* translate.c: learns to translate, from two files of sentences or from its own English and Japanese. */
#include <string.h>

#include "translate/translate.h"

static const struct { const char *name; int (*run)(int argc, char **argv); const char *does; } commands[] = {
    { "train", translate_train, "learns from pairs of sentences and translates some that it has not seen" },
    { "translate", translate_translate, "translates the lines of standard input" },
    { "score", translate_score, "translates a file and measures BLEU against another one" },
    { "show", translate_show, "translates a sentence and draws where the attention went" },
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_usage(FILE *out)
{
    fprintf(out, "usage: translate [COMMAND] [options]\n\n"
                 "An encoder-decoder Transformer, from pairs of sentences to translations. Commands:\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].does);
    }
    fprintf(out, "\ntranslate COMMAND --help lists its options. Without a command it is train. For a start:\n"
                 "  translate                      English to Japanese, a minute\n"
                 "  echo 'This is my old book .' | translate translate\n"
                 "  translate show --sentence 'There is a cat under the table .'\n"
                 "  translate train --train-src a.de --train-tgt a.en --valid-src b.de --valid-tgt b.en\n"
                 "  translate train --resume       goes on where a run was stopped\n");
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "train";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_usage(stdout);
        return example_end();
    }
    if (name[0] == '-' || argc < 2) {
        return translate_train(argc, argv);
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "translate: unknown command '%s' (translate --help lists the commands)\n", name);
    return 2;
}
