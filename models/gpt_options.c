/* gpt_options.c: the options of a GPT as a table, and the number of its parameters. */
#include <inttypes.h>

#include "kaeru/gpt.h"

/* A name, its default, the smallest and the largest value, its help, and further members of
 * NnField. The upper limits are far above any real model, but the product of any two fits an
 * int64_t. */
#define FIELD(name, ...) NN_FIELD(#name, GPTOptions, name, __VA_ARGS__)
static const NnField fields[] = {
    FIELD(layers, 12, 1, 100000, "blocks", .fixed = true),
    FIELD(heads, 12, 1, 1 << 24, "attention heads of each block", .fixed = true),
    FIELD(width, 768, 1, 1 << 24, "width of the model", .fixed = true),
    FIELD(vocab, 50257, 1, INT32_MAX, NULL),
    FIELD(context, 1024, 1, 1 << 30, "tokens that the model can see, at most", .fixed = true),
    FIELD(dropout, 0.1, 0, 1, "share of activations dropped in training", .below = true,
          .fixed = true),
    FIELD(bias, true, 0, 1, "biases in linear layers and norms, as in GPT-2", .fixed = true),
    FIELD(eps, 1e-5, 0, 1, NULL, .below = true),
    NN_FIELDS_END
};

static bool check(const void *options)
{
    const GPTOptions *o = options;
    if (o->width % o->heads != 0) {
        return ag_set_error("a width of %" PRId64 " does not divide into %" PRId64 " heads",
                            o->width, o->heads);
    }
    return true;
}

const NnFields gpt_fields = { "gpt.", sizeof(GPTOptions), fields, check };

double gpt_size(const GPTOptions *o)
{
    ag_check_pointer(__func__, "o", o);
    double width = (double)o->width;
    double matrices = (3 + 1 + 4 + 4) * width * width;      /* of the attention, of the mlp */
    double biases = o->bias ? (3 + 1 + 4 + 1) * width : 0;
    double norm = o->bias ? 2 * width : width;
    double block = matrices + biases + 2 * norm;
    double tables = ((double)o->vocab + (double)o->context) * width;
    return tables + (double)o->layers * block + norm;
}
