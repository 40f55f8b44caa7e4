/* gpt_files.c: loads a GPT from a checkpoint, and reads and writes GPT-2's files in the layout of Hugging Face's library.
 *
 * In that layout, the matrices of the layers belong to a "Conv1D", which computes x W + b. So W is stored as (in, out),
 * the transpose of the weight of a Linear. config.json's sizes are checked with the weights before the model is made. */
#include <string.h>

#include "kaeru/autograd.h"
#include "config.h"
#include "kaeru/gpt.h"
#include "kaeru/gpt_files.h"
#include "model_files.h"
#include "numbers.h"
#include "stored.h"
#include "utf8.h"

#define PREFIX "transformer."

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* The matrices of the layers and the weights of their norms. */
static double least_tensors(const GPTOptions *o)
{
    return 6 * (double)o->layers;
}

GPT *gpt_load(const char *path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "path", path);
    GPTOptions o = { .recompute = false };
    if (!checkpoint_options(path, &gpt_fields, &o) || !model_may_be_made(path, gpt_size(&o), least_tensors(&o)))
        return NULL;
    return model_filled(gpt_new(o), path, (NnLoadOptions){ .prefix = NULL });
}

/* ---- reading config.json ----------------------------------------------------------------------------------------- */

static bool check_inner(const Config *c, int64_t width)
{
    const Json *value = json_get(c->root, "n_inner");
    int64_t n;
    if (!value || value->type == JSON_NULL || (json_int(value, &n) && n / 4 == width && n % 4 == 0)) return true;
    return ag_set_error("%s: \"n_inner\": expected 4 times \"n_embd\"", c->path);
}

#define KEY(key, member, ...) CONFIG_KEY(key, GPTOptions, member, __VA_ARGS__)
static const NnField keys[] = {
    KEY("n_layer", layers), KEY("n_head", heads), KEY("n_embd", width), KEY("vocab_size", vocab), KEY("n_positions", context),
    KEY("layer_norm_epsilon", eps, .optional = true), KEY("resid_pdrop", dropout, .optional = true), NN_FIELDS_END
};

/* transformers reads a size also under the name that other models have for it, which comes first. */
static const char *const common_names[][2] = {
    { "n_layer", "num_hidden_layers" }, { "n_head", "num_attention_heads" }, { "n_embd", "hidden_size" },
    { "n_positions", "max_position_embeddings" },
};

static bool read_keys(const Config *c, GPTOptions *o)
{
    NnField key[] = { { .name = "" }, NN_FIELDS_END };
    for (int i = 0; keys[i].name; i++) {
        key[0] = keys[i];
        for (size_t k = 0; k < sizeof common_names / sizeof *common_names; k++)
            if (strcmp(keys[i].name, common_names[k][0]) == 0 && json_get(c->root, common_names[k][1]))
                key[0].name = common_names[k][1];
        if (!config_read(c, key, o) || !config_check(c, key, &gpt_fields, o)) return false;
    }
    return true;
}

static bool read_config(const Config *c, GPTOptions *o)
{
    *o = gpt_defaults();
    return config_text(c, "model_type", "gpt2", NULL) && config_is_usual(c) && read_keys(c, o) &&
           check_inner(c, o->width) && config_text(c, "activation_function", "gelu_new", "gelu_pytorch_tanh") &&
           config_flag(c, "scale_attn_weights", true) && config_flag(c, "scale_attn_by_inverse_layer_idx", false) &&
           config_flag(c, "add_cross_attention", false) && config_flag(c, "tie_word_embeddings", true) &&
           (nn_fields_check(&gpt_fields, o) || add_path(c->path));
}

/* ---- reading the weights ----------------------------------------------------------------------------------------- */

/* Whether the file stores the model's matrix of that name transposed. */
static bool is_transposed(void *unused, const char *name)
{
    (void)unused;
    return strncmp(name, "h.", 2) == 0;
}

/* Puts the file's prefix before a name. The output layer has none. */
static void add_prefix(void *prefix, const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s%s", strcmp(name, "lm_head.weight") == 0 ? "" : (const char *)prefix, name);
}

/* Whether the tensor is a causal mask, which older versions of the library save: h.N.attn.bias or h.N.attn.masked_bias. */
static bool is_mask(void *unused, const char *name)
{
    (void)unused;
    if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) name += strlen(PREFIX);
    if (strncmp(name, "h.", 2) != 0) return false;
    const char *digits = name + 2, *rest = digits + strspn(digits, "0123456789");
    return rest > digits && (strcmp(rest, ".attn.bias") == 0 || strcmp(rest, ".attn.masked_bias") == 0);
}

static GPT *read_model(const NnTensorFile *f, GPTOptions o)
{
    const char *path = f->file->name;
    char prefix[] = PREFIX;
    if (!tensor_file_find(f, PREFIX "wte.weight")) *prefix = '\0';
    o.bias = tensor_file_find(f, *prefix ? PREFIX "ln_f.bias" : "ln_f.bias") != NULL;
    if (!model_may_be_made(path, gpt_size(&o), least_tensors(&o))) return NULL;
    return model_filled(gpt_new(o), path, (NnLoadOptions){ .rename = add_prefix, .transposed = is_transposed, .arg = prefix,
                                                           .ignored = is_mask });
}

GPT *gpt_open(const char *weights_path, const char *config_path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "weights_path", weights_path);
    ag_check_pointer(__func__, "config_path", config_path);
    GPTOptions o;
    Config c;
    bool good = config_open(&c, config_path) && read_config(&c, &o);
    ag_free(c.owner);
    NnTensorFile *f = good ? st_open(weights_path) : NULL;
    GPT *m = f ? read_model(f, o) : NULL;
    ag_free(f);
    return m;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static JsonWriter *config_of(void *owner, const GPTOptions *o)
{
    JsonWriter *w = config_writer(owner, "GPT2LMHeadModel", "gpt2");
    config_put(w, keys, o);
    json_put_int(w, "n_ctx", o->context);
    json_put_text(w, "activation_function", "gelu_new");
    json_put_real(w, "embd_pdrop", o->dropout);
    json_put_real(w, "attn_pdrop", o->dropout);
    if (o->vocab <= 50256) {                /* the default of both, GPT-2's <|endoftext|>, is no token */
        json_put_text(w, "bos_token_id", NULL);
        json_put_text(w, "eos_token_id", NULL);
    }
    return w;
}

static bool write_weights(GPT *m, const char *path, FileWriter *config)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    NnParameters *p = nn_parameters(m);
    StEntry *entry = ag_alloc_in(p, 2 * (size_t)p->n, sizeof *entry);
    size_t n = 0;
    for (int i = 0; i < p->n; i++) {
        Tensor *own = p->item[i].tensor, *t = tensor_dtype(own) == AG_PACKED ? ag_from_bf16(own) : own;
        const char *name = p->item[i].name;
        bool transposed = tensor_ndim(t) == 2 && is_transposed(NULL, name);
        entry[n++] = st_entry(name, transposed ? ag_transpose(t, 0, 1) : t);
        if (m->options.bias || own == m->wte->weight || own == m->wpe->weight) continue;
        char *bias = text_printf(p, "%.*sbias", (int)(strlen(name) - strlen("weight")), name);
        entry[n++] = st_entry(bias, tensor_zeros(SHAPE(tensor_dim(t, 0))));     /* its layer has none here */
    }
    bool done = st_write_described(path, entry, n, NULL, config);
    ag_free(p);
    ag_end(scope);
    return done;
}

bool gpt_write(GPT *m, const char *weights_path, const char *config_path)
{
    NN_LAYER_OF(m, "GPT");
    ag_check_pointer(__func__, "weights_path", weights_path);
    ag_check_pointer(__func__, "config_path", config_path);
    if (!weights_are_whole(m)) return false;
    void *owner = ag_alloc(1, 1);
    FileWriter *config = config_write(owner, config_path, config_of(owner, &m->options));
    bool done = config && write_weights(m, weights_path, config);
    ag_free(owner);
    return done;
}
