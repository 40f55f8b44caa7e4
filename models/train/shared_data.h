/* shared_data.h: what processes that train together need of their data, for the files of this folder. */
#ifndef KAERU_SHARED_DATA_H
#define KAERU_SHARED_DATA_H

#include "kaeru/lm.h"

/* As lm_evaluate; the batches are divided among the processes of p, unless it is NULL. The result is the same. */
double evaluate_together(AgSite at, void *m, const LmData *d, int64_t batch, int64_t length, int64_t tokens, int64_t *counted,
                         NnParallel *p);
/* Whether all processes have the same data: compares its size and a sample of it. */
bool data_agrees(const LmData *d, NnParallel *p);

#endif
