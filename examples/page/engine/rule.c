/* rule.c: an operation whose forward function and backward rule the reader writes. */
#include "engine.h"

/* The script computes both: it reads and writes these arrays of n numbers in memory. dy is NULL in forward; a dx is NULL if its
 * input needs no gradient. `z` is NULL if there is only one input. */
void IMPORT(page_rule)(int64_t n, const ag_real *x, const ag_real *z, ag_real *y, const ag_real *dy, ag_real *dx, ag_real *dz);

static void run(const AgCustomCall *c)
{
    bool two = c->n > 1;
    ag_real *y = c->dy ? (ag_real *)tensor_data(c->y) : tensor_mutable_data(c->y);
    page_rule(tensor_numel(c->y), tensor_data(c->in[0]), two ? tensor_data(c->in[1]) : NULL, y, c->dy,
              c->dy ? c->dx[0] : NULL, c->dy && two ? c->dx[1] : NULL);
}

static const AgCustom custom = { "rule", run, run, AG_NEEDS_X(0) | AG_NEEDS_X(1) | AG_NEEDS_Y, NULL, NULL };
static const AgCustom custom_of_one = { "rule", run, run, AG_NEEDS_X(0) | AG_NEEDS_Y, NULL, NULL };

static Tensor *apply(Tensor **in, void *arg)
{
    int n = *(int *)arg;
    return ag_custom(n > 1 ? &custom : &custom_of_one, tensor_shape(in[0]), in, n, NULL, 0);
}

enum { ITEMS = 6 };

/* Checks the rule by ag_gradcheck at the ITEMS numbers of x, then of z, that the script has written to
 * the_numbers. Prints its report; returns whether the gradients agree. */
int EXPORT(rule_check)(int inputs)
{
    AgScope scope = ag_begin(AG_RECORD);
    ag_seed(5);
    const float *numbers = the_numbers(2 * ITEMS);
    Tensor *in[2];
    for (int i = 0; i < inputs; i++) {
        in[i] = tensor_name(tensor_from(SHAPE(ITEMS), numbers + i * ITEMS), i ? "z" : "x");
        tensor_set_requires_grad(in[i], true);
    }
    bool agree = ag_gradcheck(apply, &inputs, in, inputs, stdout);
    ag_end(scope);
    return agree;
}
