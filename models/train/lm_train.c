/* lm_train.c: the training loop of a language model, which can be stopped at any moment and resumed.
 *
 * A checkpoint contains everything that the next step depends on: the weights, the optimizer's state and number of steps,
 * the state of the random generator (for windows and dropout), and the lowest held-out loss so far. The mean training loss
 * starts from zero at each checkpoint, so it need not be saved. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/lm.h"

static Optimizer *optimizer_new(const LmTraining *t)
{
    const LmOptions *o = &t->options;
    AdamOptions adam = nn_adamw_options(o->lr);
    adam.beta1 = o->beta1;
    adam.beta2 = o->beta2;
    adam.weight_decay = o->weight_decay;
    Optimizer *optimizer = nn_adam_new_with(t->model, adam);
    nn_optimizer_group(optimizer, nn_is_not_matrix, NULL, 0, 1);
    return optimizer;
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

static void check_training(Site at, const char *what, const LmTraining *t)
{
    ag_check_pointer_at(at, what, "t", t);
    nn_check_at(at, what, t->model, sizeof *t->model);
}

int64_t lm_window_at(Site at, const LmTraining *t)
{
    check_training(at, __func__, t);
    return t->options.window > 0 ? t->options.window : t->model->options.context;
}

/* Adds the gradients of one batch, divided by the number of batches in this step; returns its loss divided likewise. */
static double learn_batch(const LmTraining *t)
{
    Scope s = ag_begin(AG_RECORD);
    Tensor *ids, *targets;
    lm_data_draw(t->data, t->options.batch, lm_window(t), &ids, &targets);
    Tensor *loss = ag_scale(gpt_loss(t->model, ids, targets), 1 / (double)t->options.accumulate);
    ag_backward(loss);
    double value = tensor_item(loss);
    ag_end(s);
    return value;
}

static bool take_step(LmTraining *t, Optimizer *optimizer)
{
    const LmOptions *o = &t->options;
    nn_train(t->model);
    t->loss = 0;
    for (int64_t i = 0; i < o->accumulate; i++) t->loss += learn_batch(t);
    if (!isfinite(t->loss)) {
        nn_zero_grad(t->model);
        return ag_set_error("step %" PRId64 ": the loss is %g; a smaller learning rate may help", t->step + 1, t->loss);
    }
    if (o->clip > 0) nn_clip_grad_norm(t->model, o->clip);
    int64_t end = o->steps > o->warmup ? o->steps : o->warmup;          /* a trial run may end during the warmup */
    t->lr = nn_schedule_cosine(t->step + 1, o->lr, o->lr_min, o->warmup, end);
    nn_optimizer_set_lr(optimizer, t->lr);
    nn_optimizer_step(optimizer);
    t->step++;
    return true;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static const char best_key[] = "train.best_loss";

/* Only the last checkpoint has the optimizer's state, which resuming needs. */
static bool save(LmTraining *t, Optimizer *optimizer, bool is_best)
{
    if (isfinite(t->best_loss)) nn_settings_set(t->settings, best_key, "%.17g", t->best_loss);
    return (!is_best || !t->best || nn_checkpoint_save(t->best, t->model, NULL, t->settings)) &&
           (!t->last || nn_checkpoint_save(t->last, t->model, optimizer, t->settings));
}

static bool evaluate(LmTraining *t, Optimizer *optimizer, double train_loss)
{
    t->train_loss = train_loss;
    t->valid_loss = lm_evaluate(t->model, t->data, t->options.batch, lm_window(t), t->options.evaluate_tokens, NULL);
    bool is_best = t->valid_loss < t->best_loss;
    if (is_best) t->best_loss = t->valid_loss;
    if (t->evaluated) t->evaluated(t, t->arg);
    return save(t, optimizer, is_best);
}

/* Restores the state of the last checkpoint. */
static bool resume_from(LmTraining *t, Optimizer *optimizer)
{
    Settings *found = nn_settings_new();
    bool good = nn_checkpoint_load(t->last, t->model, optimizer, found);
    if (good && nn_settings_get(found, best_key)) good = nn_settings_real(found, best_key, &t->best_loss);
    ag_free(found);
    t->step = nn_optimizer_steps(optimizer);
    return good;
}

/* ---- the training loop ------------------------------------------------------------------------------------------- */

static bool run(LmTraining *t, Optimizer *optimizer)
{
    double sum = 0;
    int64_t since = t->step;
    if (t->started) t->started(t, t->arg);
    while (t->step < t->options.steps) {
        if (!take_step(t, optimizer)) return false;
        sum += t->loss;
        if (t->stepped) t->stepped(t, t->arg);
        if (t->step % t->options.evaluate_every != 0 && t->step != t->options.steps) continue;
        if (!evaluate(t, optimizer, sum / (double)(t->step - since))) return false;
        sum = 0;
        since = t->step;
    }
    return true;
}

bool lm_train_at(Site at, LmTraining *t, bool resume)
{
    AG_LAYER(at);
    check_training(at, __func__, t);
    ag_check_object_at(at, __func__, "the data of t", t->data);
    ag_check_object_at(at, __func__, "the settings of t", t->settings);
    if (!lm_check(&t->options) || !lm_data_fits(t->data, t->model, t->options.window)) return false;
    if (resume && !t->last) ag_usage_error(AG_HERE, "lm_train", "no path of a checkpoint to resume from");
    if (t->last && t->best && strcmp(t->last, t->best) == 0)
        ag_usage_error(at, __func__, "last and best are both \"%s\", expected two paths", t->last);
    Optimizer *optimizer = optimizer_new(t);
    t->step = 0;
    t->best_loss = INFINITY;
    gpt_to_settings(&t->model->options, t->settings);
    lm_to_settings(&t->options, t->settings);
    /* the first checkpoint, before the first step: a path that cannot be written is an error now, not after hours */
    bool good = resume ? resume_from(t, optimizer) : save(t, optimizer, false);
    good = good && run(t, optimizer);
    ag_free(optimizer);
    return good;
}
