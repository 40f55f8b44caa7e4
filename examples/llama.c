/* llama.c: the decoders of today, Llama 3, SmolLM2, Qwen2 and Qwen3: writes and learns with their files. */
#include "llama/llama_commands.h"

int main(int argc, char **argv)
{
    static const Command commands[] = {
        { "generate", llama_generate, "writes with a model from its folder" },
        { "finetune", llama_finetune, "learns a text, or pairs of a question and an answer, with LoRA or with all weights" },
        COMMANDS_END
    };
    return example_commands(argc, argv, &(Commands){ "llama", "Llama 3, SmolLM2, Qwen2 and Qwen3 from Hugging Face's folders.",
                                                     commands, NULL,
        "  llama generate --model FOLDER --prompt 'Once upon a time'\n"
        "  llama finetune --model FOLDER --data pairs.jsonl\n" });
}
