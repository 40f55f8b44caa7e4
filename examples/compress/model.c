/* model.c: opens a trained model. */
#include "model.h"

#include "common/host.h"
#include "gpt/gpt_commands.h"
#include "llama/llama_commands.h"

Predictor *predictor_open(const char *path, const Settings *how)
{
    Writer w;
    int64_t vocab, context;
    if (host_is_folder(path)) {
        KaeruVocab *v;
        Llama *m = model_of_folder(path, &v, LLAMA_REALS, NULL);
        w = llama_writer(m, v);
        vocab = m->options.vocab;
        context = m->options.context;
    } else {
        TrainedModel m = trained_model_of_checkpoint(path);
        ag_free(m.settings);
        w = writer_of(&m);
        vocab = m.model->options.vocab;
        context = m.model->options.context;
    }
    if (context < 2) {
        example_fail("%s: the model sees 1 token, expected 2 or more", path);
    }
    Settings fits = *how;
    fits.window = how->window < context ? how->window : context;
    return predictor_of_model(&fits, w.model, vocab, w.vocab, w.begin);
}
