/* llama_files.c: loads a Llama from a checkpoint, and reads and writes folders in the layout of Hugging Face's library. The
 * parameters have the same names there. config.json's sizes are checked with the weights before the model is made. */
#include <string.h>

#include "kaeru/frozen.h"
#include "kaeru/llama.h"
#include "program_calls.h"
#include "config.h"
#include "llama_parts.h"
#include "model_files.h"
#include "numbers.h"
#include "stored.h"
#include "utf8.h"

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* The matrices of the layers and the weights of their norms. */
static double least_tensors(const LlamaOptions *o)
{
    return 9 * (double)o->layers;
}

Llama *llama_load(const char *path)
{
    AG_LAYER;
    ag_check_pointer(__func__, "path", path);
    LlamaOptions o = { .recompute = false };
    bool good = checkpoint_options(path, &llama_fields, &o) && model_may_be_made(path, llama_size(&o), least_tensors(&o));
    return good ? model_filled(llama_of_zeros(o), path, (NnLoadOptions){ .prefix = NULL }) : NULL;
}

/* ---- reading config.json ----------------------------------------------------------------------------------------- */

#define KEY(key, member, ...) CONFIG_KEY(key, LlamaOptions, member, __VA_ARGS__)
static const NnField keys[] = {
    KEY("num_hidden_layers", layers),
    KEY("num_attention_heads", heads),
    KEY("num_key_value_heads", kv_heads, .optional = true),
    KEY("hidden_size", width),
    KEY("head_dim", head_width, .optional = true),          /* after the sizes that its default comes from */
    KEY("intermediate_size", hidden),
    KEY("vocab_size", vocab),
    KEY("max_position_embeddings", context, .optional = true),
    KEY("rms_norm_eps", eps, .optional = true),
    KEY("attention_dropout", dropout, .optional = true),
    KEY("tie_word_embeddings", tied, .optional = true),
    NN_FIELDS_END
};
static const NnField bias_key[] = { KEY("attention_bias", out_bias, .optional = true), NN_FIELDS_END };
static const NnField begin_key[] = { KEY("bos_token_id", begin, .optional = true), NN_FIELDS_END };
static const NnField pad_key[] = { KEY("pad_token_id", pad, .optional = true), NN_FIELDS_END };
static const NnField scaling_keys[] = {
    KEY("factor", rope_factor), KEY("low_freq_factor", rope_low), KEY("high_freq_factor", rope_high), NN_FIELDS_END
};
static const NnField scaling_context[] = { KEY("original_max_position_embeddings", rope_context), NN_FIELDS_END };
static const NnField end_key[] = { KEY("eos_token_id", end[0]), NN_FIELDS_END };
static const NnField base_key[] = { KEY("rope_theta", rope_base), NN_FIELDS_END };
typedef struct { double base, part; } Rope;
static const NnField rope_keys[] = {
    CONFIG_KEY("rope_theta", Rope, base, .optional = true), CONFIG_KEY("partial_rotary_factor", Rope, part, .optional = true),
    NN_FIELDS_END
};

/* The context before the scaling: transformers reads it from the config, else from the object, else it is the whole context. */
static bool read_scaling_context(const Config *c, const Config *rope, LlamaOptions *o)
{
    const char *key = scaling_context->name;
    o->rope_context = (double)o->context;
    if (json_get(c->root, key)) return config_read(c, scaling_context, o);
    return !json_get(rope->root, key) || config_read(rope, scaling_context, o);
}

/* Older files have rope_theta, and rope_scaling with the rest; files of transformers 5 have both in rope_parameters. Of two
 * objects, transformers 4 and 5 read rope_scaling; 5 takes an empty one as absent. */
static bool read_rope(const Config *c, LlamaOptions *o)
{
    const Json *found = json_get(c->root, "rope_scaling");
    bool older = found && found->type != JSON_NULL && !(found->type == JSON_OBJECT && found->count == 0);
    const char *key = older ? "rope_scaling" : "rope_parameters";
    if (!older) found = json_get(c->root, key);
    Config rope = { c->owner, c->path, found };
    Rope r = { o->rope_base, 1 };
    if (!config_read(c, rope_keys, &r) || !config_read(&rope, rope_keys, &r)) return false;
    if (r.part != 1) return ag_set_error("%s: \"partial_rotary_factor\": expected 1, found %g", c->path, r.part);
    o->rope_base = r.base;
    if (!found || found->type == JSON_NULL) return true;
    if (found->type != JSON_OBJECT) return config_error(c, key, "an object", found);
    for (uint32_t i = 0; i < found->count; i++) {
        const Json *member = &found->as.item[2 * i];
        if (member[1].type == JSON_OBJECT)                                  /* a type of layers has its own frequencies */
            return ag_set_error("%s: \"%s\": expected numbers and texts, found an object for %s", c->path, key,
                                QUOTED_BYTES(member->as.text, member->count));
    }
    const Json *type = json_get(found, "rope_type");
    if (!json_is(type ? type : json_get(found, "type"), "llama3"))
        return config_text(&rope, type ? "rope_type" : "type", "default\" or \"llama3", "default");
    return config_read(&rope, scaling_keys, o) && read_scaling_context(c, &rope, o);
}

/* Qwen's configs can have windows in some layers. */
static bool check_layers(const Config *c, int64_t layers)
{
    const Json *types = json_get(c->root, "layer_types");
    if (!types || types->type == JSON_NULL) return true;
    if (types->type != JSON_ARRAY) return config_error(c, "layer_types", "an array", types);
    bool good = types->count == (uint64_t)layers;
    for (uint32_t i = 0; good && i < types->count; i++) good = json_is(&types->as.item[i], "full_attention");
    return good || ag_set_error("%s: \"layer_types\": expected \"full_attention\" in each layer", c->path);
}

/* One id, an array of them, or null. */
static bool read_ends(const Config *c, int64_t *end)
{
    const Json *value = json_get(c->root, "eos_token_id");
    if (!value || value->type == JSON_NULL) return true;
    if (value->type != JSON_ARRAY) return json_int(value, end) || config_error(c, "eos_token_id", "a whole number", value);
    if (value->count > LLAMA_ENDS) return config_error(c, "eos_token_id", "at most 16 ids", value);
    for (uint32_t i = 0; i < value->count; i++)
        if (!json_int(&value->as.item[i], &end[i])) return config_error(c, "eos_token_id", "whole numbers", value);
    return true;
}

/* Biases and norms of attention: Llama and Qwen3 have attention_bias for all four matrices, Qwen2 always has three biases. */
static bool read_family(const Config *c, LlamaOptions *o)
{
    const Json *type = json_get(c->root, "model_type");
    bool qwen2 = json_is(type, "qwen2");
    o->head_norms = json_is(type, "qwen3");
    if (!qwen2 && !o->head_norms && !json_is(type, "llama"))
        return type ? config_text(c, "model_type", "llama\", \"qwen2\" or \"qwen3", NULL)
                    : config_error(c, "model_type", "\"llama\", \"qwen2\" or \"qwen3\"", type);
    if (!qwen2 && !config_read(c, bias_key, o)) return false;
    o->qkv_bias = qwen2 || o->out_bias;
    return config_flag(c, "mlp_bias", false) && config_flag(c, "use_sliding_window", false);
}

/* What keys have that are missing, in transformers: kv_heads and tokens that are null are not the same. */
static void set_missing(const Config *c, LlamaOptions *o)
{
    bool llama = json_is(json_get(c->root, "model_type"), "llama");
    if (!json_get(c->root, "num_key_value_heads") && !llama) o->kv_heads = 32;
    if (o->kv_heads == INT64_MIN) o->kv_heads = o->heads;
    if (o->head_width == INT64_MIN) o->head_width = o->head_norms ? 128 : o->heads > 0 ? o->width / o->heads : 0;
    if (o->context == INT64_MIN) o->context = llama ? 2048 : 32768;
    if (!json_get(c->root, "bos_token_id") && llama) o->begin = 1;
    if (!json_get(c->root, "eos_token_id") && llama) o->end[0] = 2;
}

/* Checks each value under the name that the file has for it. */
static bool check_ranges(const Config *c, LlamaOptions *o)
{
    static const NnField *const tables[] = { keys, begin_key, pad_key, scaling_keys, scaling_context, base_key };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!config_check(c, tables[i], &llama_fields, o)) return false;
    }
    for (int i = 0; i < LLAMA_ENDS; i++) {
        LlamaOptions one = *o;
        one.end[0] = o->end[i];
        if (!config_check(c, end_key, &llama_fields, &one)) return false;
    }
    return o->rope_low < o->rope_high ||
           ag_set_error("%s: low_freq_factor is %g, expected less than high_freq_factor, %g", c->path, o->rope_low,
                        o->rope_high);
}

bool llama_read_config(const Config *c, LlamaOptions *o)
{
    *o = llama_defaults();
    o->eps = 1e-6;
    o->rope_base = 10000;
    o->tied = false;
    o->kv_heads = o->head_width = o->context = INT64_MIN;                   /* the file may lack them */
    if (!config_is_usual(c) || !read_family(c, o) || !config_read(c, keys, o) || !check_layers(c, o->layers)) return false;
    set_missing(c, o);
    return config_text(c, "hidden_act", "silu", NULL) && read_rope(c, o) && config_read(c, begin_key, o) &&
           config_read(c, pad_key, o) && read_ends(c, o->end) && check_ranges(c, o) &&
           (nn_fields_check(&llama_fields, o) || add_path(c->path));
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

#define WEIGHTS "model.safetensors"

/* The path of the weights, or of their index if there is one instead. */
static const char *weights_path(void *owner, const char *folder)
{
    const char *weights = text_printf(owner, "%s/" WEIGHTS, folder), *index = text_printf(owner, "%s.index.json", weights);
    return file_exists(weights) || !file_exists(index) ? weights : index;
}

static bool is_bf16(const char *weights)
{
    NnTensorFile *f = tensor_file_open(weights);
    if (!f) return false;
    bool good = true;
    for (int i = 0; good && i < tensor_file_count(f); i++) {
        const NnFileTensor *t = tensor_file_item(f, i);
        if (t->shape.ndim == 2 && strcmp(t->type, "BF16") != 0)
            good = ag_set_error("%s: tensor \"%s\" is %s, expected BF16", weights, t->name, t->type);
    }
    ag_free(f);
    return good;
}

bool llama_is_bf16(const char *folder)
{
    AG_LAYER;
    ag_check_pointer(__func__, "folder", folder);
    void *owner = ag_alloc(1, 1);
    bool is = is_bf16(weights_path(owner, folder));
    ag_free(owner);
    return is;
}

/* Whether the tensor is a table of frequencies, which older versions of the library save: they follow from the config. */
static bool is_frequencies(void *unused, const char *name)
{
    (void)unused;
    return st_ends_in(name, ".rotary_emb.inv_freq");
}

/* How many bytes the program will need beside the weights. */
static double more_bytes(const LlamaOptions *o, LlamaOpening how)
{
    const AgScope scope = innermost_scope();
    const Calls before = function_begins();
    const double bytes = how.more_bytes ? how.more_bytes(o) : 0;
    function_ends(before);
    check_scopes("llama_open_with", "more_bytes", scope);
    return bytes;
}

static Llama *open_folder(void *owner, const char *folder, LlamaOpening how)
{
    LlamaOptions o;
    Config c;
    bool good = config_open(&c, text_printf(owner, "%s/config.json", folder)) && llama_read_config(&c, &o);
    ag_free(c.owner);
    if (!good) return NULL;
    const char *weights = weights_path(owner, folder);
    if (!weights_may_hold(weights, llama_size(&o), least_tensors(&o))) return NULL;
    o.frozen = how.weights == LLAMA_ROUNDED ||
               (how.weights == LLAMA_FROZEN && ag_precision_now() == AG_BF16 && is_bf16(weights));
    if (!memory_may_hold(folder, llama_size(&o) * (double)(o.frozen ? sizeof(uint16_t) : sizeof(ag_real)) +
                         more_bytes(&o, how)))
        return NULL;
    Llama *m = model_filled(llama_of_zeros(o), weights, (NnLoadOptions){
        .ignored = is_frequencies, .round = how.weights == LLAMA_ROUNDED, .progress = how.progress, .arg = how.arg });
    if (m && o.frozen) nn_freeze_bf16(m);                   /* norms and biases */
    return m;
}

Llama *llama_open_with(const char *folder, LlamaOpening how)
{
    AG_LAYER;
    ag_check_pointer(__func__, "folder", folder);
    void *owner = ag_alloc(1, 1);
    Llama *m = open_folder(owner, folder, how);
    ag_free(owner);
    return m;
}

Llama *llama_open(const char *folder)
{
    AG_LAYER;
    return llama_open_with(folder, (LlamaOpening){ .weights = LLAMA_REALS });
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The names of transformers 4 and 5: 5 reads rope_theta and rope_scaling as well. */
static void put_rope(JsonWriter *w, const LlamaOptions *o)
{
    json_put_real(w, "rope_theta", o->rope_base);
    if (o->rope_factor == 1) return;
    json_open(w, "rope_scaling", '{');
    json_put_text(w, "rope_type", "llama3");
    config_put(w, scaling_keys, o);
    config_put(w, scaling_context, o);
    json_close(w, '}');
}

/* A key that is missing has a default of `transformers`, so null stands for none; that of pad_token_id is null. One end
 * is a number, as most files have it. */
static void put_ends(JsonWriter *w, const LlamaOptions *o)
{
    if (o->begin >= 0) config_put(w, begin_key, o);
    else json_put_text(w, "bos_token_id", NULL);
    if (o->pad >= 0) config_put(w, pad_key, o);
    if (o->end[0] < 0) {
        json_put_text(w, "eos_token_id", NULL);
        return;
    }
    if (o->end[1] < 0) {
        json_put_int(w, "eos_token_id", o->end[0]);
        return;
    }
    json_open(w, "eos_token_id", '[');
    for (int i = 0; i < LLAMA_ENDS && o->end[i] >= 0; i++) json_put_int(w, NULL, o->end[i]);
    json_close(w, ']');
}

static JsonWriter *config_of(void *owner, const LlamaOptions *o, bool bf16)
{
    bool qwen2 = o->qkv_bias && !o->out_bias;
    JsonWriter *w = o->head_norms ? config_writer(owner, "Qwen3ForCausalLM", "qwen3") :
                    qwen2 ? config_writer(owner, "Qwen2ForCausalLM", "qwen2") :
                            config_writer(owner, "LlamaForCausalLM", "llama");
    config_put(w, keys, o);
    json_put_text(w, "hidden_act", "silu");
    if (bf16) json_put_text(w, "torch_dtype", "bfloat16");
    if (!qwen2) config_put(w, bias_key, o);
    put_rope(w, o);
    put_ends(w, o);
    return w;
}

static bool write_folder(Llama *m, const char *folder, bool bf16)
{
    if (m->options.out_bias && !m->options.qkv_bias)
        return ag_set_error("a model with a bias in o_proj alone has no form in Hugging Face's library");
    if (m->options.head_norms && m->options.qkv_bias != m->options.out_bias)
        return ag_set_error("a Qwen3 has biases in all four matrices of attention or in none");
    if (!weights_are_whole(m)) return false;
    void *owner = ag_alloc(1, 1);
    const char *path = text_printf(owner, "%s/config.json", folder);
    FileWriter *config = config_write(owner, path, config_of(owner, &m->options, bf16));
    bool done = config && save_described(text_printf(owner, "%s/" WEIGHTS, folder), m, bf16, config);
    ag_free(owner);
    return done;
}

bool llama_write(Llama *m, const char *folder)
{
    NN_LAYER_OF(m, "Llama");
    ag_check_pointer(__func__, "folder", folder);
    return write_folder(m, folder, false);
}

bool llama_write_bf16(Llama *m, const char *folder)
{
    NN_LAYER_OF(m, "Llama");
    ag_check_pointer(__func__, "folder", folder);
    return write_folder(m, folder, true);
}
