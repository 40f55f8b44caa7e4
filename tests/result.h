/* result.h: a hash of what a run computes, to compare runs. */
#ifndef KAERU_TESTS_RESULT_H
#define KAERU_TESTS_RESULT_H

#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/nn.h"

typedef struct { uint64_t hash; } Result;

static inline void mix_bytes(Result *r, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) r->hash = (r->hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static inline void mix_number(Result *r, double x)
{
    mix_bytes(r, &x, sizeof x);
}

static inline void mix_tensor(Result *r, const Tensor *t)
{
    AgShape shape = tensor_shape(t);
    for (int i = 0; i < shape.ndim; i++) mix_number(r, (double)shape.dim[i]);
    r->hash = tensor_hash(t, r->hash);
}

/* Of each parameter and buffer: its name and values, whether it is trained, and whether it has a gradient. */
static inline void mix_weights(Result *r, void *module)
{
    NnParameters *p = nn_parameters(module);
    for (int i = 0; i < p->n; i++) {
        Tensor *t = p->item[i].tensor;
        mix_bytes(r, p->item[i].name, strlen(p->item[i].name));
        mix_tensor(r, t);
        mix_number(r, p->item[i].trained);
        mix_number(r, tensor_dtype(t) == AG_REAL && tensor_grad_data(t) != NULL);
    }
    ag_free(p);
}

#endif
