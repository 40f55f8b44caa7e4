/* sizes.c: reads the options of a checkpoint's model, and compares the size of a file with that of a model. */
#include "sizes.h"

#include "file.h"

bool checkpoint_options(const char *path, const NnFields *fields, void *o)
{
    NnSettings *s = nn_settings_new();
    bool good = nn_checkpoint_settings(path, s) &&
                (nn_fields_from_settings(fields, o, s) || ag_set_error("%s: %s", path, ag_error()));
    ag_free(s);
    return good;
}

bool checkpoint_may_hold(const char *path, double parameters)
{
    File *file = file_open(path, false);
    if (!file) return false;
    double size = (double)file->size;
    ag_free(file);
    return parameters * 2 <= size ||
           ag_set_error("%s: %.0f bytes are too few for the model that its settings describe, of %.0f parameters or more",
                        path, size, parameters);
}

bool weights_may_hold(const NnTensorFile *f, double parameters)
{
    double numbers = 0;
    for (size_t i = 0; i < f->n_tensors; i++) numbers += (double)f->tensor[i].numel;
    return parameters <= numbers || ag_set_error("%s: has %.0f numbers, expected the %.0f of the config's model",
                                                 f->file->name, numbers, parameters);
}
