/* model.h: a trained model that predicts a text. */
#ifndef KAERU_EXAMPLES_MODEL_H
#define KAERU_EXAMPLES_MODEL_H

#include "predictor.h"

/* Of a path: a folder of a Llama, or a checkpoint of gpt train. Ends the program if it cannot be opened. */
Predictor *predictor_open(const char *path, const Settings *how);

#endif
