/* types.h: the types that numbers have in files, and their conversion to the types of tensors. */
#ifndef KAERU_TYPES_OF_FILES_H
#define KAERU_TYPES_OF_FILES_H

#include "kaeru/tensor.h"

/* Converts n values at `from`, which need not be aligned; returns how many fit, in order, until the first that does not. */
typedef size_t Convert(void *to, const char *from, size_t n);

typedef struct {
    const char *name;               /* in safetensors files: "F32" */
    const char *numpy;              /* in .npy files: "<f4"; NULL: NumPy has no such type */
    uint64_t bits;
    AgDType natural;                /* the type of tensor that holds all or most of its values */
    Convert *to[3];                 /* by AgDType; NULL: not converted */
} FileType;

/* The type of that name; NULL if there is none. */
const FileType *file_type(const char *name);
const FileType *file_type_of_numpy(const char *name);
/* The type as which tensors of a type are written; the values in memory and in the file are the same bytes. */
const FileType *file_type_of(AgDType dtype);
/* The number of bytes of a value in memory. */
size_t dtype_bytes(AgDType dtype);

#endif
