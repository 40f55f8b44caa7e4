/* model.c: opens a trained model. */
#include "model.h"

#include <dirent.h>
#include <string.h>

#include "common/host.h"
#include "gpt/gpt_commands.h"
#include "llama/llama_commands.h"

/* Whether a file of that name in the folder --model can be one of the model's. */
static bool may_be_read(const char *name)
{
    static const char *const endings[] = { ".json", ".safetensors", ".jinja" };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (n >= ending && strcmp(name + n - ending, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

void must_not_be_of_model(const char *path, const char *model)
{
    DIR *folder = opendir(model);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        char *file = path_in(model, entry->d_name);
        if (may_be_read(entry->d_name) && kaeru_text_is_same_file(file, path)) {
            example_fail("cannot write %s: --model needs this file; expected another name", path);
        }
        ag_free(file);
    }
    if (folder) {
        closedir(folder);
    }
}

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
