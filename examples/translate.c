/* translate.c: an encoder-decoder Transformer learns to translate, from two files or from its own English and Japanese. */
#include "translate/translate_commands.h"

int main(int argc, char **argv)
{
    static const Command commands[] = {
        { "train", translate_train, "learns from pairs of sentences and translates held-out ones" },
        { "translate", translate_translate, "translates the lines of standard input" },
        { "score", translate_score, "translates a file and measures its BLEU score" },
        { "show", translate_show, "translates a sentence and draws the attention weights" },
        COMMANDS_END
    };
    return example_commands(argc, argv, &(Commands){ "translate",
        "An encoder-decoder Transformer that learns to translate.", commands, "train",
        "  translate                      learns English to Japanese, in a minute\n"
        "  echo 'This is my old book .' | translate translate\n"
        "  translate show --sentence 'There is a cat under the table .'\n"
        "  translate train --train-src a.de --train-tgt a.en --valid-src b.de --valid-tgt b.en\n"
        "  translate train --resume       resumes a run that was stopped\n" });
}
