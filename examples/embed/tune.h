/* tune.h: learns from pairs of texts that belong together. */
#ifndef KAERU_EXAMPLES_EMBED_TUNE_H
#define KAERU_EXAMPLES_EMBED_TUNE_H

#include "embedder.h"

typedef struct { int64_t epochs, batch; double lr; } Tuning;
/* Trains with the lines of a file, each of two texts with a tab between them. Writes the losses as
 * embed_tune.csv (step,loss). */
void tune(Embedder *e, const char *pairs, Tuning how);
/* The new model's other files, which are those of --model: read before the training, written after
 * it with the weights. new_model_begin ends the program if the output folder has a model, unless
 * `overwrite`, or if it is --model itself. */
enum { MODEL_FILES = 7 };
typedef struct { FileContent copied[MODEL_FILES]; } NewModel;
NewModel new_model_begin(const char *folder, bool overwrite);
void new_model_write(NewModel *m, const Embedder *e);

#endif
