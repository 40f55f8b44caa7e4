/* gpt.c: a GPT that trains on your text, writes, and opens GPT-2's weights. */
#include "gpt/gpt_commands.h"

int main(int argc, char **argv)
{
    static const Command commands[] = {
        { "train", gpt_train, "learns from a text (without --data: from kaeru's own sources) and then writes some" },
        { "sample", gpt_sample, "lets a trained model write" },
        { "generate", gpt_generate_command, "lets GPT-2 write, from its files in Hugging Face's layout" },
        { "eval", gpt_eval, "measures the loss on the part of a text that is held out" },
        { "tokenize", gpt_tokenize, "turns a text into a file of tokens, which trains faster and needs less memory" },
        { "export", gpt_export, "writes a trained model's files in Hugging Face's layout" },
        COMMANDS_END
    };
    return example_commands(argc, argv, &(Commands){ "gpt", "A decoder-only Transformer in the form of GPT-2.",
                                                     commands, NULL,
        "  gpt train                      a minute of C\n"
        "  gpt train --data story.txt     any text in UTF-8\n"
        "  gpt train --resume             goes on where a run was stopped\n"
        "  gpt sample --prompt 'static'\n" });
}
