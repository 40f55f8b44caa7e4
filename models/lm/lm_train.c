/* lm_train.c: the training loop of a language model, which can be stopped at any moment and resumed.
 *
 * A checkpoint contains everything that the next step depends on: the weights, the optimizer's state and number of steps,
 * the state of the random generator (for windows and dropout), the lowest held-out loss so far, and the sum of the training
 * losses since the last evaluation. If parameters are frozen, as with adapters, the checkpoint has their hash instead of their
 * values. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/checkpoint.h"
#include "kaeru/lm.h"
#include "kaeru/options.h"
#include "kaeru/schedule.h"
#include "kaeru/values.h"
#include "program_calls.h"
#include "language.h"
#include "lm_parts.h"
#include "losses.h"
#include "numbers.h"
#include "utf8.h"

/* A run of *training; sum: of the losses since step `since`. */
typedef struct {
    LmTraining *training;
    Optimizer *optimizer;
    NnParallel *parallel;
    void *all;                  /* the owner of both, which a callback that leaves by longjmp or throw frees */
    double sum;
    int64_t since;
    char base[17];              /* the hash of the frozen parameters; "": there are none */
} Run;

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

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

static void free_run(const Run *r)
{
    layer_frees(r->all);
}

/* Other options would divide by 0, or be others than those in the checkpoints. The usage error does not return. */
static void check_options(const Run *r, const LmOptions *before)
{
    const LmOptions *now = &r->training->options;
    for (const NnField *f = lm_fields.field; f->name; f++) {                /* int64_t and double: eight bytes each */
        char old[NN_FIELD_BUFFER], new[NN_FIELD_BUFFER];
        if (memcmp((const char *)before + f->offset, (const char *)now + f->offset, sizeof(int64_t)) == 0) continue;
        nn_field_text(f, before, old);
        nn_field_text(f, now, new);
        free_run(r);
        ag_usage_error("lm_train", "a callback has changed %s%s from %s to %s, expected the same options until the "
                       "training ends", lm_fields.prefix, f->name, old, new);
    }
}

static void call_back(const Run *r, void (*callback)(LmTraining *t, void *arg), const char *name)
{
    LmTraining *t = r->training, before = *t;
    const AgScope scope = innermost_scope();
    if (!callback) return;
    const Calls calls = program_begins();
    callback(t, t->arg);
    function_ends(calls);
    const bool left_open = innermost_scope().depth > scope.depth && (scope.depth == 0 || scope_is_open(scope));
    if (left_open) free_run(r);             /* the end of a scope around the call has freed it */
    check_scopes("lm_train", name, scope);
    check_options(r, &before.options);
    const char *changed = t->model != before.model ? "model" : t->data != before.data ? "data" :
                          t->settings != before.settings ? "settings" : t->last != before.last ? "last" :
                          t->best != before.best ? "best" : t->processes != before.processes ? "processes" :
                          t->window != before.window ? "window" : t->step != before.step ? "step" : NULL;
    if (!changed) return;
    free_run(r);
    ag_usage_error("lm_train", "a callback has changed the member %s of t, which lm_train needs as it was", changed);
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* Learns a shard: its windows of a batch. Shards may have different numbers of targets, so the loss of one of several is a
 * sum, from which the step computes the mean. */
static void learn_shard(const Run *r)
{
    const LmOptions *o = &r->training->options;
    bool several = nn_parallel_shards(r->parallel) > 1;
    int64_t shard = nn_parallel_index(r->parallel) % o->shards;
    int64_t windows = o->batch * (shard + 1) / o->shards - o->batch * shard / o->shards;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids, *targets;
    if (windows > 0) lm_data_draw(r->training->data, windows, r->training->window, &ids, &targets);
    if (several) nn_parallel_count(r->parallel, windows > 0 ? (double)losses_count(targets, NO_TARGET) : 0);
    if (windows > 0) ag_backward(lm_loss_with(r->training->model, ids, targets, several ? AG_SUM : AG_MEAN));
    ag_end(s);
}

static bool take_step(const Run *r)
{
    LmTraining *t = r->training;
    const LmOptions *o = &t->options;
    nn_train(t->model);
    int64_t end = o->steps > o->warmup ? o->steps : o->warmup;          /* a trial run may end during the warmup */
    t->lr = nn_schedule_cosine(t->step + 1, o->lr, fmin(o->lr, o->lr_min), o->warmup, end);
    nn_optimizer_set_lr(r->optimizer, t->lr);
    while (nn_parallel_shard(r->parallel)) learn_shard(r);
    t->loss = nn_parallel_step(r->parallel);
    if (!isfinite(t->loss) && t->step == 0)                 /* no learning rate has changed a weight yet */
        return ag_set_error("step 1: the loss is %g with the weights as they were: expected weights that are finite and not "
                            "too large", t->loss);
    if (!isfinite(t->loss))
        return ag_set_error("step %" PRId64 ": the loss is %g; a smaller learning rate may help", t->step + 1, t->loss);
    t->step++;
    return true;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* The settings of a checkpoint. A run that was stopped between evaluations resumes with the sum of losses since the last. */
static const char best_key[] = "train.best_loss", sum_key[] = "train.loss_sum", since_key[] = "train.loss_since";
static const char base_key[] = "train.base", precision_key[] = "train.precision";
static const char no_best[] = "none";           /* before the first evaluation */

/* The hash of what is trained, or of what is not. Sets *matrices if it has one. */
static uint64_t hash_parameters(void *model, bool trained, bool *matrices)
{
    NnParameters *p = nn_parameters(model);
    uint64_t h = 0;
    for (int i = 0; i < p->n; i++) {
        if (p->item[i].trained != trained) continue;
        h = tensor_hash(p->item[i].tensor, h);
        if (tensor_ndim(p->item[i].tensor) > 1) *matrices = true;
    }
    ag_free(p);
    return h;
}

static bool save_model(const Run *r, const char *path, Optimizer *o)
{
    const LmTraining *t = r->training;
    return *r->base ? nn_checkpoint_save_trained(path, t->model, o, t->settings)
                    : nn_checkpoint_save(path, t->model, o, t->settings);
}

/* Sets the run's own settings. Those of an earlier call with the same settings must not stay. */
static void note_progress(const Run *r)
{
    NnSettings *s = r->training->settings;
    const double best = r->training->best_loss;
    if (isfinite(best)) nn_settings_set(s, best_key, "%.17g", best);
    else if (nn_settings_get(s, best_key)) nn_settings_set(s, best_key, "%s", no_best);
    if (r->training->stopped || nn_settings_get(s, sum_key)) {
        nn_settings_set(s, sum_key, "%.17g", r->sum);
        nn_settings_set(s, since_key, "%" PRId64, r->since);
    }
}

/* Only the last checkpoint has the optimizer's state, which resuming needs. */
static bool save(const Run *r, bool is_best)
{
    const LmTraining *t = r->training;
    note_progress(r);
    bool writes = is_best && t->best && nn_parallel_is_first(r->parallel);
    return nn_parallel_check(r->parallel, !writes || save_model(r, t->best, NULL)) &&
           (!t->last || save_model(r, t->last, r->optimizer));
}

/* Whether the best checkpoint can be written. */
static bool check_best(const Run *r)
{
    const LmTraining *t = r->training;
    bool good = true;
    if (t->best && nn_parallel_is_first(r->parallel)) {
        FileWriter *w = file_replace(t->best);
        good = w != NULL;
        ag_free(w);
        if (good && t->last && kaeru_text_is_same_file(t->last, t->best))
            good = ag_set_error("%s and %s are the same file, expected two", t->last, t->best);
    }
    return nn_parallel_check(r->parallel, good);
}

static bool evaluate(Run *r)
{
    LmTraining *t = r->training;
    const LmOptions *o = &t->options;
    t->train_loss = r->sum / (double)(t->step - r->since);
    t->valid_loss = lm_evaluate_with(t->model, t->data, o->batch, t->window, o->evaluate_tokens, NULL, r->parallel);
    if (!isfinite(t->valid_loss))
        return ag_set_error("step %" PRId64 ": the held-out loss is %g; a smaller learning rate may help", t->step,
                            t->valid_loss);
    bool is_best = t->valid_loss < t->best_loss;
    if (is_best) t->best_loss = t->valid_loss;
    call_back(r, t->evaluated, "evaluated");
    r->sum = 0;
    r->since = t->step;
    return save(r, is_best);
}

static const char *name_of_precision(void)
{
    return ag_precision_now() == AG_BF16 ? "bf16" : "float32";
}

/* Whether held-out losses are measured as the run that has these settings has measured them: in the same windows, with the same
 * products. An evaluation of some of the tokens reads whole batches. Earlier versions did not save the precision. */
static bool measures_as(const LmTraining *t, const NnSettings *found)
{
    LmOptions before = t->options;
    const LmOptions *now = &t->options;
    if (!nn_fields_from_settings(&lm_fields, &before, found)) return false;
    int64_t context = lm_sizes(__func__, t->model).context, window = before.window > 0 ? before.window : context;
    const char *precision = nn_settings_get(found, precision_key);
    return window == t->window && before.evaluate_tokens == now->evaluate_tokens &&
           (now->evaluate_tokens == 0 || before.batch == now->batch) &&
           (!precision || strcmp(precision, name_of_precision()) == 0);
}

/* Sets the settings of the model's sizes. */
static void put_model(const void *m, NnSettings *s)
{
    const LmFunctions *f = lm_functions(m);
    nn_fields_to_settings(f->fields, (const char *)m + f->options, s);
}

/* Whether the settings of the checkpoint describe this model; else false with ag_error(). */
static bool has_model(const void *m, const NnSettings *found, const char *checkpoint)
{
    const NnFields *fields = lm_functions(m)->fields;
    NnSettings *now = nn_settings_new();
    bool good = true;
    put_model(m, now);
    for (const NnField *f = fields->field; good && f->name; f++) {
        const char *key = text_printf(now, "%s%s", fields->prefix, f->name);
        const char *before = nn_settings_get(found, key), *value = nn_settings_get(now, key);
        if (!before) continue;                                  /* of an earlier version */
        if (!value || strcmp(before, value) != 0)
            good = ag_set_error("%s: the run began with a model of %s %s, expected the same: this one has %s", checkpoint, key,
                                QUOTED(before), value ? QUOTED(value) : "none");
    }
    ag_free(now);
    return good;
}

/* Restores the state of the last checkpoint. */
static bool load(Run *r)
{
    LmTraining *t = r->training;
    NnSettings *found = nn_settings_new();
    bool good = nn_checkpoint_load(t->last, t->model, r->optimizer, found);
    const char *base = nn_settings_get(found, base_key);
    if (good && *r->base && base && strcmp(base, r->base) != 0)
        good = ag_set_error("%s: the model has other frozen weights than the one with which this run began", t->last);
    good = good && has_model(t->model, found, t->last);
    const char *best = nn_settings_get(found, best_key);
    if (good && best && !t->new_data && strcmp(best, no_best) != 0 && measures_as(t, found))
        good = nn_settings_real(found, best_key, &t->best_loss);
    t->step = r->since = nn_optimizer_steps(r->optimizer);
    if (good && nn_settings_get(found, sum_key))
        good = nn_settings_real(found, sum_key, &r->sum) && nn_settings_int(found, since_key, &r->since) &&
               ((uint64_t)r->since <= (uint64_t)t->step ||
                ag_set_error("%s: expected %s from 0 to %" PRId64, t->last, since_key, t->step));
    ag_free(found);
    if (!nn_parallel_check(r->parallel, good)) return false;
    if (!t->processes) return true;
    const uint64_t state[] = { hash_parameters(t->model, true, &(bool){ false }), (uint64_t)t->step };
    return nn_parallel_agree(r->parallel, "the checkpoint", state, sizeof state);
}

/* ---- the training loop ------------------------------------------------------------------------------------------- */

static bool run(Run *r)
{
    LmTraining *t = r->training;
    call_back(r, t->started, "started");
    while (t->step < t->options.steps) {
        if (!take_step(r)) return false;
        r->sum += t->loss;
        call_back(r, t->stepped, "stepped");
        if ((t->step % t->options.evaluate_every == 0 || t->step == t->options.steps) && !evaluate(r)) return false;
        if (t->stop && *t->stop) nn_parallel_stop(r->parallel);
        if (t->step < t->options.steps && nn_parallel_stopped(r->parallel)) {
            t->stopped = true;
            return save(r, false);              /* a checkpoint in which the next step continues */
        }
    }
    return true;
}

bool lm_train(LmTraining *t, bool resume)
{
    AG_LAYER;
    ag_check_pointer(__func__, "t", t);
    int64_t context = lm_sizes(__func__, t->model).context;
    ag_check_object(__func__, "the data of t", t->data);
    ag_check_object(__func__, "the settings of t", t->settings);
    if (!nn_fields_check(&lm_fields, &t->options) || !lm_data_fits(t->data, t->model, t->options.window)) return false;
    if (resume && !t->last) ag_usage_error(__func__, "no path of a checkpoint to resume from");
    if (t->last && t->best && strcmp(t->last, t->best) == 0)
        ag_usage_error(__func__, "last and best are both \"%s\", expected two paths", t->last);
    Run r = { .training = t, .optimizer = optimizer_new(t), .all = ag_alloc(1, 1) };
    ag_set_owner(r.optimizer, r.all);
    layer_owns(r.all);
    NnParallelOptions shared = { .shards = t->options.shards * t->options.accumulate, .clip = t->options.clip };
    r.parallel = nn_parallel_new_with(r.optimizer, shared, t->processes);
    ag_set_owner(r.parallel, r.all);
    t->step = 0;
    t->stopped = false;
    t->best_loss = INFINITY;
    t->window = t->options.window > 0 ? t->options.window : context;
    bool frozen = false;                                    /* a buffer of the model's own is no reason */
    uint64_t base = hash_parameters(t->model, false, &frozen);
    if (frozen) snprintf(r.base, sizeof r.base, "%016" PRIx64, base);
    if (*r.base) nn_settings_set(t->settings, base_key, "%s", r.base);
    nn_settings_set(t->settings, precision_key, "%s", name_of_precision());
    put_model(t->model, t->settings);
    nn_fields_to_settings(&lm_fields, &t->options, t->settings);
    bool good = nn_parallel_agree(r.parallel, "the options of the training", &t->options, sizeof t->options) &&
                data_agrees(t->data, r.parallel);
    /* the first checkpoint, before the first step: a path that cannot be written is an error now, not after hours */
    good = good && (resume ? load(&r) : save(&r, false)) && (t->step >= t->options.steps || check_best(&r)) && run(&r);
    free_run(&r);
    return good;
}
