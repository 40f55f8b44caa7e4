/* gpt_files.c: loads a GPT from a checkpoint, and reads and writes GPT-2's files in the layout of Hugging Face's library.
 *
 * In that layout, the matrices of the layers belong to a "Conv1D", which computes x W + b. So W is stored as (in, out),
 * the transpose of the weight of a Linear. The sizes in config.json are checked against the weights file before the model
 * is constructed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "file.h"
#include "json.h"
#include "kaeru/autograd.h"
#include "kaeru/gpt.h"
#include "safetensors.h"
#include "utf8.h"

enum { MAX_CONFIG = 1 << 20 };                  /* bytes */
#define PREFIX "transformer."
#define HEAD "lm_head.weight"

/* Puts the path before the error message. */
static bool add_path(const char *path)
{
    return ag_set_error("%s: %s", path, ag_error());
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static bool checkpoint_options(const char *path, GPTOptions *o)
{
    Settings *s = nn_settings_new();
    bool good = nn_checkpoint_settings(path, s) && (gpt_from_settings(o, s) || add_path(path)) &&
                checkpoint_may_hold(path, gpt_size(o));
    ag_free(s);
    return good;
}

GPT *gpt_load_at(Site at, const char *path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "path", path);
    GPTOptions o;
    if (!checkpoint_options(path, &o)) return NULL;
    GPT *m = gpt_new(o);
    if (nn_load(path, m)) return m;
    nn_free(m);
    return NULL;
}

/* ---- reading config.json ----------------------------------------------------------------------------------------- */

typedef struct { const char *path; const Json *root; } Config;

static bool key_error(const Config *c, const char *key, const char *expected, const Json *found)
{
    return ag_set_error("%s: \"%s\": expected %s, found %s", c->path, key, expected,
                        found && found->type == JSON_NUMBER ? "another number" : json_type_name(found));
}

static bool read_size(const Config *c, const char *key, int64_t *n)
{
    const Json *value = json_get(c->root, key);
    return json_int(value, n) || key_error(c, key, "a whole number", value);
}

/* Reads a number, which may be missing. */
static bool read_number(const Config *c, const char *key, double *x)
{
    const Json *value = json_get(c->root, key);
    return !value || json_real(value, x) || key_error(c, key, "a number", value);
}

/* Checks a bool, which may be missing. Only the value `expected` is supported. */
static bool check_flag(const Config *c, const char *key, bool expected)
{
    const Json *value = json_get(c->root, key);
    return !value || (value->type == JSON_BOOL && value->as.truth == expected) ||
           ag_set_error("%s: \"%s\": expected %s", c->path, key, expected ? "true" : "false");
}

/* The same for a text. `other` is a second supported value, or NULL. */
static bool check_text(const Config *c, const char *key, const char *expected, const char *other)
{
    const Json *value = json_get(c->root, key);
    char found[UTF8_QUOTE];
    if (!value || json_is(value, expected) || (other && json_is(value, other))) return true;
    if (value->type != JSON_STRING) return ag_set_error("%s: \"%s\": expected \"%s\"", c->path, key, expected);
    return ag_set_error("%s: \"%s\": expected \"%s\", found %s", c->path, key, expected,
                        utf8_quote(value->as.text, value->count, found));
}

static bool check_inner(const Config *c, int64_t width)
{
    const Json *value = json_get(c->root, "n_inner");
    int64_t n;
    if (!value || value->type == JSON_NULL || (json_int(value, &n) && n / 4 == width && n % 4 == 0)) return true;
    return ag_set_error("%s: \"n_inner\": expected 4 times \"n_embd\"", c->path);
}

static bool read_config(const Config *c, GPTOptions *o)
{
    if (c->root->type != JSON_OBJECT)
        return ag_set_error("%s: expected an object, found %s", c->path, json_type_name(c->root));
    *o = gpt_defaults();
    return check_text(c, "model_type", "gpt2", NULL) &&
           read_size(c, "n_layer", &o->layers) && read_size(c, "n_head", &o->heads) &&
           read_size(c, "n_embd", &o->width) &&
           read_size(c, "vocab_size", &o->vocab) && read_size(c, "n_positions", &o->context) &&
           read_number(c, "layer_norm_epsilon", &o->eps) && read_number(c, "resid_pdrop", &o->dropout) &&
           check_inner(c, o->width) && check_text(c, "activation_function", "gelu_new", "gelu_pytorch_tanh") &&
           check_flag(c, "scale_attn_weights", true) && check_flag(c, "scale_attn_by_inverse_layer_idx", false) &&
           check_flag(c, "add_cross_attention", false) && check_flag(c, "tie_word_embeddings", true) &&
           (gpt_check(o) || add_path(c->path));
}

static bool open_config(const char *path, GPTOptions *o)
{
    void *owner = ag_alloc(1, 1);
    Config c = { path, json_read(owner, path, MAX_CONFIG) };
    bool good = c.root && read_config(&c, o);
    ag_free(owner);
    return good;
}

/* ---- reading the weights ----------------------------------------------------------------------------------------- */

typedef struct {
    SafeTensors *st;
    const char *prefix;                         /* of all names but HEAD */
    bool *used;                                 /* for each tensor of the file: whether `find` has returned it */
} Source;

static const StTensor *find(Source *s, const char *prefix, const char *name)
{
    const StTensor *t = st_find(s->st, st_join(s->st, prefix, name));
    if (t) s->used[t - s->st->tensor] = true;
    return t;
}

static bool tensor_error(const Source *s, const char *name, const char *what)
{
    char quoted[UTF8_QUOTE];
    return ag_set_error("%s: %s %s", file_name(s->st->file), utf8_quote(name, strlen(name), quoted), what);
}

static bool check_shape(const Source *s, const StTensor *t, Shape expected)
{
    Shape found = { 0 };
    char text[2][AG_SHAPE_TEXT], what[2 * AG_SHAPE_TEXT + 40];
    if (st_shape(s->st, t, &found) && shape_equal(found, expected)) return true;
    if (t->ndim > AG_MAX_DIMS) snprintf(what, sizeof what, "has %zu dimensions, expected %d", t->ndim, expected.ndim);
    else snprintf(what, sizeof what, "is %s, expected %s", shape_text(found, text[0]), shape_text(expected, text[1]));
    return tensor_error(s, t->name, what);
}

/* Whether the file stores the parameter transposed. */
static bool is_transposed(const NamedTensor *p)
{
    return strncmp(p->name, "h.", 2) == 0 && tensor_ndim(p->tensor) == 2;
}

static Shape stored_shape(const NamedTensor *p)
{
    Shape shape = tensor_shape(p->tensor);
    return is_transposed(p) ? SHAPE(shape.dim[1], shape.dim[0]) : shape;
}

static bool read_parameter(Source *s, const NamedTensor *p)
{
    const StTensor *from = find(s, s->prefix, p->name);
    if (!from) return tensor_error(s, p->name, "is missing");
    if (!check_shape(s, from, stored_shape(p))) return false;
    if (!is_transposed(p)) return st_read_reals(s->st, from, tensor_mutable_data(p->tensor));
    Scope scope = ag_begin(AG_NO_GRAD);
    Tensor *stored = tensor_zeros(stored_shape(p));
    bool good = st_read_reals(s->st, from, tensor_mutable_data(stored));
    if (good) tensor_copy(p->tensor, ag_transpose(stored, 0, 1));
    ag_end(scope);
    return good;
}

/* If the file has the output layer, its weights must be those of the token table. */
static bool check_head(Source *s, const GPT *m)
{
    const StTensor *head = find(s, "", HEAD);
    if (!head) return true;
    if (!check_shape(s, head, tensor_shape(m->wte->weight))) return false;
    Scope scope = ag_begin(AG_NO_GRAD);
    Tensor *values = tensor_zeros(tensor_shape(m->wte->weight));
    size_t size = (size_t)tensor_numel(values) * sizeof(real);
    bool good = st_read_reals(s->st, head, tensor_mutable_data(values));
    if (good && memcmp(tensor_data(values), tensor_data(m->wte->weight), size) != 0)
        good = tensor_error(s, HEAD, "differs from \"wte.weight\": expected one table for input and output");
    ag_end(scope);
    return good;
}

/* Whether the tensor is the causal mask, h.N.attn.bias or h.N.attn.masked_bias, which older versions of the library
 * save. */
static bool is_mask(const Source *s, const char *name)
{
    size_t n = strlen(s->prefix);
    if (strncmp(name, s->prefix, n) != 0 || strncmp(name + n, "h.", 2) != 0) return false;
    const char *digits = name + n + 2, *rest = digits + strspn(digits, "0123456789");
    return rest > digits && (strcmp(rest, ".attn.bias") == 0 || strcmp(rest, ".attn.masked_bias") == 0);
}

static bool read_weights(Source *s, GPT *m)
{
    Parameters *p = nn_parameters(m);
    bool good = true;
    for (int i = 0; good && i < p->n; i++) good = read_parameter(s, &p->item[i]);
    ag_free(p);
    good = good && check_head(s, m);
    for (size_t i = 0; good && i < s->st->n_tensors; i++)
        if (!s->used[i] && !is_mask(s, s->st->tensor[i].name))
            good = tensor_error(s, s->st->tensor[i].name, "does not belong to a GPT-2 of the sizes in the config");
    return good;
}

/* Whether the file has at least as many numbers as a model of these options. */
static bool has_enough_weights(const SafeTensors *st, const GPTOptions *o)
{
    double numbers = 0;
    for (size_t i = 0; i < st->n_tensors; i++) numbers += (double)st->tensor[i].numel;
    return gpt_size(o) <= numbers || ag_set_error("%s: has %.0f numbers, expected the %.0f of the config's model",
                                                  file_name(st->file), numbers, gpt_size(o));
}

static GPT *read_model(SafeTensors *st, GPTOptions o)
{
    Source s = { .st = st, .prefix = st_find(st, PREFIX "wte.weight") ? PREFIX : "" };
    s.used = ag_alloc_in(st, st->n_tensors, sizeof *s.used);
    o.bias = find(&s, s.prefix, "ln_f.bias") != NULL;
    if (!has_enough_weights(st, &o)) return NULL;
    GPT *m = gpt_new(o);
    if (read_weights(&s, m)) return m;
    nn_free(m);
    return NULL;
}

GPT *gpt_open_at(Site at, const char *weights_path, const char *config_path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "weights_path", weights_path);
    ag_check_pointer_at(at, __func__, "config_path", config_path);
    GPTOptions o;
    if (!open_config(config_path, &o)) return NULL;
    SafeTensors *st = st_open(weights_path);
    if (!st) return NULL;
    GPT *m = read_model(st, o);
    st_close(st);
    return m;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_text(JsonWriter *w, const char *key, const char *text)
{
    json_write_name(w, key, strlen(key));
    json_write_text(w, text, strlen(text));
}

static void write_int(JsonWriter *w, const char *key, int64_t value)
{
    json_write_name(w, key, strlen(key));
    json_write_int(w, value);
}

static void write_real(JsonWriter *w, const char *key, double value)
{
    json_write_name(w, key, strlen(key));
    json_write_real(w, value);
}

static const char *config_text(void *owner, const GPTOptions *o, size_t *size)
{
    JsonWriter *w = json_writer(owner, 2);
    json_open(w, '{');
    json_write_name(w, "architectures", strlen("architectures"));
    json_open(w, '[');
    json_write_text(w, "GPT2LMHeadModel", strlen("GPT2LMHeadModel"));
    json_close(w, ']');
    write_text(w, "model_type", "gpt2");
    write_int(w, "n_layer", o->layers);
    write_int(w, "n_head", o->heads);
    write_int(w, "n_embd", o->width);
    write_int(w, "vocab_size", o->vocab);
    write_int(w, "n_positions", o->context);
    write_int(w, "n_ctx", o->context);
    write_text(w, "activation_function", "gelu_new");
    write_real(w, "layer_norm_epsilon", o->eps);
    write_real(w, "resid_pdrop", o->dropout);
    write_real(w, "embd_pdrop", o->dropout);
    write_real(w, "attn_pdrop", o->dropout);
    json_close(w, '}');
    return json_written(w, size);
}

static StEntry entry_of(void *owner, const NamedTensor *p)
{
    Tensor *values = is_transposed(p) ? ag_transpose(p->tensor, 0, 1) : p->tensor;
    return st_entry(AG_HERE, ag_strndup_in(owner, p->name, strlen(p->name)), values);
}

/* A bias of zeros for a weight whose layer has no bias. */
static StEntry zero_bias(void *owner, const NamedTensor *p)
{
    const char *stem = ag_strndup_in(owner, p->name, strlen(p->name) - strlen("weight"));
    Tensor *zeros = tensor_zeros(SHAPE(tensor_dim(p->tensor, 0)));
    return st_entry(AG_HERE, st_join(owner, stem, "bias"), zeros);
}

static bool write_weights(void *owner, GPT *m, const char *path)
{
    Scope scope = ag_begin(AG_NO_GRAD);
    Parameters *p = nn_parameters(m);
    StEntry *entry = ag_alloc_in(owner, 2 * (size_t)p->n, sizeof *entry);
    size_t n = 0;
    for (int i = 0; i < p->n; i++) {
        bool is_table = p->item[i].tensor == m->wte->weight || p->item[i].tensor == m->wpe->weight;
        entry[n++] = entry_of(owner, &p->item[i]);
        if (!m->options.bias && !is_table) entry[n++] = zero_bias(owner, &p->item[i]);
    }
    bool done = st_write(path, entry, n, &(StText){ "format", "pt" }, 1);
    ag_free(p);
    ag_end(scope);
    return done;
}

bool gpt_write_at(Site at, GPT *m, const char *weights_path, const char *config_path)
{
    NN_LAYER(at, m);
    ag_check_pointer_at(at, __func__, "weights_path", weights_path);
    ag_check_pointer_at(at, __func__, "config_path", config_path);
    void *owner = ag_alloc(1, 1);
    size_t size;
    const char *text = config_text(owner, &m->options, &size);
    FileWriter *config = text ? file_replace(config_path) : NULL;
    bool done = config != NULL;
    if (done) {                                 /* the config is on the disk before the weights are replaced */
        file_write(config, text, size);
        done = file_finish(config) && write_weights(owner, m, weights_path);
        if (done) done = file_commit(config);
        else ag_free(config);
    }
    ag_free(owner);
    return done;
}
