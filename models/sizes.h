/* sizes.h: what the functions have in common that construct a model and load it from a file. The size of the file is checked
 * before the model is constructed, so that a bad file cannot make it ask for too much memory. */
#ifndef KAERU_SIZES_H
#define KAERU_SIZES_H

#include "kaeru/fields.h"

/* Reads the options from the settings of a checkpoint. False with ag_error(), which begins with the path. */
bool checkpoint_options(const char *path, const NnFields *fields, void *o);
/* Whether the file has half of the numbers of such a model or more: if fewer than all, loading tells what is missing. */
bool weights_may_hold(const char *path, double parameters);
/* The new model with the weights of the file; if they cannot be loaded, frees it and returns NULL. */
void *model_filled(void *model, const char *path, NnLoadOptions how);

#endif
