/* fuzz_adapter.c: an accepted adapter can be used and merged; a refused one leaves the module as it was. The input is
 * adapter_config.json up to a NUL byte, then the header of adapter_model.safetensors up to a newline, then its values. */
#include <unistd.h>

#include "fuzz.h"
#include "kaeru/lora.h"

typedef struct { Module module; Linear *q, *v; } Net;

static Tensor *net(Net *n, Tensor *x)
{
    return nn_linear(n->v, nn_linear(n->q, x));
}

static void use(Net *n)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_backward(ag_sum(net(n, tensor_ones(SHAPE(1, 2)))));
    CHECK(!tensor_grad(n->q->weight) && !tensor_grad(n->v->bias));
    ag_end(s);
    CHECK(nn_count(n) > 0);
    nn_lora_merge(n);
    CHECK(nn_count(n) == 0 && !n->q->adapter && !n->v->adapter);
}

static char folder[] = "/tmp/kaeru_fuzz_XXXXXX", config[64], weights[64];

static void remove_folder(void)
{
    unlink(config);
    unlink(weights);
    rmdir(folder);
}

static void make_folder(void)
{
    CHECK(mkdtemp(folder));
    snprintf(config, sizeof config, "%s/adapter_config.json", folder);
    snprintf(weights, sizeof weights, "%s/adapter_model.safetensors", folder);
    atexit(remove_folder);
}

static void write_weights(const uint8_t *data, size_t n)
{
    const uint8_t *line = n ? memchr(data, '\n', n) : NULL;
    uint64_t header = line ? (uint64_t)(line - data) : n;
    FILE *file = fopen(weights, "wb");
    for (int i = 0; i < 8; i++) fputc((int)(header >> 8 * i & 255), file);
    fwrite(data, 1, (size_t)header, file);
    if (line) fwrite(line + 1, 1, n - (size_t)header - 1, file);
    CHECK(fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    if (!end) return -1;
    if (!config[0]) make_folder();
    FILE *file = fopen(config, "wb");
    CHECK(fwrite(data, 1, (size_t)(end - data), file) == (size_t)(end - data) && fclose(file) == 0);
    write_weights(end + 1, size - (size_t)(end - data) - 1);
    Net *n = nn_new(Net);
    nn_child(n, q, nn_linear_new(2, 3));
    nn_child(n, v, nn_linear_new(3, 2));
    if (nn_lora_load(n, folder)) {
        use(n);
    } else {
        fuzz_check_refusal(folder);
        CHECK(!n->q->adapter && !n->v->adapter && nn_count(n) == 17);
    }
    ag_free(n);
    return 0;
}
