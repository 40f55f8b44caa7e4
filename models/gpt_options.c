/* gpt_options.c: checks the sizes of a GPT, counts its parameters, and converts the sizes to and from settings. */
#include <inttypes.h>

#include "fields.h"
#include "kaeru/gpt.h"

GPTOptions gpt_defaults(void)
{
    return (GPTOptions){ .layers = 12, .heads = 12, .width = 768, .vocab = 50257, .context = 1024, .dropout = 0.1,
                         .bias = true, .eps = 1e-5 };
}

/* The upper bounds are far above any real model, but the product of any two fits an int64_t. */
static const Field fields[] = {
    { "gpt.layers",  FIELD_INT64,  offsetof(GPTOptions, layers), 1, 100000, false },
    { "gpt.heads",   FIELD_INT64,  offsetof(GPTOptions, heads), 1, 1 << 24, false },
    { "gpt.width",   FIELD_INT64,  offsetof(GPTOptions, width), 1, 1 << 24, false },
    { "gpt.vocab",   FIELD_INT64,  offsetof(GPTOptions, vocab), 1, INT32_MAX, false },
    { "gpt.context", FIELD_INT64,  offsetof(GPTOptions, context), 1, 1 << 30, false },
    { "gpt.dropout", FIELD_DOUBLE, offsetof(GPTOptions, dropout), 0, 1, true },
    { "gpt.bias",    FIELD_BOOL,   offsetof(GPTOptions, bias), 0, 1, false },
    { "gpt.eps",     FIELD_DOUBLE, offsetof(GPTOptions, eps), 0, 1, true },
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

bool gpt_check_at(AgSite at, const GPTOptions *o)
{
    ag_check_pointer_at(at, __func__, "o", o);
    if (!fields_check(fields, N_FIELDS, o)) return false;
    return o->width % o->heads == 0 ||
           ag_set_error("a width of %" PRId64 " does not divide into %" PRId64 " heads", o->width, o->heads);
}

double gpt_size_at(AgSite at, const GPTOptions *o)
{
    ag_check_pointer_at(at, __func__, "o", o);
    double width = (double)o->width;
    double block = 12 * width * width + 2 * width + (o->bias ? 11 * width : 0);     /* 4 matrices, 2 norms */
    return ((double)o->vocab + (double)o->context) * width + (double)o->layers * block + width * (o->bias ? 2 : 1);
}

void gpt_to_settings_at(AgSite at, const GPTOptions *o, NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    ag_check_object_at(at, __func__, "s", s);
    fields_to_settings(fields, N_FIELDS, o, s);
}

bool gpt_from_settings_at(AgSite at, GPTOptions *o, const NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    ag_check_object_at(at, __func__, "s", s);
    GPTOptions found = { .recompute = false };
    if (!fields_from_settings(fields, N_FIELDS, &found, s) || !gpt_check(&found)) return false;
    *o = found;
    return true;
}
