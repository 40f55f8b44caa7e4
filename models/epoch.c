/* epoch.c: one pass over the training data, with gradients added up over several batches where memory is short. */
#include "kaeru/training.h"

/* The sum of the batch's losses; with an optimizer also their gradients. */
static double batch_loss(EncoderDecoder *m, const Batch *batch, const EpochOptions *o)
{
    Tensor *out = encoder_decoder(m, batch->src, batch->tgt, batch->src_mask, batch->tgt_mask);
    Tensor *x = generator(m->generator, out);
    Tensor *loss = label_smoothing(o->criterion, x, batch->tgt_y);
    if (o->optimizer) ag_backward(loss);
    return tensor_item(loss);
}

/* The gradients are sums over tokens: the step takes their mean. */
static double take_step(const EpochOptions *o, TrainState *state, int64_t tokens)
{
    double lr = rate(state->step++, o->model_size, o->factor, o->warmup);
    nn_optimizer_step_scaled(o->optimizer, lr, tokens > 0 ? 1 / (double)tokens : 1);
    return lr;
}

double run_epoch_at(Site at, EncoderDecoder *m, NextBatch *next, void *source, const EpochOptions *o, TrainState *state)
{
    ag_enter(at, "run_epoch");
    int every = o->accum_iter > 1 ? o->accum_iter : 1, waiting = 0;
    int64_t tokens = 0, waiting_tokens = 0;
    double total = 0, lr = 0;
    if (o->optimizer) nn_train(m);
    else nn_eval(m);
    for (;;) {
        Scope scope = ag_begin(o->optimizer ? AG_RECORD : AG_NO_GRAD);
        Batch batch;
        bool more = next(source, &batch);
        double loss = more ? batch_loss(m, &batch, o) : 0;
        if (more) {
            total += loss;
            tokens += batch.ntokens;
            waiting_tokens += batch.ntokens;
            waiting++;
            state->accum_step++;
            state->samples += tensor_dim(batch.src, 0);
            state->tokens += batch.ntokens;
        }
        if (o->optimizer && waiting > 0 && (waiting == every || !more)) {
            lr = take_step(o, state, waiting_tokens);
            waiting = 0;
            waiting_tokens = 0;
        }
        ag_end(scope);
        if (!more) break;
        if (o->done) o->done(o->done_arg, state, batch.ntokens ? loss / (double)batch.ntokens : 0, lr);
    }
    ag_leave(NULL);
    return tokens ? total / (double)tokens : 0;
}

bool average_checkpoints(void *model, const char *const *paths, int n)
{
    if (n < 1) return ag_refuse("there are no checkpoints to average");
    void *one = nn_clone(model);
    void *average = nn_clone(model);
    Parameters *mean = nn_parameters(average), *part = nn_parameters(one);
    bool good = true;
    for (int i = 0; good && i < n; i++) {
        good = nn_load(paths[i], one);
        for (int j = 0; good && j < mean->n; j++) {
            /* The mean of the first i goes on to that of i+1, in a form that keeps equal numbers as they are. */
            real *running = tensor_data(mean->item[j].tensor);
            const real *value = tensor_data(part->item[j].tensor);
            for (int64_t k = 0; k < tensor_numel(mean->item[j].tensor); k++)
                running[k] = i == 0 ? value[k] : running[k] + (value[k] - running[k]) / (real)(i + 1);
        }
    }
    if (good) {
        Parameters *own = nn_parameters(model);
        for (int j = 0; j < own->n; j++) tensor_copy(own->item[j].tensor, mean->item[j].tensor);
        nn_parameters_free(own);
    }
    nn_parameters_free(part);
    nn_parameters_free(mean);
    nn_free(one);
    nn_free(average);
    return good;
}
