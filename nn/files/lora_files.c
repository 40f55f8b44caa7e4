/* lora_files.c: adapters as the library peft writes them: adapter_config.json, and adapter_model.safetensors with names such as
 * "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight". */
#include <string.h>

#include "json.h"
#include "lora_parts.h"
#include "safetensors.h"

#define PREFIX "base_model.model."
enum { MAX_CONFIG = 1 << 20 };                  /* bytes */

static char *path_in(void *owner, const char *folder, const char *name)
{
    return st_join(owner, st_join(owner, folder, "/"), name);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_name(JsonWriter *w, const char *name)
{
    json_write_name(w, name, strlen(name));
}

/* The last part of the name of a Linear, of whose weight this is the name; its size in *n. */
static const char *short_name(const char *weight, size_t *n)
{
    const char *end = weight + strlen(weight) - strlen(".weight"), *start = end;
    while (start > weight && start[-1] != '.') start--;
    *n = (size_t)(end - start);
    return start;
}

/* Writes the names of the Linears that have adapters, each one once. */
static void put_targets(JsonWriter *w, const Parameters *p)
{
    put_name(w, "target_modules");
    json_open(w, '[');
    for (int i = 0; i < p->n; i++) {
        const Linear *l = lora_linear_of(&p->item[i]);
        bool first = l && l->lora_A;
        size_t n, m;
        const char *name = first ? short_name(p->item[i].name, &n) : NULL;
        for (int k = 0; first && k < i; k++) {
            const Linear *other = lora_linear_of(&p->item[k]);
            const char *earlier = other && other->lora_A ? short_name(p->item[k].name, &m) : NULL;
            first = !earlier || m != n || memcmp(name, earlier, n) != 0;
        }
        if (first) json_write_text(w, name, n);
    }
    json_close(w, ']');
}

static const char *config_text(void *owner, const Parameters *p, const Linear *l, size_t *size)
{
    JsonWriter *w = json_writer(owner, 2);
    int64_t rank = tensor_dim(l->lora_A->weight, 0);
    json_open(w, '{');
    put_name(w, "peft_type");
    json_write_text(w, "LORA", 4);
    put_name(w, "task_type");
    json_write_text(w, "CAUSAL_LM", 9);
    put_name(w, "r");
    json_write_int(w, rank);
    put_name(w, "lora_alpha");
    json_write_real(w, l->lora_scale * (double)rank);
    put_name(w, "lora_dropout");
    json_write_real(w, l->lora_dropout->p);
    put_name(w, "bias");
    json_write_text(w, "none", 4);
    put_targets(w, p);
    json_close(w, '}');
    return json_written(w, size);
}

static bool write_config(const char *path, const char *text, size_t size)
{
    FileWriter *w = text ? file_replace(path) : NULL;
    if (!w) return false;
    file_write(w, text, size);
    return file_commit(w);
}

bool nn_lora_save_at(Site at, void *module, const char *folder)
{
    AG_LAYER(at);
    nn_check_at(at, __func__, module, 0);
    ag_check_pointer_at(at, __func__, "folder", folder);
    Parameters *p = nn_parameters(module);
    StEntry *entry = ag_alloc_in(p, (size_t)p->n, sizeof *entry);
    const Linear *first = NULL;
    size_t n = 0, size;
    for (int i = 0; i < p->n; i++) {
        const Linear *l = lora_linear_of(&p->item[i]);
        if (!l || !l->lora_A) continue;
        if (!first) first = l;
        const char *name = st_join(p, PREFIX, p->item[i].name);
        char *stem = ag_strndup_in(p, name, strlen(name) - strlen("weight"));
        entry[n++] = st_entry(at, st_join(p, stem, "lora_A.weight"), l->lora_A->weight);
        entry[n++] = st_entry(at, st_join(p, stem, "lora_B.weight"), l->lora_B->weight);
    }
    if (!first) ag_usage_error(at, __func__, "this %s has no adapters", ((Module *)module)->type);
    const char *text = config_text(p, p, first, &size);
    bool done = st_write(path_in(p, folder, "adapter_model.safetensors"), entry, n, &(StText){ "format", "pt" }, 1) &&
                write_config(path_in(p, folder, "adapter_config.json"), text, size);
    ag_free(p);
    return done;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool is_empty(const Json *value)
{
    return !value || value->type == JSON_NULL || (value->type == JSON_BOOL && !value->as.truth) ||
           (value->type == JSON_OBJECT && value->count == 0) || json_is(value, "none");
}

static bool read_config(const char *path, const Json *root, double *alpha, double *dropout)
{
    static const char *const others[] = { "use_dora", "use_rslora", "fan_in_fan_out", "alpha_pattern", "bias" };
    const Json *found = json_get(root, "lora_dropout");
    if (!json_is(json_get(root, "peft_type"), "LORA")) return ag_set_error("%s: \"peft_type\": expected \"LORA\"", path);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!is_empty(json_get(root, others[i]))) return ag_set_error("%s: \"%s\" is not supported", path, others[i]);
    if (!json_real(json_get(root, "lora_alpha"), alpha)) return ag_set_error("%s: \"lora_alpha\": expected a number", path);
    if (!found) return true;
    return (json_real(found, dropout) && *dropout >= 0 && *dropout < 1) ||
           ag_set_error("%s: \"lora_dropout\": expected a number of 0 to below 1", path);
}

/* Adds an adapter to each Linear for which the file has a lora_A, of its rank; false with ag_error() if there is none. */
static bool add_all(const SafeTensors *st, const Parameters *p, double alpha, double dropout)
{
    int added = 0;
    for (int i = 0; i < p->n; i++) {
        Linear *l = lora_linear_of(&p->item[i]);
        void *work = ag_alloc(1, 1);
        const char *name = st_join(work, PREFIX, p->item[i].name);
        char *stem = ag_strndup_in(work, name, strlen(name) - (l ? strlen("weight") : 0));
        const StTensor *a = l ? st_find(st, st_join(work, stem, "lora_A.weight")) : NULL;
        Shape shape;
        /* another shape is an error of nn_load_with */
        bool fits = a && st_shape(st, a, &shape) && shape.ndim == 2 && shape.dim[0] > 0 &&
                    shape.dim[1] == tensor_dim(l->weight, 1);
        if (fits) lora_add(l, shape.dim[0], alpha, dropout);
        added += fits;
        ag_free(work);
    }
    return added || ag_set_error("%s: has no adapter for a Linear of this module", file_name(st->file));
}

/* Whether each parameter of an adapter was in the file. */
static bool is_complete(const char *path, const LoadReport *report)
{
    for (int i = 0; i < report->n_missing; i++)
        if (strstr(report->missing[i], "lora_")) return ag_set_error("%s: \"%s\" is missing", path, report->missing[i]);
    return true;
}

bool nn_lora_load_at(Site at, void *module, const char *folder)
{
    AG_LAYER(at);
    nn_check_at(at, __func__, module, 0);
    ag_check_pointer_at(at, __func__, "folder", folder);
    Parameters *p = nn_parameters(module);
    for (int i = 0; i < p->n; i++)
        if (strstr(p->item[i].name, "lora_")) ag_usage_error(at, __func__, "this module has adapters: %s", p->item[i].name);
    char *config = path_in(p, folder, "adapter_config.json"), *weights = path_in(p, folder, "adapter_model.safetensors");
    double alpha = 0, dropout = 0;
    const Json *root = json_read(p, config, MAX_CONFIG);
    SafeTensors *st = root && read_config(config, root, &alpha, &dropout) ? st_open(weights) : NULL;
    bool good = st != NULL;
    if (good) {
        LoadReport *report = NULL;
        good = add_all(st, p, alpha, dropout) &&
               nn_load_with(weights, module, (LoadOptions){ .prefix = PREFIX, .allow_missing = true, .report = &report }) &&
               is_complete(weights, report);
        if (good) lora_freeze(p);
        else lora_remove_all(module, false);
        ag_free(report);
    }
    st_close(st);
    ag_free(p);
    return good;
}
