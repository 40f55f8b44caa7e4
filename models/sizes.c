/* sizes.c: reads the options of a checkpoint's model, compares the size of a file with that of a model, and loads weights. */
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "stored.h"

bool checkpoint_options(const char *path, const NnFields *fields, void *o)
{
    NnSettings *s = nn_settings_new();
    bool good = nn_checkpoint_settings(path, s) &&
                (nn_fields_from_settings(fields, o, s) || add_path(path));
    ag_free(s);
    return good;
}

bool weights_may_hold(const char *path, double parameters)
{
    NnTensorFile *f = tensor_file_open(path);
    if (!f) return false;
    double numbers = 0;
    for (size_t i = 0; i < f->n_tensors; i++) numbers += (double)f->tensor[i].numel;
    ag_free(f);
    return parameters <= 2 * numbers ||
           ag_set_error("%s: has %.0f numbers, expected %.0f or more for a model of these sizes", path, numbers, parameters);
}

/* The number of bytes behind a name in the text of /proc/meminfo; 0: it is not there. */
static double memory_of(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found ? strtod(found + strlen(name), NULL) * 1024 : 0;
}

bool memory_may_hold(const char *what, double bytes)
{
    enum { MOST = 1 << 16 };
    static const char path[] = "/proc/meminfo";
    void *owner = ag_alloc(1, 1);
    size_t size;
    const char *text = file_exists(path) ? file_read(owner, path, MOST, &size) : NULL;
    double free = text ? memory_of(text, "MemAvailable:") + memory_of(text, "SwapFree:") : 0;
    bool known = text && strstr(text, "MemAvailable:");
    ag_free(owner);
    return !known || bytes <= free ||
           ag_set_error("%s: needs about %.1f GB of memory, but only %.1f GB are free", what, bytes / 1e9, free / 1e9);
}

void *model_filled(void *model, const char *path, NnLoadOptions how)
{
    how.in_place = true;
    if (nn_load_with(path, model, how)) return model;
    ag_free(model);
    return NULL;
}
