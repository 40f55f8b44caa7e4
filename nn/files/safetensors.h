/* safetensors.h: reads and writes files of tensors: first of all the format of Hugging Face's safetensors library. Such a file
 * is eight bytes with the size of the header, the header in JSON, which gives each tensor's type, shape and offsets, then the
 * values. A model in several such files, and NumPy's .npy and .npz, are read into the same struct (shards.c, numpy.c). */
#ifndef KAERU_SAFETENSORS_H
#define KAERU_SAFETENSORS_H

#include "file.h"
#include "kaeru/tensor_files.h"
#include "types.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *dtype;           /* such as "wte.weight" and "F32" */
    size_t ndim;
    const uint64_t *dim;
    uint64_t numel, offset, size;       /* size in bytes; offset in the file */
    File *file;
    NnFileTensor item;                  /* the same for the public functions */
    const char *unreadable;             /* the error of reading it, in an .npz file; NULL: it can be read */
    uint64_t npy_start;                 /* in an .npz file: the offset of its .npy file, which ends with the values; else 0 */
    uint32_t npy_crc;                   /* the checksum of that file */
} StTensor;

typedef struct { const char *key, *value; } StText;

/* An open file, which owns all that it points to. */
typedef struct NnTensorFile {
    File *file;
    StTensor *tensor;                   /* in the order of their values in the file */
    size_t n_tensors;
    const StTensor **by_name;           /* the same tensors in alphabetical order */
    const StText *metadata;             /* in the order of the header */
    size_t n_metadata;
} SafeTensors;

/* Reads and checks the header of a safetensors file. NULL with ag_error() unless each name is unique, each tensor's size agrees
 * with its shape and type, and the tensors fill the file without gap or overlap. The values stay in the file. */
SafeTensors *st_open(const char *path);
/* Opens a file of any kind, as tensor_file_open; map: see file_open_map. */
SafeTensors *st_open_any(const char *path, bool map);
/* The same for bytes in memory, which must stay valid until st_close; `name` is for messages. */
SafeTensors *st_open_bytes(const char *name, const void *bytes, size_t size);
/* The same for a file of any kind but an index. */
SafeTensors *st_open_any_bytes(const char *name, const void *bytes, size_t size);
void st_close(SafeTensors *st);                                     /* NULL is fine */

/* A prefix and a name, as one text. */
char *st_join(void *owner, const char *prefix, const char *name);
/* The tensor of that name; the metadata of that key. NULL if there is none. */
const StTensor *st_find(const SafeTensors *st, const char *name);
const char *st_metadata(const SafeTensors *st, const char *key);
/* The tensor's shape; false with ag_error() if it is unreadable or has more dimensions than a Tensor can have. */
bool st_shape(const SafeTensors *st, const StTensor *t, AgShape *shape);
/* Reads the tensor's numel values and converts them to that type, as tensor_file_read says. False with ag_error() if its type
 * is not converted, if a value does not fit, or if the file cannot be read. */
bool st_read(const StTensor *t, AgDType dtype, void *out);
/* The same for n of them, from item `first` on. */
bool st_read_items(const StTensor *t, AgDType dtype, uint64_t first, uint64_t n, void *out);
/* False with ag_error() if its type is not converted to that type. */
bool st_can_read(const StTensor *t, AgDType dtype);

/* ---- for the readers ---------------------------------------------------------------------------------------------- */

/* Sets the error 'PATH: tensor "NAME": MESSAGE'. */
bool st_tensor_error(const File *file, const char *name, const char *format, ...) AG_PRINTF(3, 4);
/* Completes a tensor of which name, ndim, dim, offset, size and file are set. False with ag_error() if its size is not that of
 * its shape and this type. */
bool tensor_set_type(StTensor *t, const FileType *type);
/* Sorts the tensors by name, into by_name. False with ag_error() if two have one name. */
bool st_sort_names(SafeTensors *st);
/* A new empty struct that owns the file (NULL: returns NULL), and fills itself by `read`; NULL if that fails. */
SafeTensors *st_new(File *file, bool (*read)(SafeTensors *st));
bool st_read_npy(SafeTensors *st);
bool st_read_npz(SafeTensors *st);
/* Whether the bytes of a tensor in an .npz file have its checksum; false with ag_error(). */
bool npz_check(const StTensor *t);
/* Reads a safetensors file from its open file. */
bool st_read_file(SafeTensors *st);
/* Opens the index of a model in several files, and all of them. */
SafeTensors *st_open_index(const char *path, bool map);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A tensor to write: reals as F32 (F64 in the double build), ints as I32, bools as BOOL. If there is a values_of, the values
 * are what it returns when they are to be written; they must be valid until it is called again. */
typedef struct {
    const char *name;
    AgShape shape;
    const void *values;
    AgDType dtype;
    const void *(*values_of)(void *arg);
    void *arg;
} StEntry;

/* Replaces the file at `path` (see file_replace) by one with the tensors in this order. False with ag_error() if it
 * cannot be written, or if st_open would refuse it, for example because two tensors have one name. */
bool st_write(const char *path, const StEntry *entry, size_t n, const StText *metadata, size_t n_metadata);
/* The same as an .npy file, for one tensor, and as an .npz file. */
bool npy_write(const char *path, const StEntry *entry);
bool npz_write(const char *path, const StEntry *entry, size_t n);
/* A tensor as an entry; a usage error if its values were released. */
StEntry st_entry(AgSite at, const char *name, const Tensor *t);
/* The values of a tensor of any type, to write. */
void *tensor_mutable_values(AgSite at, Tensor *t);
/* The size of an entry's values in bytes. */
size_t st_entry_bytes(const StEntry *entry);

#endif
