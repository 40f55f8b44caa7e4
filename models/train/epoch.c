/* epoch.c: one pass over the data, for training (with gradient accumulation) or evaluation; and the mean of checkpoints. */
#include "kaeru/autograd.h"
#include "kaeru/training.h"
#include "losses.h"
#include "token_count.h"

/* Sums over the batches of the epoch, and over those since the last step. */
typedef struct {
    Transformer *model;
    const KaeruEpochOptions *options;
    KaeruTrainState *state;
    double loss, lr;
    int64_t tokens;
    int pending;                /* batches whose gradients are not yet used by a step */
    int64_t pending_tokens;
} Epoch;

static int accumulated(const KaeruEpochOptions *o)
{
    return o->accum_iter > 1 ? o->accum_iter : 1;
}

/* The sum of the batch's losses; in training also their gradients. */
static double loss_compute(const Epoch *e, const TransformerBatch *batch)
{
    Tensor *out = transformer_forward(e->model, batch->src, batch->tgt, batch->src_mask, batch->tgt_mask);
    Tensor *x = transformer_generator(e->model->generator, out);
    Tensor *loss = transformer_label_smoothing(e->options->criterion, x, batch->tgt_y);
    if (e->options->optimizer) ag_backward(loss);
    return tensor_item(loss);
}

/* The learning rate of the next step. */
static void set_rate(Epoch *e)
{
    const KaeruEpochOptions *o = e->options;
    e->lr = transformer_rate(e->state->accum_step, o->model_size, o->factor, o->warmup);
    nn_optimizer_set_lr(o->optimizer, e->lr);
}

/* The accumulated gradients are sums over tokens; the step uses their mean. */
static void take_step(Epoch *e)
{
    set_rate(e);
    nn_optimizer_step_scaled(e->options->optimizer, e->pending_tokens > 0 ? 1 / (double)e->pending_tokens : 1);
    e->state->accum_step++;
    e->pending = 0;
    e->pending_tokens = 0;
}

static void batch_done(Epoch *e, const TransformerBatch *batch, double loss)
{
    const KaeruEpochOptions *o = e->options;
    e->loss += loss;
    e->tokens += batch->ntokens;
    if (o->optimizer) {
        e->state->step++;
        e->state->samples += tensor_dim(batch->src, 0);
        e->state->tokens += batch->ntokens;
    }
    if (o->done) o->done(o->done_arg, e->state, batch->ntokens ? loss / (double)batch->ntokens : 0, e->lr);
}

static void run_batch(Epoch *e, const TransformerBatch *batch)
{
    const KaeruEpochOptions *o = e->options;
    double loss = loss_compute(e, batch);
    e->pending_tokens += batch->ntokens;
    if (o->optimizer && ++e->pending >= o->accum_iter) take_step(e);
    batch_done(e, batch, loss);
}

static bool run_alone(Epoch *e, KaeruNextBatch *next, void *source)
{
    AgScope scope = ag_begin(e->options->optimizer ? AG_RECORD : AG_NO_GRAD);
    TransformerBatch batch;
    bool more = next(source, &batch);
    if (more) run_batch(e, &batch);
    ag_end(scope);
    return more;
}

/* ---- with other processes ---------------------------------------------------------------------------------------- */

/* The rows from..to-1 of a batch. */
static TransformerBatch batch_rows(const TransformerBatch *whole, int64_t from, int64_t to)
{
    TransformerBatch part = { .src = ag_slice(whole->src, 0, from, to), .src_mask = ag_slice(whole->src_mask, 0, from, to),
                   .tgt = ag_slice(whole->tgt, 0, from, to), .tgt_y = ag_slice(whole->tgt_y, 0, from, to),
                   .tgt_mask = ag_slice(whole->tgt_mask, 0, from, to) };
    return part;
}

/* Learns the current shard: some rows of one of n batches. */
static void learn_shard(const Epoch *e, NnParallel *p, const TransformerBatch *batches, int n)
{
    int64_t shards = nn_parallel_shards(p) / accumulated(e->options), shard = nn_parallel_index(p) % shards;
    int64_t number = nn_parallel_index(p) / shards;
    nn_parallel_count(p, 0);
    if (number >= n) return;
    const TransformerBatch *batch = &batches[number];
    int64_t rows = tensor_dim(batch->src, 0), from = rows * shard / shards, to = rows * (shard + 1) / shards;
    if (from == to) return;                     /* a gradient of zeros would take time and change nothing */
    AgScope scope = ag_begin(AG_RECORD);
    TransformerBatch part = batch_rows(batch, from, to);
    nn_parallel_count(p, (double)batch_count_tokens(part.tgt_y, e->options->criterion.padding_idx));
    loss_compute(e, &part);
    ag_end(scope);
}

/* Draws the batches of a step, and takes it. The loss of a token is that of the step in all of its batches. */
static bool step_together(Epoch *e, KaeruNextBatch *next, void *source)
{
    const KaeruEpochOptions *o = e->options;
    AgScope scope = ag_begin(AG_NO_GRAD);
    int most = accumulated(o), n = 0;
    TransformerBatch *batches = ag_alloc((size_t)most, sizeof *batches);
    while (n < most && next(source, &batches[n])) n++;
    if (n > 0) {
        set_rate(e);
        if (o->stop && *o->stop) nn_parallel_stop(o->parallel);
        while (nn_parallel_shard(o->parallel)) learn_shard(e, o->parallel, batches, n);
        double loss = nn_parallel_step(o->parallel);
        e->state->accum_step++;
        for (int i = 0; i < n; i++) batch_done(e, &batches[i], loss * (double)batches[i].ntokens);
    }
    ag_free(batches);
    ag_end(scope);
    return n == most;
}

/* The loss of each batch is computed by one process. */
static void evaluate_together(Epoch *e, KaeruNextBatch *next, void *source)
{
    Losses losses = { .parallel = e->options->parallel };
    for (bool more = true; more; ) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        TransformerBatch batch;
        more = next(source, &batch);
        if (more) {
            double loss = losses_next_is_mine(&losses) ? loss_compute(e, &batch) : 0;
            losses_add(&losses, loss);
            batch_done(e, &batch, loss);
        }
        ag_end(scope);
    }
    e->loss = losses_sum(&losses);
}

/* Whether to stop between two steps. All processes stop after the same one. */
static bool is_stopped(const KaeruEpochOptions *o)
{
    return o->parallel ? nn_parallel_stopped(o->parallel) : o->stop && *o->stop;
}

static void train_batches(Epoch *e, KaeruNextBatch *next, void *source)
{
    KaeruTrainState *s = e->state;
    e->loss = s->epoch_loss;
    e->tokens = s->epoch_tokens;
    s->stopped = false;
    while (!s->stopped && (e->options->parallel ? step_together(e, next, source) : run_alone(e, next, source)))
        s->stopped = e->pending == 0 && is_stopped(e->options);
    if (e->pending > 0) take_step(e);
    s->epoch_loss = s->stopped ? e->loss : 0;
    s->epoch_tokens = s->stopped ? e->tokens : 0;
}

/* ---- an epoch ---------------------------------------------------------------------------------------------------- */

double transformer_run_epoch_at(AgSite at, Transformer *m, KaeruNextBatch *next, void *source, const KaeruEpochOptions *o,
                                KaeruTrainState *state)
{
    NN_LAYER(at, m);
    if (!next) ag_usage_error(at, __func__, "next is NULL, expected a function that makes batches");
    ag_check_pointer_at(at, __func__, "options", o);
    ag_check_pointer_at(at, __func__, "state", state);
    if (o->accum_iter < 0) ag_usage_error(at, __func__, "accum_iter is %d, expected 0 or more", o->accum_iter);
    if (o->parallel && nn_parallel_shards(o->parallel) % accumulated(o) != 0)
        ag_usage_error(at, __func__, "%lld shards do not divide into accum_iter %d batches",
                       (long long)nn_parallel_shards(o->parallel), o->accum_iter);
    if (o->optimizer) {                     /* now, not after the first batch */
        const Module *root = &m->module;    /* the optimizer may train more than this model, or a part of it */
        while (root->parent) root = root->parent;
        nn_optimizer_check(__func__, o->optimizer, root);
        if (!(o->factor > 0)) ag_usage_error(at, __func__, "factor is %g, expected above 0", o->factor);
        transformer_rate(0, o->model_size, o->factor, o->warmup);
    }
    Epoch epoch = { .model = m, .options = o, .state = state };
    if (o->optimizer) nn_train(m);
    else nn_eval(m);
    if (o->optimizer) train_batches(&epoch, next, source);
    else if (o->parallel) evaluate_together(&epoch, next, source);
    else while (run_alone(&epoch, next, source)) continue;
    return epoch.tokens ? epoch.loss / (double)epoch.tokens : 0;
}

bool nn_average_checkpoints_at(AgSite at, void *model, const char *const *paths, int n)
{
    AG_LAYER(at);
    nn_check_at(at, __func__, model, 0);
    if (n < 1) return ag_set_error("there are no checkpoints to average");
    ag_check_pointer_at(at, __func__, "paths", paths);
    void *one = nn_clone(model);
    void *average = nn_clone(model);
    NnParameters *mean = nn_parameters(average), *part = nn_parameters(one);
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
    if (good) {
        NnParameters *own = nn_parameters(model);
        for (int j = 0; j < own->n; j++) tensor_copy(own->item[j].tensor, mean->item[j].tensor);
        ag_free(own);
    }
    ag_free(part);
    ag_free(mean);
    nn_free(one);
    nn_free(average);
    return good;
}
