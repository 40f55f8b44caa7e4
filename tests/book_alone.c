/* book_alone.c: a program that needs the book alone, without the parts: it trains x + f(x), and a GPT in both precisions. The
 * plain kernels have the bits of the fast ones: the weights are the same in every build, with and without the part `fast`. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kaeru/kaeru.h"

enum { STEPS = 60 };

/* Of the weights that this program trains, and of the last losses. It changes where the arithmetic of the library does. */
static const uint64_t expected_hash = 0x115eccc30cc028e7;

/* Adds a number's bits to the hash (FNV-1a). */
static uint64_t add_number(uint64_t hash, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (hash ^ bits) * 0x100000001b3;
}

/* Adds a loss and a module's parameters to the hash. */
static uint64_t hash_of(uint64_t hash, double loss, void *module)
{
    hash = add_number(hash, (float)loss);
    NnParameters *list = nn_parameters(module);
    for (int i = 0; i < list->n; i++) {
        const float *data = tensor_data(list->item[i].tensor);
        for (int64_t k = 0; k < tensor_numel(list->item[i].tensor); k++) {
            hash = add_number(hash, data[k]);
        }
    }
    ag_free(list);
    return hash;
}

/* Trains f with a skip connection to compute 2 x. Returns the last loss divided by the first one. */
static double train_skip(uint64_t *hash)
{
    Linear *f = nn_linear_new(4, 4);
    Optimizer *adam = nn_adam_new(f, 0.05);
    double first = 0, last = 0;
    for (int step = 0; step < STEPS; step++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_normal(SHAPE(16, 4), 0, 1);
        Tensor *loss = ag_mse_loss(ag_add(x, nn_linear(f, x)), ag_scale(x, 2));
        last = tensor_item(loss);
        first = step == 0 ? last : first;
        ag_backward(loss);
        nn_optimizer_step(adam);
        ag_end(s);
    }
    *hash = hash_of(*hash, last, f);
    ag_free(adam);
    ag_free(f);
    return last / first;
}

/* Trains a GPT to count. Returns the last loss divided by the first one. */
static double train_gpt(uint64_t *hash, AgPrecision precision, double dropout)
{
    enum { VOCAB = 8, LENGTH = 12, BATCH = 4 };
    GPTOptions options = gpt_defaults();
    options.layers = 2;
    options.heads = 2;
    options.width = 40;
    options.vocab = VOCAB;
    options.context = LENGTH;
    options.dropout = dropout;
    ag_precision(precision);
    GPT *gpt = gpt_new(options);
    Optimizer *adam = nn_adam_new(gpt, 0.01);
    double first = 0, last = 0;
    for (int step = 0; step < STEPS; step++) {
        int32_t ids[BATCH * LENGTH], targets[BATCH * LENGTH];
        for (int i = 0; i < BATCH * LENGTH; i++) {
            ids[i] = (step + i / LENGTH + i % LENGTH) % VOCAB;
            targets[i] = (ids[i] + 1) % VOCAB;
        }
        AgScope s = ag_begin(AG_RECORD);
        Tensor *loss = lm_loss(gpt, tensor_ints(SHAPE(BATCH, LENGTH), ids), tensor_ints(SHAPE(BATCH, LENGTH), targets));
        last = tensor_item(loss);
        first = step == 0 ? last : first;
        ag_backward(loss);
        nn_optimizer_step(adam);
        ag_end(s);
    }
    *hash = hash_of(*hash, last, gpt);
    ag_free(adam);
    ag_free(gpt);
    return last / first;
}

/* MinGW's fmaf rounds twice: there, plain loops have other bits. */
#ifdef _WIN32
static const bool has_hash = false;
#else
static const bool has_hash = true;
#endif

int main(void)
{
    uint64_t hash = 0xcbf29ce484222325;
    ag_seed(1);
    const double skip = train_skip(&hash), gpt = train_gpt(&hash, AG_FLOAT32, 0), bf16 = train_gpt(&hash, AG_BF16, 0.1);
    printf("the loss of x + f(x) falls to %.3f of the first one, that of a GPT to %.3f, in bfloat16 with dropout to %.3f\n",
           skip, gpt, bf16);
    printf("hash of the weights: %016" PRIx64 ", expected %016" PRIx64 "\n", hash, expected_hash);
    return skip < 0.1 && gpt < 0.5 && bf16 < 0.9 && (hash == expected_hash || !has_hash) ? 0 : 1;
}
