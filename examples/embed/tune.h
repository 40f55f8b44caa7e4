/* tune.h: learns from pairs of texts that belong together. */
#ifndef KAERU_EXAMPLES_EMBED_TUNE_H
#define KAERU_EXAMPLES_EMBED_TUNE_H

#include "embedder.h"

typedef struct { int64_t epochs, batch; double lr; } Tuning;
/* Trains with the lines of a file, each of two texts with a tab between them. Writes the losses as
 * embed_tune.csv (step,loss). */
void tune(Embedder *e, const char *pairs, Tuning how);
/* Writes the model with the other files of `folder` into the output folder, for this program, and
 * for transformers and sentence-transformers. */
void write_model(const Embedder *e, const char *folder);
/* Ends the program if the output folder has a model, unless `overwrite`. */
void must_be_free(const char *folder, bool overwrite);

#endif
