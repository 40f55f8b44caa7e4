/* model_files.h: models from files.
 *
 * The size of the file is checked before the model is constructed. So a bad file cannot make it ask for too much memory. */
#ifndef KAERU_MODEL_FILES_H
#define KAERU_MODEL_FILES_H

#include "kaeru/checkpoint.h"
#include "kaeru/options.h"

/* Reads the options from the settings of a checkpoint. False with ag_error(), which begins with the path. */
bool checkpoint_options(const char *path, const NnFields *fields, void *o);
/* Whether the file has half of the numbers and of the tensors of such a model or more: if fewer than all, loading tells what is
 * missing. `tensors` is at most the number that such a model has: many tiny layers need much more memory than their numbers. */
bool weights_may_hold(const char *path, double parameters, double tensors);
/* Whether this machine can give a program so many bytes more; otherwise false with ag_error(), which begins with `what`. True
 * where the system does not tell. */
bool memory_may_hold(const char *what, double bytes);
/* Both, for a model of ag_real. */
bool model_may_be_made(const char *path, double parameters, double tensors);
/* False with ag_error() if the model has adapters: without them, its weights are another model. */
bool weights_are_whole(void *model);
/* The new model with the weights of the file; if they cannot be loaded, frees it and returns NULL. */
void *model_filled(void *model, const char *path, NnLoadOptions how);

#endif
