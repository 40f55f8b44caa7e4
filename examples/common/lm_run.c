/* lm_run.c: a training run of a language model with its progress, its losses as data, and a chart. */
#include <inttypes.h>

#include "lm_run.h"

static const char header[] = "step,train_loss,valid_loss,learning_rate,tokens_per_second";
typedef struct {
    const TrainingRun *run;
    const char *data_name;
    Csv *csv;
    Progress progress;
    int64_t first, since;
    double since_time, speed;
} Watch;

/* The speed is that of the steps, without the time of evaluations and checkpoints. */
static void start_clock(Watch *w, int64_t step)
{
    w->since = step;
    w->since_time = example_seconds();
}

static void started(LmTraining *t, void *arg)
{
    Watch *w = arg;
    if (w->run->resumed && t->step < t->options.steps) {
        say("resumes at step %" PRId64 " of %" PRId64 ", from %s\n", t->step, t->options.steps, t->last);
    } else if (w->run->resumed) {
        say("all %" PRId64 " steps are done, from %s\n", t->step, t->last);
    }
    say_if_shards_are_empty(t->options.batch);
    w->first = t->step;
    w->csv = training_run_csv(w->run, w->data_name, header, t->step);
    w->progress = progress_begin("step", t->options.steps - t->step);
    start_clock(w, t->step);
}

static void stepped(LmTraining *t, void *arg)
{
    Watch *w = arg;
    const LmOptions *o = &t->options;
    double tokens = (double)((t->step - w->since) * o->batch * o->accumulate * t->window);
    double spent = example_seconds() - w->since_time;
    w->speed = spent > 0 && tokens > 0 ? tokens / spent : 0;
    progress_show(&w->progress, t->step - w->first, "loss %.3f, %.0f tokens/s", t->loss, w->speed);
}

static void evaluated(LmTraining *t, void *arg)
{
    Watch *w = arg;
    csv_row(w->csv, t->step, t->train_loss, t->valid_loss, t->lr, w->speed);
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
    Watch watch = { .run = run, .data_name = data_name };
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
