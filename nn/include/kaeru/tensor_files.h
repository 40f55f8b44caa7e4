/* tensor_files.h: tensors in files: safetensors, which other libraries read and write, and NumPy's .npy and .npz.
 *
 *     Tensor *x = tensor_load("x.npy", NULL);                     in Python: np.save("x.npy", x)
 *     Tensor *y = tensor_load("data.npz", "y");                              np.savez("data.npz", x=x, y=y)
 *     bool done = tensor_save("out.npz", { "x", x }, { "y", y });            np.load("out.npz")["y"]
 *
 * A function that fails returns false or NULL with ag_error(). */
#ifndef KAERU_TENSOR_FILES_H
#define KAERU_TENSOR_FILES_H

#ifdef __cplusplus
#include <initializer_list>
#endif

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* An open file, to read its tensors one by one. Its content tells its kind: safetensors, .npy, or .npz that is not compressed.
 * A path that ends in ".json" is the index of a model in several files ("model.safetensors.index.json"), which names all of
 * their tensors. Free it with ag_free. */
typedef struct NnTensorFile NnTensorFile;
NnTensorFile *tensor_file_open(const char *path);

/* A tensor of a file. The names are the file's: an .npy file has one tensor, named "". The type has the name that safetensors
 * gives it, in other files as well: F16, BF16, F32, F64, I8 to I64, U8 to U64, BOOL, and types that cannot be read here (C64,
 * F8_E4M3, ...). A tensor of more than AG_MAX_DIMS dimensions cannot be read either; its shape has an ndim of -1.
 *
 * In an .npz file, a member that is no array, and an array that has no such type, is compressed, damaged in its header or in
 * Fortran's order, shares bytes with another one, or has another name before its data than in the directory, has the type ""
 * and an ndim of -1: reading it fails with the reason, and the others can be read. A file in which no member can be read is
 * refused. The checksum of an array is compared when its values are read; so is the hash of a tensor in a safetensors file
 * that this library has written. */
typedef struct { const char *name, *type; AgShape shape; } NnFileTensor;
int tensor_file_count(const NnTensorFile *f);                             /* the number of its tensors */
const NnFileTensor *tensor_file_item(const NnTensorFile *f, int i);       /* in the order of the file */
const NnFileTensor *tensor_file_find(const NnTensorFile *f, const char *name);  /* NULL if absent */
/* A text of a safetensors file's metadata; NULL if absent. */
const char *tensor_file_metadata(const NnTensorFile *f, const char *key);

/* Writes the file's values of that name into leaf t, which has the same shape. Reals take any type, rounded to the nearest
 * number, but a finite number must not become infinite. Ints take whole numbers from -2^31 to 2^31-1, and BOOL. Bools take
 * BOOL. If a value does not fit, the function fails, and t may have some of the values. */
bool tensor_file_read(const NnTensorFile *f, const char *name, Tensor *t) AG_MUST_CHECK;

/* A new tensor of the innermost scope with the values of that name: reals from F16, BF16, F32 and F64, ints from I8 to I64 and
 * U8 to U64, bools from BOOL. */
Tensor *tensor_file_get(const NnTensorFile *f, const char *name);
/* A new tensor from the file at that path. The name may be NULL if the file has one tensor. */
Tensor *tensor_load(const char *path, const char *name);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct { const char *name; const Tensor *tensor; } NnNamedValue;
/* Writes a file with these tensors in this order. The ending of the path is its kind: ".safetensors", ".npz", or ".npy", which
 * has one tensor and no name. Reals are written as F32 (F64 in libkaeru_double), ints as I32, bools as BOOL. Names are any text
 * in UTF-8, each one once. As nn_save does, it replaces the file at once or leaves it as it was. A safetensors file gets the
 * hashes that nn_save writes (checkpoint.h), an .npz file the checksums of its format, an .npy file none. */
bool tensor_save_list(const char *path, const NnNamedValue *list, int n) AG_MUST_CHECK;
#ifdef __cplusplus
#define tensor_save(path, ...) nn_save_these(__FILE__, __LINE__, path, { __VA_ARGS__ })
extern "C++" {
AG_MUST_CHECK inline bool nn_save_these(AG_PLACE, const char *path, std::initializer_list<NnNamedValue> list)
{
    ag_in(ag_file, ag_line);
    bool saved = (tensor_save_list)(path, list.begin(), static_cast<int>(list.size()));
    ag_out();
    return saved;
}
}
#else
#define tensor_save(path, ...) \
    tensor_save_list(path, ((NnNamedValue[]){ __VA_ARGS__ }), \
                     (int)(sizeof((NnNamedValue[]){ __VA_ARGS__ }) / sizeof(NnNamedValue)))
#endif

#include "kaeru/calls/tensor_files.h"

AG_PUBLIC_END
#endif
