/* safetensors.h: reads and writes the file format of Hugging Face's safetensors library. A file is eight bytes with the
 * size of the header, the header in JSON, which gives each tensor's type, shape and offsets, then the values. */
#ifndef KAERU_SAFETENSORS_H
#define KAERU_SAFETENSORS_H

#include "file.h"
#include "kaeru/tensor.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *dtype;           /* such as "wte.weight" and "F32" */
    size_t ndim;
    const uint64_t *dim;
    uint64_t numel, offset, size;       /* size in bytes; offset in the file */
} StTensor;

typedef struct { const char *key, *value; } StText;

/* An open file, which owns all that it points to. */
typedef struct {
    File *file;
    const StTensor *tensor;             /* in the order of their values in the file */
    size_t n_tensors;
    const StTensor **by_name;           /* the same tensors in alphabetical order */
    const StText *metadata;             /* in the order of the header */
    size_t n_metadata;
} SafeTensors;

/* Reads and checks the header. NULL with ag_error() unless each name is unique, each tensor's size agrees with its shape
 * and type, and the tensors fill the file without gap or overlap. The values stay in the file. */
SafeTensors *st_open(const char *path);
/* The same for bytes in memory, which must stay valid until st_close; `name` is for messages. */
SafeTensors *st_open_bytes(const char *name, const void *bytes, size_t size);
void st_close(SafeTensors *st);                                     /* NULL is fine */

/* A prefix and a name, as one text. */
char *st_join(void *owner, const char *prefix, const char *name);
/* The tensor of that name; the metadata of that key. NULL if there is none. */
const StTensor *st_find(const SafeTensors *st, const char *name);
const char *st_metadata(const SafeTensors *st, const char *key);
/* The tensor's shape; false with ag_error() if it has more dimensions than a Tensor can have. */
bool st_shape(const SafeTensors *st, const StTensor *t, Shape *shape);
/* Reads the tensor's numel values and converts them from F16, BF16, F32, F64, I32, I64, U8 or BOOL. False with
 * ag_error() if the tensor has another type or cannot be read. */
bool st_read_reals(const SafeTensors *st, const StTensor *t, real *out);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A tensor to write, as F32 (F64 in the double build). */
typedef struct { const char *name; Shape shape; const real *values; } StEntry;

/* Replaces the file at `path` (see file_replace) by one with the tensors in this order. False with ag_error() if it
 * cannot be written, or if st_open would refuse it, for example because two tensors have one name. */
bool st_write(const char *path, const StEntry *entry, size_t n, const StText *metadata, size_t n_metadata);

#endif
