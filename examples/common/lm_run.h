/* lm_run.h: training of a language model as a program shows it. */
#ifndef KAERU_EXAMPLES_LM_RUN_H
#define KAERU_EXAMPLES_LM_RUN_H

#include "common.h"
#include "kaeru/lm.h"

/* Whether the data are examples, not a text. */
bool lm_use_has_examples(const LmUse *use);

/* Trains as lm_train does, with a progress line, a line for each evaluation, the losses as a data file (step,
 * train_loss, valid_loss, learning_rate, tokens_per_second; for examples also the numbers of LmUse), which a resumed run
 * continues, and a chart at the end. The functions and `arg` of *t are set here; a `started` of the program is called,
 * too, with its own `arg`. Ends the program with the library's message if training fails. If a signal stops it
 * (t->stopped), it prints how to continue. */
void lm_run(LmTraining *t, const char *data_name, const TrainingRun *run);

#endif
