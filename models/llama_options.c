/* llama_options.c: checks the options of a Llama, counts its parameters, and converts the options to and from settings. */
#include <inttypes.h>

#include "fields.h"
#include "kaeru/llama.h"

LlamaOptions llama_defaults(void)
{
    return (LlamaOptions){ .layers = 30, .heads = 9, .kv_heads = 3, .head_width = 64, .width = 576, .hidden = 1536,
                           .vocab = 49152, .context = 8192, .eps = 1e-5, .rope_base = 100000, .rope_factor = 1, .rope_low = 1,
                           .rope_high = 4, .rope_context = 8192, .tied = true, .begin = -1, .end = { -1, -1, -1, -1 } };
}

#define FIELD(name, kind, low, high, half_open) { "llama." #name, kind, offsetof(LlamaOptions, name), low, high, half_open }
/* The upper bounds are far above any real model, but the numbers of items of the matrices fit an int64_t. */
static const Field fields[] = {
    FIELD(layers, FIELD_INT64, 1, 100000, false),
    FIELD(heads, FIELD_INT64, 1, 1 << 16, false),
    FIELD(kv_heads, FIELD_INT64, 1, 1 << 16, false),
    FIELD(head_width, FIELD_INT64, 2, 1 << 16, false),
    FIELD(width, FIELD_INT64, 1, 1 << 24, false),
    FIELD(hidden, FIELD_INT64, 1, 1 << 28, false),
    FIELD(vocab, FIELD_INT64, 1, INT32_MAX, false),
    FIELD(context, FIELD_INT64, 1, 1 << 26, false),
    FIELD(eps, FIELD_DOUBLE, 0, 1, true),
    FIELD(rope_base, FIELD_DOUBLE, 1, 1e15, false),
    FIELD(rope_factor, FIELD_DOUBLE, 1, 1e6, false),
    FIELD(rope_low, FIELD_DOUBLE, 0, 1e6, false),
    FIELD(rope_high, FIELD_DOUBLE, 0, 1e6, false),
    FIELD(rope_context, FIELD_DOUBLE, 1, 1e9, false),
    FIELD(dropout, FIELD_DOUBLE, 0, 1, true),
    FIELD(qkv_bias, FIELD_BOOL, 0, 1, false),
    FIELD(out_bias, FIELD_BOOL, 0, 1, false),
    FIELD(head_norms, FIELD_BOOL, 0, 1, false),
    FIELD(tied, FIELD_BOOL, 0, 1, false),
    FIELD(begin, FIELD_INT64, -1, INT32_MAX, false),
    FIELD(end[0], FIELD_INT64, -1, INT32_MAX, false),
    FIELD(end[1], FIELD_INT64, -1, INT32_MAX, false),
    FIELD(end[2], FIELD_INT64, -1, INT32_MAX, false),
    FIELD(end[3], FIELD_INT64, -1, INT32_MAX, false),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

bool llama_check_at(AgSite at, const LlamaOptions *o)
{
    ag_check_pointer_at(at, __func__, "o", o);
    if (!fields_check(fields, N_FIELDS, o)) return false;
    if (o->heads % o->kv_heads != 0)
        return ag_set_error("%" PRId64 " heads are not divisible by %" PRId64 " heads of keys and values", o->heads,
                            o->kv_heads);
    if (o->head_width % 2 != 0) return ag_set_error("heads of width %" PRId64 ", expected an even number", o->head_width);
    return o->rope_low < o->rope_high ||
           ag_set_error("llama.rope_low is %g, expected less than llama.rope_high, %g", o->rope_low, o->rope_high);
}

double llama_size_at(AgSite at, const LlamaOptions *o)
{
    ag_check_pointer_at(at, __func__, "o", o);
    double width = (double)o->width, queries = (double)o->heads * (double)o->head_width;
    double keys = (double)o->kv_heads * (double)o->head_width;
    double layer = width * (2 * queries + 2 * keys + 3 * (double)o->hidden + 2);
    if (o->qkv_bias) layer += queries + 2 * keys;
    if (o->out_bias) layer += width;
    if (o->head_norms) layer += 2 * (double)o->head_width;
    return (double)o->vocab * width * (o->tied ? 1 : 2) + (double)o->layers * layer + width;
}

void llama_to_settings_at(AgSite at, const LlamaOptions *o, NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    ag_check_object_at(at, __func__, "s", s);
    fields_to_settings(fields, N_FIELDS, o, s);
}

bool llama_from_settings_at(AgSite at, LlamaOptions *o, const NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    ag_check_object_at(at, __func__, "s", s);
    LlamaOptions found = { .recompute = false };
    if (!fields_from_settings(fields, N_FIELDS, &found, s) || !llama_check(&found)) return false;
    *o = found;
    return true;
}
