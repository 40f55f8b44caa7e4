/* model_files.c: reads the options of a checkpoint's model, compares the size of a file with that of a model, and loads
 * weights. */
#include "config.h"
#include "kaeru/nn.h"
#include "kaeru/tensor_files.h"
#include "model_files.h"
#include "stored.h"
#include "system.h"
#include "walk.h"

bool checkpoint_options(const char *path, const NnFields *fields, void *o)
{
    NnSettings *s = nn_settings_new();
    bool good = nn_checkpoint_settings(path, s) && nn_fields_from_settings(fields, o, s);
    ag_free(s);
    return good;
}

bool weights_may_hold(const char *path, double parameters, double tensors)
{
    NnTensorFile *f = tensor_file_open(path);
    if (!f) return false;
    double numbers = 0;
    for (size_t i = 0; i < f->n_tensors; i++) numbers += (double)f->tensor[i].numel;
    double found = (double)f->n_tensors;
    ag_free(f);
    if (parameters > 2 * numbers)
        return ag_set_error("%s: has %.0f numbers, expected %.0f or more for a model of these sizes", path, numbers,
                            parameters);
    return tensors <= 2 * found ||
           ag_set_error("%s: has %.0f tensors, expected %.0f or more for a model of these sizes", path, found, tensors);
}

bool memory_may_hold(const char *what, double bytes)
{
    double free = system_free_memory();
    return free < 0 || bytes <= free ||
           ag_set_error("%s: needs about %.1f GB of memory, but only %.1f GB are free", what, bytes / 1e9, free / 1e9);
}

bool model_may_be_made(const char *path, double parameters, double tensors)
{
    return weights_may_hold(path, parameters, tensors) && memory_may_hold(path, parameters * sizeof(ag_real));
}

bool weights_are_whole(void *model)
{
    Walk walk = walk_below(model);
    if (!walk_adapted(&walk)) return true;
    char *name = slot_path(NULL, model, walk.holder, walk.slot->name);
    ag_set_error("this %s has adapters: expected nn_lora_merge before, and none of another kind; the first is that of %s",
                 ((Module *)model)->type, name);
    ag_free(name);
    return false;
}

void *model_filled(void *model, const char *path, NnLoadOptions how)
{
    how.in_place = true;
    if (nn_load_with(path, model, how)) return model;
    ag_free(model);
    return NULL;
}
