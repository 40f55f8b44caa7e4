/* tensor_files.c: the public functions for files of tensors. */
#include <string.h>

#include "safetensors.h"
#include "utf8.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

NnTensorFile *tensor_file_open_at(AgSite at, const char *path)
{
    ag_check_pointer_at(at, "tensor_file_open", "the path", path);
    return st_open_any(path, false);
}

int tensor_file_count_at(AgSite at, const NnTensorFile *f)
{
    ag_check_object_at(at, "tensor_file_count", "the file", f);
    return (int)f->n_tensors;
}

const NnFileTensor *tensor_file_item_at(AgSite at, const NnTensorFile *f, int i)
{
    int n = tensor_file_count_at(at, f);
    if (i < 0 || i >= n) ag_usage_error(at, "tensor_file_item", "item %d of a file of %d", i, n);
    return &f->tensor[i].item;
}

/* The tensor of that name; NULL if there is none. A usage error in the name of function `what` if an argument is NULL. */
static const StTensor *find(AgSite at, const char *what, const NnTensorFile *f, const char *name)
{
    ag_check_object_at(at, what, "the file", f);
    ag_check_pointer_at(at, what, "the name", name);
    return st_find(f, name);
}

const NnFileTensor *tensor_file_find_at(AgSite at, const NnTensorFile *f, const char *name)
{
    const StTensor *t = find(at, "tensor_file_find", f, name);
    return t ? &t->item : NULL;
}

const char *tensor_file_metadata_at(AgSite at, const NnTensorFile *f, const char *key)
{
    ag_check_object_at(at, "tensor_file_metadata", "the file", f);
    ag_check_pointer_at(at, "tensor_file_metadata", "the key", key);
    return st_metadata(f, key);
}

void *tensor_mutable_values(AgSite at, Tensor *t)
{
    switch (tensor_dtype_at(at, t)) {
    case AG_REAL: return tensor_mutable_data_at(at, t);
    case AG_INT: return tensor_mutable_int_data_at(at, t);
    default: return tensor_mutable_bool_data_at(at, t);
    }
}

static bool absent(const NnTensorFile *f, const char *name)
{
    return st_tensor_error(f->file, name, "is not in the file");
}

bool tensor_file_read_at(AgSite at, const NnTensorFile *f, const char *name, Tensor *t)
{
    const StTensor *from = find(at, "tensor_file_read", f, name);
    void *values = tensor_mutable_values(at, t);
    AgShape shape, expected = tensor_shape(t);
    char text[2][AG_SHAPE_TEXT];
    if (!from) return absent(f, name);
    if (!st_shape(f, from, &shape)) return false;
    if (!ag_shape_equal(shape, expected)) {
        return st_tensor_error(from->file, name, "is %s, expected %s", ag_shape_text(shape, text[0]),
                               ag_shape_text(expected, text[1]));
    }
    return st_read(from, tensor_dtype(t), values);
}

static Tensor *get(AgSite at, const NnTensorFile *f, const StTensor *from)
{
    AgShape shape;
    if (!st_shape(f, from, &shape)) return NULL;
    AgDType dtype = file_type(from->dtype)->natural;
    if (!st_can_read(from, dtype)) return NULL;
    Tensor *t = dtype == AG_REAL ? tensor_zeros_at(at, shape) :
                dtype == AG_INT ? tensor_ints_at(at, shape, NULL) : tensor_bools_at(at, shape, NULL);
    return st_read(from, dtype, tensor_mutable_values(at, t)) ? t : NULL;
}

Tensor *tensor_file_get_at(AgSite at, const NnTensorFile *f, const char *name)
{
    const StTensor *from = find(at, "tensor_file_get", f, name);
    return from || absent(f, name) ? get(at, f, from) : NULL;
}

Tensor *tensor_load_at(AgSite at, const char *path, const char *name)
{
    ag_check_pointer_at(at, "tensor_load", "the path", path);
    NnTensorFile *f = st_open_any(path, false);
    if (!f) return NULL;
    const StTensor *from = name ? st_find(f, name) : &f->tensor[0];
    bool found = from || absent(f, name);
    if (!name && f->n_tensors != 1) found = ag_set_error("%s: expected one tensor or a name, found %zu", path, f->n_tensors);
    Tensor *t = found ? get(at, f, from) : NULL;
    ag_free(f);
    return t;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), size = strlen(end);
    return n >= size && strcmp(path + n - size, end) == 0;
}

StEntry st_entry(AgSite at, const char *name, const Tensor *t)
{
    AgDType dtype = tensor_dtype_at(at, t);
    const void *values = dtype == AG_REAL ? (const void *)tensor_data_at(at, t)
                         : dtype == AG_INT ? (const void *)tensor_int_data_at(at, t) : tensor_bool_data_at(at, t);
    return (StEntry){ .name = name, .shape = tensor_shape_at(at, t), .values = values, .dtype = dtype };
}

bool tensor_save_list_at(AgSite at, const char *path, const NnNamedValue *list, int n)
{
    const char *what = "tensor_save";
    ag_check_pointer_at(at, what, "the path", path);
    if (n < 0) ag_usage_error(at, what, "a list of %d tensors", n);
    if (n > 0) ag_check_pointer_at(at, what, "the list", list);
    bool npy = ends_in(path, ".npy"), npz = ends_in(path, ".npz");
    for (int i = 0; i < n && !npy; i++) ag_check_pointer_at(at, what, "a name", list[i].name);
    if (npy && n != 1) ag_usage_error(at, what, "an .npy file has one tensor, not %d; an .npz file has any number", n);
    if (!npy && !npz && !ends_in(path, ".safetensors"))
        return ag_set_error("%s: expected a path that ends in .safetensors, .npz or .npy", path);
    StEntry *entry = ag_alloc_at(at, (size_t)n, sizeof *entry);
    for (int i = 0; i < n; i++) entry[i] = st_entry(at, list[i].name, list[i].tensor);
    bool done = npy ? npy_write(path, entry) : npz ? npz_write(path, entry, (size_t)n) :
                      st_write(path, entry, (size_t)n, &(StText){ "format", "pt" }, 1);
    ag_free(entry);
    return done;
}
