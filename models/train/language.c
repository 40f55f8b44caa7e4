/* language.c: one interface to the language models. */
#include "language.h"

#include <string.h>

Language language_of(AgSite at, const char *what, const void *module)
{
    nn_check_at(at, what, module, 0);
    const char *type = ((const Module *)module)->type;
    Language l = { 0 };
    if (strcmp(type, "GPT") == 0) {
        nn_check_at(at, what, module, sizeof *l.gpt);
        l.gpt = (GPT *)module;
        l.vocab = l.gpt->options.vocab;
        l.context = l.gpt->options.context;
    } else if (strcmp(type, "Llama") == 0) {
        nn_check_at(at, what, module, sizeof *l.llama);
        l.llama = (Llama *)module;
        l.vocab = l.llama->options.vocab;
        l.context = l.llama->options.context;
    } else {
        ag_usage_error(at, what, "this %s is not a language model: expected a GPT or a Llama", type);
    }
    return l;
}

Tensor *language_loss(const Language *l, Tensor *ids, Tensor *targets, AgReduce reduce)
{
    return l->gpt ? gpt_loss_with(l->gpt, ids, targets, reduce) : llama_loss_with(l->llama, ids, targets, reduce);
}

Tensor *language_next(const Language *l, Tensor *ids, NnCache *cache)
{
    return l->gpt ? gpt_next(l->gpt, ids, cache) : llama_next(l->llama, ids, cache);
}

NnCache *language_cache(const Language *l)
{
    return l->gpt ? gpt_cache_new(l->gpt) : llama_cache_new(l->llama);
}

void language_settings(const Language *l, NnSettings *s)
{
    if (l->gpt) nn_fields_to_settings(&gpt_fields, &l->gpt->options, s);
    else nn_fields_to_settings(&llama_fields, &l->llama->options, s);
}
