/* model.h: a trained model that predicts a text. */
#ifndef KAERU_EXAMPLES_MODEL_H
#define KAERU_EXAMPLES_MODEL_H

#include "predictor.h"

/* Of a path: a folder of a Llama, or a checkpoint of gpt train. Ends the program if it cannot be opened. */
Predictor *predictor_open(const char *path, const Settings *how);
/* Ends the program if the file to write is one of the model in that folder, which reading needs. */
void must_not_be_of_model(const char *path, const char *model);

#endif
