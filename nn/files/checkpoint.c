/* checkpoint.c: saves and loads a model, and the state that a run needs to resume, as a safetensors file; averages models.
 *
 * The file's tensors: each parameter and buffer under its dotted name (a tied one under its first name); with an
 * optimizer, its state as "optimizer.STATE.NAME": "m" and "v" (Adam), "velocity" (SGD with momentum), or the names of an
 * optimizer's kind. The metadata: "format" (for other libraries), "settings.KEY", "random.seed" and "random.counter"; with an
 * optimizer, its kind as "optimizer", its number of steps as "step", and "step.NAME" for each parameter that took
 * another number of steps; "weights", "trained" in a file without the frozen parameters.
 *
 * Loading has two phases. The plan finds the source of every value, reads all values into separate memory, and may
 * fail. Applying it changes the model and cannot fail. So a file that does not fit leaves the model as it was. Values of a new
 * model, which its caller frees if this fails, are read where they belong. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/checkpoint.h"
#include "kaeru/clone.h"
#include "kaeru/tensor.h"
#include "kaeru/values.h"
#include "program_calls.h"
#include "numbers.h"
#include "optimizer.h"
#include "settings.h"
#include "stored.h"
#include "utf8.h"

/* Prefixes of names in the file. */
#define OPTIMIZER "optimizer."
#define SETTINGS "settings."
#define STEP "step."
#define WEIGHTS "weights"
#define TRAINED "trained"

/* The name in the file of state tensor k of parameter i. */
static char *state_name(void *owner, const Optimizer *o, int i, int k)
{
    return text_printf(owner, OPTIMIZER "%s.%s", o->kind->state[k], o->parameters->item[i].name);
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

/* State tensor `k` of parameter `i`, of which there is a part here: the parts are collected when it is written. */
typedef struct { Sharing *sharing; int i, k; } SharedState;

static const void *collect_state(void *arg)
{
    SharedState *s = arg;
    const void *values = s->sharing ? s->sharing->collect(s->sharing, s->i, s->k) : NULL;
    s->sharing = NULL;
    return values;
}

static StEntry state_entry(void *owner, const Optimizer *o, int i, int k)
{
    const char *name = state_name(owner, o, i, k);
    if (!o->sharing) return st_entry(name, o->state[i].tensor[k]);
    SharedState *s = ag_alloc_in(owner, 1, sizeof *s);
    *s = (SharedState){ o->sharing, i, k };
    return (StEntry){ .name = name, .shape = tensor_shape(o->parameters->item[i].tensor), .dtype = AG_REAL,
                      .values_of = collect_state, .arg = s };
}

/* Appends the optimizer's state to the entries, and its steps to the metadata. Returns the number of entries. */
static size_t put_optimizer(const Optimizer *o, StEntry *entry, size_t n, NnSettings *metadata)
{
    const NnParameters *p = o->parameters;
    nn_settings_set(metadata, "optimizer", "%s", o->kind->name);
    nn_settings_set(metadata, "step", "%" PRId64, o->steps);
    for (int i = 0; i < p->n; i++) {
        const ParameterState *state = &o->state[i];
        for (int k = 0; k < NN_STATES && state->tensor[k]; k++) entry[n++] = state_entry(entry, o, i, k);
        if (p->item[i].trained && state->steps != o->steps)
            nn_settings_set(metadata, text_printf(metadata, STEP "%s", p->item[i].name), "%" PRId64, state->steps);
    }
    return n;
}

/* A usage error if the path is NULL, if an object is not alive, or if module and optimizer do not fit. The optimizer and the
 * settings may be NULL. The state of the optimizer exists afterwards. */
static void check_file(const char *what, const char *path, const void *module, Optimizer *o, const NnSettings *settings)
{
    ag_check_pointer(what, "the path", path);
    if (settings) ag_check_object(what, "settings", settings);
    nn_check(what, module, 0);
    check_fields(what, module);
    if (!o) return;
    nn_optimizer_check(what, o, module);
    check_whole(what, o);
    optimizer_make_state(o);
}

static bool put_settings(const char *path, const NnSettings *s, NnSettings *metadata)
{
    for (int i = 0; i < s->n; i++) {
        const char *key = s->item[i].key, *value = s->item[i].value;
        if (utf8_valid(value, strlen(value)) != strlen(value))
            return ag_set_error("%s: the setting %s is %s, expected UTF-8", path, QUOTED(key), QUOTED(value));
        nn_settings_set(metadata, text_printf(metadata, SETTINGS "%s", key), "%s", value);
    }
    return true;
}

/* What a file gets. */
typedef struct {
    bool run;                   /* the random state, too */
    bool trained;               /* no frozen parameters */
    bool round;                 /* reals are rounded to bfloat16 */
    FileWriter *config;         /* a file that is replaced with it; NULL: none */
} Saving;

/* The optimizer and the settings may be NULL. */
static bool save(const char *what, const char *path, void *module, Saving how, Optimizer *o, const NnSettings *settings)
{
    check_file(what, path, module, o, settings);
    static const char *const others[] = { ".npz", ".npy", ".pt", ".pth", ".json" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (st_ends_in(path, others[i]))
            return ag_set_error("%s: %s writes a safetensors file: expected another ending than %s", path,
                                what, others[i]);
    NnParameters *p = saved_parameters(module, false, how.trained);
    size_t most = (size_t)p->n + (o ? NN_STATES * (size_t)o->parameters->n : 0), n = 0;
    StEntry *entry = ag_alloc_in(p, most, sizeof *entry);
    NnSettings *metadata = nn_settings_new();
    ag_set_owner(metadata, p);

    for (int i = 0; i < p->n; i++) {
        entry[n] = st_entry(p->item[i].name, p->item[i].tensor);
        entry[n].round = how.round && entry[n].dtype == AG_REAL;
        n++;
    }
    if (o) n = put_optimizer(o, entry, n, metadata);
    bool done = !settings || put_settings(path, settings, metadata);
    if (how.trained) nn_settings_set(metadata, WEIGHTS, TRAINED);
    if (how.run) {
        nn_settings_set(metadata, "random.seed", "%" PRIu64, ag_random_state().seed);
        nn_settings_set(metadata, "random.counter", "%" PRIu64, ag_random_state().counter);
    }
    if (done && (!o || !o->sharing || o->sharing->is_writer))
        done = st_write_described(path, entry, n, metadata, how.config);
    /* the parts of the state are collected also if the file cannot be written */
    for (size_t i = 0; i < n; i++)
        if (entry[i].values_of) entry[i].values_of(entry[i].arg);
    if (o && o->sharing) done = o->sharing->all_good(o->sharing, done);
    ag_free(p);
    return done;
}

bool nn_save(const char *path, void *module)
{
    AG_LAYER;
    return save(__func__, path, module, (Saving){ .run = false }, NULL, NULL);
}

bool save_described(const char *path, void *module, bool round, FileWriter *config)
{
    return save(__func__, path, module, (Saving){ .round = round, .config = config }, NULL, NULL);
}

bool nn_save_bf16(const char *path, void *module)
{
    AG_LAYER;
    return save(__func__, path, module, (Saving){ .round = true }, NULL, NULL);
}

bool nn_checkpoint_save(const char *path, void *module, Optimizer *o, const NnSettings *settings)
{
    AG_LAYER;
    return save(__func__, path, module, (Saving){ .run = true }, o, settings);
}

bool nn_checkpoint_save_trained(const char *path, void *module, Optimizer *o, const NnSettings *settings)
{
    AG_LAYER;
    return save(__func__, path, module, (Saving){ .run = true, .trained = true }, o, settings);
}

/* ---- loading: the plan, which may fail --------------------------------------------------------------------------- */

/* A tensor of the model and the file's values for it. */
typedef struct {
    Tensor *to;
    int number;                 /* of its first name in the model's list; -1: state of an optimizer, which has one name */
    const StTensor *from;
    int64_t first;              /* the file's item for the first item of `to` */
    bool transposed;
    void *values;               /* NULL if they are read in place */
} Transfer;

typedef struct {
    AgScope scope;              /* the innermost one at the call */
    NnTensorFile *file;
    Transfer *transfer;
    size_t n;
    bool *used;                 /* for each tensor of the file: whether a transfer reads it */
    int *number;                /* for each name of the model: that of the first one of the same tensor */
    bool *planned;              /* for each of these numbers: whether a transfer fills the tensor, */
    const Transfer **first;     /* and the first one whose values were read */
    NnLoadOptions options;
    NnLoadReport *report;
    const char **wrong;         /* names of tensors, and their wrong shapes */
    int n_wrong;
    uint64_t step, *state_steps;        /* number of steps of the optimizer and of each of its parameters */
    AgRandom random;
} Loading;

/* Plans to fill t from the file's tensor of that name, beginning with item `first` of it; a shape that is not the expected one
 * is noted. False if the file has no such tensor. */
static bool plan_tensor(Loading *l, Tensor *t, int number, AgShape expected, int64_t first, bool transposed, const char *name)
{
    const StTensor *from = st_find(l->file, name);
    if (!from) return false;
    l->used[from - l->file->tensor] = true;
    AgShape shape = from->item.shape;
    if (transposed) expected = SHAPE(expected.dim[1], expected.dim[0]);
    if (!from->unreadable && !ag_shape_equal(shape, expected))      /* reading an unreadable tensor tells why it is */
        l->wrong[l->n_wrong++] = text_printf(l->file, "%s is %s, expected %s", QUOTED(name), ag_shape_string(shape),
                                             ag_shape_string(expected));
    if (number >= 0) l->planned[number] = true;
    l->transfer[l->n++] = (Transfer){ .to = t, .number = number, .from = from, .first = first, .transposed = transposed };
    return true;
}

typedef struct { const Tensor *tensor; int i; } Numbered;

static int compare_tensors(const void *left, const void *right)
{
    const Numbered *a = left, *b = right;
    const uintptr_t x = (uintptr_t)a->tensor, y = (uintptr_t)b->tensor;
    return x == y ? (a->i > b->i) - (a->i < b->i) : x < y ? -1 : 1;
}

static void number_tensors(Loading *l, const NnParameters *names)
{
    Numbered *sorted = ag_alloc_in(l->file, (size_t)names->n, sizeof *sorted);
    for (int i = 0; i < names->n; i++) sorted[i] = (Numbered){ names->item[i].tensor, i };
    if (names->n) qsort(sorted, (size_t)names->n, sizeof *sorted, compare_tensors);
    l->number = ag_alloc_in(l->file, (size_t)names->n, sizeof *l->number);
    for (int i = 0; i < names->n; i++) {
        const bool again = i > 0 && sorted[i].tensor == sorted[i - 1].tensor;
        l->number[sorted[i].i] = again ? l->number[sorted[i - 1].i] : sorted[i].i;
    }
    ag_free(sorted);
}

/* A usage error if a function of the program has ended the scope around the load, and so has closed the file, or has left one
 * open. */
static void check_called(const Loading *l, const char *name)
{
    check_scopes("nn_load_with", name, l->scope);
}

enum { RENAMED = 1024 };        /* bytes of a name that NnLoadOptions.rename writes */

/* The name in the file of the module's tensor. */
static const char *name_in_file(const Loading *l, const char *name)
{
    char *out = ag_alloc_in(l->file, strlen(name) + RENAMED, 1);
    memcpy(out, name, strlen(name));
    const Calls before = function_begins();
    if (l->options.rename) l->options.rename(l->options.arg, name, out, strlen(name) + RENAMED);
    function_ends(before);
    check_called(l, "rename");
    return l->options.prefix ? text_printf(l->file, "%s%s", l->options.prefix, out) : out;
}

static void report_missing(Loading *l, const char *name)
{
    l->report->missing[l->report->n_missing++] = ag_strndup_in(l->report, name, strlen(name));
}

/* A tied weight may be in the file under any of its names, or under several. */
static void plan_module(Loading *l, const NnParameters *names)
{
    for (int i = 0; i < names->n; i++) {
        Tensor *t = names->item[i].tensor;
        const char *name = names->item[i].name;
        const Calls before = function_begins();
        bool transposed = l->options.transposed && tensor_ndim(t) == 2 && l->options.transposed(l->options.arg, name);
        function_ends(before);
        check_called(l, "transposed");
        plan_tensor(l, t, l->number[i], tensor_shape(t), 0, transposed, name_in_file(l, name));
    }
    for (int i = 0; i < names->n; i++)
        if (l->number[i] == i && !l->planned[i]) report_missing(l, names->item[i].name);
}

static void plan_optimizer(Loading *l, const Optimizer *o)
{
    for (int i = 0; i < o->parameters->n; i++) {
        const ParameterState *s = &o->state[i];
        for (int k = 0; k < NN_STATES && s->tensor[k]; k++) {
            const char *name = state_name(l->file, o, i, k);
            AgShape shape = tensor_shape(o->parameters->item[i].tensor);
            if (!plan_tensor(l, s->tensor[k], -1, shape, s->first, false, name)) report_missing(l, name);
        }
    }
}

/* Appends "; TITLE: A, B, C and 5 more" to the message. */
static void append_names(char *message, size_t size, const char *title, const char *const *item, int n, bool quote)
{
    enum { LISTED = 3 };
    size_t length = strlen(message);
    for (int i = 0; i < n && i < LISTED; i++) {
        const char *text = quote ? QUOTED(item[i]) : item[i];
        const char *before = i ? ", " : length ? "; " : "";
        snprintf(message + length, size - length, "%s%s%s%s", before, i ? "" : title, i ? "" : ": ", text);
        length = strlen(message);
    }
    if (n > LISTED) snprintf(message + length, size - length, " and %d more", n - LISTED);
}

/* Whether file and model have the same tensors. Without an optimizer, the file's optimizer state is ignored. */
static bool check_plan(Loading *l, bool with_optimizer)
{
    NnLoadReport *r = l->report;
    for (size_t i = 0; i < l->file->n_tensors; i++) {
        const char *name = l->file->tensor[i].item.name;
        const Calls before = function_begins();
        bool ignored = (!with_optimizer && starts_with(name, OPTIMIZER)) ||
                       (l->options.prefix && !starts_with(name, l->options.prefix)) ||
                       (l->options.ignored && l->options.ignored(l->options.arg, name));
        function_ends(before);
        check_called(l, "ignored");
        if (!l->used[i] && !ignored) r->unexpected[r->n_unexpected++] = ag_strndup_in(r, name, strlen(name));
    }
    char message[900] = "";
    if (!l->options.allow_missing) append_names(message, sizeof message, "missing", r->missing, r->n_missing, true);
    if (!l->options.allow_unexpected) append_names(message, sizeof message, "unexpected", r->unexpected, r->n_unexpected, true);
    append_names(message, sizeof message, "wrong shape", l->wrong, l->n_wrong, false);
    return !*message || ag_set_error("%s: %s", l->file->file->name, message);
}

/* Reads the values of a transfer, those of AG_PACKED as dense rows. False with ag_error() if this fails or they do not fit. */
static bool read_transfer(const Transfer *t, bool round, void *values)
{
    AgDType dtype = tensor_dtype(t->to);
    uint64_t n = (uint64_t)tensor_numel(t->to);
    size_t width = dtype_bytes(dtype);
    if (dtype == AG_PACKED && t->transposed)
        return st_tensor_error(t->from->file, t->from->item.name, "is transposed: a matrix kept in bfloat16 cannot be");
    if (dtype == AG_PACKED) return st_read_pairs(t->from, round, 0, n, values);
    if (!t->transposed) return st_read(t->from, dtype, (uint64_t)t->first, n, values);
    char *stored = ag_alloc((size_t)n, width);
    bool good = st_read(t->from, dtype, 0, n, stored);
    size_t rows = (size_t)tensor_dim(t->to, 0), columns = (size_t)tensor_dim(t->to, 1);
    for (size_t i = 0; good && i < rows; i++)
        for (size_t k = 0; k < columns; k++)
            memcpy((char *)values + (i * columns + k) * width, stored + (k * rows + i) * width, width);
    ag_free(stored);
    return good;
}

/* New memory with the values of a transfer; NULL with ag_error() if that fails. */
static void *values_to_load(const Loading *l, const Transfer *t)
{
    void *values = ag_alloc_in(l->file, (size_t)tensor_numel(t->to), dtype_bytes(tensor_dtype(t->to)));
    return read_transfer(t, l->options.round, values) ? values : NULL;
}

/* The first transfer of the same tensor whose values were read; NULL: none. */
static const Transfer *first_transfer(const Loading *l, const Transfer *t)
{
    return t->number >= 0 ? l->first[t->number] : NULL;
}

/* If the file has one tensor of the model under several names, all must be equal: compares a transfer with the first. */
static bool same_as_first(const Loading *l, const Transfer *t, const void *values)
{
    const Transfer *first = first_transfer(l, t);
    if (!first) return true;
    void *others = first->values ? first->values : values_to_load(l, first);
    if (!others) return false;
    bool same = memcmp(others, values, (size_t)tensor_numel(t->to) * dtype_bytes(tensor_dtype(t->to))) == 0;
    if (!first->values) ag_free(others);
    return same || ag_set_error("%s: %s and %s are one tensor in the model, but differ in the file", l->file->file->name,
                                QUOTED(first->from->item.name), QUOTED(t->from->item.name));
}

/* Reads values into the model, a part of a packed matrix at a time. */
static bool read_in_place(const Loading *l, const Transfer *t)
{
    enum { PART = 1 << 20 };                                    /* numbers */
    bool packed = tensor_dtype(t->to) == AG_PACKED;
    if (!packed || t->transposed)                               /* read_transfer refuses a packed one */
        return read_transfer(t, l->options.round, packed ? NULL : tensor_mutable_values(t->to));
    const int64_t width = tensor_dim(t->to, 1), rows = tensor_dim(t->to, 0), most = PART / (width + 1) + 1;
    uint32_t *pairs = ag_alloc((size_t)(most * width / 2), sizeof *pairs);
    bool good = true;
    for (int64_t i = 0, k; good && i < rows; i += k) {
        k = rows - i < most ? rows - i : most;
        good = st_read_pairs(t->from, l->options.round, (uint64_t)(i * width), (uint64_t)(k * width), pairs);
        if (good) ag_packed_write(t->to, i, k, pairs);
    }
    ag_free(pairs);
    return good;
}

/* In the order of the files and of their values. */
static int compare_places(const void *left, const void *right)
{
    const Transfer *a = left, *b = right;
    return a->from == b->from ? (a->first > b->first) - (a->first < b->first) : (a->from > b->from) - (a->from < b->from);
}

/* Reads and checks all values. */
static bool read_values(Loading *l)
{
    if (l->n) qsort(l->transfer, l->n, sizeof *l->transfer, compare_places);
    for (size_t i = 0; i < l->n; i++) {
        Transfer *t = &l->transfer[i];
        const Calls before = function_begins();
        if (l->options.progress) l->options.progress(l->options.arg, (double)i / (double)l->n);
        function_ends(before);
        check_called(l, "progress");
        const bool is_first = !first_transfer(l, t);
        if (l->options.in_place && is_first) {                  /* a tied tensor is read once, and compared otherwise */
            if (!read_in_place(l, t)) return false;
        } else {
            void *values = values_to_load(l, t);
            if (!values || !same_as_first(l, t, values)) return false;
            if (l->options.in_place) ag_free(values);
            else t->values = values;
        }
        if (is_first && t->number >= 0) l->first[t->number] = t;
    }
    return true;
}

#define MOST_STEPS UINT64_C(1000000000000000)           /* far below the largest int64_t */
/* Reads a whole number of 0 to `most` from the metadata. */
static bool read_count(const NnTensorFile *f, const char *key, uint64_t most, uint64_t *value)
{
    const char *text = tensor_file_metadata(f, key);
    if (!text) return ag_set_error("%s: is not a checkpoint of a run: it has no %s", f->file->name, QUOTED(key));
    errno = 0;
    *value = strtoull(text, NULL, 10);
    if (*text && strspn(text, "0123456789") == strlen(text) && errno == 0 && *value <= most) return true;
    return ag_set_error("%s: %s is %s, expected a whole number of 0 to %" PRIu64, f->file->name, QUOTED(key), QUOTED(text),
                        most);
}

static bool read_optimizer(Loading *l, const Optimizer *o)
{
    const char *kind = tensor_file_metadata(l->file, "optimizer"), *expected = o->kind->name, *path = l->file->file->name;
    if (!kind) return ag_set_error("%s: has no optimizer state, expected that of \"%s\"", path, expected);
    if (strcmp(kind, expected) != 0)
        return ag_set_error("%s: has the state of an optimizer %s, expected \"%s\"", path, QUOTED(kind), expected);
    if (!read_count(l->file, "step", MOST_STEPS, &l->step)) return false;
    l->state_steps = ag_alloc_in(l->file, (size_t)o->parameters->n, sizeof *l->state_steps);
    for (int i = 0; i < o->parameters->n; i++) {
        const char *key = text_printf(l->file, STEP "%s", o->parameters->item[i].name);
        l->state_steps[i] = l->step;
        if (tensor_file_metadata(l->file, key) && !read_count(l->file, key, MOST_STEPS, &l->state_steps[i])) return false;
    }
    return true;
}

static bool read_run(Loading *l, const Optimizer *o)
{
    return read_count(l->file, "random.seed", UINT64_MAX, &l->random.seed) &&
           read_count(l->file, "random.counter", UINT64_MAX, &l->random.counter) && (!o || read_optimizer(l, o));
}

/* ---- loading: applying the plan, which cannot fail --------------------------------------------------------------- */

static void apply_settings(const NnTensorFile *f, NnSettings *settings)
{
    const int before = settings->n;
    settings_of_file(settings, f->file->name);
    for (uint32_t i = 0; f->metadata && i < f->metadata->count; i++) {
        const Json *key = &f->metadata->as.item[2 * i], *value = key + 1;
        if (starts_with(key->as.text, SETTINGS))
            settings_set(settings, before, key->as.text + strlen(SETTINGS),
                         ag_strndup_in(settings, value->as.text, value->count));
    }
}

static void apply_to_model(const Loading *l)
{
    for (size_t i = 0; i < l->n && !l->options.in_place; i++) {
        const Transfer *t = &l->transfer[i];
        size_t numel = (size_t)tensor_numel(t->to);
        if (tensor_dtype(t->to) == AG_PACKED) ag_packed_write(t->to, 0, tensor_dim(t->to, 0), t->values);
        else if (numel) memcpy(tensor_mutable_values(t->to), t->values, numel * dtype_bytes(tensor_dtype(t->to)));
    }
}

static void apply_to_run(const Loading *l, Optimizer *o)
{
    ag_set_random_state(l->random);
    if (!o) return;
    o->steps = (int64_t)l->step;
    for (int i = 0; i < o->parameters->n; i++) o->state[i].steps = (int64_t)l->state_steps[i];
}

/* Plans, checks and applies what the file has for the tensors of these names. */
static bool load(Loading *l, const NnParameters *names, bool run, Optimizer *o, NnSettings *settings)
{
    NnTensorFile *f = l->file;
    size_t n = (size_t)names->n + (o ? NN_STATES * (size_t)o->parameters->n : 0);
    l->transfer = ag_alloc_in(f, n, sizeof *l->transfer);
    l->wrong = ag_alloc_in(f, n, sizeof *l->wrong);
    l->used = ag_alloc_in(f, f->n_tensors, sizeof *l->used);
    l->planned = ag_alloc_in(f, (size_t)names->n, sizeof *l->planned);
    l->first = ag_alloc_in(f, (size_t)names->n, sizeof *l->first);
    number_tensors(l, names);
    l->report = ag_alloc(1, sizeof *l->report);
    l->report->missing = ag_alloc_in(l->report, n, sizeof *l->report->missing);
    l->report->unexpected = ag_alloc_in(l->report, f->n_tensors, sizeof *l->report->unexpected);
    if (l->options.report) *l->options.report = l->report;
    else ag_set_owner(l->report, f);
    plan_module(l, names);
    if (o) plan_optimizer(l, o);
    if ((run && !read_run(l, o)) || !check_plan(l, o != NULL) || !read_values(l)) return false;

    if (settings) apply_settings(f, settings);
    apply_to_model(l);
    if (run) apply_to_run(l, o);
    return true;
}

/* Checks the arguments and loads a file. The optimizer and the settings may be NULL. */
static bool load_file(const char *what, const char *path, void *module, NnLoadOptions options, bool run, Optimizer *o,
                      NnSettings *settings)
{
    check_file(what, path, module, o, settings);
    Loading l = { .scope = innermost_scope(), .file = st_open(path), .options = options };
    if (!l.file) return false;
    layer_owns(l.file);
    const char *weights = tensor_file_metadata(l.file, WEIGHTS);
    NnParameters *names = saved_parameters(module, true, weights && strcmp(weights, TRAINED) == 0);
    ag_set_owner(names, l.file);
    bool done = load(&l, names, run, o, settings);
    layer_frees(l.file);
    return done;
}

bool nn_load(const char *path, void *module)
{
    AG_LAYER;
    return load_file(__func__, path, module, (NnLoadOptions){ .prefix = NULL }, false, NULL, NULL);
}

bool nn_load_with(const char *path, void *module, NnLoadOptions options)
{
    AG_LAYER;
    return load_file(__func__, path, module, options, false, NULL, NULL);
}

bool nn_checkpoint_load(const char *path, void *module, Optimizer *o, NnSettings *settings)
{
    AG_LAYER;
    return load_file(__func__, path, module, (NnLoadOptions){ .prefix = NULL }, true, o, settings);
}

bool nn_checkpoint_settings(const char *path, NnSettings *settings)
{
    AG_LAYER;
    ag_check_pointer(__func__, "the path", path);
    ag_check_object(__func__, "settings", settings);
    NnTensorFile *f = st_open(path);
    if (!f) return false;
    apply_settings(f, settings);
    ag_free(f);
    return true;
}

bool nn_average_checkpoints(void *model, const char *const *paths, int n)
{
    AG_LAYER;
    nn_check(__func__, model, 0);
    if (n < 1) return ag_set_error("there are no checkpoints to average");
    ag_check_pointer(__func__, "paths", paths);
    void *one = nn_clone(model);
    void *average = nn_clone(model);
    NnParameters *mean = nn_parameters(average), *part = nn_parameters(one), *own = nn_parameters(model);
    bool good = true;
    for (int j = 0; good && j < own->n; j++)
        if (tensor_dtype(own->item[j].tensor) == AG_PACKED)
            good = ag_set_error("%s is in two bytes, expected reals for a mean", own->item[j].name);
    for (int i = 0; good && i < n; i++) {
        good = nn_load(paths[i], one);
        for (int j = 0; good && j < mean->n; j++) {
            /* The mean of i+1 values from the mean of i, in a form that is exact for equal values. */
            if (tensor_dtype(mean->item[j].tensor) != AG_REAL) continue;        /* as it is in the model */
            ag_real *running = tensor_mutable_data(mean->item[j].tensor);
            const ag_real *value = tensor_data(part->item[j].tensor);
            for (int64_t k = 0; k < tensor_numel(mean->item[j].tensor); k++)
                if (i == 0) running[k] = value[k];
                else if (isinf(running[k])) running[k] += value[k];
                else if (running[k] != value[k]) running[k] += (value[k] - running[k]) / (ag_real)(i + 1);
        }
    }
    for (int j = 0; good && j < own->n; j++) tensor_copy(own->item[j].tensor, mean->item[j].tensor);
    ag_free(own);
    ag_free(part);
    ag_free(mean);
    ag_free(one);
    ag_free(average);
    return good;
}
