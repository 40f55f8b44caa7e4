/* llama_generate.c: opens a model, and the command generate. */
#include <inttypes.h>
#include <string.h>

#include "llama_commands.h"

const char *weights_option;

LlamaWeights chosen_weights(void)
{
    const char *kind = weights_option ? weights_option : "auto";
    bool bf16 = strcmp(kind, "bf16") == 0, real = strcmp(kind, "float32") == 0;
    if (!bf16 && !real && strcmp(kind, "auto") != 0) {
        example_usage_error("--weights %s: expected auto, float32 or bf16", kind);
    }
    if (bf16 && ag_precision_now() != AG_BF16) {
        example_usage_error("--weights bf16: expected --precision bf16 with it");
    }
    return bf16 ? LLAMA_ROUNDED : real ? LLAMA_REALS : LLAMA_FROZEN;
}

static void show_progress(void *arg, double share)
{
    progress_show(arg, (int64_t)(100 * share), "reading the weights");
}

Llama *model_of_folder(const char *folder, KaeruVocab **v, LlamaWeights weights,
                       double (*more_bytes)(const LlamaOptions *o))
{
    char *path = path_in(folder, "tokenizer.json");
    *v = kaeru_vocab_open(KAERU_BPE, path, NULL);
    Progress progress = progress_begin("percent", 100);
    LlamaOpening how = { .weights = weights, .more_bytes = more_bytes, .progress = show_progress, .arg = &progress };
    Llama *m = *v ? llama_open_with(folder, how) : NULL;
    progress_end(&progress);
    if (!m) {
        example_fail("%s", ag_error());
    }
    if (kaeru_vocab_size(*v) > m->options.vocab) {
        example_fail("the vocabulary has %d tokens, the model's only %" PRId64, (int)kaeru_vocab_size(*v), m->options.vocab);
    }
    ag_free(path);
    return m;
}

Writer llama_writer(Llama *m, const KaeruVocab *v)
{
    int32_t begin = kaeru_vocab_special(v, KAERU_START), end = kaeru_vocab_special(v, KAERU_END);
    Writer w = { .model = m, .vocab = v, .begins_prompts = begin >= 0 };
    for (int i = 0; i < LLAMA_ENDS && m->options.end[i] >= 0; i++) {
        w.end[w.n_ends++] = (int32_t)m->options.end[i];
    }
    if (end >= 0) {
        w.end[w.n_ends++] = end;
    }
    w.begin = begin >= 0 ? begin : m->options.begin >= 0 ? (int32_t)m->options.begin : end >= 0 ? end : 0;
    if (w.begin >= m->options.vocab) {
        example_fail("the token before a text is %d, the model's vocabulary has %" PRId64, (int)w.begin, m->options.vocab);
    }
    return w;
}

int llama_generate(int argc, char **argv)
{
    static const char *folder;
    static Writing writing = { .tokens = 100, .how = { .temperature = 0.8, .top_k = 0, .top_p = 0.95 } };
    const NnField options[] = {
        NN_TEXT_OPTION("model", "FOLDER", folder, "with config.json, model.safetensors, tokenizer.json"),
        WRITING_OPTIONS(writing),
        NN_TEXT_OPTION("prompts", "FILE", writing.prompts, "a prompt on each line, all written in one pass"),
        NN_FLAG_OPTION("times", writing.times, "tell when the first token was there, and the speed of the others"),
        PRECISION_OPTION, WEIGHTS_OPTION, NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "llama generate",
        "Shows what Llama 3, SmolLM2, Qwen2 or Qwen3 writes. Needs --model, the folder of the model's files in Hugging\n"
        "Face's layout. The same seed gives the same text.", options });
    if (!folder) {
        example_usage_error("expected --model, the folder of a model");
    }
    if (writing.prompt && writing.prompts) {
        example_usage_error("--prompt and --prompts: expected one of them");
    }
    KaeruVocab *v;
    Llama *m = model_of_folder(folder, &v, chosen_weights(), NULL);
    nn_eval(m);
    Writer w = llama_writer(m, v);
    if (writing.prompts) {
        write_texts(&w, &writing);
    } else {
        write_text(&w, &writing);
    }
    ag_free(v);
    ag_free(m);
    return example_end();
}
