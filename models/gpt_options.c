/* gpt_options.c: the sizes of a GPT, checked, counted, and as settings of a checkpoint. */
#include <inttypes.h>

#include "kaeru/gpt.h"

GPTOptions gpt_defaults(void)
{
    return (GPTOptions){ .layers = 12, .heads = 12, .width = 768, .vocab = 50257, .context = 1024, .dropout = 0.1,
                         .bias = true, .eps = 1e-5 };
}

/* The whole numbers among the options, each with the most that makes sense. */
static const struct { const char *name, *key; size_t offset; int64_t most; } sizes[] = {
    { "layers", "gpt.layers", offsetof(GPTOptions, layers), 100000 },
    { "heads", "gpt.heads", offsetof(GPTOptions, heads), 1 << 24 },
    { "width", "gpt.width", offsetof(GPTOptions, width), 1 << 24 },
    { "vocabulary", "gpt.vocab", offsetof(GPTOptions, vocab), INT32_MAX },
    { "context", "gpt.context", offsetof(GPTOptions, context), 1 << 30 },
};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static int64_t *size_at(GPTOptions *o, int i)
{
    return (int64_t *)((char *)o + sizes[i].offset);
}

bool gpt_check(const GPTOptions *o)
{
    GPTOptions copy = *o;
    for (int i = 0; i < N_SIZES; i++) {
        int64_t n = *size_at(&copy, i);
        if (n < 1 || n > sizes[i].most)
            return ag_refuse("a GPT's %s is %" PRId64 ", expected 1 to %" PRId64, sizes[i].name, n, sizes[i].most);
    }
    if (o->width % o->heads != 0)
        return ag_refuse("a width of %" PRId64 " does not divide into %" PRId64 " heads", o->width, o->heads);
    if (!(o->dropout >= 0 && o->dropout < 1)) return ag_refuse("a dropout of %g, expected 0 to below 1", o->dropout);
    if (!(o->eps >= 0 && o->eps < 1)) return ag_refuse("an epsilon of %g, expected 0 to below 1", o->eps);
    return true;
}

double gpt_size(const GPTOptions *o)
{
    double width = (double)o->width;
    double block = 12 * width * width + 2 * width + (o->bias ? 11 * width : 0);     /* 4 matrices, 2 norms */
    return ((double)o->vocab + (double)o->context) * width + (double)o->layers * block + width * (o->bias ? 2 : 1);
}

void gpt_to_settings(const GPTOptions *o, Settings *s)
{
    GPTOptions copy = *o;
    for (int i = 0; i < N_SIZES; i++) nn_settings_set(s, sizes[i].key, "%" PRId64, *size_at(&copy, i));
    nn_settings_set(s, "gpt.dropout", "%.17g", o->dropout);
    nn_settings_set(s, "gpt.bias", "%d", o->bias);
    nn_settings_set(s, "gpt.eps", "%.17g", o->eps);
}

bool gpt_from_settings(GPTOptions *o, const Settings *s)
{
    GPTOptions found;
    int64_t bias;
    for (int i = 0; i < N_SIZES; i++)
        if (!nn_settings_int(s, sizes[i].key, size_at(&found, i))) return false;
    if (!nn_settings_real(s, "gpt.dropout", &found.dropout) || !nn_settings_int(s, "gpt.bias", &bias) ||
        !nn_settings_real(s, "gpt.eps", &found.eps))
        return false;
    if (bias != 0 && bias != 1) return ag_refuse("the setting \"gpt.bias\" is %" PRId64 ", expected 0 or 1", bias);
    found.bias = bias;
    if (!gpt_check(&found)) return false;
    *o = found;
    return true;
}
