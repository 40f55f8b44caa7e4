/* training_run.c: training runs that can be resumed: their options are settings of their checkpoints; and the mean of
 * several checkpoints. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "host.h"
#include "kaeru/training.h"

bool resume_option, overwrite_option, other_data_option;

static const char seed_key[] = "run.seed", data_key[] = "data.hash";

/* All options, to compare them. */
static void note_options(NnSettings *s)
{
    for (const NnOptions *o = example_options(); o->fields; o++) {
        nn_fields_to_settings(o->fields, o->of, s);
    }
}

static void restore_options(const TrainingRun *run)
{
    shards_option = 1;                                                  /* earlier versions did not save it */
    for (const NnOptions *o = example_options(); o->fields; o++) {
        if (!nn_fields_from_settings(o->fields, o->of, run->saved)) {
            example_fail("%s", ag_error());
        }
    }
    if (shards_option < 1) {
        example_fail("%s: the setting of --shards is %" PRId64 ", expected 1 or more", run->last, shards_option);
    }
}

static void check_fixed_option(const NnFields *table, const NnField *f, const NnSettings *before, const NnSettings *now)
{
    char key[80];
    snprintf(key, sizeof key, "%s%s", table->prefix, f->name);
    const char *old = nn_settings_get(before, key), *new = nn_settings_get(now, key);
    if (strcmp(old ? old : "", new ? new : "") != 0) {
        bool flag = f->kind == NN_FIELD_BOOL;
        example_usage_error("--%s: the run in this folder was started with%s %s, which cannot be changed",
                            f->option ? f->option : f->name, flag && old && *old == '0' ? "out" : "",
                            flag ? "it" : old ? old : "none");
    }
}

static void check_fixed_options(const NnSettings *before, const NnSettings *now)
{
    for (const NnOptions *o = example_options(); o->fields; o++) {
        for (const NnField *f = o->fields->field; f->name; f++) {
            if (f->fixed) {
                check_fixed_option(o->fields, f, before, now);
            }
        }
    }
}

/* A resumed run goes on with the random numbers of its checkpoint. Ends the program if --seed asks for others. */
static void keep_seed(TrainingRun *run)
{
    char now[32];
    snprintf(now, sizeof now, "%" PRId64, example_seed());
    const char *before = nn_settings_get(run->saved, seed_key);
    if (before && example_seed() != 0 && strcmp(before, now) != 0) {
        example_usage_error("--seed %s: the run in %s began with --seed %s, expected this or none", now, run->last, before);
    }
    nn_settings_set(run->settings, seed_key, "%s", before ? before : now);
}

/* Whether a run that neither resumes nor overwrites an earlier one would replace this file of it. */
static bool would_replace(const char *path)
{
    return example_writes() && !resume_option && !overwrite_option && access(path, F_OK) == 0;
}

TrainingRun training_run_begin(int argc, char **argv, const Program *program, const char *last, const int64_t *batch)
{
    example_begin(argc, argv, program);
    TrainingRun run = { .resumed = resume_option, .last = example_path(last), .settings = nn_settings_new(),
                        .saved = nn_settings_new() };
    NnSettings *before = nn_settings_new(), *now = nn_settings_new();
    if (resume_option && overwrite_option) {
        example_usage_error("--resume and --overwrite: expected one of them");
    }
    if (other_data_option && !resume_option) {
        example_usage_error("--other-data: expected --resume");
    }
    if (would_replace(run.last)) {
        example_fail("%s exists from an earlier run: --resume resumes that run, --overwrite starts a new one", run.last);
    }
    if (run.resumed) {
        if (!nn_checkpoint_settings(run.last, run.saved)) {
            example_fail("%s", ag_error());
        }
        restore_options(&run);
        note_options(before);
        example_begin(argc, argv, program);                             /* options that are given replace the saved ones */
    }
    example_must_be_output(run.last);
    choose_shards(*batch);
    nn_fields_to_settings(example_options()->fields, NULL, run.settings);
    if (run.resumed) {
        note_options(now);
        check_fixed_options(before, now);
    }
    keep_seed(&run);
    ag_free(now);
    ag_free(before);
    return run;
}

void training_run_result(const char *name)
{
    char *path = example_path(name);
    if (would_replace(path)) {
        example_fail("%s exists from an earlier run: --overwrite replaces it", path);
    }
    ag_free(path);
}

bool training_run_removes(const TrainingRun *run, bool begins)
{
    return example_writes() && begins && (overwrite_option || run->resumed);
}

void training_run_remove(const char *name)
{
    char *path = example_path(name);
    remove(path);
    ag_free(path);
}

void training_run_writes(const char *const *names)
{
    for (; *names; names++) {
        char *path = example_path(*names);
        example_must_be_output(path);
        ag_free(path);
    }
}

/* ---- which run a file belongs to -------------------------------------------------------------------------------- */

static const char run_key[] = "run.id";

/* Whether two runs that differ only in this option have the same weights after the same steps. These options say how long a run
 * is, what is measured and written, or where files are. A run that is resumed for more steps keeps its bytes. */
static bool leaves_weights(const char *option)
{
    static const char *const names[] = { "steps", "evaluate_every", "evaluate_tokens", "epochs", "average", "beam",
                                         "length-penalty", "sample", "recompute", "data", "model", "weights", "train-src",
                                         "train-tgt", "valid-src", "valid-tgt", "float32-model" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(option, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A new run is recognized by its data, its seed and the options with which it begins. Chance or the time would do, too, but
 * then the same run would not have the same bytes. A run of an earlier version has no such setting, also when it is resumed. */
static void identify_run(const TrainingRun *run)
{
    const char *saved = nn_settings_get(run->saved, run_key);
    if (saved) {
        nn_settings_set(run->settings, run_key, "%s", saved);
    }
    if (run->resumed) {
        return;
    }
    uint64_t hash = DATA_HASH_BEGIN;
    const char *of_all[] = { nn_settings_get(run->settings, data_key), nn_settings_get(run->settings, seed_key) };
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++) {
        hash = data_hash(hash, of_all[i], strlen(of_all[i]) + 1);
    }
    for (const NnOptions *o = example_options(); o->fields; o++) {
        for (const NnField *f = o->fields->field; f->name; f++) {
            char buffer[NN_FIELD_BUFFER];
            const char *value = nn_field_text(f, o->of, buffer);
            if (!f->once && value && !leaves_weights(f->name)) {
                hash = data_hash(data_hash(hash, f->name, strlen(f->name) + 1), value, strlen(value) + 1);
            }
        }
    }
    nn_settings_set(run->settings, run_key, "%016" PRIx64, hash);
}

static bool is_same_run(const NnSettings *a, const NnSettings *b)
{
    const char *one = nn_settings_get(a, run_key), *other = nn_settings_get(b, run_key);
    return strcmp(one ? one : "", other ? other : "") == 0;
}

bool training_run_owns(const TrainingRun *run, const char *path, NnSettings *found)
{
    if (!nn_checkpoint_settings(path, found)) {
        example_fail("%s", ag_error());
    }
    return is_same_run(run->settings, found);
}

void training_run_must_own(const TrainingRun *run, const char *path, NnSettings *found)
{
    if (!training_run_owns(run, path, found)) {
        example_fail("%s is of another run than %s: expected a file of the same run", path, run->last);
    }
}

void must_not_be_replaced(const char *path, const NnSettings *settings)
{
    NnSettings *now = nn_settings_new();
    if (!nn_checkpoint_settings(path, now)) {
        example_fail("%s", ag_error());
    }
    if (!is_same_run(settings, now)) {
        example_fail("%s: another run has replaced it while it was read", path);
    }
    ag_free(now);
}

void warn_if_of_other_run(const char *path, const NnSettings *settings, const char *last)
{
    char *last_path = example_path_beside(path, last);
    NnSettings *newest = nn_settings_new();
    if (access(last_path, F_OK) == 0 && nn_checkpoint_settings(last_path, newest) && !is_same_run(settings, newest)) {
        example_warn("%s is of an earlier run: that of %s has not replaced it yet", path, last_path);
    }
    ag_free(newest);
    ag_free(last_path);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

uint64_t data_hash_file(const char *path)
{
    char bytes[1 << 14];
    uint64_t hash = DATA_HASH_BEGIN;
    FILE *file = host_open(path);
    for (size_t n; file && (n = host_read(bytes, sizeof bytes, file)) > 0; ) {
        hash = data_hash(hash, bytes, n);
    }
    if (!file || ferror(file)) {
        example_fail("%s: cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    return hash;
}

void say_if_other_data(const NnSettings *settings, uint64_t hash)
{
    char now[17];
    snprintf(now, sizeof now, "%016" PRIx64, hash);
    const char *before = nn_settings_get(settings, data_key);
    if (before && strcmp(before, now) != 0) {
        say("the data are not those of the training: they have changed since then\n");
    }
}

void training_run_data(TrainingRun *run, uint64_t hash)
{
    nn_settings_set(run->settings, data_key, "%016" PRIx64, hash);
    const char *now = nn_settings_get(run->settings, data_key), *before = nn_settings_get(run->saved, data_key);
    if (!nn_processes_agree(example_processes(), "the data", "%s", now)) {
        example_fail("%s", ag_error());
    }
    run->new_data = before && strcmp(before, now) != 0;
    if (run->new_data && !other_data_option) {
        example_fail("%s has learned from other data, or with another tokenizer: --other-data resumes it all the same",
                     run->last);
    }
    identify_run(run);
}

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

enum { KEY = 80 };

/* Writes the key for the tokens, or for the merges, into `key`, which it returns. */
static const char *vocabulary_key(const char *prefix, const char *part, char key[KEY])
{
    snprintf(key, KEY, "%s.%s", prefix, part);
    return key;
}

void vocabulary_to_settings(const KaeruVocab *v, NnSettings *s, const char *prefix)
{
    char key[KEY], *merges, *tokens = kaeru_vocab_to_text(v, &merges);
    if (!tokens) {
        example_fail("%s", ag_error());
    }
    nn_settings_set(s, vocabulary_key(prefix, "tokens", key), "%s", tokens);
    if (merges) {
        nn_settings_set(s, vocabulary_key(prefix, "merges", key), "%s", merges);
    }
    ag_free(merges);
    ag_free(tokens);
}

KaeruVocab *vocabulary_of_settings(KaeruVocabKind kind, const char *checkpoint, const NnSettings *s, const char *prefix)
{
    char key[KEY];
    const char *tokens = nn_settings_get(s, vocabulary_key(prefix, "tokens", key));
    const char *merges = nn_settings_get(s, vocabulary_key(prefix, "merges", key));
    KaeruVocab *v = tokens ? kaeru_vocab_of_text(kind, checkpoint, tokens, merges) : NULL;
    if (tokens && !v) {
        example_fail("%s", ag_error());
    }
    return v;
}

/* ---- the end and checkpoints ------------------------------------------------------------------------------------- */

void training_run_end(TrainingRun *run)
{
    ag_free(run->settings);
    ag_free(run->saved);
    ag_free(run->last);
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

static const char rows_key[] = "csv.rows", digits_key[] = "csv.digits";

void training_run_note_rows(const TrainingRun *run, const Csv *csv)
{
    int64_t n = csv_rows(csv);
    if (n == 0) {
        nn_settings_set(run->settings, rows_key, "no rows");
    } else {
        nn_settings_set(run->settings, rows_key, "%" PRId64 " row%s, the last one %.9g,%.9g,...", n, n > 1 ? "s" : "",
                        csv_get(csv, n - 1, 0), csv_get(csv, n - 1, 1));
    }
    nn_settings_set(run->settings, digits_key, "%s", csv_digits(csv));
}

Csv *training_run_csv(const TrainingRun *run, const char *name, const char *header, int64_t last)
{
    const char *known = nn_settings_get(run->saved, digits_key);        /* NULL: of an earlier version */
    Csv *csv = run->resumed ? csv_resume(name, header, (double)last, known) : csv_open(name, header);
    training_run_note_rows(run, csv);
    const char *expected = nn_settings_get(run->saved, rows_key), *found = nn_settings_get(run->settings, rows_key);
    if (expected && strcmp(expected, found) != 0) {                     /* an older checkpoint does not say what to expect */
        if (*csv_kept(csv)) {
            example_warn("%s/%s: expected %s; found %s: continues with these; rows that are not as the run wrote them stay in "
                         "%s", example_out(), name, expected, found, csv_kept(csv));
        } else {
            example_warn("%s/%s: expected %s; found %s: continues with these", example_out(), name, expected, found);
        }
    }
    return csv;
}

void checkpoint_must_save(const char *path, void *model, Optimizer *o, const NnSettings *s)
{
    example_must_have_folder();
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
