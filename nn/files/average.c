/* average.c: the mean of the weights in several files. */
#include "kaeru/module.h"

bool nn_average_checkpoints_at(AgSite at, void *model, const char *const *paths, int n)
{
    AG_LAYER(at);
    nn_check_at(at, __func__, model, 0);
    if (n < 1) return ag_set_error("there are no checkpoints to average");
    ag_check_pointer_at(at, __func__, "paths", paths);
    void *one = nn_clone(model);
    void *average = nn_clone(model);
    NnParameters *mean = nn_parameters(average), *part = nn_parameters(one), *own = nn_parameters(model);
    bool good = true;
    for (int i = 0; good && i < n; i++) {
        good = nn_load(paths[i], one);
        for (int j = 0; good && j < mean->n; j++) {
            /* The mean of i+1 values from the mean of i, in a form that is exact for equal values. */
            ag_real *running = tensor_mutable_data(mean->item[j].tensor);
            const ag_real *value = tensor_data(part->item[j].tensor);
            for (int64_t k = 0; k < tensor_numel(mean->item[j].tensor); k++)
                running[k] = i == 0 ? value[k] : running[k] + (value[k] - running[k]) / (ag_real)(i + 1);
        }
    }
    for (int j = 0; good && j < own->n; j++) tensor_copy(own->item[j].tensor, mean->item[j].tensor);
    ag_free(own);
    ag_free(part);
    ag_free(mean);
    ag_free(one);
    ag_free(average);
    return good;
}
