/* epoch.c: one pass over the data, for training (with gradient accumulation) or evaluation; and the mean of checkpoints. */
#include "kaeru/graph.h"
#include "kaeru/training.h"

/* Sums over the batches of the epoch, and over those since the last step. */
typedef struct {
    EncoderDecoder *model;
    const EpochOptions *options;
    TrainState *state;
    double loss, lr;
    int64_t tokens;
    int pending;                /* batches whose gradients are not yet used by a step */
    int64_t pending_tokens;
} Epoch;

/* The sum of the batch's losses; in training also their gradients. */
static double loss_compute(const Epoch *e, const Batch *batch)
{
    Tensor *out = encoder_decoder(e->model, batch->src, batch->tgt, batch->src_mask, batch->tgt_mask);
    Tensor *x = generator(e->model->generator, out);
    Tensor *loss = label_smoothing(e->options->criterion, x, batch->tgt_y);
    if (e->options->optimizer) ag_backward(loss);
    return tensor_item(loss);
}

/* The accumulated gradients are sums over tokens; the step uses their mean. */
static void take_step(Epoch *e)
{
    const EpochOptions *o = e->options;
    e->lr = rate(e->state->accum_step, o->model_size, o->factor, o->warmup);
    nn_optimizer_set_lr(o->optimizer, e->lr);
    nn_optimizer_step_scaled(o->optimizer, e->pending_tokens > 0 ? 1 / (double)e->pending_tokens : 1);
    e->state->accum_step++;
    e->pending = 0;
    e->pending_tokens = 0;
}

static void run_batch(Epoch *e, const Batch *batch)
{
    const EpochOptions *o = e->options;
    double loss = loss_compute(e, batch);
    e->loss += loss;
    e->tokens += batch->ntokens;
    if (o->optimizer) {
        e->state->step++;
        e->state->samples += tensor_dim(batch->src, 0);
        e->state->tokens += batch->ntokens;
        e->pending_tokens += batch->ntokens;
        if (++e->pending >= o->accum_iter) take_step(e);
    }
    if (o->done) o->done(o->done_arg, e->state, batch->ntokens ? loss / (double)batch->ntokens : 0, e->lr);
}

double run_epoch_at(Site at, EncoderDecoder *m, NextBatch *next, void *source, const EpochOptions *o, TrainState *state)
{
    NN_LAYER(at, m);
    if (!next) ag_usage_error(at, __func__, "next is NULL, expected a function that makes batches");
    ag_check_pointer_at(at, __func__, "options", o);
    ag_check_pointer_at(at, __func__, "state", state);
    if (o->accum_iter < 0) ag_usage_error(at, __func__, "accum_iter is %d, expected 0 or more", o->accum_iter);
    if (o->optimizer) {                     /* now, not after the first batch */
        const Module *root = &m->module;    /* the optimizer may train more than this model, or a part of it */
        while (root->parent) root = root->parent;
        nn_optimizer_check(__func__, o->optimizer, root);
        if (!(o->factor > 0)) ag_usage_error(at, __func__, "factor is %g, expected above 0", o->factor);
        rate(0, o->model_size, o->factor, o->warmup);
    }
    Epoch epoch = { .model = m, .options = o, .state = state };
    if (o->optimizer) nn_train(m);
    else nn_eval(m);
    for (bool more = true; more;) {
        Scope scope = ag_begin(o->optimizer ? AG_RECORD : AG_NO_GRAD);
        Batch batch;
        more = next(source, &batch);
        if (more) run_batch(&epoch, &batch);
        ag_end(scope);
    }
    if (epoch.pending > 0) take_step(&epoch);

    return epoch.tokens ? epoch.loss / (double)epoch.tokens : 0;
}

bool average_checkpoints_at(Site at, void *model, const char *const *paths, int n)
{
    AG_LAYER(at);
    nn_check_at(at, __func__, model, 0);
    if (n < 1) return ag_set_error("there are no checkpoints to average");
    ag_check_pointer_at(at, __func__, "paths", paths);
    void *one = nn_clone(model);
    void *average = nn_clone(model);
    Parameters *mean = nn_parameters(average), *part = nn_parameters(one);
    bool good = true;
    for (int i = 0; good && i < n; i++) {
        good = nn_load(paths[i], one);
        for (int j = 0; good && j < mean->n; j++) {
            /* The mean of i+1 values from the mean of i, in a form that is exact for equal values. */
            real *running = tensor_mutable_data(mean->item[j].tensor);
            const real *value = tensor_data(part->item[j].tensor);
            for (int64_t k = 0; k < tensor_numel(mean->item[j].tensor); k++)
                running[k] = i == 0 ? value[k] : running[k] + (value[k] - running[k]) / (real)(i + 1);
        }
    }
    if (good) {
        Parameters *own = nn_parameters(model);
        for (int j = 0; j < own->n; j++) tensor_copy(own->item[j].tensor, mean->item[j].tensor);
        ag_free(own);
    }
    ag_free(part);
    ag_free(mean);
    nn_free(one);
    nn_free(average);
    return good;
}
