/* model_index.c: reads a model in several safetensors files. The index is {"weight_map": {"NAME": "FILE", ...}, ...}; the files
 * are in its folder. It must name each tensor of these files: some readers of this layout skip the others, some read them. */
#include <string.h>

#include "numbers.h"
#include "stored.h"
#include "utf8.h"

enum { MAX_INDEX = 100000000 };             /* bytes */

/* The file of that name in the index's folder, opened as file[*n] the first time. NULL with ag_error() if that fails. */
static NnTensorFile *file_of_name(NnTensorFile *f, NnTensorFile **file, size_t *n, const char *name)
{
    const char *index = f->file->name, *slash = strrchr(index, '/');
    int folder = slash ? (int)(slash - index) + 1 : 0;
    for (size_t i = *n; i > 0; i--)                                 /* neighbors in the index are often in one file */
        if (strcmp(file[i - 1]->file->name + folder, name) == 0) return file[i - 1];
    const char *path = text_printf(f, "%.*s%s", folder, index, name);
    NnTensorFile *opened = st_new(file_open(path, false), st_read_safetensors);
    if (!opened) return NULL;
    ag_set_owner(opened, f);
    file[(*n)++] = opened;
    f->n_tensors += opened->n_tensors;
    return opened;
}

/* Whether it can be the name of a file in the index's folder, and shows as it is on a terminal. */
static bool is_file_name(const Json *value)
{
    if (value->type != JSON_STRING || value->count == 0) return false;
    uint32_t code;
    for (const char *p = value->as.text, *end = p + value->count; p < end;) {
        p += utf8_decode(p, (size_t)(end - p), &code);              /* JSON is UTF-8 */
        if (code == '/' || !utf8_is_printable(code)) return false;
    }
    return true;
}

bool st_read_index(NnTensorFile *f)
{
    const char *index = f->file->name;
    const Json *root = json_read(f, index, MAX_INDEX), *names = json_get(root, "weight_map");
    if (!root) return false;
    if (!names || names->type != JSON_OBJECT)
        return ag_set_error("%s: expected an object as weight_map, found %s", index, json_type_name(names));
    NnTensorFile **files = ag_alloc_in(f, names->count, sizeof *files);
    size_t n_files = 0;
    for (uint32_t i = 0; i < names->count; i++) {
        const Json *name = &names->as.item[2 * i], *file = name + 1;
        if (!is_file_name(file))
            return st_tensor_error(f->file, name->as.text, "expected the name of a file in the same folder");
        NnTensorFile *opened = file_of_name(f, files, &n_files, file->as.text);
        if (!opened) return false;
        if (!st_find(opened, name->as.text))
            return st_tensor_error(f->file, name->as.text, "is not in %s", QUOTED_BYTES(file->as.text, file->count));
    }
    f->tensor = ag_alloc_in(f, f->n_tensors, sizeof *f->tensor);
    StTensor *next = f->tensor;
    for (size_t i = 0; i < n_files; i++) {
        for (size_t k = 0; k < files[i]->n_tensors; k++) {
            const StTensor *t = &files[i]->tensor[k];
            if (!json_get(names, t->item.name))
                return st_tensor_error(t->file, t->item.name, "is not in the index %s", index);
            *next++ = *t;
        }
    }
    return st_sort_names(f);
}
