/* checkpoint.h: the files of modules and runs.
 *
 * Checkpoints are safetensors files with the weights by name, so that other libraries can open them. The state of an optimizer
 * has names that begin with "optimizer."; step, random state and settings are in the metadata. Saving writes a temporary file
 * in the same folder and renames it, so after a kill at any moment the path has the old file or the new one. A path that ends
 * in .npz, .npy, .pt, .pth or .json is refused. A function that fails returns false with ag_error() and changes neither the
 * file nor the model.
 *
 * "kaeru.hash" of the metadata has a hash of 64 bits of the header, and one of each tensor's values. A file with a damaged
 * header is refused when it is opened, one with damaged values by each function that reads all values of the tensor, or the
 * first ones of it (of several processes that read a part each, one does); values that nobody asks for are not read. The hashes
 * show damage by a disk or a copy, not that somebody has changed the file on purpose. Files of other programs, and of earlier
 * versions, have none and are read as they are. A program that changes such a file must leave out this key. nn_load takes about
 * a twentieth more time by it.
 *
 * Reals are written as F32 (in libkaeru_double: F64), ints as I32, bools as BOOL, AG_PACKED as BF16: nothing is lost. Loading
 * takes any type of numbers by the rules of tensor_file_read: F16 and BF16 exactly, F64 rounded, and what does not fit is
 * refused. */
#ifndef KAERU_CHECKPOINT_H
#define KAERU_CHECKPOINT_H

#include "kaeru/module.h"
#include "kaeru/settings.h"

AG_PUBLIC_BEGIN

typedef struct Optimizer Optimizer;     /* see optim.h */

/* Weights only: parameters and buffers. nn_load takes any file that tensor_file_open opens, also the index of a model in
 * several files. */
bool nn_save(const char *path, void *module) AG_MUST_CHECK;
bool nn_load(const char *path, void *module) AG_MUST_CHECK;
/* The same with reals rounded to bfloat16, as BF16: half of the size. */
bool nn_save_bf16(const char *path, void *module) AG_MUST_CHECK;

/* What a file and a module do not have in common: missing tensors by the module's names, unexpected ones by the file's. */
typedef struct { const char **missing, **unexpected; int n_missing, n_unexpected; } NnLoadReport;
/* Zeros: as nn_load. */
typedef struct {
    const char *prefix;         /* only the file's tensors with this prefix: "backbone." loads a part of a larger model */
    /* Writes into `out` the file's name, without the prefix, of the module's tensor `name`, which is in `out` at first. */
    void (*rename)(void *arg, const char *name, char *out, size_t size);
    /* Whether the file has the module's matrix of that name transposed, as a Conv1D of Hugging Face's library: (in, out). */
    bool (*transposed)(void *arg, const char *name);
    void *arg;                  /* the first argument of rename, transposed, ignored and progress */
    bool allow_missing;         /* tensors of the module that the file does not have keep their values */
    bool allow_unexpected;      /* tensors of the file that the module does not have are ignored */
    bool (*ignored)(void *arg, const char *name);   /* or only those whose names in the file it accepts; NULL: none */
    bool in_place;              /* least memory and time: values are read where they belong. A failure leaves some changed */
    bool round;                 /* values of other types than BF16 are rounded for matrices of type AG_PACKED, not refused */
    void (*progress)(void *arg, double share);      /* NULL, or told the share of the tensors that were read */
    NnLoadReport **report;      /* gets the names, if the file could be opened; free it with ag_free. NULL: not needed */
} NnLoadOptions;
/* nn_load with options. If the file has a part of the model: nn_load_with(path, model->backbone, ...). */
bool nn_load_with(const char *path, void *module, NnLoadOptions options) AG_MUST_CHECK;

/* What changes during a run, so that it can resume exactly: the weights and buffers; of the optimizer (may be NULL) the state
 * and the numbers of steps; the random state of this thread; settings (may be NULL).
 *
 * Not in the file: the optimizer's learning rate, its options (betas, eps, momentum, weight decay) and its groups. The program
 * that loads makes the optimizer with the same options and groups, and sets the learning rate (nn_optimizer_set_lr). The kind
 * of the optimizer and the shapes of its state are checked; other options are no error. Keep what the program does not know in
 * the settings.
 *
 * Loading restores this thread's random state and adds the file's settings to `settings`. */
bool nn_checkpoint_save(const char *path, void *module, Optimizer *o, const NnSettings *settings) AG_MUST_CHECK;
bool nn_checkpoint_load(const char *path, void *module, Optimizer *o, NnSettings *settings) AG_MUST_CHECK;
/* A checkpoint without the frozen parameters: for adapters (lora.h), megabytes. A module that loads it must have them: put
 * their hash (tensor_hash) into the settings to tell, as lm_train does. */
bool nn_checkpoint_save_trained(const char *path, void *module, Optimizer *o, const NnSettings *settings) AG_MUST_CHECK;

/* Only the settings: to build a model of the right size before loading it. */
bool nn_checkpoint_settings(const char *path, NnSettings *settings) AG_MUST_CHECK;

/* The members of the object in a JSON file of another program, such as config.json, as settings: texts, numbers, and true and
 * false as 1 and 0. Others are left out: null, arrays, objects, and names or texts with NUL. So nn_fields_from_settings
 * (options.h) reads and checks them by a table. The file has at most 1 MiB and 1,000 members. */
bool nn_settings_read_json(const char *path, NnSettings *settings) AG_MUST_CHECK;

/* Sets the model's reals to their mean in n files. False with ag_error() if a file cannot be loaded, or for AG_PACKED. */
bool nn_average_checkpoints(void *model, const char *const *paths, int n) AG_MUST_CHECK;

#include "kaeru/calls/checkpoint.h"

AG_PUBLIC_END
#endif
