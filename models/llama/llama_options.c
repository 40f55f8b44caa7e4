/* llama_options.c: the options of a Llama as a table, and the number of its parameters. */
#include <inttypes.h>

#include "kaeru/llama.h"

#define FIELD(name, ...) NN_FIELD(#name, LlamaOptions, name, __VA_ARGS__)
/* Ids that few models have: settings lack those that are not set, as do those of older versions. */
#define MORE(i) FIELD(end[i], -1, -1, INT32_MAX, NULL, .optional = true)
/* The upper limits are far above any real model, but the numbers of items of the matrices fit an int64_t. */
static const NnField fields[] = {
    FIELD(layers, 30, 1, 100000, NULL),
    FIELD(heads, 9, 1, 1 << 16, NULL),
    FIELD(kv_heads, 3, 1, 1 << 16, NULL),
    FIELD(head_width, 64, 2, 1 << 16, NULL),
    FIELD(width, 576, 1, 1 << 24, NULL),
    FIELD(hidden, 1536, 1, 1 << 28, NULL),
    FIELD(vocab, 49152, 1, INT32_MAX, NULL),
    FIELD(context, 8192, 1, 1 << 26, NULL),
    FIELD(eps, 1e-5, 0, 1, NULL, .below = true),
    FIELD(rope_base, 100000, 1, 1e15, NULL),
    FIELD(rope_factor, 1, 1, 1e6, NULL),
    FIELD(rope_low, 1, 0, 1e6, NULL),
    FIELD(rope_high, 4, 0, 1e6, NULL),
    FIELD(rope_context, 8192, 1, 1e9, NULL),
    FIELD(dropout, 0, 0, 1, NULL, .below = true),
    FIELD(qkv_bias, false, 0, 1, NULL),
    FIELD(out_bias, false, 0, 1, NULL),
    FIELD(head_norms, false, 0, 1, NULL),
    FIELD(tied, true, 0, 1, NULL),
    FIELD(begin, -1, -1, INT32_MAX, NULL),
    FIELD(end[0], -1, -1, INT32_MAX, NULL),
    FIELD(end[1], -1, -1, INT32_MAX, NULL),
    FIELD(end[2], -1, -1, INT32_MAX, NULL),
    FIELD(end[3], -1, -1, INT32_MAX, NULL),
    MORE(4), MORE(5), MORE(6), MORE(7), MORE(8), MORE(9), MORE(10), MORE(11), MORE(12), MORE(13), MORE(14), MORE(15),
    FIELD(pad, -1, -1, INT32_MAX, NULL, .optional = true),
    NN_FIELDS_END
};

static bool check(const void *options)
{
    const LlamaOptions *o = options;
    if (o->heads % o->kv_heads != 0)
        return ag_set_error("%" PRId64 " heads are not divisible by %" PRId64 " heads of keys and values", o->heads,
                            o->kv_heads);
    if (o->head_width % 2 != 0) return ag_set_error("heads of width %" PRId64 ", expected an even number", o->head_width);
    return o->rope_low < o->rope_high ||
           ag_set_error("llama.rope_low is %g, expected less than llama.rope_high, %g", o->rope_low, o->rope_high);
}

const NnFields llama_fields = { "llama.", sizeof(LlamaOptions), fields, check };

double llama_size(const LlamaOptions *o)
{
    ag_check_pointer(__func__, "o", o);
    double width = (double)o->width, queries = (double)o->heads * (double)o->head_width;
    double keys = (double)o->kv_heads * (double)o->head_width;
    double layer = width * (2 * queries + 2 * keys + 3 * (double)o->hidden + 2);
    if (o->qkv_bias) layer += queries + 2 * keys;
    if (o->out_bias) layer += width;
    if (o->head_norms) layer += 2 * (double)o->head_width;
    return (double)o->vocab * width * (o->tied ? 1 : 2) + (double)o->layers * layer + width;
}
