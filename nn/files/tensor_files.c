/* tensor_files.c: opens files of tensors of any format; the public functions for them. */
#include <string.h>

#include "walk.h"
#include "stored.h"
#include "utf8.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Read as the size of a header, no first bytes of the other formats are a size that a safetensors file can have. */
bool st_read_any(NnTensorFile *f)
{
    unsigned char start[6] = { 0 };
    if (f->file->size >= sizeof start && !file_read_bytes(f->file, 0, start, sizeof start)) return false;
    if (memcmp(start, "\x93NUMPY", 6) == 0) return st_read_npy(f);
    if (memcmp(start, "PK\5\6", 4) == 0 || (memcmp(start, "PK\3\4", 4) == 0 && start[4])) return st_read_npz(f);
    return st_read_safetensors(f);
}

NnTensorFile *st_open(const char *path)
{
    if (st_ends_in(path, ".json")) return st_new(file_of_bytes(path, "", 0), st_read_index);
    return st_new(file_open(path, false), st_read_any);
}

NnTensorFile *tensor_file_open(const char *path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "the path", path);
    return st_open(path);
}

int tensor_file_count(const NnTensorFile *f)
{
    ag_check_object(__func__, "the file", f);
    return (int)f->n_tensors;
}

const NnFileTensor *tensor_file_item(const NnTensorFile *f, int i)
{
    int n = tensor_file_count(f);
    if (i < 0 || i >= n) ag_usage_error(__func__, "item %d of a file of %d", i, n);
    return &f->tensor[i].item;
}

/* The tensor of that name; NULL if there is none. A usage error in the name of function `what` if an argument is NULL. */
static const StTensor *find(const char *what, const NnTensorFile *f, const char *name)
{
    ag_check_object(what, "the file", f);
    ag_check_pointer(what, "the name", name);
    return st_find(f, name);
}

const NnFileTensor *tensor_file_find(const NnTensorFile *f, const char *name)
{
    const StTensor *t = find(__func__, f, name);
    return t ? &t->item : NULL;
}

const char *tensor_file_metadata(const NnTensorFile *f, const char *key)
{
    ag_check_object(__func__, "the file", f);
    ag_check_pointer(__func__, "the key", key);
    const Json *text = json_get(f->metadata, key);
    return text ? text->as.text : NULL;
}

/* The error of a name that the file does not have. It tells the first names that the file has; a .npy file has none. */
static bool absent(const NnTensorFile *f, const char *name)
{
    enum { LISTED = 3 };
    char names[LISTED * (UTF8_QUOTE + 2)] = "";
    for (size_t i = 0; i < f->n_tensors && i < LISTED; i++) {
        size_t length = strlen(names);
        const char *text = *f->tensor[i].item.name ? QUOTED(f->tensor[i].item.name) : "NULL";
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", text);
    }
    return ag_set_error("%s: tensor %s: is not in the file: expected %s%s", f->file->name, QUOTED(name),
                        *names ? names : "none", f->n_tensors > LISTED ? ", ..." : "");
}

bool tensor_file_read(const NnTensorFile *f, const char *name, Tensor *t)
{
    AG_LAYER;
    const StTensor *from = find(__func__, f, name);
    ag_check_pointer(__func__, "t", t);
    if (tensor_dtype(t) == AG_PACKED)
        ag_usage_error(__func__, "t is kept in bfloat16 (AG_PACKED), expected AG_REAL, AG_INT or AG_BOOL");
    void *values = tensor_mutable_values(t);
    AgShape expected = tensor_shape(t);
    if (!from) return absent(f, name);
    if (!from->unreadable && !ag_shape_equal(from->item.shape, expected))
        return st_tensor_error(from->file, name, "is %s, expected %s", ag_shape_string(from->item.shape),
                               ag_shape_string(expected));
    return st_read(from, tensor_dtype(t), 0, from->numel, values);
}

static Tensor *get(const StTensor *from)
{
    AgDType dtype = from->type ? from->type->natural : AG_REAL;
    if (!st_can_read(from, dtype)) return NULL;
    AgShape shape = from->item.shape;
    Tensor *t = dtype == AG_REAL ? tensor_zeros(shape) :
                dtype == AG_INT ? tensor_ints(shape, NULL) : tensor_bools(shape, NULL);
    return st_read(from, dtype, 0, from->numel, tensor_mutable_values(t)) ? t : NULL;
}

Tensor *tensor_file_get(const NnTensorFile *f, const char *name)
{
    AG_LAYER;
    const StTensor *from = find(__func__, f, name);
    return from || absent(f, name) ? get(from) : NULL;
}

Tensor *tensor_load(const char *path, const char *name)
{
    AG_LAYER;
    ag_check_pointer(__func__, "the path", path);
    NnTensorFile *f = st_open(path);
    if (!f) return NULL;
    const StTensor *from = name ? st_find(f, name) : &f->tensor[0];
    bool found = from || absent(f, name);
    if (!name && f->n_tensors != 1) found = ag_set_error("%s: expected one tensor or a name, found %zu", path, f->n_tensors);
    Tensor *t = found ? get(from) : NULL;
    ag_free(f);
    return t;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

bool tensor_save_list(const char *path, const NnNamedValue *list, int n)
{
    AG_LAYER;
    const char *what = "tensor_save";                               /* the macro that calls this */
    ag_check_pointer(what, "the path", path);
    if (n < 0) ag_usage_error(what, "a list of %d tensors", n);
    if (n > 0) ag_check_pointer(what, "the list", list);
    bool npy = st_ends_in(path, ".npy"), npz = st_ends_in(path, ".npz");
    for (int i = 0; i < n; i++) {
        if (!npy) ag_check_pointer(what, "a name", list[i].name);
        ag_check_pointer(what, "a tensor", list[i].tensor);
    }
    if (npy && n != 1) ag_usage_error(what, "an .npy file has one tensor, not %d; an .npz file has any number", n);
    if (!npy && !npz && !st_ends_in(path, ".safetensors"))
        return ag_set_error("%s: expected a path that ends in .safetensors, .npz or .npy", path);
    StEntry *entry = ag_alloc((size_t)n, sizeof *entry);
    for (int i = 0; i < n; i++) {
        entry[i] = st_entry(list[i].name, list[i].tensor);
        if ((npy || npz) && entry[i].dtype == AG_PACKED)
            ag_usage_error(what, "NumPy has no bfloat16, the type of AG_PACKED: expected reals (ag_from_bf16)");
    }
    bool done = npy ? npy_write(path, entry) : npz ? npz_write(path, entry, (size_t)n) :
                      st_write(path, entry, (size_t)n, NULL);
    ag_free(entry);
    return done;
}
