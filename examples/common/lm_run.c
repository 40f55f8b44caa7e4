/* lm_run.c: a training run of a language model with its progress, its losses as data, and a chart. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lm_run.h"

#define LOSSES "step,train_loss,valid_loss,learning_rate,tokens_per_second"
static const char losses_header[] = LOSSES, use_header[] = LOSSES ",whole,cut,unused,targets,targets_cut,targets_unused";
enum { LOSS_COLUMNS = 5, USE_COLUMNS = 6 };
/* Set in checkpoints of runs whose losses have the columns of use_header. */
static const char columns_key[] = "csv.use";

typedef struct {
    const TrainingRun *run;
    const char *data_name;
    LmTraining own;             /* as the program has made it */
    Csv *csv;
    Progress progress;
    LmUse use;                  /* what windows show of the data to learn */
    bool shows_use;             /* in the data file */
    int64_t first, since;
    double since_time, speed;
} Watch;

/* The speed is that of the steps, without the time of evaluations and checkpoints. */
static void start_clock(Watch *w, int64_t step)
{
    w->since = step;
    w->since_time = example_seconds();
}

bool lm_use_has_examples(const LmUse *use)
{
    return use->whole + use->cut + use->unused > 0;
}

/* An evaluation may read the beginning of the held-out data only. */
static void say_what_is_evaluated(const LmTraining *t)
{
    int64_t most = t->options.evaluate_tokens, all = lm_data_use(t->data, LM_HELD_OUT, t->window).targets;
    if (most > 0 && most < all) {
        say("each evaluation reads about %" PRId64 " of the %" PRId64 " held-out tokens to predict\n", most, all);
    }
}

/* The best model is that of the least held-out loss, as this run measures it. */
static void say_if_best_begins_again(const TrainingRun *run, const LmTraining *t)
{
    const char *before = nn_settings_get(run->saved, "train.best_loss");
    if (before && strcmp(before, "none") != 0 && !isfinite(t->best_loss) && t->step < t->options.steps) {
        say("the held-out loss is measured on other data or in another way (--held-out, --window, --batch, --precision):\n"
            "the next evaluation begins again to choose the best model\n");
    }
}

/* A resumed run keeps the columns that it had. */
static bool shows_use(const TrainingRun *run, const LmData *data)
{
    LmUse use = lm_data_use(data, LM_TRAIN, 1);
    return run->resumed ? nn_settings_get(run->saved, columns_key) != NULL : lm_use_has_examples(&use);
}

static void started(LmTraining *t, void *arg)
{
    Watch *w = arg;
    if (w->own.started) {
        w->own.started(t, w->own.arg);
    }
    if (w->run->resumed && t->step < t->options.steps) {
        say("resumes at step %" PRId64 " of %" PRId64 ", from %s\n", t->step, t->options.steps, t->last);
    } else if (w->run->resumed) {
        say("all %" PRId64 " steps are done, from %s\n", t->step, t->last);
    }
    say_if_best_begins_again(w->run, t);
    say_if_shards_are_empty(t->options.batch);
    w->first = t->step;
    say_what_is_evaluated(t);
    w->use = lm_data_use(t->data, LM_TRAIN, t->window);
    w->csv = training_run_csv(w->run, w->data_name, w->shows_use ? use_header : losses_header, t->step);
    w->progress = progress_begin("step", t->options.steps - t->step);
    start_clock(w, t->step);
}

static void stepped(LmTraining *t, void *arg)
{
    Watch *w = arg;
    const LmOptions *o = &t->options;
    example_must_have_folder();                         /* a stopped run saves after this */
    double tokens = (double)((t->step - w->since) * o->batch * o->accumulate * t->window);
    double spent = example_seconds() - w->since_time;
    w->speed = spent > 0 && tokens > 0 ? tokens / spent : 0;
    progress_show(&w->progress, t->step - w->first, "loss %.3f, %.0f tokens/s", t->loss, w->speed);
}

static void evaluated(LmTraining *t, void *arg)
{
    Watch *w = arg;
    const LmUse *u = &w->use;
    example_must_have_folder();                         /* the checkpoints are saved after this */
    const double row[LOSS_COLUMNS + USE_COLUMNS] = {
        (double)t->step, t->train_loss, t->valid_loss, t->lr, w->speed, (double)u->whole, (double)u->cut, (double)u->unused,
        (double)u->targets, (double)u->cut_targets, (double)u->unused_targets
    };
    csv_numbers(w->csv, NULL, w->shows_use ? LOSS_COLUMNS + USE_COLUMNS : LOSS_COLUMNS, row);
    training_run_note_rows(w->run, w->csv);
    progress_end(&w->progress);
    say("step %" PRId64 " of %" PRId64 ": loss %.3f, held out %.3f, %.0f tokens/s\n", t->step, t->options.steps,
        t->train_loss, t->valid_loss, w->speed);
    start_clock(w, t->step);
}

static void show_losses(Watch *w)
{
    if (csv_rows(w->csv) > 1) {
        chart_print(w->csv, &(Chart){ "loss", "step", false,
                                      { { "train_loss", "training" }, { "valid_loss", "held out" } } });
    }
    csv_close(w->csv);
}

void lm_run(LmTraining *t, const char *data_name, const TrainingRun *run)
{
    Watch watch = { .run = run, .data_name = data_name, .own = *t };
    watch.shows_use = shows_use(run, t->data);
    if (watch.shows_use) {
        nn_settings_set(t->settings, columns_key, "1");
    }
    t->started = started;
    t->stepped = stepped;
    t->evaluated = evaluated;
    t->arg = &watch;
    t->new_data = run->new_data;
    bool good = lm_train(t, run->resumed);
    if (watch.csv) {
        progress_end(&watch.progress);
    }
    if (!good) {
        example_fail("%s", ag_error());
    }
    if (t->stopped) {
        csv_close(watch.csv);
        example_warn("stopped by a signal after step %" PRId64 ": --resume continues", t->step);
    } else {
        show_losses(&watch);
    }
}
