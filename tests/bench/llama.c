/* llama.c: fine-tuning with LoRA, and a convolution. */
#include "bench.h"
#include "kaeru/kaeru.h"

/* ---- LoRA on a model of SmolLM2's size --------------------------------------------------------------------------- */

typedef struct { Scope scope; Tensor *ids, *targets; Llama *model; Optimizer *adam; } FineTuning;

void *lora_begin(const Workload *w, int64_t *parameters)
{
    FineTuning *l = ag_alloc(1, sizeof *l);
    l->scope = ag_begin(AG_NO_GRAD);
    l->model = llama_new(llama_defaults());
    static const char *const targets[] = { "q_proj", "k_proj", "v_proj", "o_proj", NULL };
    nn_lora_add(l->model, (LoraOptions){ .rank = 8, .alpha = 16, .targets = targets });
    l->adam = nn_adamw_new(l->model, 1e-4);
    l->ids = tensor_randint(SHAPE(w->size[0], w->size[1]), 0, (int32_t)l->model->options.vocab);
    l->targets = tensor_randint(SHAPE(w->size[0], w->size[1]), 0, (int32_t)l->model->options.vocab);
    *parameters = nn_count(l->model);
    return l;
}

void lora_step(void *state)
{
    FineTuning *l = state;
    Scope step = ag_begin(AG_RECORD);
    ag_backward(llama_loss(l->model, l->ids, l->targets));
    nn_optimizer_step(l->adam);
    ag_end(step);
}

void lora_end(void *state)
{
    FineTuning *l = state;
    ag_free(l->adam);
    nn_free(l->model);
    ag_end(l->scope);
    ag_free(l);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

typedef struct { Scope scope; Conv2d *conv; Tensor *x, *dy; } Convolution;

void *conv_begin(const Workload *w, int64_t *parameters)
{
    int64_t batch = w->size[0], channels = w->size[1], side = w->size[2];
    Convolution *c = ag_alloc(1, sizeof *c);
    c->scope = ag_begin(AG_NO_GRAD);
    c->conv = nn_conv2d_new(channels, channels, 3);
    c->x = tensor_set_requires_grad(tensor_normal(SHAPE(batch, channels, side, side), 0, 1), true);
    c->dy = tensor_normal(SHAPE(batch, channels, side, side), 0, 1);
    *parameters = nn_count(c->conv);
    return c;
}

void conv_step(void *state)
{
    Convolution *c = state;
    Scope step = ag_begin(AG_RECORD);
    ag_backward_from(nn_conv2d(c->conv, c->x), c->dy);
    ag_end(step);
    tensor_zero_grad(c->x);
    nn_zero_grad(c->conv);
}

void conv_end(void *state)
{
    Convolution *c = state;
    nn_free(c->conv);
    ag_end(c->scope);
    ag_free(c);
}
