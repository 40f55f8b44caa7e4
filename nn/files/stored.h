/* stored.h: tensors as files store them. stored.c has what the formats have in common; safetensors.c, numpy.c (.npy and .npz)
 * and model_index.c (a model in several files) read and write one each; tensor_files.c opens a file of any of them. */
#ifndef KAERU_STORED_H
#define KAERU_STORED_H

#include "file.h"
#include "json.h"
#include "kaeru/module.h"
#include "kaeru/settings.h"
#include "kaeru/tensor_files.h"

/* ---- the types of numbers in files ------------------------------------------------------------------------------- */

/* Converts n values at `from`, which need not be aligned; returns how many fit, in order, until the first that does not. */
typedef size_t Convert(void *to, const char *from, size_t n);

typedef struct {
    const char *name;               /* in safetensors files: "F32" */
    const char *numpy;              /* in .npy files: "<f4"; NULL: NumPy has no such type */
    uint64_t bits;
    AgDType natural;                /* the type of tensor that holds all or most of its values */
    Convert *to[3];                 /* by AgDType without AG_PACKED; NULL: not converted */
} FileType;

/* The type of that name in safetensors files, or in .npy files; NULL if there is none. */
const FileType *file_type(const Json *name, bool of_numpy);
/* The type as which tensors of a type are written; the values in memory and in the file are the same bytes, except those of
 * AG_PACKED, which the file has by rows. */
const FileType *file_type_of(AgDType dtype);
/* The number of bytes of a value in memory; of AG_PACKED, of a value in dense rows. */
size_t dtype_bytes(AgDType dtype);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    NnFileTensor item;                  /* name, type and shape for the public functions */
    const FileType *type;               /* NULL in an .npz file: it is no array */
    uint64_t numel, offset, size;       /* size in bytes; offset in the file */
    File *file;
    const char *unreadable;             /* the error of reading it; NULL: it can be read */
    bool has_checksum;                  /* in an .npz file, CRC-32: of the bytes before the values, and with the values */
    uint32_t checksum_before, checksum;
    bool has_hash;                      /* in a safetensors file of this library: that of the values */
    uint64_t hash;
} StTensor;

/* An open file, which owns all that it points to. */
struct NnTensorFile {
    File *file;
    StTensor *tensor;                   /* in the order of their values in the file */
    size_t n_tensors;
    const StTensor **by_name;           /* the same tensors in alphabetical order */
    const Json *metadata;               /* an object of texts without NUL characters; NULL: none */
};

/* Opens a file, as tensor_file_open. */
NnTensorFile *st_open(const char *path);

/* The tensor of that name. NULL if there is none. */
const StTensor *st_find(const NnTensorFile *f, const char *name);
/* False with ag_error() if the tensor is unreadable or its type is not converted to that type. */
bool st_can_read(const StTensor *t, AgDType dtype);
/* Reads n values from item `first` on and converts them to that type, as tensor_file_read says. False with ag_error() if its
 * type is not converted, if a value does not fit, or if the file cannot be read. A checksum is that of all values: it is
 * compared if item 0 is read; so is a hash. */
bool st_read(const StTensor *t, AgDType dtype, uint64_t first, uint64_t n, void *out);
/* Reads n values from item `first` on, both even, in bfloat16: two in an item. Other types than BF16 are refused, or if `round`
 * is set, rounded. */
bool st_read_pairs(const StTensor *t, bool round, uint64_t first, uint64_t n, uint32_t *pairs);

/* ---- for the readers: each returns false with ag_error() ---------------------------------------------------------- */

/* A new struct that owns the file (NULL: returns NULL), and fills itself by `read`; NULL if that fails. */
NnTensorFile *st_new(File *file, bool (*read)(NnTensorFile *f));
bool st_read_safetensors(NnTensorFile *f);
bool st_read_npy(NnTensorFile *f);
bool st_read_npz(NnTensorFile *f);
bool st_read_index(NnTensorFile *f);
bool st_read_any(NnTensorFile *f);              /* tells the format, but not that of an index, by the first bytes */
/* The name of the array of an .npy file, which messages do not show. */
extern const char st_the_array[1];
/* Sets the error 'PATH: tensor "NAME": MESSAGE'. */
bool st_tensor_error(const File *file, const char *name, const char *format, ...) AG_PRINTF(3, 4);
/* Completes a tensor of which item.name, offset, size and file are set. Its size must be that of the type and the shape. */
bool st_set_shape(StTensor *t, const FileType *type, const Json *shape);
/* Sorts the tensors by name, into by_name. No two may have one name. */
bool st_sort_names(NnTensorFile *f);
/* Whether a name or a path ends so. */
bool st_ends_in(const char *name, const char *end);
/* The CRC-32 of n more bytes; it is 0 at first. */
uint32_t crc32_add(uint32_t crc, const void *bytes, size_t n);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

/* The hash of bytes that come in pieces of any size. It shows damage, nothing else. It is as fast as memory; a change within
 * eight bytes always changes it, any other one but for one case in 2^64. Begin with zeros. */
typedef struct { uint64_t lane[8], total; size_t n; char piece[64]; } StHash;
void st_hash_add(StHash *h, const void *bytes, size_t n);
uint64_t st_hash_end(StHash *h);

/* A tensor to write: reals as F32 (F64 in the double build), ints as I32, bools as BOOL, AG_PACKED as BF16. If there is a
 * values_of, the values are what it returns when they are to be written; they must be valid until its next call. */
typedef struct {
    const char *name;
    AgShape shape;
    const void *values;         /* of AG_PACKED: the tensor */
    AgDType dtype;
    bool round;                 /* reals are written as BF16 */
    const void *(*values_of)(void *arg);
    void *arg;
} StEntry;

/* Replaces the file at `path` (see file_replace) by one with the tensors in this order: a safetensors file, whose metadata
 * (NULL: none) follow "format", "pt"; an .npy file of one tensor; an .npz file. False with ag_error() if it cannot be written,
 * or if st_open would refuse it, for example because two tensors have one name. */
bool st_write(const char *path, const StEntry *entry, size_t n, const NnSettings *metadata);
/* The same with a finished file that describes the tensors (NULL: none), which file_commit_both replaces with them. */
bool st_write_described(const char *path, const StEntry *entry, size_t n, const NnSettings *metadata, FileWriter *config);
/* nn_save (or nn_save_bf16, `round`) with such a file. */
bool save_described(const char *path, void *module, bool round, FileWriter *config);
bool npy_write(const char *path, const StEntry *entry);
bool npz_write(const char *path, const StEntry *entry, size_t n);
/* A tensor as an entry; a usage error if its values were released. */
StEntry st_entry(const char *name, const Tensor *t);
/* The type in the file, and the size of an entry's values there in bytes. */
const FileType *st_entry_type(const StEntry *entry);
size_t st_entry_bytes(const StEntry *entry);

#endif
