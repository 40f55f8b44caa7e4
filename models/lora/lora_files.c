/* lora_files.c: adapters as the library peft writes them: adapter_config.json, and adapter_model.safetensors with names such as
 * "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight". */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "kaeru/checkpoint.h"
#include "language.h"
#include "lora_parts.h"
#include "numbers.h"
#include "stored.h"
#include "utf8.h"
#include "walk.h"
#include "frozen.h"

#define PREFIX "base_model.model."
/* What a regular expression of Python does not take as itself, besides the point. */
#define REGEX_SIGNS "\\^$*+?()[]{}|"

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* What is behind the last point of a name. */
static const char *last_word(const char *name)
{
    const char *point = strrchr(name, '.');
    return point ? point + 1 : name;
}

/* What the class of transformers that generates has before the names of a language model, and of no other module. */
static const char *usual_prefix(const void *module)
{
    return lm_functions(module) ? lm_functions(module)->prefix : "";
}

/* The name in a library's class, which puts `prefix` before the names, of the module's parameter. */
static char *library_name(void *owner, const void *module, const char *prefix, const char *name)
{
    const char *usual = usual_prefix(module);
    if (starts_with(name, "lm_head.")) prefix = "";
    else if (starts_with(name, usual)) name += strlen(usual);
    return text_printf(owner, "%s%s", prefix, name);
}

/* The name of the layer, with its dot, whose parameter has this name. */
static char *layer_of(void *owner, const char *parameter)
{
    return ag_strndup_in(owner, parameter, (size_t)(last_word(parameter) - parameter));
}

/* The name in the file of matrix `letter` of the adapter of the Linear whose weight has this name in the library. */
static char *matrix_name(void *owner, const char *weight, char letter)
{
    return text_printf(owner, PREFIX "%slora_%c.weight", layer_of(owner, weight), letter);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The name of a Linear in the class of transformers that generates. */
static char *linear_name(void *owner, const void *module, const NnNamedTensor *weight)
{
    char *name = library_name(owner, module, usual_prefix(module), weight->name);
    name[strlen(name) - strlen(".weight")] = '\0';
    return name;
}

/* Whether each Linear that peft finds by the target is adapted; *first: the number of the first one. */
static bool finds_only_adapted(const NnParameters *p, const char *target, int *first)
{
    *first = -1;
    for (int i = 0; i < p->n; i++) {
        if (!lora_is_named(&p->item[i], target)) continue;
        if (!lora_of(&p->item[i])) return false;
        if (*first < 0) *first = i;
    }
    return true;
}

/* Returns the regular expression of Python that matches this name alone. */
static char *name_regex(void *owner, const char *name)
{
    char *regex = ag_alloc_in(owner, 2 * strlen(name) + 1, 1), *end = regex;
    for (; *name; name++) {
        if (strchr(REGEX_SIGNS ".", *name)) *end++ = '\\';
        *end++ = *name;
    }
    return regex;
}

/* Writes the names of the Linears that have adapters as one regular expression: peft takes a name in a list for each module,
 * of any type, whose name ends in it. */
static void put_target_regex(JsonWriter *w, const void *module, const NnParameters *p)
{
    const char *regex = NULL;
    for (int i = 0; i < p->n; i++) {
        if (!lora_of(&p->item[i])) continue;
        const char *name = name_regex(w, linear_name(w, module, &p->item[i]));
        regex = regex ? text_printf(w, "%s|%s", regex, name) : name;
    }
    json_put_text(w, "target_modules", regex);
}

/* Writes the names of the Linears of a language model that have adapters as a list: their last words, each one once, or the
 * whole name if others have the same last word. No other module of such a model has one of these names. */
static void put_target_list(JsonWriter *w, const void *module, const NnParameters *p)
{
    json_open(w, "target_modules", '[');
    for (int i = 0, first; i < p->n; i++) {
        if (!lora_of(&p->item[i])) continue;
        const char *name = linear_name(w, module, &p->item[i]), *last = last_word(name);
        if (!finds_only_adapted(p, last, &first)) json_put_text(w, NULL, name);
        else if (first == i) json_put_text(w, NULL, last);
    }
    json_close(w, ']');
}

static double rank_of(const Lora *a)
{
    return (double)tensor_dim(a->lora_A->weight, 0);
}

/* Writes the ranks, or the alphas, that are not those of `usual`, by the whole names of the Linears. peft reads keys as regular
 * expressions; in a language model, no name differs from another one only where that has a point. */
static void put_pattern(JsonWriter *w, const char *key, const void *module, const NnParameters *p, bool ranks,
                        const Lora *usual)
{
    json_open(w, key, '{');
    for (int i = 0; i < p->n; i++) {
        const Lora *a = lora_of(&p->item[i]);
        if (!a || (ranks ? rank_of(a) == rank_of(usual) : a->alpha == usual->alpha)) continue;
        const char *name = linear_name(w, module, &p->item[i]);
        name = text_printf(w, "^%s", lm_functions(module) ? name : name_regex(w, name));
        json_write_name(w, name, strlen(name));
        json_put_real(w, NULL, ranks ? rank_of(a) : a->alpha);
    }
    json_close(w, '}');
}

static JsonWriter *config_of(void *owner, const void *module, const NnParameters *p, const Lora *a, const char *base)
{
    JsonWriter *w = json_writer(owner, 2);
    json_open(w, NULL, '{');
    json_put_text(w, "peft_type", "LORA");
    /* With this type, peft asks the model for functions that only models that generate have. */
    json_put_text(w, "task_type", lm_functions(module) ? "CAUSAL_LM" : NULL);
    json_put_text(w, "base_model_name_or_path", base && utf8_valid(base, strlen(base)) == strlen(base) ? base : NULL);
    json_put_real(w, "r", rank_of(a));
    json_put_real(w, "lora_alpha", a->alpha);
    put_pattern(w, "rank_pattern", module, p, true, a);
    put_pattern(w, "alpha_pattern", module, p, false, a);
    json_put_real(w, "lora_dropout", a->lora_dropout->p);
    json_put_bool(w, "fan_in_fan_out", lm_functions(module) && lm_functions(module)->transposed);
    json_put_text(w, "bias", "none");
    if (lm_functions(module)) put_target_list(w, module, p);
    else put_target_regex(w, module, p);
    return w;
}

/* Returns the parameters; with_ties: a tied one once for each of its names. Checks the arguments of function `what`. */
static NnParameters *parameters_of(const char *what, void *module, const char *folder, bool with_ties)
{
    nn_check(what, module, 0);
    ag_check_pointer(what, "folder", folder);
    NnParameters *p = saved_parameters(module, with_ties, false);
    if (p->n && (void *)lora_linear_of(&p->item[0]) == module)
        ag_usage_error(what, "a Linear alone has no name for the file: expected a module that contains it");
    return p;
}

/* Whether all adapters of the module are LoRA; false with ag_error(). */
static bool has_lora_alone(void *owner, void *module, const char *folder)
{
    for (Walk walk = walk_below(module); ; ) {
        const Linear *l = walk_adapted(&walk);
        if (!l) return true;
        if (!is_lora(l->adapter)) {
            return ag_set_error("%s: the adapter of %s is a %s, but the files can have LoRA alone", folder,
                                slot_path(owner, module, walk.holder, walk.slot->name), l->adapter->type);
        }
    }
}

/* nn_lora_save_with in the name of function `what`. */
static bool save(const char *what, void *module, const char *folder, NnLoraSaveOptions how)
{
    NnParameters *p = parameters_of(what, module, folder, true);
    StEntry *entry = ag_alloc_in(p, (size_t)p->n, sizeof *entry);
    const Lora *first = NULL;
    size_t n = 0;
    bool done = has_lora_alone(p, module, folder);
    for (int i = 0; i < p->n; i++) {
        const Lora *a = lora_of(&p->item[i]);
        if (!a) continue;
        if (!first) first = a;
        if (done && a->lora_dropout->p != first->lora_dropout->p)
            done = ag_set_error("%s: adapters have the dropouts %g and %g, but the file has one for all", folder,
                                first->lora_dropout->p, a->lora_dropout->p);
        const char *name = library_name(p, module, usual_prefix(module), p->item[i].name);
        entry[n++] = st_entry(matrix_name(p, name, 'A'), a->lora_A->weight);
        entry[n++] = st_entry(matrix_name(p, name, 'B'), a->lora_B->weight);
    }
    if (done && !first) ag_usage_error(what, "this %s has no adapters", ((Module *)module)->type);
    const char *config_path = text_printf(p, "%s/adapter_config.json", folder);
    FileWriter *config = done ? config_write(p, config_path, config_of(p, module, p, first, how.base)) : NULL;
    done = config && st_write_described(text_printf(p, "%s/adapter_model.safetensors", folder), entry, n, NULL, config);
    ag_free(p);
    return done;
}

bool nn_lora_save(void *module, const char *folder)
{
    AG_LAYER;
    return save(__func__, module, folder, (NnLoraSaveOptions){ .base = NULL });
}

bool nn_lora_save_with(void *module, const char *folder, NnLoraSaveOptions options)
{
    AG_LAYER;
    return save(__func__, module, folder, options);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct { const Config *file; double alpha, dropout; const Json *pattern; } AdapterConfig;

#define IS(type) (1 << JSON_##type)
/* The settings of peft that change no values here, with the types of value that peft takes: they say how training began, or
 * which Linears have adapters and of what rank, which the file of weights says, too. read_config reads the first three, and
 * is_chosen compares the choice of Linears. */
static const struct { const char *name; int types; } without_effect[] = {
    { "peft_type", ~0 },
    { "lora_alpha", ~0 },
    { "lora_dropout", ~0 },
    { "rank_pattern", IS(OBJECT) },
    { "r", IS(NUMBER) },
    { "target_modules", IS(NULL) | IS(STRING) | IS(ARRAY) },
    { "exclude_modules", IS(NULL) | IS(STRING) | IS(ARRAY) },
    { "layers_to_transform", IS(NULL) | IS(NUMBER) | IS(ARRAY) },
    { "layers_pattern", IS(NULL) | IS(STRING) | IS(ARRAY) },
    { "fan_in_fan_out", IS(NULL) | IS(BOOL) },
    { "inference_mode", IS(NULL) | IS(BOOL) },
    { "task_type", IS(NULL) | IS(STRING) },
    { "auto_mapping", IS(NULL) | IS(OBJECT) },
    { "peft_version", IS(NULL) | IS(STRING) },
    { "runtime_config", IS(NULL) | IS(OBJECT) },
    { "base_model_name_or_path", IS(NULL) | IS(STRING) },
    { "revision", IS(NULL) | IS(STRING) },
    { "megatron_core", IS(NULL) | IS(STRING) },
    { "qalora_group_size", IS(NULL) | IS(NUMBER) },
    { "loftq_config", IS(NULL) | IS(OBJECT) },
    { "eva_config", IS(NULL) | IS(OBJECT) },
    { "corda_config", IS(NULL) | IS(OBJECT) },
    { "lora_ga_config", IS(NULL) | IS(OBJECT) },        /* here and below, false is not "not in use" to peft */
    { "velora_config", IS(NULL) },
    { "kasa_config", IS(NULL) },
    { "arrow_config", IS(NULL) },
    { "use_bdlora", IS(NULL) },
};

/* The number of characters that a regular expression matches if it is only a name, where a point is any character and a
 * backslash makes a sign itself; NO_NAME: it is more than that. */
#define NO_NAME SIZE_MAX
static size_t name_size(const char *regex, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++, n++) {
        if (regex[i] == '\\' && i + 1 < size && ispunct((unsigned char)regex[i + 1])) i++;
        else if (!regex[i] || strchr(REGEX_SIGNS, regex[i])) return NO_NAME;
    }
    return n;
}

/* Whether a regular expression that is only a name matches the beginning of a text that is as long as that, or longer. */
static bool name_matches(const char *regex, size_t size, const char *text)
{
    for (size_t i = 0; i < size; i++, text++) {
        bool any = regex[i] == '.';
        if (regex[i] == '\\') i++;
        if (!any && regex[i] != *text) return false;
    }
    return true;
}

/* The settings of peft that are not in use if they are an empty value of this type, besides null and false. To others, an
 * empty object asks for the defaults of what it configures. */
static const struct { const char *name; JsonType type; } unused_if_empty[] = {
    { "modules_to_save", JSON_ARRAY },
    { "target_parameters", JSON_ARRAY },
    { "layer_replication", JSON_ARRAY },
    { "alora_invocation_tokens", JSON_ARRAY },
    { "trainable_token_indices", JSON_OBJECT },
    { "megatron_config", JSON_OBJECT },
    { "monteclora_config", JSON_OBJECT },
};

static bool is_unused(const Json *name, const Json *value)
{
    for (size_t i = 0; i < sizeof unused_if_empty / sizeof *unused_if_empty; i++)
        if (json_is(name, unused_if_empty[i].name) && value->type == unused_if_empty[i].type && value->count == 0) return true;
    return value->type == JSON_NULL || (value->type == JSON_BOOL && !value->as.truth);
}

/* Whether it has numbers by keys that are the end of a Linear's name or, after a ^, all of it. peft reads any regular
 * expression. */
static bool is_pattern(const Json *value)
{
    double number;
    bool good = value->type == JSON_OBJECT;
    for (uint32_t i = 0; good && i < value->count; i++) {
        const Json *key = &value->as.item[2 * i];
        size_t start = *key->as.text == '^';
        good = name_size(key->as.text + start, key->count - start) != NO_NAME && json_real(key + 1, &number);
    }
    return good;
}

static bool is_task(const Json *value)
{
    static const char *const tasks[] = {
        "SEQ_CLS", "SEQ_2_SEQ_LM", "CAUSAL_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"
    };
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (json_is(value, tasks[i])) return true;
    return value->type == JSON_NULL;
}

/* Whether all items of an array are of a type; a value that is no array has none. */
static bool has_items_of(const Json *value, JsonType type)
{
    for (uint32_t i = 0; value->type == JSON_ARRAY && i < value->count; i++)
        if (value->as.item[i].type != type) return false;
    return true;
}

static bool is_rank(const Json *value)
{
    int64_t number;
    return json_int(value, &number) && number > 0;
}

static bool has_ranks(const Json *object)
{
    for (uint32_t i = 0; i < object->count; i++) {
        if (!is_rank(&object->as.item[2 * i + 1])) {
            return false;
        }
    }
    return true;
}

/* Whether peft takes the value, which has a type that peft takes. */
static bool is_possible(const Json *name, const Json *value)
{
    int64_t number;
    if (json_is(name, "r")) return is_rank(value);
    if (json_is(name, "rank_pattern")) return has_ranks(value);
    if (json_is(name, "task_type")) return is_task(value);
    if (json_is(name, "layers_to_transform"))
        return value->type == JSON_NUMBER ? json_int(value, &number) : has_items_of(value, JSON_NUMBER);
    return has_items_of(value, JSON_STRING);
}

/* Whether an adapter with this setting is computed as in nn_linear. Other values of init_lora_weights make peft change the
 * model's weights when it loads the adapter. */
static bool is_supported(const Json *name, const Json *value)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (json_is(name, without_effect[i].name))
            return without_effect[i].types >> value->type & 1 && is_possible(name, value);
    if (json_is(name, "bias")) return json_is(value, "none");
    if (json_is(name, "alpha_pattern")) return is_pattern(value);
    if (json_is(name, "init_lora_weights") &&
        (value->type == JSON_BOOL || json_is(value, "gaussian") || json_is(value, "eva") || json_is(value, "orthogonal")))
        return true;
    return is_unused(name, value);
}

/* Whether peft takes the choice of layers: a pattern only with layers_to_transform, and neither with a text as
 * target_modules. */
static bool is_choice_possible(const Config *c)
{
    const Json *pattern = json_get(c->root, "layers_pattern"), *layers = json_get(c->root, "layers_to_transform");
    const Json *targets = json_get(c->root, "target_modules");
    bool has_pattern = pattern && pattern->type != JSON_NULL, has_layers = layers && layers->type != JSON_NULL;
    if (has_pattern && pattern->count > 0 && !has_layers) {
        return ag_set_error("%s: \"layers_pattern\": expected layers_to_transform with it", c->path);
    }
    if (targets && targets->type == JSON_STRING && (has_pattern || has_layers)) {
        return ag_set_error("%s: \"%s\": expected none, since target_modules is a text", c->path,
                            has_layers ? "layers_to_transform" : "layers_pattern");
    }
    return true;
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
    if (!is_choice_possible(c)) return false;
    a->file = c;
    a->pattern = json_get(c->root, "alpha_pattern");
    a->alpha = 8;                                       /* peft's, if there is none */
    if (alpha && !json_real(alpha, &a->alpha)) return config_error(c, "lora_alpha", "a number", alpha);
    return !dropout || (json_real(dropout, &a->dropout) && a->dropout >= 0 && a->dropout < 1) ||
           config_error(c, "lora_dropout", "a number of 0 to below 1", dropout);
}

/* Whether a key of alpha_pattern is that of the Linear whose weight has this name in the library. */
static bool matches(const char *key, const char *weight)
{
    bool whole = *key == '^';
    key += whole;
    size_t size = name_size(key, strlen(key)), n = strlen(weight) - strlen(".weight");
    if (size > n || (size < n && (whole || weight[n - size - 1] != '.'))) return false;
    return name_matches(key, strlen(key), weight + n - size);
}

/* As in peft, the first key that matches counts. */
static double alpha_for(const AdapterConfig *c, const char *weight)
{
    double alpha = c->alpha;
    for (uint32_t i = c->pattern ? c->pattern->count : 0; i-- > 0; )
        if (matches(c->pattern->as.item[2 * i].as.text, weight)) json_real(&c->pattern->as.item[2 * i + 1], &alpha);
    return alpha;
}

/* ---- which Linears the settings choose ---------------------------------------------------------------------------- */

/* Whether the value is a list of names, and this name or its end behind a point is in it; *whole: the name itself is in it. */
static bool lists(const Json *list, const char *name, bool *whole)
{
    size_t n = strlen(name);
    bool found = *whole = false;
    for (uint32_t i = 0; list && list->type == JSON_ARRAY && i < list->count; i++) {
        size_t size = list->as.item[i].count;
        if (size > n || memcmp(name + n - size, list->as.item[i].as.text, size) != 0) continue;
        *whole |= size == n;
        found |= size == n || name[n - size - 1] == '.';
    }
    return found;
}

/* Whether a regular expression that is a name, or several ones with | between them, is this name; another one is
 * `otherwise`. */
static bool is_name(const Json *regex, const char *name, bool otherwise)
{
    const char *text = regex->as.text, *end = text + regex->count;
    for (bool found = false; ; ) {
        size_t size = 0;
        while (text[size] && text[size] != '|') size += text[size] == '\\' && text[size + 1] ? 2 : 1;
        size_t n = name_size(text, size);
        if (n == NO_NAME) return otherwise;
        if (n == strlen(name) && name_matches(text, size, name)) found = true;
        text += size;
        if (text == end) return found;
        if (*text != '|') return otherwise;
        text++;
    }
}

static bool is_all_linear(const Json *value)
{
    static const char all[] = "all-linear";
    size_t same = 0;
    while (same < value->count && (value->as.text[same] | ' ') == all[same]) same++;
    return same == value->count && !all[same];
}

/* The number of the layer in a name as peft finds it: the first number between points, behind this word, or if that is NULL
 * behind any word but the first; -1: there is none. */
static int64_t layer_after(const char *name, const Json *word)
{
    const char *start = name;
    for (const char *point; (point = strchr(start, '.')); start = point + 1) {
        size_t size = (size_t)(point - start), digits = strspn(point + 1, "0123456789");
        bool found = word ? word->count == size && memcmp(word->as.text, start, size) == 0 : start > name;
        if (found && digits > 0 && point[1 + digits] == '.') return strtoll(point + 1, NULL, 10);
    }
    return -1;
}

/* Whether layers_to_transform has the layer of this name. A pattern that is more than a word is not decided: true. */
static bool is_in_layers(const Config *c, const char *name)
{
    const Json *layers = json_get(c->root, "layers_to_transform"), *words = json_get(c->root, "layers_pattern");
    if (!layers || layers->type == JSON_NULL || (layers->type == JSON_ARRAY && layers->count == 0)) return true;
    bool any = !words || words->type == JSON_NULL || words->count == 0;
    uint32_t n_words = any || words->type == JSON_STRING ? 1 : words->count;
    int64_t layer = -1;
    for (uint32_t i = 0; layer < 0 && i < n_words; i++) {
        const Json *word = any ? NULL : words->type == JSON_STRING ? words : &words->as.item[i];
        if (word && strcspn(word->as.text, "\\^$*+?()[]{}|.") < word->count) return true;
        layer = layer_after(name, word);
    }
    bool list = layers->type == JSON_ARRAY;
    for (uint32_t i = 0; layer >= 0 && i < (list ? layers->count : 1); i++) {
        double number;
        if (json_real(list ? &layers->as.item[i] : layers, &number) && number == (double)layer) return true;
    }
    return false;
}

/* Whether peft's default of target_modules, which it has for language models alone, chooses the Linear of this name. */
static bool is_default(const void *module, const char *name)
{
    if (!lm_functions(module)) return false;
    const char *last = last_word(name);
    return lm_functions(module)->transposed ? strcmp(last, "c_attn") == 0
                                           : strcmp(last, "q_proj") == 0 || strcmp(last, "v_proj") == 0;
}

/* The setting by which peft would leave out the Linear of this name in the library; NULL: there is none, or a regular
 * expression decides it. */
static const char *setting_against(const Config *c, const void *module, const char *name)
{
    const Json *targets = json_get(c->root, "target_modules"), *excluded = json_get(c->root, "exclude_modules");
    bool whole, text = excluded && excluded->type == JSON_STRING && excluded->count > 0;
    if (lists(excluded, name, &whole) || (text && is_name(excluded, name, false))) return "exclude_modules";
    if (!targets || targets->type == JSON_NULL) return is_default(module, name) ? NULL : "target_modules";
    if (targets->type == JSON_STRING && is_all_linear(targets))
        return lm_functions(module) && strcmp(name, "lm_head") == 0 ? "target_modules" : NULL;
    if (targets->type == JSON_STRING) return is_name(targets, name, true) ? NULL : "target_modules";
    if (!lists(targets, name, &whole)) return "target_modules";
    return whole || is_in_layers(c, name) ? NULL : "layers_to_transform";
}

/* Refuses an adapter in the file of weights that peft would ignore; `weight`: its Linear's weight in the library. */
static bool is_chosen(const Config *c, const void *module, const char *weight)
{
    void *work = ag_alloc(1, 1);
    const char *name = ag_strndup_in(work, weight, strlen(weight) - strlen(".weight"));
    const char *setting = setting_against(c, module, name);
    if (setting)
        ag_set_error("%s: \"%s\": expected one that chooses %s, which has an adapter in the file of weights", c->path, setting,
                     QUOTED(name));
    ag_free(work);
    return !setting;
}

/* ---- adding -------------------------------------------------------------------------------------------------------- */

/* A file of weights, and what its class puts before the names: the prefix of the class that generates, or nothing. */
typedef struct { NnTensorFile *file; const void *module; const char *prefix; } AdapterFile;

static AdapterFile adapter_file(NnTensorFile *f, const void *module)
{
    const char *usual = usual_prefix(module), *start = text_printf(f, PREFIX "%s", usual);
    bool found = false;
    for (size_t i = 0; i < f->n_tensors && !found; i++) found = starts_with(f->tensor[i].item.name, start);
    return (AdapterFile){ f, module, found ? usual : "" };
}

/* Adds an adapter to each Linear for which the file has a lora_A, of its rank; false with ag_error() if there is none, or if
 * one does not fit. */
static bool add_all(const AdapterFile *a, const NnParameters *p, const AdapterConfig *c)
{
    NnTensorFile *f = a->file;
    int added = 0;
    for (int i = 0; i < p->n; i++) {
        Linear *l = lora_linear_of(&p->item[i]);
        if (!l) continue;
        const char *weight = library_name(f, a->module, a->prefix, p->item[i].name);
        const char *name[] = { matrix_name(f, weight, 'A'), matrix_name(f, weight, 'B') };
        const NnFileTensor *t[] = { tensor_file_find(f, name[0]), tensor_file_find(f, name[1]) };
        if (!t[0] || t[0]->shape.ndim < 0 || (t[1] && t[1]->shape.ndim < 0)) continue;      /* nn_load_with tells why */
        if (!is_chosen(c->file, a->module, weight)) return false;
        int64_t rank = t[0]->shape.ndim > 0 && t[0]->shape.dim[0] > 0 ? t[0]->shape.dim[0] : 1;
        AgShape shape[] = { SHAPE(rank, tensor_dim(l->weight, 1)), SHAPE(tensor_dim(l->weight, 0), rank) };
        for (int k = 0; k < 2; k++)
            if (!t[k] || !ag_shape_equal(t[k]->shape, shape[k]))
                return ag_set_error("%s: \"%s\" is %s, expected %s", f->file->name, name[k],
                                    t[k] ? ag_shape_string(t[k]->shape) : "missing", ag_shape_string(shape[k]));
        lora_add(l, rank, alpha_for(c, weight), c->dropout);
        added++;
    }
    if (added) return true;
    if (f->n_tensors == 0) return ag_set_error("%s: has no adapter for a Linear of this module", f->file->name);
    return ag_set_error("%s: has no adapter for a Linear of this %s: its first tensor is %s", f->file->name,
                        ((const Module *)a->module)->type, QUOTED(f->tensor[0].item.name));
}

/* The name in the file, behind PREFIX, of the module's parameter. In peft, the parameters of a Linear with an adapter have
 * "base_layer." before their last word: beside the adapter of an output layer, it saves a copy of that layer's own weight, and
 * takes it from there when it loads the adapter. A weight under the name without "base_layer." it ignores. */
static void rename_parameter(void *adapter_file, const char *name, char *out, size_t size)
{
    const AdapterFile *a = adapter_file;
    char *inside = library_name(a->file, a->module, a->prefix, name);
    bool adapted = tensor_file_find(a->file, matrix_name(a->file, inside, 'A'));
    snprintf(out, size, "%s%s%s", layer_of(a->file, inside), adapted ? "base_layer." : "", last_word(inside));
}

bool nn_lora_load(void *module, const char *folder)
{
    AG_LAYER;
    NnParameters *p = parameters_of(__func__, module, folder, false);
    Walk walk = walk_below(module);
    if (walk_adapted(&walk)) {
        ag_usage_error(__func__, "this module has adapters: that of %s is one",
                       slot_path(p, module, walk.holder, walk.slot->name));
    }
    const char *weights = text_printf(p, "%s/adapter_model.safetensors", folder);
    AdapterConfig a = { .dropout = 0 };
    Config c;
    bool good = config_open(&c, text_printf(p, "%s/adapter_config.json", folder)) && read_config(&c, &a);
    NnTensorFile *f = good ? st_open(weights) : NULL;
    AdapterFile file = f ? adapter_file(f, module) : (AdapterFile){ .file = NULL };
    good = f && add_all(&file, p, &a) &&
           nn_load_with(weights, module, (NnLoadOptions){ .prefix = PREFIX, .rename = rename_parameter, .arg = &file,
                                                          .allow_missing = true, .round = true });
    if (good) freeze_all_but_adapters(p);
    else lora_remove_all(module, false);
    ag_free(f);
    ag_free(c.owner);
    ag_free(p);
    return good;
}
