/* setup.c: first weights, optimizers and targets of the experiment, by name. */
#include "setup.h"

#include <math.h>
#include <string.h>

#include "common/common.h"
#include "kaeru/autograd.h"

static bool is(const char *name, const char *other) { return strcmp(name, other) == 0; }

void setup_check(const Setup *s)
{
    if (!is(s->init, "default") && !is(s->init, "he") && !is(s->init, "xavier") && !is(s->init, "small-last")) {
        example_usage_error("--init %s: expected " INITS, s->init);
    }
    if (!is(s->optimizer, "adam") && !is(s->optimizer, "sgd")) {
        example_usage_error("--optimizer %s: expected " OPTIMIZERS, s->optimizer);
    }
    if (!is(s->target, "identity") && !is(s->target, "minus") && !is(s->target, "matrix")) {
        example_usage_error("--target %s: expected " TARGETS, s->target);
    }
}

int setup_controls(const Setup *chosen, Control control[CONTROLS])
{
    const Control all[CONTROLS] = {
        { "initial weights: PyTorch", { "default", chosen->optimizer, chosen->target } },
        { "initial weights: He", { "he", chosen->optimizer, chosen->target } },
        { "initial weights: Xavier", { "xavier", chosen->optimizer, chosen->target } },
        { "initial weights: layer 2 at 0", { "small-last", chosen->optimizer, chosen->target } },
        { "gradient descent", { chosen->init, "sgd", chosen->target } },
        { "Adam", { chosen->init, "adam", chosen->target } },
        { "target: x", { chosen->init, chosen->optimizer, "identity" } },
        { "target: -x", { chosen->init, chosen->optimizer, "minus" } },
        { "target: a matrix times x", { chosen->init, chosen->optimizer, "matrix" } },
    };
    int n = 0;
    for (int i = 0; i < CONTROLS; i++) {
        const Setup *s = &all[i].setup;
        if (!is(s->init, chosen->init) || !is(s->optimizer, chosen->optimizer) || !is(s->target, chosen->target)) {
            control[n++] = all[i];
        }
    }
    return n;
}

void setup_init(const Setup *s, Linear *fc1, Linear *fc2)
{
    if (is(s->init, "he")) {
        nn_init_kaiming_uniform(fc1->weight, 0);
        nn_init_kaiming_uniform(fc2->weight, 1);
    } else if (is(s->init, "xavier")) {
        nn_init_xavier_uniform(fc1->weight, 1);
        nn_init_xavier_uniform(fc2->weight, 1);
    } else if (is(s->init, "small-last")) {
        ag_fill(fc2->weight, 0);
    }
}

Optimizer *setup_optimizer(const Setup *s, void *model, double lr)
{
    if (is(s->optimizer, "sgd")) {
        return nn_sgd_new(model, lr > 0 ? lr : 0.03);
    }
    return nn_adam_new(model, lr > 0 ? lr : 1e-3);
}

Tensor *setup_target(const Setup *s, Tensor *x)
{
    int64_t width = tensor_dim(x, 1);
    if (is(s->target, "minus")) {
        return ag_neg(x);
    }
    return is(s->target, "matrix") ? ag_matmul(x, tensor_normal(SHAPE(width, width), 0, 1 / sqrt((double)width))) : x;
}

const char *setup_target_text(const Setup *s)
{
    if (is(s->target, "minus")) {
        return "-x";
    }
    return is(s->target, "matrix") ? "x times a matrix" : "x";
}
