/* llama_generate.c: opens a model, and the command generate. */
#include <inttypes.h>
#include <string.h>

#include "llama_commands.h"

char *path_in(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = ag_alloc(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

Llama *model_of_folder(const char *folder, KaeruVocab **v)
{
    char *path = path_in(folder, "tokenizer.json");
    *v = kaeru_vocab_open(KAERU_BPE, path, NULL);
    Llama *m = *v ? llama_open(folder) : NULL;
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
        WRITING_OPTIONS(writing), PRECISION_OPTION, NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "llama generate",
        "Shows what Llama 3, SmolLM2, Qwen2 or Qwen3 writes. Needs --model, the folder of the model's files in Hugging\n"
        "Face's layout. The same seed gives the same text.", options });
    if (!folder) {
        example_usage_error("expected --model, the folder of a model");
    }
    KaeruVocab *v;
    Llama *m = model_of_folder(folder, &v);
    nn_eval(m);
    Writer w = llama_writer(m, v);
    write_text(&w, &writing);
    ag_free(v);
    ag_free(m);
    return example_end();
}
