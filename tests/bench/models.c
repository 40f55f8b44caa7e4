/* models.c: training steps of the skip connection's experiment and of the Transformer, and a convolution. */
#include "bench.h"
#include "kaeru/kaeru.h"

/* ---- f(x) and x + f(x) learn to return x ------------------------------------------------------------------------- */

typedef struct { Module module; Linear *fc1, *fc2; } Ffn;

typedef struct { AgScope scope; Tensor *x; Ffn *f[2]; Optimizer *adam[2]; } Skip;

static Ffn *ffn_new(void)
{
    Ffn *f = nn_new(Ffn);
    nn_child(f, fc1, nn_linear_new(10, 128));
    nn_child(f, fc2, nn_linear_new(128, 10));
    return f;
}

void *skip_begin(const Workload *w, int64_t *parameters)
{
    Skip *s = ag_alloc(1, sizeof *s);
    s->scope = ag_begin(AG_NO_GRAD);
    s->x = tensor_normal(SHAPE(w->size[0], 10), 0, 1);
    for (int i = 0; i < 2; i++) {
        s->f[i] = ffn_new();
        s->adam[i] = nn_adam_new(s->f[i], 1e-3);
        *parameters += nn_count(s->f[i]);
    }
    return s;
}

void skip_step(void *state)
{
    Skip *s = state;
    for (int i = 0; i < 2; i++) {
        AgScope step = ag_begin(AG_RECORD);
        Tensor *y = nn_linear(s->f[i]->fc2, nn_linear_activate(s->f[i]->fc1, s->x, AG_RELU));
        if (i == 1) y = ag_add(s->x, y);
        ag_backward(nn_mse_loss(y, s->x));
        nn_optimizer_set_lr(s->adam[i], 1e-3);
        nn_optimizer_step(s->adam[i]);
        ag_end(step);
    }
}

void skip_end(void *state)
{
    Skip *s = state;
    for (int i = 0; i < 2; i++) {
        ag_free(s->adam[i]);
        ag_free(s->f[i]);
    }
    ag_end(s->scope);
    ag_free(s);
}

/* ---- the Transformer --------------------------------------------------------------------------------------------- */

typedef struct {
    AgScope scope;
    TransformerBatch batch;
    KaeruLabelSmoothing criterion;
    Transformer *model;
    Optimizer *adam;
} Translation;

/* Random sentences without padding. */
static Translation *translation_new(int layers, int32_t src_vocab, int32_t tgt_vocab, int64_t batch, int64_t source,
                                    int64_t target, KaeruLabelSmoothing criterion, int64_t *parameters)
{
    Translation *t = ag_alloc(1, sizeof *t);
    t->scope = ag_begin(AG_NO_GRAD);
    TransformerOptions o = transformer_defaults();
    o.N = layers;
    t->model = transformer_new(src_vocab, tgt_vocab, o);
    AgAdam adam = nn_adam_options(1e-4);
    adam.beta2 = 0.98;
    adam.eps = 1e-9;
    t->adam = nn_adam_new_with(t->model, adam);
    t->criterion = criterion;
    int32_t first = criterion.padding_idx + 1;
    t->batch = transformer_batch_new(tensor_randint(SHAPE(batch, source), first, src_vocab),
                                     tensor_randint(SHAPE(batch, target + 1), first, tgt_vocab), criterion.padding_idx);
    *parameters = nn_count(t->model);
    return t;
}

void *copy_begin(const Workload *w, int64_t *parameters)
{
    (void)w;
    return translation_new(2, 11, 11, 80, 10, 9, (KaeruLabelSmoothing){ 0, 0 }, parameters);
}

void *translate_begin(const Workload *w, int64_t *parameters)
{
    (void)w;
    return translation_new(6, 8000, 6000, 32, 24, 24, (KaeruLabelSmoothing){ 2, 0.1 }, parameters);
}

void transformer_step(void *state)
{
    Translation *t = state;
    AgScope step = ag_begin(AG_RECORD);
    Tensor *y = transformer_forward(t->model, t->batch.src, t->batch.tgt, t->batch.src_mask, t->batch.tgt_mask);
    Tensor *loss = ag_label_smoothing(transformer_generator(t->model->generator, y), t->batch.tgt_y,
                                      t->criterion.padding_idx, t->criterion.smoothing);
    ag_backward_from(loss, tensor_full(AG_SCALAR, 1 / (double)t->batch.ntokens));
    nn_optimizer_step(t->adam);
    ag_end(step);
}

void transformer_end(void *state)
{
    Translation *t = state;
    ag_free(t->adam);
    ag_free(t->model);
    ag_end(t->scope);
    ag_free(t);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

typedef struct { AgScope scope; Conv2d *conv; Tensor *x, *dy; } Convolution;

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
    AgScope step = ag_begin(AG_RECORD);
    ag_backward_from(nn_conv2d(c->conv, c->x), c->dy);
    ag_end(step);
    tensor_zero_grad(c->x);
    nn_zero_grad(c->conv);
}

void conv_end(void *state)
{
    Convolution *c = state;
    ag_free(c->conv);
    ag_end(c->scope);
    ag_free(c);
}
