/* sizes.h: the options of a model that is about to be loaded, and whether a file is large enough for such a model. This is
 * checked before the model is constructed, so that a bad file cannot make it ask for too much memory. */
#ifndef KAERU_SIZES_H
#define KAERU_SIZES_H

#include "kaeru/fields.h"
#include "stored.h"

/* Reads the options from the settings of a checkpoint. False with ag_error(), which begins with the path. */
bool checkpoint_options(const char *path, const NnFields *fields, void *o);
/* Whether a checkpoint is large enough for a model of that many parameters or more, at two bytes each. */
bool checkpoint_may_hold(const char *path, double parameters);
/* Whether an open file of weights has that many numbers or more. */
bool weights_may_hold(const NnTensorFile *f, double parameters);

#endif
