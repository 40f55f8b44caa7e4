/* gpt.c: training steps of language models, and generation. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kaeru/kaeru.h"

/* ---- a training step --------------------------------------------------------------------------------------------- */

typedef struct { AgScope scope; Tensor *ids, *targets; GPT *gpt; Llama *llama; Optimizer *adam; NnParallel *all; } Training;

/* One of the models is NULL. Each of its parameters that requires gradients is trained. */
static Training *training_new(GPT *gpt, Llama *llama, int64_t vocab, int64_t batch, int64_t length, int64_t *parameters)
{
    Training *l = ag_alloc(1, sizeof *l);
    void *model = gpt ? (void *)gpt : llama;
    l->scope = ag_begin(AG_NO_GRAD);
    l->gpt = gpt;
    l->llama = llama;
    l->adam = nn_adamw_new(model, 1e-4);
    l->ids = tensor_randint(SHAPE(batch, length), 0, (int32_t)vocab);
    l->targets = tensor_randint(SHAPE(batch, length), 0, (int32_t)vocab);
    *parameters = nn_count(model);
    return l;
}

static Training *gpt_training(GPTOptions o, int64_t batch, int64_t length, int64_t *parameters)
{
    return training_new(gpt_new(o), NULL, o.vocab, batch, length, parameters);
}

static Tensor *training_loss(const Training *l)
{
    return l->gpt ? lm_loss(l->gpt, l->ids, l->targets) : lm_loss(l->llama, l->ids, l->targets);
}

/* The smallest GPT-2, without dropout, the usual setting for training today. */
static GPTOptions gpt2_options(void)
{
    GPTOptions o = gpt_defaults();
    o.dropout = 0;
    return o;
}

void *shakespeare_begin(const Workload *w, int64_t *parameters)
{
    GPTOptions o = gpt2_options();
    o.layers = o.heads = 4;
    o.width = 128;
    o.vocab = 65;
    o.context = 64;
    return gpt_training(o, w->size[0], w->size[1], parameters);
}

void *gpt2_begin(const Workload *w, int64_t *parameters)
{
    return gpt_training(gpt2_options(), w->size[0], w->size[1], parameters);
}

void *scaled_gpt_begin(const Workload *w, int64_t *parameters)
{
    GPTOptions o = gpt2_options();
    o.context = w->size[1];
    o.width = w->size[2];
    o.heads = o.width / 64;
    o.layers = w->size[3];
    o.vocab = 256;
    return gpt_training(o, w->size[0], o.context, parameters);
}

void *lora_begin(const Workload *w, int64_t *parameters)
{
    static const char *const targets[] = { "q_proj", "k_proj", "v_proj", "o_proj", NULL };
    Llama *m = llama_new(llama_defaults());
    if (!nn_lora_add(m, (NnLoraOptions){ .rank = 8, .alpha = 16, .targets = targets })) abort();
    return training_new(NULL, m, m->options.vocab, w->size[0], w->size[1], parameters);
}

void gpt_step(void *state)
{
    Training *l = state;
    AgScope step = ag_begin(AG_RECORD);
    ag_backward(training_loss(l));
    nn_optimizer_set_lr(l->adam, 1e-4);
    nn_optimizer_step(l->adam);
    ag_end(step);
}

NnParallel *gpt_share(void *state, int64_t shards, NnProcesses *processes)
{
    Training *l = state;
    return l->all = nn_parallel_new(l->adam, shards, processes);
}

void gpt_shared_step(void *state)
{
    Training *l = state;
    while (nn_parallel_shard(l->all)) {
        AgScope shard = ag_begin(AG_RECORD);
        ag_backward(training_loss(l));
        ag_end(shard);
    }
    nn_parallel_step(l->all);
}

void gpt_end(void *state)
{
    Training *l = state;
    ag_free(l->adam);
    ag_free(l->gpt);
    ag_free(l->llama);
    ag_end(l->scope);
    ag_free(l);
}

/* ---- generation -------------------------------------------------------------------------------------------------- */

typedef struct { void *model; int32_t *prompt; int64_t length, tokens; } Generation;

void *decode_begin(const Workload *w, int64_t *parameters)
{
    Generation *d = ag_alloc(1, sizeof *d);
    bool llama = strcmp(w->kind, "llama") == 0;
    d->model = llama ? (void *)llama_new(llama_defaults()) : gpt_new(gpt2_options());
    nn_eval(d->model);
    d->length = w->size[0];
    d->tokens = w->size[1];
    d->prompt = ag_alloc((size_t)d->length, sizeof *d->prompt);
    for (int64_t i = 0; i < d->length; i++) d->prompt[i] = (int32_t)ag_random_below(30000);
    *parameters = nn_count(d->model);
    return d;
}

static bool continue_always(void *unused, int32_t id)
{
    (void)unused, (void)id;
    return true;
}

void decode_step(void *state)
{
    Generation *d = state;
    lm_generate(d->model, d->prompt, d->length, d->tokens, &(LmSampling){ .temperature = 0 }, continue_always, NULL);
}

void decode_end(void *state)
{
    Generation *d = state;
    ag_free(d->model);
    ag_free(d->prompt);
    ag_free(d);
}
