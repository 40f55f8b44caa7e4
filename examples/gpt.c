/* gpt.c: a decoder-only Transformer: learns a text, writes, and opens GPT-2's weights. */
#include "gpt/gpt_commands.h"

int main(int argc, char **argv)
{
    static const Command commands[] = {
        { "train", gpt_train, "learns a text (without --data: kaeru's own sources) and writes" },
        { "sample", gpt_sample, "writes with a trained model" },
        { "generate", gpt_generate_command, "writes with GPT-2, from its files in Hugging Face's layout" },
        { "eval", gpt_eval, "measures the loss on the held-out part of a text" },
        { "tokenize", gpt_tokenize, "encodes a text as a file of tokens; training with it is faster and needs less memory" },
        { "export", gpt_export, "writes a trained model in Hugging Face's layout" },
        COMMANDS_END
    };
    return example_commands(argc, argv, &(Commands){ "gpt", "A decoder-only Transformer like GPT-2.",
                                                     commands, NULL,
        "  gpt train                      learns C code, in a minute\n"
        "  gpt train --data story.txt     any text in UTF-8\n"
        "  gpt train --resume             resumes a run that was stopped\n"
        "  gpt sample --prompt 'static'\n" });
}
