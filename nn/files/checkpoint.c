/* checkpoint.c: saves and loads a model, and the state that a run needs to resume, as a safetensors file.
 *
 * The file's tensors: each parameter and buffer under its dotted name (a tied one under its first name); with an
 * optimizer, its state as "optimizer.STATE.NAME": "m" and "v" (Adam), "velocity" (SGD with momentum), or the names of an
 * optimizer's kind. The metadata: "format" (for other libraries), "settings.KEY", "random.seed" and "random.counter"; with an
 * optimizer, its kind as "optimizer", its number of steps as "step", and "step.NAME" for each parameter that took
 * another number of steps.
 *
 * Loading has two phases. The plan finds the source of every value, reads all values into separate memory, and may
 * fail. Applying it changes the model and cannot fail. So a file that does not fit leaves the model as it was. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "optim.h"
#include "safetensors.h"
#include "settings.h"
#include "utf8.h"

/* Prefixes of names in the file. */
#define OPTIMIZER "optimizer."
#define SETTINGS "settings."
#define STEP "step."

/* The name in the file of state tensor k of parameter i. */
static char *state_name(void *owner, const Optimizer *o, int i, int k)
{
    const char *state = st_join(owner, OPTIMIZER, o->kind->state[k]);
    return st_join(owner, st_join(owner, state, "."), o->parameters->item[i].name);
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

typedef struct {
    void *owner;
    StEntry *entry;
    StText *text;
    size_t n_entries, n_texts;
} Saving;

static void put_text(Saving *s, const char *prefix, const char *key, const char *value)
{
    s->text[s->n_texts++] = (StText){ st_join(s->owner, prefix, key), st_join(s->owner, "", value) };
}

static void put_number(Saving *s, const char *prefix, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put_text(s, prefix, key, text);
}

/* State tensor `k` of parameter `i`, which processes share: brought together when it is written. */
typedef struct { NnParallel *parallel; int i, k; } SharedState;

static const void *collect_state(void *arg)
{
    SharedState *s = arg;
    const void *values = s->parallel ? parallel_state(s->parallel, s->i, s->k) : NULL;
    s->parallel = NULL;
    return values;
}

static StEntry state_entry(void *owner, const Optimizer *o, int i, int k)
{
    const char *name = state_name(owner, o, i, k);
    if (!o->parallel) return st_entry(AG_HERE, name, o->state[i].tensor[k]);
    SharedState *s = ag_alloc_in(owner, 1, sizeof *s);
    *s = (SharedState){ o->parallel, i, k };
    return (StEntry){ .name = name, .shape = tensor_shape(o->parameters->item[i].tensor), .dtype = AG_REAL,
                      .values_of = collect_state, .arg = s };
}

static void put_optimizer(Saving *s, const Optimizer *o)
{
    const NnParameters *p = o->parameters;
    put_text(s, "", "optimizer", o->kind->name);
    put_number(s, "", "step", (uint64_t)o->steps);
    for (int i = 0; i < p->n; i++) {
        const ParameterState *state = &o->state[i];
        for (int k = 0; k < NN_STATES && state->tensor[k]; k++)
            s->entry[s->n_entries++] = state_entry(s->owner, o, i, k);
        if (p->item[i].trained && state->steps != o->steps) {
            put_number(s, STEP, p->item[i].name, (uint64_t)state->steps);
        }
    }
}

/* A usage error if the path is NULL, if the module or the optimizer (may be NULL) is not alive, or if they do not fit. The
 * state of the optimizer exists afterwards. */
static void check_file(AgSite at, const char *what, const char *path, const void *module, Optimizer *o)
{
    if (!path) ag_usage_error(at, what, "the path is NULL");
    nn_check_at(at, what, module, 0);
    check_fields(at, what, module);
    if (!o) return;
    nn_optimizer_check_at(at, what, o, module);
    check_undivided(at, what, o);
    optimizer_make_state(o);
}

static bool check_settings(const char *path, const NnSettings *s)
{
    char quoted[2][UTF8_QUOTE];
    for (int i = 0; i < s->n; i++) {
        const char *key = s->item[i].key, *value = s->item[i].value;
        if (utf8_valid(value, strlen(value)) != strlen(value))
            return ag_set_error("%s: the setting %s is %s, expected UTF-8", path, utf8_quote(key, strlen(key), quoted[0]),
                                utf8_quote(value, strlen(value), quoted[1]));
    }
    return true;
}

/* run: saves the random state, too. The optimizer and the settings may be NULL. */
static bool save(AgSite at, const char *what, const char *path, void *module, bool run, Optimizer *o,
                 const NnSettings *settings)
{
    check_file(at, what, path, module, o);
    if (settings) ag_check_object_at(at, what, "settings", settings);
    if (settings && !check_settings(path, settings)) return false;
    NnParameters *p = saved_parameters(at, module, false);
    Saving s = { .owner = ag_alloc(1, 1) };
    size_t of_optimizer = o ? (size_t)o->parameters->n : 0, of_settings = settings ? (size_t)settings->n : 0;
    s.entry = ag_alloc_in(s.owner, (size_t)p->n + NN_STATES * of_optimizer, sizeof *s.entry);
    s.text = ag_alloc_in(s.owner, 5 + of_optimizer + of_settings, sizeof *s.text);

    put_text(&s, "", "format", "pt");
    for (int i = 0; i < p->n; i++) s.entry[s.n_entries++] = st_entry(at, p->item[i].name, p->item[i].tensor);
    if (o) put_optimizer(&s, o);
    for (size_t i = 0; i < of_settings; i++) put_text(&s, SETTINGS, settings->item[i].key, settings->item[i].value);
    if (run) {
        put_number(&s, "random.", "seed", ag_random_state().seed);
        put_number(&s, "random.", "counter", ag_random_state().counter);
    }
    bool writes = !o || !o->parallel || nn_parallel_is_first(o->parallel);
    bool done = !writes || st_write(path, s.entry, s.n_entries, s.text, s.n_texts);
    /* all processes take part in bringing the state together, also if the first one cannot write it */
    for (size_t i = 0; i < s.n_entries; i++)
        if (s.entry[i].values_of) s.entry[i].values_of(s.entry[i].arg);
    if (o && o->parallel) done = nn_parallel_check(o->parallel, done);
    ag_free(s.owner);
    ag_free(p);
    return done;
}

bool nn_save_at(AgSite at, const char *path, void *module)
{
    return save(at, "nn_save", path, module, false, NULL, NULL);
}

bool nn_checkpoint_save_at(AgSite at, const char *path, void *module, Optimizer *o, const NnSettings *settings)
{
    return save(at, "nn_checkpoint_save", path, module, true, o, settings);
}

/* ---- error messages ---------------------------------------------------------------------------------------------- */

enum { LISTED = 3 };

/* A list of tensors' names: the text has the first few, n counts all. */
typedef struct {
    char text[LISTED * (UTF8_QUOTE + 2 * AG_SHAPE_TEXT)];       /* room for as many problems */
    size_t length;
    int n;
} Problems;

static void problem(Problems *p, const char *name, const char *format, ...) AG_PRINTF(3, 4);
static void problem(Problems *p, const char *name, const char *format, ...)
{
    if (p->n++ >= LISTED) return;
    char quoted[UTF8_QUOTE], detail[2 * AG_SHAPE_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    p->length += (size_t)snprintf(p->text + p->length, sizeof p->text - p->length, "%s%s%s", p->n > 1 ? ", " : "",
                                  utf8_quote(name, strlen(name), quoted), detail);
}

/* Appends "; missing: "a", "b", "c" and 5 more" to the message. */
static void append(char *message, size_t size, const char *title, const Problems *p)
{
    if (p->n == 0) return;
    size_t length = strlen(message);
    length += (size_t)snprintf(message + length, size - length, "%s%s: %s", length ? "; " : "", title, p->text);
    if (p->n > LISTED && length < size) snprintf(message + length, size - length, " and %d more", p->n - LISTED);
}

/* ---- loading: the plan, which may fail --------------------------------------------------------------------------- */

/* A tensor of the model and the file's values for it. */
typedef struct {
    Tensor *to;
    const StTensor *from;
    int64_t first;              /* the file's item for the first item of `to` */
    void *values;               /* NULL if the file is mapped */
} Transfer;

typedef struct {
    SafeTensors *st;
    Transfer *transfer;
    size_t n;
    bool *used;                 /* for each tensor of the file: whether a transfer reads it */
    NnLoadOptions options;
    NnLoadReport *report;
    Problems missing, unexpected, wrong;
    int64_t step, *state_steps; /* number of steps of the optimizer and of each of its parameters */
    AgRandom random;
} Loading;

/* Plans to fill t from the file's tensor of that name, beginning with item `first` of it; a shape that is not the expected one
 * is noted. False if the file has no such tensor. */
static bool plan_tensor(Loading *l, Tensor *t, AgShape expected, int64_t first, const char *name)
{
    const StTensor *from = st_find(l->st, name);
    if (!from) return false;
    name = from->name;
    l->used[from - l->st->tensor] = true;
    AgShape shape = expected;                                       /* of an unreadable tensor: reading it will tell why */
    char text[2][AG_SHAPE_TEXT];
    if (!from->unreadable && !st_shape(l->st, from, &shape)) {
        problem(&l->wrong, name, " has %zu dimensions, expected %s", from->ndim, ag_shape_text(expected, text[1]));
    } else if (!ag_shape_equal(shape, expected)) {
        problem(&l->wrong, name, " is %s, expected %s", ag_shape_text(shape, text[0]), ag_shape_text(expected, text[1]));
    }
    l->transfer[l->n++] = (Transfer){ .to = t, .from = from, .first = first };
    return true;
}

static bool is_planned(const Loading *l, const Tensor *t)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->transfer[i].to == t) return true;
    }
    return false;
}

enum { RENAMED = 1024 };        /* bytes of a name that NnLoadOptions.rename writes */

/* The name in the file of the module's tensor. */
static const char *name_in_file(const Loading *l, const char *name)
{
    if (l->options.rename) {
        size_t size = strlen(name) + RENAMED;
        char *out = ag_alloc_in(l->st, size, 1);
        memcpy(out, name, strlen(name));
        l->options.rename(l->options.arg, name, out, size);
        name = out;
    }
    return l->options.prefix ? st_join(l->st, l->options.prefix, name) : name;
}

static void report_missing(Loading *l, const char *name)
{
    if (!l->options.allow_missing) problem(&l->missing, name, "%s", "");
    l->report->missing[l->report->n_missing++] = ag_strndup_in(l->report, name, strlen(name));
}

/* A tied weight may be in the file under any of its names, or under several. */
static void plan_module(Loading *l, const NnParameters *names)
{
    for (int i = 0; i < names->n; i++) {
        Tensor *t = names->item[i].tensor;
        plan_tensor(l, t, tensor_shape(t), 0, name_in_file(l, names->item[i].name));
    }
    for (int i = 0; i < names->n; i++) {
        bool first = true;
        for (int k = 0; k < i && first; k++) first = names->item[k].tensor != names->item[i].tensor;
        if (first && !is_planned(l, names->item[i].tensor)) report_missing(l, names->item[i].name);
    }
}

static void plan_optimizer(Loading *l, const Optimizer *o)
{
    for (int i = 0; i < o->parameters->n; i++) {
        const ParameterState *s = &o->state[i];
        for (int k = 0; k < NN_STATES && s->tensor[k]; k++) {
            const char *name = state_name(l->st, o, i, k);
            AgShape shape = tensor_shape(o->parameters->item[i].tensor);
            if (!plan_tensor(l, s->tensor[k], shape, s->first, name)) report_missing(l, name);
        }
    }
}

/* Whether file and model have the same tensors. Without an optimizer, the file's optimizer state is ignored. */
static bool check_plan(Loading *l, bool with_optimizer)
{
    for (size_t i = 0; i < l->st->n_tensors; i++) {
        const char *name = l->st->tensor[i].name;
        bool ignored = (!with_optimizer && starts_with(name, OPTIMIZER)) ||
                       (l->options.prefix && !starts_with(name, l->options.prefix));
        if (l->used[i] || ignored) continue;
        if (!l->options.allow_unexpected) problem(&l->unexpected, name, "%s", "");
        l->report->unexpected[l->report->n_unexpected++] = ag_strndup_in(l->report, name, strlen(name));
    }
    char message[900] = "";
    append(message, sizeof message, "missing", &l->missing);
    append(message, sizeof message, "unexpected", &l->unexpected);
    append(message, sizeof message, "wrong shape", &l->wrong);
    return !*message || ag_set_error("%s: %s", file_name(l->st->file), message);
}

/* New memory with the values of a transfer; NULL with ag_error() if they cannot be read or do not fit. */
static void *values_to_load(const Loading *l, const Transfer *t)
{
    AgDType dtype = tensor_dtype(t->to);
    void *values = ag_alloc_in(l->st, (size_t)tensor_numel(t->to), dtype_bytes(dtype));
    return st_read_items(t->from, dtype, (uint64_t)t->first, (uint64_t)tensor_numel(t->to), values) ? values : NULL;
}

/* If the file has one tensor of the model under two names, both must be equal: compares a transfer with those before it. */
static bool same_as_before(const Loading *l, const Transfer *t, const void *values)
{
    size_t bytes = (size_t)tensor_numel(t->to) * dtype_bytes(tensor_dtype(t->to));
    for (const Transfer *other = l->transfer; other < t; other++) {
        if (other->to != t->to) continue;
        void *others = other->values ? other->values : values_to_load(l, other);
        bool same = others && memcmp(others, values, bytes) == 0;
        if (!other->values) ag_free(others);
        if (same) continue;
        char quoted[2][UTF8_QUOTE];
        return ag_set_error("%s: %s and %s are one tensor in the model, but differ in the file", file_name(l->st->file),
                            utf8_quote(other->from->name, strlen(other->from->name), quoted[0]),
                            utf8_quote(t->from->name, strlen(t->from->name), quoted[1]));
    }
    return true;
}

/* Reads all values, and keeps them unless the file is mapped: then they are only checked, and read again from the map. */
static bool read_values(Loading *l)
{
    for (size_t i = 0; i < l->n; i++) {
        Transfer *t = &l->transfer[i];
        void *values = values_to_load(l, t);
        if (!values || !same_as_before(l, t, values)) return false;
        if (l->options.map) ag_free(values);
        else t->values = values;
    }
    return true;
}

/* Reads a whole number of 0 to `most` from the metadata. */
static bool read_number(const SafeTensors *st, const char *key, uint64_t most, uint64_t *value)
{
    const char *text = st_metadata(st, key);
    char quoted[2][UTF8_QUOTE];
    utf8_quote(key, strlen(key), quoted[0]);
    if (!text) return ag_set_error("%s: is not a checkpoint of a run: it has no %s", file_name(st->file), quoted[0]);
    errno = 0;
    *value = strtoull(text, NULL, 10);
    if (*text && strspn(text, "0123456789") == strlen(text) && errno == 0 && *value <= most) return true;
    return ag_set_error("%s: %s is %s, expected a whole number of 0 to %" PRIu64, file_name(st->file), quoted[0],
                        utf8_quote(text, strlen(text), quoted[1]), most);
}

static bool read_step(const SafeTensors *st, const char *key, int64_t *step)
{
    uint64_t value;
    if (!read_number(st, key, INT64_MAX, &value)) return false;
    *step = (int64_t)value;
    return true;
}

static bool read_optimizer(Loading *l, const Optimizer *o)
{
    const char *kind = st_metadata(l->st, "optimizer"), *expected = o->kind->name;
    char quoted[UTF8_QUOTE];
    if (!kind) {
        return ag_set_error("%s: has no optimizer state, expected that of \"%s\"", file_name(l->st->file), expected);
    }
    if (strcmp(kind, expected) != 0) {
        return ag_set_error("%s: has the state of an optimizer %s, expected \"%s\"", file_name(l->st->file),
                            utf8_quote(kind, strlen(kind), quoted), expected);
    }
    if (!read_step(l->st, "step", &l->step)) return false;
    l->state_steps = ag_alloc_in(l->st, (size_t)o->parameters->n, sizeof *l->state_steps);
    for (int i = 0; i < o->parameters->n; i++) {
        const char *key = st_join(l->st, STEP, o->parameters->item[i].name);
        l->state_steps[i] = l->step;
        if (st_metadata(l->st, key) && !read_step(l->st, key, &l->state_steps[i])) return false;
    }
    return true;
}

static bool read_run(Loading *l, const Optimizer *o)
{
    return read_number(l->st, "random.seed", UINT64_MAX, &l->random.seed) &&
           read_number(l->st, "random.counter", UINT64_MAX, &l->random.counter) && (!o || read_optimizer(l, o));
}

/* ---- loading: applying the plan, which cannot fail --------------------------------------------------------------- */

static void apply_settings(const SafeTensors *st, NnSettings *settings)
{
    for (size_t i = 0; i < st->n_metadata; i++) {
        const StText *text = &st->metadata[i];
        if (!starts_with(text->key, SETTINGS)) continue;
        nn_settings_set(settings, text->key + strlen(SETTINGS), "%s", text->value);
    }
}

static void apply_to_model(const Loading *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const Transfer *t = &l->transfer[i];
        AgDType dtype = tensor_dtype(t->to);
        size_t numel = (size_t)tensor_numel(t->to);
        void *to = tensor_mutable_values(AG_HERE, t->to);
        if (!t->values) st_read(t->from, dtype, to);
        else if (numel) memcpy(to, t->values, numel * dtype_bytes(dtype));
    }
}

static void apply_to_run(const Loading *l, Optimizer *o)
{
    ag_set_random_state(l->random);
    if (!o) return;
    o->steps = l->step;
    for (int i = 0; i < o->parameters->n; i++) o->state[i].steps = l->state_steps[i];
}

static NnLoadReport *report_new(size_t missing, size_t unexpected)
{
    NnLoadReport *r = ag_alloc(1, sizeof *r);
    r->missing = ag_alloc_in(r, missing, sizeof *r->missing);
    r->unexpected = ag_alloc_in(r, unexpected, sizeof *r->unexpected);
    return r;
}

static bool load(Loading *l, const NnParameters *names, bool run, Optimizer *o, NnSettings *settings)
{
    SafeTensors *st = l->st;
    size_t n = (size_t)names->n + (o ? NN_STATES * (size_t)o->parameters->n : 0);
    l->transfer = ag_alloc_in(st, n, sizeof *l->transfer);
    l->used = ag_alloc_in(st, st->n_tensors, sizeof *l->used);
    l->report = report_new(n, st->n_tensors);
    if (l->options.report) *l->options.report = l->report;
    else ag_set_owner(l->report, st);
    plan_module(l, names);
    if (o) plan_optimizer(l, o);
    if ((run && !read_run(l, o)) || !check_plan(l, o != NULL) || !read_values(l)) return false;

    if (settings) apply_settings(st, settings);
    apply_to_model(l);
    if (run) apply_to_run(l, o);
    return true;
}

/* Loads from an open file, and closes it. */
static bool load_file(AgSite at, SafeTensors *st, void *module, NnLoadOptions options, bool run, Optimizer *o,
                      NnSettings *settings)
{
    if (!st) return false;
    Loading l = { .st = st, .options = options };
    NnParameters *names = saved_parameters(at, module, true);
    bool done = load(&l, names, run, o, settings);
    ag_free(names);
    st_close(st);
    return done;
}

bool nn_load_at(AgSite at, const char *path, void *module)
{
    AG_LAYER(at);
    check_file(at, "nn_load", path, module, NULL);
    return load_file(at, st_open(path), module, (NnLoadOptions){ .prefix = NULL }, false, NULL, NULL);
}

bool nn_load_with_at(AgSite at, const char *path, void *module, NnLoadOptions options)
{
    AG_LAYER(at);
    check_file(at, "nn_load_with", path, module, NULL);
    return load_file(at, st_open_any(path, options.map), module, options, false, NULL, NULL);
}

bool nn_checkpoint_load_at(AgSite at, const char *path, void *module, Optimizer *o, NnSettings *settings)
{
    AG_LAYER(at);
    check_file(at, "nn_checkpoint_load", path, module, o);
    if (settings) ag_check_object_at(at, "nn_checkpoint_load", "settings", settings);
    return load_file(at, st_open(path), module, (NnLoadOptions){ .prefix = NULL }, true, o, settings);
}

bool nn_checkpoint_settings_at(AgSite at, const char *path, NnSettings *settings)
{
    ag_check_pointer_at(at, "nn_checkpoint_settings", "the path", path);
    ag_check_object_at(at, "nn_checkpoint_settings", "settings", settings);
    SafeTensors *st = st_open(path);
    if (!st) return false;
    apply_settings(st, settings);
    st_close(st);
    return true;
}
