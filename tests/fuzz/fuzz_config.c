/* fuzz_config.c: the options of an accepted config.json pass the check of a model's sizes, settings keep them, and a small
 * model of these sizes computes. */
#include "fuzz.h"
#include "kaeru/llama.h"
#include "llama_parts.h"

static void use(LlamaOptions o)
{
    LlamaOptions again = { 0 };
    NnSettings *s = nn_settings_new();
    CHECK(nn_fields_check(&llama_fields, &o));
    nn_fields_to_settings(&llama_fields, &o, s);
    CHECK(nn_fields_from_settings(&llama_fields, &again, s));
    CHECK(again.layers == o.layers && again.rope_factor == o.rope_factor && again.end[3] == o.end[3] && again.tied == o.tied);
    ag_free(s);
    CHECK(llama_size(&o) > 0);
    if (llama_size(&o) > 10000 || o.layers > 10 || o.context > 1000) return;
    Llama *m = llama_of_zeros(o);
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *y = llama_forward(m, tensor_ints(SHAPE(1, 1), NULL));
    CHECK(ag_shape_equal(tensor_shape(y), SHAPE(1, 1, o.vocab)) && tensor_data(y)[0] == 0);
    ag_end(scope);
    ag_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LlamaOptions o = { 0 };
    Config c = { .owner = ag_alloc(1, 1), .path = "fuzz" };
    c.root = json_parse(c.owner, c.path, (const char *)data, size);
    if (c.root && llama_read_config(&c, &o)) use(o);
    else fuzz_check_refusal("fuzz: ");
    ag_free(c.owner);
    return 0;
}
