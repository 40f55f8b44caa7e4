/* training_run.c: training runs that can be resumed: their options are settings of their checkpoints; and the mean of
 * several checkpoints. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "kaeru/training.h"

static bool resume, overwrite, other_data;

Option option_resume(void)
{
    return option_flag("resume", &resume,
                       "resume the run in the output folder; options given now replace its own, where possible");
}

Option option_overwrite(void)
{
    return option_flag("overwrite", &overwrite, "start a new run even if there is one in the output folder");
}

Option option_other_data(void)
{
    return option_flag("other-data", &other_data, "with --resume: the data may differ from what the run has learned from");
}

Option option_fixed(Option o)
{
    o.fixed = true;
    return o;
}

static void key_of(const Option *o, char key[80])
{
    snprintf(key, 80, "option.%s", o->name);
}

/* The others belong to one call of the program, not to the run. */
static bool is_saved(const Option *o)
{
    return o->value != &resume && o->value != &overwrite && o->value != &other_data && strcmp(o->name, "deadline") != 0;
}

static void save_options(const Option *o, NnSettings *s)
{
    for (; o->kind != OPTION_END; o++) {
        char key[80], text[32];
        const char *value = option_value(o, text);
        key_of(o, key);
        if (is_saved(o) && value) {
            nn_settings_set(s, key, "%s", value);
        }
    }
}

/* An option that older checkpoints do not have. */
static bool is_new(const Option *o)
{
    return strcmp(o->name, "shards") == 0;
}

/* A text option that was not given has no setting. Nor has a flag that is newer than the checkpoint. */
static bool restore_option(const Option *o, const NnSettings *s)
{
    char key[80];
    int64_t whole = 0;
    double value = 0;
    key_of(o, key);
    if (o->kind == OPTION_TEXT) {
        *(const char **)o->value = nn_settings_get(s, key);
        return true;
    }
    if ((o->kind == OPTION_FLAG || is_new(o)) && !nn_settings_get(s, key)) {
        return true;
    }
    if (o->kind == OPTION_REAL ? !nn_settings_real(s, key, &value) : !nn_settings_int(s, key, &whole)) {
        return false;
    }
    if (o->kind == OPTION_FLAG) {
        *(bool *)o->value = whole != 0;
        return true;
    }
    value = o->kind == OPTION_INT ? (double)whole : value;
    if (!(value >= o->low && value <= o->high)) {
        return ag_set_error("the setting \"%s\" is %g, expected %g to %g", key, value, o->low, o->high);
    }
    if (o->kind == OPTION_INT) {
        *(int64_t *)o->value = whole;
    } else {
        *(double *)o->value = value;
    }
    return true;
}

static void restore_options(const Option *o, const TrainingRun *run)
{
    for (; o->kind != OPTION_END; o++) {
        if (is_saved(o) && !restore_option(o, run->saved)) {
            example_fail("%s: %s", run->last, ag_error());
        }
    }
}

static void check_fixed_options(const Option *o, const TrainingRun *run)
{
    for (; o->kind != OPTION_END; o++) {
        char key[80];
        key_of(o, key);
        const char *before = nn_settings_get(run->saved, key), *now = nn_settings_get(run->settings, key);
        if (o->fixed && strcmp(before ? before : "", now ? now : "") != 0) {
            example_usage_error("--%s: the run in this folder was started with %s, which cannot be changed", o->name,
                                before ? before : "none");
        }
    }
}

TrainingRun training_run_begin(int argc, char **argv, const Program *program, const char *last, const int64_t *batch)
{
    example_begin(argc, argv, program);
    TrainingRun run = { .resumed = resume, .last = example_path(last), .settings = nn_settings_new(),
                        .saved = nn_settings_new() };
    if (example_writes() && !resume && !overwrite && access(run.last, F_OK) == 0) {
        example_fail("%s exists from an earlier run: --resume resumes that run, --overwrite starts a new one", run.last);
    }
    if (resume) {
        if (!nn_checkpoint_settings(run.last, run.saved)) {
            example_fail("%s", ag_error());
        }
        restore_options(program->options, &run);
        example_begin(argc, argv, program);                             /* options that are given replace the saved ones */
    }
    example_must_be_output(run.last);
    choose_shards(*batch);
    save_options(program->options, run.settings);
    if (resume) {
        check_fixed_options(program->options, &run);
    }
    return run;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* FNV-1a, 64 bits */
uint64_t data_hash(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t data_hash_file(const char *path)
{
    char bytes[1 << 14];
    uint64_t hash = DATA_HASH_BEGIN;
    FILE *file = fopen(path, "rb");
    for (size_t n; file && (n = fread(bytes, 1, sizeof bytes, file)) > 0; ) {
        hash = data_hash(hash, bytes, n);
    }
    if (!file || ferror(file)) {
        example_fail("%s: cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    return hash;
}

void training_run_data(TrainingRun *run, uint64_t hash)
{
    static const char key[] = "data.hash";
    nn_settings_set(run->settings, key, "%016" PRIx64, hash);
    const char *now = nn_settings_get(run->settings, key), *before = nn_settings_get(run->saved, key);
    if (!nn_processes_agree(example_processes(), "the data", "%s", now)) {
        example_fail("%s", ag_error());
    }
    if (before && strcmp(before, now) != 0 && !other_data) {
        example_fail("%s has learned from other data, or with another tokenizer: --other-data resumes it all the same",
                     run->last);
    }
}

/* ---- the end and checkpoints ------------------------------------------------------------------------------------- */

void training_run_end(TrainingRun *run)
{
    ag_free(run->settings);
    ag_free(run->saved);
    ag_free(run->last);
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static const char rows_key[] = "csv.rows";

void training_run_note_rows(const TrainingRun *run, const Csv *csv)
{
    int64_t n = csv_rows(csv);
    if (n == 0) {
        nn_settings_set(run->settings, rows_key, "no rows");
    } else {
        nn_settings_set(run->settings, rows_key, "%" PRId64 " row%s, the last one %.9g,%.9g,...", n, n > 1 ? "s" : "",
                        csv_get(csv, n - 1, 0), csv_get(csv, n - 1, 1));
    }
}

Csv *training_run_csv(const TrainingRun *run, const char *name, const char *header, int64_t last)
{
    Csv *csv = run->resumed ? csv_resume(name, header, (double)last) : csv_open(name, header);
    training_run_note_rows(run, csv);
    const char *expected = nn_settings_get(run->saved, rows_key), *found = nn_settings_get(run->settings, rows_key);
    if (expected && strcmp(expected, found) != 0) {                     /* an older checkpoint does not say what to expect */
        example_warn("%s/%s: expected %s; found %s: continues with these", example_out(), name, expected, found);
    }
    return csv;
}

void checkpoint_must_save(const char *path, void *model, Optimizer *o, const NnSettings *s)
{
    bool takes_part = o || example_writes();                            /* the processes share the state of an optimizer */
    if (takes_part && !nn_checkpoint_save(path, model, o, s)) {
        example_fail("%s", ag_error());
    }
}

void average_epochs(void *model, char *(*path_of)(int64_t epoch), int64_t first, int64_t n)
{
    char **path = ag_alloc((size_t)n, sizeof *path);
    for (int64_t i = 0; i < n; i++) {
        path[i] = path_of(first + i);
    }
    if (!nn_average_checkpoints(model, (const char *const *)path, (int)n)) {
        example_fail("%s", ag_error());
    }
    for (int64_t i = 0; i < n; i++) {
        ag_free(path[i]);
    }
    ag_free(path);
}
