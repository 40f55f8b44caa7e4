/* lora_files.c: adapters as the library peft writes them: adapter_config.json, and adapter_model.safetensors with names such as
 * "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight". */
#include <string.h>

#include "config.h"
#include "lora_parts.h"
#include "number.h"
#include "stored.h"
#include "utf8.h"

#define PREFIX "base_model.model."

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Writes the names of the Linears that have adapters, each one once. */
static void put_targets(JsonWriter *w, const NnParameters *p)
{
    json_open(w, "target_modules", '[');
    for (int i = 0; i < p->n; i++) {
        if (!lora_adapted(&p->item[i])) continue;
        const char *name = ag_strndup_in(w, p->item[i].name, strlen(p->item[i].name) - strlen(".weight"));
        const char *point = strrchr(name, '.'), *last = point ? point + 1 : name;
        int first = 0;
        while (!lora_adapted(&p->item[first]) || !lora_is_named(&p->item[first], last)) first++;
        if (first == i) json_put_text(w, NULL, last);
    }
    json_close(w, ']');
}

static double rank_of(const Linear *l)
{
    return (double)tensor_dim(l->lora_A->weight, 0);
}

/* Writes the ranks, or the alphas, that are not those of `usual`, by the whole names of the Linears. peft reads keys as regular
 * expressions. */
static void put_pattern(JsonWriter *w, const char *key, const NnParameters *p, bool ranks, const Linear *usual)
{
    json_open(w, key, '{');
    for (int i = 0; i < p->n; i++) {
        const Linear *l = lora_adapted(&p->item[i]);
        if (!l || (ranks ? rank_of(l) == rank_of(usual) : l->lora_alpha == usual->lora_alpha)) continue;
        const char *name = text_printf(w, "^%s", p->item[i].name);
        json_write_name(w, name, strlen(name) - strlen(".weight"));
        json_put_real(w, NULL, ranks ? rank_of(l) : l->lora_alpha);
    }
    json_close(w, '}');
}

static JsonWriter *config_of(void *owner, const NnParameters *p, const Linear *l)
{
    JsonWriter *w = json_writer(owner, 2);
    json_open(w, NULL, '{');
    json_put_text(w, "peft_type", "LORA");
    json_put_text(w, "task_type", "CAUSAL_LM");
    json_put_real(w, "r", rank_of(l));
    json_put_real(w, "lora_alpha", l->lora_alpha);
    put_pattern(w, "rank_pattern", p, true, l);
    put_pattern(w, "alpha_pattern", p, false, l);
    json_put_real(w, "lora_dropout", l->lora_dropout->p);
    json_put_text(w, "bias", "none");
    put_targets(w, p);
    return w;
}

/* The name in the file of matrix `letter` of the adapter of which this is the Linear's weight. */
static char *name_of(void *owner, const NnNamedTensor *p, char letter)
{
    return text_printf(owner, PREFIX "%.*slora_%c.weight", (int)(strlen(p->name) - strlen("weight")), p->name, letter);
}

static NnParameters *parameters_of(AgSite at, const char *what, void *module, const char *folder)
{
    nn_check_at(at, what, module, 0);
    ag_check_pointer_at(at, what, "folder", folder);
    NnParameters *p = nn_parameters_at(at, module);
    if (p->n && (void *)lora_linear_of(&p->item[0]) == module)
        ag_usage_error(at, what, "a Linear alone has no name for the file: expected a module that contains it");
    return p;
}

bool nn_lora_save_at(AgSite at, void *module, const char *folder)
{
    AG_LAYER(at);
    NnParameters *p = parameters_of(at, __func__, module, folder);
    StEntry *entry = ag_alloc_in(p, (size_t)p->n, sizeof *entry);
    const Linear *first = NULL;
    size_t n = 0;
    bool done = true;
    for (int i = 0; i < p->n; i++) {
        const Linear *l = lora_adapted(&p->item[i]);
        if (!l) continue;
        if (!first) first = l;
        if (l->lora_dropout->p != first->lora_dropout->p)
            done = ag_set_error("%s: adapters have the dropouts %g and %g, but the file has one for all", folder,
                                first->lora_dropout->p, l->lora_dropout->p);
        entry[n++] = st_entry(at, name_of(p, &p->item[i], 'A'), l->lora_A->weight);
        entry[n++] = st_entry(at, name_of(p, &p->item[i], 'B'), l->lora_B->weight);
    }
    if (!first) ag_usage_error(at, __func__, "this %s has no adapters", ((Module *)module)->type);
    const char *config_path = text_printf(p, "%s/adapter_config.json", folder);
    FileWriter *config = done ? config_write(config_path, config_of(p, p, first)) : NULL;
    done = config_commit(config, config && st_write(text_printf(p, "%s/adapter_model.safetensors", folder), entry, n, NULL));
    ag_free(p);
    return done;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct { double alpha, dropout; const Json *pattern; } AdapterConfig;

/* The settings of peft that may have any value: they say how training began, or which Linears have adapters and of what rank,
 * which the file of weights says, too. The first three are read below. */
static const char *const any_value[] = {
    "peft_type", "lora_alpha", "lora_dropout", "rank_pattern", "r", "target_modules", "exclude_modules", "layers_to_transform",
    "layers_pattern", "fan_in_fan_out", "inference_mode", "task_type", "auto_mapping", "peft_version", "runtime_config",
    "base_model_name_or_path", "revision", "megatron_core", "qalora_group_size", "loftq_config", "eva_config", "corda_config",
};

/* Whether it has numbers by keys that are the end of a Linear's name or, after a ^, all of it. peft reads any regular
 * expression. */
static bool is_pattern(const Json *value)
{
    double number;
    bool good = value->type == JSON_OBJECT;
    for (uint32_t i = 0; good && i < value->count; i++) {
        const Json *key = &value->as.item[2 * i];
        size_t start = *key->as.text == '^';
        good = start + strcspn(key->as.text + start, "\\^$*+?()[]{}|") == key->count && json_real(key + 1, &number);
    }
    return good;
}

/* Whether an adapter with this setting is computed as in nn_linear. A setting that is null, false or {} is not in use. Other
 * values of init_lora_weights make peft change the model's weights when it loads the adapter. */
static bool is_supported(const Json *name, const Json *value)
{
    for (size_t i = 0; i < sizeof any_value / sizeof *any_value; i++)
        if (json_is(name, any_value[i])) return true;
    if (json_is(name, "bias") && json_is(value, "none")) return true;
    if (json_is(name, "alpha_pattern") && is_pattern(value)) return true;
    if (json_is(name, "init_lora_weights") &&
        (value->type == JSON_BOOL || json_is(value, "gaussian") || json_is(value, "eva") || json_is(value, "orthogonal")))
        return true;
    return value->type == JSON_NULL || (value->type == JSON_BOOL && !value->as.truth) ||
           (value->type == JSON_OBJECT && value->count == 0);
}

static bool read_config(const Config *c, AdapterConfig *a)
{
    const Json *alpha = json_get(c->root, "lora_alpha"), *dropout = json_get(c->root, "lora_dropout");
    if (!json_is(json_get(c->root, "peft_type"), "LORA")) return ag_set_error("%s: \"peft_type\": expected \"LORA\"", c->path);
    for (uint32_t i = 0; i < c->root->count; i++) {
        const Json *key = &c->root->as.item[2 * i];
        if (!is_supported(key, key + 1))
            return ag_set_error("%s: %s: this value is not supported", c->path, QUOTED_BYTES(key->as.text, key->count));
    }
    a->pattern = json_get(c->root, "alpha_pattern");
    if (!json_real(alpha, &a->alpha)) return config_error(c, "lora_alpha", "a number", alpha);
    return !dropout || (json_real(dropout, &a->dropout) && a->dropout >= 0 && a->dropout < 1) ||
           config_error(c, "lora_dropout", "a number of 0 to below 1", dropout);
}

/* Whether a key of alpha_pattern is that of the Linear of whose weight this is the name. A point is any character. */
static bool matches(const char *key, const char *weight)
{
    bool whole = *key == '^';
    size_t size = strlen(key += whole), n = strlen(weight) - strlen(".weight"), same = 0;
    if (size > n || (size < n && (whole || weight[n - size - 1] != '.'))) return false;
    while (same < size && (key[same] == '.' || key[same] == weight[n - size + same])) same++;
    return same == size;
}

/* As in peft, the first key that matches counts. */
static double alpha_for(const AdapterConfig *c, const char *weight)
{
    double alpha = c->alpha;
    for (uint32_t i = c->pattern ? c->pattern->count : 0; i-- > 0; )
        if (matches(c->pattern->as.item[2 * i].as.text, weight)) json_real(&c->pattern->as.item[2 * i + 1], &alpha);
    return alpha;
}

/* Adds an adapter to each Linear for which the file has a lora_A, of its rank; false with ag_error() if there is none, or if
 * one does not fit. */
static bool add_all(NnTensorFile *f, const NnParameters *p, const AdapterConfig *c)
{
    int added = 0;
    for (int i = 0; i < p->n; i++) {
        Linear *l = lora_linear_of(&p->item[i]);
        if (!l) continue;
        const char *name[] = { name_of(f, &p->item[i], 'A'), name_of(f, &p->item[i], 'B') };
        const NnFileTensor *t[] = { tensor_file_find(f, name[0]), tensor_file_find(f, name[1]) };
        if (!t[0] || t[0]->shape.ndim < 0 || (t[1] && t[1]->shape.ndim < 0)) continue;      /* nn_load_with tells why */
        int64_t rank = t[0]->shape.ndim > 0 && t[0]->shape.dim[0] > 0 ? t[0]->shape.dim[0] : 1;
        AgShape shape[] = { SHAPE(rank, tensor_dim(l->weight, 1)), SHAPE(tensor_dim(l->weight, 0), rank) };
        for (int k = 0; k < 2; k++)
            if (!t[k] || !ag_shape_equal(t[k]->shape, shape[k]))
                return ag_set_error("%s: \"%s\" is %s, expected %s", f->file->name, name[k],
                                    t[k] ? ag_shape_string(t[k]->shape) : "missing", ag_shape_string(shape[k]));
        lora_add(l, rank, alpha_for(c, p->item[i].name), c->dropout);
        added++;
    }
    return added || ag_set_error("%s: has no adapter for a Linear of this module", f->file->name);
}

bool nn_lora_load_at(AgSite at, void *module, const char *folder)
{
    AG_LAYER(at);
    NnParameters *p = parameters_of(at, __func__, module, folder);
    for (int i = 0; i < p->n; i++)
        if (lora_is_part(&p->item[i])) ag_usage_error(at, __func__, "this module has adapters: %s", p->item[i].name);
    const char *weights = text_printf(p, "%s/adapter_model.safetensors", folder);
    AdapterConfig a = { .dropout = 0 };
    Config c;
    bool good = config_open(&c, text_printf(p, "%s/adapter_config.json", folder)) && read_config(&c, &a);
    NnTensorFile *f = good ? st_open(weights) : NULL;
    good = f && add_all(f, p, &a) && nn_load_with(weights, module, (NnLoadOptions){ .prefix = PREFIX, .allow_missing = true });
    if (good) lora_freeze(p);
    else lora_remove_all(module, false);
    ag_free(f);
    ag_free(c.owner);
    ag_free(p);
    return good;
}
