/* gpt_files.c: loads a GPT from a checkpoint, and reads and writes GPT-2's files in the layout of Hugging Face's library.
 *
 * In that layout, the matrices of the layers belong to a "Conv1D", which computes x W + b. So W is stored as (in, out),
 * the transpose of the weight of a Linear. The sizes in config.json are checked against the weights file before the model
 * is constructed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "kaeru/autograd.h"
#include "kaeru/gpt.h"
#include "safetensors.h"
#include "sizes.h"
#include "utf8.h"

#define PREFIX "transformer."
#define HEAD "lm_head.weight"

/* Puts the path before the error message. */
static bool add_path(const char *path)
{
    return ag_set_error("%s: %s", path, ag_error());
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

GPT *gpt_load_at(AgSite at, const char *path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "path", path);
    GPTOptions o = { .recompute = false };
    if (!checkpoint_options(path, &gpt_fields, &o) || !checkpoint_may_hold(path, gpt_size(&o))) return NULL;
    GPT *m = gpt_new(o);
    if (nn_load(path, m)) return m;
    nn_free(m);
    return NULL;
}

/* ---- reading config.json ----------------------------------------------------------------------------------------- */

static bool check_inner(const Config *c, int64_t width)
{
    const Json *value = json_get(c->root, "n_inner");
    int64_t n;
    if (!value || value->type == JSON_NULL || (json_int(value, &n) && n / 4 == width && n % 4 == 0)) return true;
    return ag_set_error("%s: \"n_inner\": expected 4 times \"n_embd\"", c->path);
}

static bool read_config(const Config *c, GPTOptions *o)
{
    *o = gpt_defaults();
    return config_text(c, "model_type", "gpt2", NULL) &&
           config_int(c, "n_layer", &o->layers) && config_int(c, "n_head", &o->heads) &&
           config_int(c, "n_embd", &o->width) &&
           config_int(c, "vocab_size", &o->vocab) && config_int(c, "n_positions", &o->context) &&
           config_real(c, "layer_norm_epsilon", &o->eps) && config_real(c, "resid_pdrop", &o->dropout) &&
           check_inner(c, o->width) && config_text(c, "activation_function", "gelu_new", "gelu_pytorch_tanh") &&
           config_flag(c, "scale_attn_weights", true) && config_flag(c, "scale_attn_by_inverse_layer_idx", false) &&
           config_flag(c, "add_cross_attention", false) && config_flag(c, "tie_word_embeddings", true) &&
           (nn_fields_check(&gpt_fields, o) || add_path(c->path));
}

static bool open_config(const char *path, GPTOptions *o)
{
    Config c;
    bool good = config_open(&c, path) && read_config(&c, o);
    ag_free(c.owner);
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

static bool check_shape(const Source *s, const StTensor *t, AgShape expected)
{
    AgShape found = { 0 };
    char text[2][AG_SHAPE_TEXT], what[2 * AG_SHAPE_TEXT + 40];
    if (!st_shape(s->st, t, &found)) return false;
    if (ag_shape_equal(found, expected)) return true;
    snprintf(what, sizeof what, "is %s, expected %s", ag_shape_text(found, text[0]), ag_shape_text(expected, text[1]));
    return tensor_error(s, t->name, what);
}

/* Whether the file stores the parameter transposed. */
static bool is_transposed(const NnNamedTensor *p)
{
    return strncmp(p->name, "h.", 2) == 0 && tensor_ndim(p->tensor) == 2;
}

static AgShape stored_shape(const NnNamedTensor *p)
{
    AgShape shape = tensor_shape(p->tensor);
    return is_transposed(p) ? SHAPE(shape.dim[1], shape.dim[0]) : shape;
}

static bool read_parameter(Source *s, const NnNamedTensor *p)
{
    const StTensor *from = find(s, s->prefix, p->name);
    if (!from) return tensor_error(s, p->name, "is missing");
    if (!check_shape(s, from, stored_shape(p))) return false;
    if (!is_transposed(p)) return st_read(from, AG_REAL, tensor_mutable_data(p->tensor));
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *stored = tensor_zeros(stored_shape(p));
    bool good = st_read(from, AG_REAL, tensor_mutable_data(stored));
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
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *values = tensor_zeros(tensor_shape(m->wte->weight));
    size_t size = (size_t)tensor_numel(values) * sizeof(ag_real);
    bool good = st_read(head, AG_REAL, tensor_mutable_data(values));
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
    NnParameters *p = nn_parameters(m);
    bool good = true;
    for (int i = 0; good && i < p->n; i++) good = read_parameter(s, &p->item[i]);
    ag_free(p);
    good = good && check_head(s, m);
    for (size_t i = 0; good && i < s->st->n_tensors; i++)
        if (!s->used[i] && !is_mask(s, s->st->tensor[i].name))
            good = tensor_error(s, s->st->tensor[i].name, "does not belong to a GPT-2 of the sizes in the config");
    return good;
}

static GPT *read_model(SafeTensors *st, GPTOptions o)
{
    Source s = { .st = st, .prefix = st_find(st, PREFIX "wte.weight") ? PREFIX : "" };
    s.used = ag_alloc_in(st, st->n_tensors, sizeof *s.used);
    o.bias = find(&s, s.prefix, "ln_f.bias") != NULL;
    if (!weights_may_hold(st, gpt_size(&o))) return NULL;
    GPT *m = gpt_new(o);
    if (read_weights(&s, m)) return m;
    nn_free(m);
    return NULL;
}

GPT *gpt_open_at(AgSite at, const char *weights_path, const char *config_path)
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

static const char *text_of(void *owner, const GPTOptions *o, size_t *size)
{
    JsonWriter *w = config_writer(owner, "GPT2LMHeadModel", "gpt2");
    json_put_int(w, "n_layer", o->layers);
    json_put_int(w, "n_head", o->heads);
    json_put_int(w, "n_embd", o->width);
    json_put_int(w, "vocab_size", o->vocab);
    json_put_int(w, "n_positions", o->context);
    json_put_int(w, "n_ctx", o->context);
    json_put_text(w, "activation_function", "gelu_new");
    json_put_real(w, "layer_norm_epsilon", o->eps);
    json_put_real(w, "resid_pdrop", o->dropout);
    json_put_real(w, "embd_pdrop", o->dropout);
    json_put_real(w, "attn_pdrop", o->dropout);
    json_close(w, '}');
    return json_written(w, size);
}

static StEntry entry_of(void *owner, const NnNamedTensor *p)
{
    Tensor *values = is_transposed(p) ? ag_transpose(p->tensor, 0, 1) : p->tensor;
    return st_entry(AG_HERE, ag_strndup_in(owner, p->name, strlen(p->name)), values);
}

/* A bias of zeros for a weight whose layer has no bias. */
static StEntry zero_bias(void *owner, const NnNamedTensor *p)
{
    const char *stem = ag_strndup_in(owner, p->name, strlen(p->name) - strlen("weight"));
    Tensor *zeros = tensor_zeros(SHAPE(tensor_dim(p->tensor, 0)));
    return st_entry(AG_HERE, st_join(owner, stem, "bias"), zeros);
}

typedef struct { void *owner; GPT *model; const char *path; } Writing;

static bool write_weights(void *arg)
{
    const Writing *w = arg;
    GPT *m = w->model;
    AgScope scope = ag_begin(AG_NO_GRAD);
    NnParameters *p = nn_parameters(m);
    StEntry *entry = ag_alloc_in(w->owner, 2 * (size_t)p->n, sizeof *entry);
    size_t n = 0;
    for (int i = 0; i < p->n; i++) {
        bool is_table = p->item[i].tensor == m->wte->weight || p->item[i].tensor == m->wpe->weight;
        entry[n++] = entry_of(w->owner, &p->item[i]);
        if (!m->options.bias && !is_table) entry[n++] = zero_bias(w->owner, &p->item[i]);
    }
    bool done = st_write(w->path, entry, n, &(StText){ "format", "pt" }, 1);
    ag_free(p);
    ag_end(scope);
    return done;
}

bool gpt_write_at(AgSite at, GPT *m, const char *weights_path, const char *config_path)
{
    NN_LAYER(at, m);
    ag_check_pointer_at(at, __func__, "weights_path", weights_path);
    ag_check_pointer_at(at, __func__, "config_path", config_path);
    void *owner = ag_alloc(1, 1);
    size_t size;
    const char *text = text_of(owner, &m->options, &size);
    bool done = config_replace(config_path, text, size, write_weights, &(Writing){ owner, m, weights_path });
    ag_free(owner);
    return done;
}
