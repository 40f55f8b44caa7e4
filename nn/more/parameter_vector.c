/* parameter_vector.c: the trained parameters of a module, or their gradients, as one vector. */
#include "kaeru/more_optim.h"

#include <string.h>

#include "arguments.h"

/* Calls `copy` with each trained parameter and its place in the vector. */
static void each_part(void *module, ag_real *vector, void (*copy)(Tensor *w, ag_real *part))
{
    NnParameters *p = nn_parameters(module);
    int64_t at = 0;
    for (int i = 0; i < p->n; i++) {
        if (!p->item[i].trained) continue;
        copy(p->item[i].tensor, vector + at);
        at += tensor_numel(p->item[i].tensor);
    }
    ag_free(p);
}

static size_t size_of(const Tensor *w)
{
    return (size_t)tensor_numel(w) * sizeof(ag_real);
}

static void copy_values(Tensor *w, ag_real *part)
{
    memcpy(part, tensor_data(w), size_of(w));
}

static void copy_gradient(Tensor *w, ag_real *part)
{
    const ag_real *gradient = tensor_grad_data(w);
    if (gradient) memcpy(part, gradient, size_of(w));
}

static void set_values(Tensor *w, ag_real *part)
{
    memcpy(tensor_mutable_data(w), part, size_of(w));
}

static Tensor *to_vector(void *module, void (*copy)(Tensor *w, ag_real *part))
{
    Tensor *vector = tensor_zeros(SHAPE(nn_count(module)));
    each_part(module, tensor_mutable_data(vector), copy);
    return vector;
}

Tensor *nn_parameters_to_vector(void *module)
{
    NN_LAYER((Module *)module);
    return to_vector(module, copy_values);
}

Tensor *nn_gradients_to_vector(void *module)
{
    NN_LAYER((Module *)module);
    return to_vector(module, copy_gradient);
}

void nn_vector_to_parameters(void *module, Tensor *vector)
{
    NN_LAYER((Module *)module);
    check_tensor(__func__, "vector", vector, AG_REAL);
    const AgShape expected = SHAPE(nn_count(module));
    if (!ag_shape_equal(tensor_shape(vector), expected)) {
        ag_usage_error(__func__, "the vector is %s, expected %s, the trained parameters of this %s",
                       ag_shape_string(tensor_shape(vector)), ag_shape_string(expected), ((Module *)module)->type);
    }
    each_part(module, (ag_real *)(uintptr_t)tensor_data(vector), set_values);
}
