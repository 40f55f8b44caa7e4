/* lm_train.c: the training loop of a language model, which can be stopped at any moment and resumed.
 *
 * A checkpoint contains everything that the next step depends on: the weights, the optimizer's state and number of steps,
 * the state of the random generator (for windows and dropout), and the lowest held-out loss so far. The mean training loss
 * starts from zero at each checkpoint, so it need not be saved. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "language.h"
#include "shared_data.h"

static Optimizer *optimizer_new(const LmTraining *t)
{
    const LmOptions *o = &t->options;
    AgAdam adam = nn_adamw_options(o->lr);
    adam.beta1 = o->beta1;
    adam.beta2 = o->beta2;
    adam.weight_decay = o->weight_decay;
    Optimizer *optimizer = nn_adam_new_with(t->model, adam);
    nn_optimizer_group(optimizer, nn_is_not_matrix, NULL, 0, 1);
    return optimizer;
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

static Language model_of(AgSite at, const char *what, const LmTraining *t)
{
    ag_check_pointer_at(at, what, "t", t);
    return language_of(at, what, t->model);
}

int64_t lm_window_at(AgSite at, const LmTraining *t)
{
    Language l = model_of(at, __func__, t);
    return t->options.window > 0 ? t->options.window : l.context;
}

/* Adds the gradients of one batch, divided by the number of batches in this step; returns its loss divided likewise. */
static double learn_batch(const LmTraining *t)
{
    Language l = model_of(AG_HERE, "lm_train", t);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids, *targets;
    lm_data_draw(t->data, t->options.batch, lm_window(t), &ids, &targets);
    Tensor *loss = ag_scale(language_loss(&l, ids, targets, AG_MEAN), 1 / (double)t->options.accumulate);
    ag_backward(loss);
    double value = tensor_item(loss);
    ag_end(s);
    return value;
}

/* Those that are not padding. */
static double count_targets(const Tensor *targets)
{
    int64_t n = 0;
    for (int64_t i = 0; i < tensor_numel(targets); i++) n += tensor_int_data(targets)[i] >= 0;
    return (double)n;
}

/* Learns a shard: its windows of a batch. */
static void learn_shard(const LmTraining *t, NnParallel *p)
{
    Language l = model_of(AG_HERE, "lm_train", t);
    const LmOptions *o = &t->options;
    int64_t shard = nn_parallel_index(p) % o->shards;
    int64_t windows = o->batch * (shard + 1) / o->shards - o->batch * shard / o->shards;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids, *targets;
    if (windows > 0) lm_data_draw(t->data, windows, lm_window(t), &ids, &targets);
    nn_parallel_count(p, windows > 0 ? count_targets(targets) : 0);
    if (windows > 0) ag_backward(language_loss(&l, ids, targets, AG_SUM));
    ag_end(s);
}

static void update_alone(LmTraining *t, Optimizer *optimizer)
{
    t->loss = 0;
    for (int64_t i = 0; i < t->options.accumulate; i++) t->loss += learn_batch(t);
    if (!isfinite(t->loss)) {
        nn_zero_grad(t->model);
        return;
    }
    if (t->options.clip > 0) nn_clip_grad_norm(t->model, t->options.clip);
    nn_optimizer_step(optimizer);
}

static bool take_step(LmTraining *t, Optimizer *optimizer, NnParallel *p)
{
    const LmOptions *o = &t->options;
    nn_train(t->model);
    int64_t end = o->steps > o->warmup ? o->steps : o->warmup;          /* a trial run may end during the warmup */
    t->lr = nn_schedule_cosine(t->step + 1, o->lr, o->lr_min, o->warmup, end);
    nn_optimizer_set_lr(optimizer, t->lr);
    if (p) {
        while (nn_parallel_shard(p)) learn_shard(t, p);
        t->loss = nn_parallel_step(p);
    } else {
        update_alone(t, optimizer);
    }
    if (!isfinite(t->loss))
        return ag_set_error("step %" PRId64 ": the loss is %g; a smaller learning rate may help", t->step + 1, t->loss);
    t->step++;
    return true;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static const char best_key[] = "train.best_loss";

/* Only the last checkpoint has the optimizer's state, which resuming needs. */
static bool save(LmTraining *t, Optimizer *optimizer, NnParallel *p, bool is_best)
{
    if (isfinite(t->best_loss)) nn_settings_set(t->settings, best_key, "%.17g", t->best_loss);
    bool writes = !p || nn_parallel_is_first(p);
    bool good = !is_best || !t->best || !writes || nn_checkpoint_save(t->best, t->model, NULL, t->settings);
    if (p) good = nn_parallel_check(p, good);
    return good && (!t->last || nn_checkpoint_save(t->last, t->model, optimizer, t->settings));
}

static bool evaluate(LmTraining *t, Optimizer *optimizer, NnParallel *p, double train_loss)
{
    const LmOptions *o = &t->options;
    t->train_loss = train_loss;
    t->valid_loss = evaluate_together(AG_HERE, t->model, t->data, o->batch, lm_window(t), o->evaluate_tokens, NULL, p);
    bool is_best = t->valid_loss < t->best_loss;
    if (is_best) t->best_loss = t->valid_loss;
    if (t->evaluated) t->evaluated(t, t->arg);
    return save(t, optimizer, p, is_best);
}

/* A run that was stopped between evaluations resumes with the sum of losses since the last one. */
static const char sum_key[] = "train.loss_sum", since_key[] = "train.loss_since";

/* Restores the state of the last checkpoint. */
static bool resume_from(LmTraining *t, Optimizer *optimizer, double *sum, int64_t *since)
{
    NnSettings *found = nn_settings_new();
    bool good = nn_checkpoint_load(t->last, t->model, optimizer, found);
    if (good && nn_settings_get(found, best_key)) good = nn_settings_real(found, best_key, &t->best_loss);
    t->step = *since = nn_optimizer_steps(optimizer);
    if (good && nn_settings_get(found, sum_key))
        good = nn_settings_real(found, sum_key, sum) && nn_settings_int(found, since_key, since);
    ag_free(found);
    return good;
}

/* ---- the training loop ------------------------------------------------------------------------------------------- */

/* Saves a checkpoint in which the next step continues. */
static bool stop_training(LmTraining *t, Optimizer *optimizer, NnParallel *p, double sum, int64_t since)
{
    t->stopped = true;
    nn_settings_set(t->settings, sum_key, "%.17g", sum);
    nn_settings_set(t->settings, since_key, "%" PRId64, since);
    return save(t, optimizer, p, false);
}

/* sum: of the losses since step `since`. */
static bool run(LmTraining *t, Optimizer *optimizer, NnParallel *p, double sum, int64_t since)
{
    if (t->started) t->started(t, t->arg);
    while (t->step < t->options.steps) {
        if (p && t->stop && *t->stop) nn_parallel_stop(p);
        if (!take_step(t, optimizer, p)) return false;
        sum += t->loss;
        if (t->stepped) t->stepped(t, t->arg);
        if (t->step % t->options.evaluate_every == 0 || t->step == t->options.steps) {
            if (!evaluate(t, optimizer, p, sum / (double)(t->step - since))) return false;
            sum = 0;
            since = t->step;
        }
        if (t->step < t->options.steps && (p ? nn_parallel_stopped(p) : t->stop && *t->stop))
            return stop_training(t, optimizer, p, sum, since);
    }
    return true;
}

/* One process without shards needs no NnParallel. */
static NnParallel *parallel_new(const LmTraining *t, Optimizer *optimizer)
{
    const LmOptions *o = &t->options;
    if (o->shards == 1 && !t->processes) return NULL;
    NnParallelOptions options = { .shards = o->shards * o->accumulate, .clip = o->clip };
    return nn_parallel_new_with(optimizer, options, t->processes);
}

bool lm_train_at(AgSite at, LmTraining *t, bool resume)
{
    AG_LAYER(at);
    Language l = model_of(at, __func__, t);
    ag_check_object_at(at, __func__, "the data of t", t->data);
    ag_check_object_at(at, __func__, "the settings of t", t->settings);
    if (!nn_fields_check(&lm_fields, &t->options) || !lm_data_fits(t->data, t->model, t->options.window)) return false;
    if (resume && !t->last) ag_usage_error(AG_HERE, "lm_train", "no path of a checkpoint to resume from");
    if (t->last && t->best && strcmp(t->last, t->best) == 0)
        ag_usage_error(at, __func__, "last and best are both \"%s\", expected two paths", t->last);
    Optimizer *optimizer = optimizer_new(t);
    NnParallel *p = parallel_new(t, optimizer);
    double sum = 0;
    int64_t since = 0;
    t->step = 0;
    t->stopped = false;
    t->best_loss = INFINITY;
    language_settings(&l, t->settings);
    nn_fields_to_settings(&lm_fields, &t->options, t->settings);
    bool good = !p || (nn_parallel_agree(p, "the options of the training", &t->options, sizeof t->options) &&
                       data_agrees(t->data, p));
    if (good && resume) {
        good = resume_from(t, optimizer, &sum, &since);
        if (p) good = nn_parallel_check(p, good);
    } else if (good) {
        /* the first checkpoint, before the first step: a path that cannot be written is an error now, not after hours */
        good = save(t, optimizer, p, false);
    }
    good = good && run(t, optimizer, p, sum, since);
    ag_free(p);
    ag_free(optimizer);
    return good;
}
