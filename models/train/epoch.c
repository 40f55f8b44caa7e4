/* epoch.c: one pass over the data, for training (with gradient accumulation) or evaluation. */
#include "kaeru/autograd.h"
#include "arguments.h"
#include "kaeru/schedule.h"
#include "program_calls.h"
#include "kaeru/training.h"
#include "losses.h"
#include "optimizer.h"

/* The sums are over the batches of the epoch so far. */
typedef struct {
    Transformer *model;
    const KaeruEpochOptions *options;
    NnParallel *parallel;       /* NULL only in evaluation */
    KaeruTrainState *state;
    double loss, lr;
    int64_t tokens;
} Epoch;

/* The sum of the batch's losses; in training also their gradients. */
static double loss_compute(const Epoch *e, const TransformerBatch *batch)
{
    const KaeruLabelSmoothing *criterion = &e->options->criterion;
    Tensor *out = transformer_forward(e->model, batch->src, batch->tgt, batch->src_mask, batch->tgt_mask);
    Tensor *x = transformer_generator(e->model->generator, out);
    Tensor *loss = ag_label_smoothing(x, batch->tgt_y, criterion->padding_idx, criterion->smoothing);
    if (e->options->optimizer) ag_backward(loss);
    return tensor_item(loss);
}

/* Calls the program's function, and checks what it has put into *batch. */
static bool next_batch(KaeruNextBatch *next, void *source, TransformerBatch *batch)
{
    static const char what[] = "transformer_run_epoch";
    const AgScope scope = innermost_scope();
    const Calls before = function_begins();         /* `next` may be a function of the library */
    bool more = next(source, batch);
    function_ends(before);
    check_scopes(what, "next", scope);
    if (!more) return false;
    check_tensor(what, "the src of a batch", batch->src, AG_INT);
    check_alive(what, "the src_mask of a batch", batch->src_mask);
    check_tensor(what, "the tgt of a batch", batch->tgt, AG_INT);
    check_tensor(what, "the tgt_y of a batch", batch->tgt_y, AG_INT);
    check_alive(what, "the tgt_mask of a batch", batch->tgt_mask);
    return true;
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
    const AgScope scope = innermost_scope();
    const Calls before = program_begins();
    if (o->done) o->done(o->done_arg, e->state, batch->ntokens ? loss / (double)batch->ntokens : 0, e->lr);
    function_ends(before);
    check_scopes("transformer_run_epoch", "done", scope);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* The loss of each batch is computed by one process. */
static void evaluate_batches(Epoch *e, KaeruNextBatch *next, void *source)
{
    Losses losses = { .parallel = e->parallel };
    for (bool more = true; more; ) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        TransformerBatch batch = { 0 };
        more = next_batch(next, source, &batch);
        if (more) {
            double loss = losses_next_is_mine(&losses) ? loss_compute(e, &batch) : 0;
            losses_add(&losses, loss);
            batch_done(e, &batch, loss);
        }
        ag_end(scope);
    }
    e->loss = losses_sum(&losses);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* The rows from..to-1 of a batch. */
static TransformerBatch batch_rows(const TransformerBatch *whole, int64_t from, int64_t to)
{
    return (TransformerBatch){ .src = ag_slice(whole->src, 0, from, to), .src_mask = ag_slice(whole->src_mask, 0, from, to),
                               .tgt = ag_slice(whole->tgt, 0, from, to), .tgt_y = ag_slice(whole->tgt_y, 0, from, to),
                               .tgt_mask = ag_slice(whole->tgt_mask, 0, from, to) };
}

/* Learns the current shard: some rows of one of n batches. */
static void learn_shard(const Epoch *e, const TransformerBatch *batches, int n)
{
    int64_t shards = nn_parallel_shards(e->parallel) / e->options->accum_iter;
    int64_t shard = nn_parallel_index(e->parallel) % shards, number = nn_parallel_index(e->parallel) / shards;
    nn_parallel_count(e->parallel, 0);
    if (number >= n) return;
    const TransformerBatch *batch = &batches[number];
    int64_t rows = tensor_dim(batch->src, 0), from = rows * shard / shards, to = rows * (shard + 1) / shards;
    if (from == to) return;                     /* a gradient of zeros would take time and change nothing */
    AgScope scope = ag_begin(AG_RECORD);
    TransformerBatch part = batch_rows(batch, from, to);
    nn_parallel_count(e->parallel, (double)losses_count(part.tgt_y, e->options->criterion.padding_idx));
    loss_compute(e, &part);
    ag_end(scope);
}

/* Draws the batches of a step, and takes it: false at the epoch's end. All batches have the step's mean loss of a token. */
static bool take_step(Epoch *e, KaeruNextBatch *next, void *source)
{
    const KaeruEpochOptions *o = e->options;
    AgScope scope = ag_begin(AG_NO_GRAD);
    int most = o->accum_iter, n = 0;
    TransformerBatch *batches = ag_scratch((size_t)most, sizeof *batches);
    while (n < most && next_batch(next, source, &batches[n])) n++;
    if (n > 0) {
        e->lr = nn_schedule_noam(e->state->accum_step, o->model_size, o->factor, o->warmup);
        nn_optimizer_set_lr(o->optimizer, e->lr);
        while (nn_parallel_shard(e->parallel)) learn_shard(e, batches, n);
        double loss = nn_parallel_step(e->parallel);
        e->state->accum_step++;
        for (int i = 0; i < n; i++) batch_done(e, &batches[i], loss * (double)batches[i].ntokens);
    }
    ag_end(scope);
    return n == most;
}

static void train_batches(Epoch *e, KaeruNextBatch *next, void *source)
{
    KaeruTrainState *s = e->state;
    e->loss = s->epoch_loss;
    e->tokens = s->epoch_tokens;
    s->stopped = false;
    while (!s->stopped && take_step(e, next, source)) {
        if (e->options->stop && *e->options->stop) nn_parallel_stop(e->parallel);
        s->stopped = nn_parallel_stopped(e->parallel);
    }
    s->epoch_loss = s->stopped ? e->loss : 0;
    s->epoch_tokens = s->stopped ? e->tokens : 0;
}

double transformer_run_epoch(Transformer *m, KaeruNextBatch *next, void *source, const KaeruEpochOptions *o,
                             KaeruTrainState *state)
{
    NN_LAYER_OF(m, "Transformer");
    if (!next) ag_usage_error(__func__, "next is NULL, expected a function that makes batches");
    ag_check_pointer(__func__, "options", o);
    ag_check_pointer(__func__, "state", state);
    if (o->accum_iter < 0) ag_usage_error(__func__, "accum_iter is %d, expected 0 or more", o->accum_iter);
    KaeruEpochOptions how = *o;
    if (how.accum_iter == 0) how.accum_iter = 1;
    if (o->parallel && nn_parallel_shards(o->parallel) % how.accum_iter != 0)
        ag_usage_error(__func__, "%lld shards do not divide into accum_iter %d batches",
                       (long long)nn_parallel_shards(o->parallel), o->accum_iter);
    Epoch epoch = { .model = m, .options = &how, .parallel = o->parallel, .state = state };
    if (!o->optimizer) {
        nn_eval(m);
        evaluate_batches(&epoch, next, source);
    } else {
        const Module *root = &m->module;    /* the optimizer may train more than this model, or a part of it */
        while (root->parent) root = root->parent;
        nn_optimizer_check(__func__, o->optimizer, root);
        if (o->parallel && o->optimizer->sharing != (Sharing *)o->parallel)
            ag_usage_error(__func__, "options: parallel was made of another optimizer than `optimizer`, expected one for "
                           "both");
        if (!(o->factor > 0)) ag_usage_error(__func__, "factor is %g, expected above 0", o->factor);
        nn_schedule_noam(0, o->model_size, o->factor, o->warmup);   /* a usage error now, not after the first batch */
        nn_train(m);
        NnParallel *alone = o->parallel ? NULL : nn_parallel_new(o->optimizer, how.accum_iter, NULL);
        if (alone) epoch.parallel = alone;
        train_batches(&epoch, next, source);
        ag_free(alone);
    }
    return epoch.tokens ? epoch.loss / (double)epoch.tokens : 0;
}
