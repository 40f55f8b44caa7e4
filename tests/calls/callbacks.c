/* callbacks.c: for each kind of function that the library calls, one that calls `inside`, and a call that leads to it. */
#include "callbacks.h"

#include <string.h>

#include "calls.h"

/* ---- the graph ----------------------------------------------------------------------------------------------------- */

static void forward(const AgCustomCall *c)
{
    inside();
    square.forward(c);
}

static void backward(const AgCustomCall *c)
{
    inside();
    square.backward(c);
}

static void just_forward(const AgCustomCall *c)
{
    square.forward(c);
}

static void just_backward(const AgCustomCall *c)
{
    square.backward(c);
}

static Tensor *custom(const AgCustom *op)
{
    return ag_custom(op, SHAPE(2, 4), (Tensor *[]){ f.leaf }, 1, NULL, 0);
}

static void custom_forward(void)
{
    static const AgCustom op = { "op", forward, just_backward, AG_NEEDS_X(0), NULL, NULL };
    ag_backward(ag_sum(custom(&op)));
}

static const AgCustom with_backward = { "op", just_forward, backward, AG_NEEDS_X(0), NULL, NULL };

static void custom_backward(void)
{
    ag_backward(ag_sum(custom(&with_backward)));
}

static void custom_backward_of_result(void)
{
    Tensor *in[] = { f.x };
    ag_backward(ag_sum(ag_mul(f.x, ag_custom(&with_backward, SHAPE(2, 4), in, 1, NULL, 0))));
}

static void custom_backward_of_grad(void)
{
    Tensor *out;
    ag_grad(ag_sum(custom(&with_backward)), &f.leaf, 1, &out);
}

static void custom_backward_of_explain(void)
{
    ag_explain(f.null, ag_sum(custom(&with_backward)));
}

static Tensor *tangent(const AgCustomCall *c, Tensor *const *dx)
{
    (void)c;
    inside();
    return ag_tanh(dx[0]);
}

static void custom_tangent(void)
{
    static const AgCustom op = { "op", just_forward, just_backward, AG_NEEDS_X(0), NULL, NULL };
    ag_jvp(ag_custom_tangent(custom(&op), tangent), &f.leaf, &f.c, 1);
}

static void custom_tangent_of_gradient(void)
{
    static const AgCustom op = { "op", just_forward, just_backward, AG_NEEDS_X(0), NULL, NULL };
    Tensor *out;
    ag_grad_recorded(ag_sum(ag_tanh(ag_custom_tangent(custom(&op), tangent))), &f.leaf, 1, &out);
    ag_backward(ag_sum(ag_mul(out, out)));
}

static Tensor *function(Tensor **in, void *arg)
{
    (void)arg;
    inside();
    return ag_tanh(in[0]);
}

static void gradcheck(void)
{
    ag_gradcheck(function, NULL, &f.leaf, 1, NULL);
}

static void watch(void *arg, Tensor *t)
{
    (void)arg;
    (void)t;
    inside();
}

static void watch_begun(void)
{
    ag_watch_backward((AgWatch){ .begun = watch });
    ag_backward(f.loss);
}

static void watch_complete(void)
{
    ag_watch_backward((AgWatch){ .complete = watch });
    ag_backward(f.loss);
}

static void body(void *unused, int64_t begin, int64_t end)
{
    no_body(unused, begin, end);
    inside();
}

/* In one part: in another thread, a body must not do what some of the calls do. */
static void loop_body(void)
{
    ag_parallel(1, 1, body, NULL);
}

static void handler(const char *message)
{
    inside();
    f.handler(message);
}

static void error_handler(void)
{
    f.handler = ag_on_usage_error(NULL);
    ag_on_usage_error(handler);
    ag_neg(NULL);
}

/* ---- memory and modules -------------------------------------------------------------------------------------------- */

static void destroy(void *p)
{
    (void)p;
    inside();
}

static void destructor(void)
{
    ag_on_free(f.block, destroy);
    ag_free(f.block);
}

static void destructor_of_part(void)
{
    void *part = ag_alloc_in(f.settings, 1, 8);
    ag_on_free(part, destroy);
    ag_free(f.settings);
}

static jmp_buf after_error;

static void go_on(const char *message)
{
    (void)message;
    longjmp(after_error, 1);
}

static void destructor_at_end(void)
{
    static AgErrorHandler *former;
    static AgScope s;
    s = ag_begin(AG_RECORD);
    ag_on_free(ag_alloc(1, 8), destroy);
    former = ag_on_usage_error(go_on);
    if (setjmp(after_error) == 0) ag_usage_error("destructor_at_end", "the end of the scope calls it");
    ag_on_usage_error(former);
    ag_end(s);
}

static void module_destroy(void)
{
    f.net->module.destroy = destroy;
    ag_free(f.net);
}

static Tensor *layer(void *self, Tensor *x)
{
    (void)self;
    inside();
    return ag_tanh(x);
}

static void sequential_forward(void)
{
    f.linear->module.forward = layer;
    nn_sequential_add(f.sequential, f.linear);
    ag_backward(ag_sum(nn_sequential(f.sequential, f.x)));
}

static void recompute_forward(void)
{
    f.linear->module.forward = layer;
    ag_backward(ag_sum(nn_recompute(f.linear, f.x)));
}

/* ---- optimizers ---------------------------------------------------------------------------------------------------- */

static bool belongs(const NnNamedTensor *p, void *arg)
{
    (void)p;
    (void)arg;
    inside();
    return true;
}

static void optimizer_group(void)
{
    nn_optimizer_group(f.adam, belongs, NULL, 0, 1);
}

static int states(const NnNamedTensor *p)
{
    (void)p;
    inside();
    return 0;
}

static void just_update(const OptimizerUpdate *u)
{
    plain.update(u);
}

static void optimizer_states(void)
{
    static const OptimizerKind kind = { .name = "kind", .states = states, .update = just_update };
    nn_optimizer_new(f.net, &kind, NULL, 0, 0.1, 0);
}

static void update(const OptimizerUpdate *u)
{
    inside();
    plain.update(u);
}

static void optimizer_update(void)
{
    static const OptimizerKind kind = { .name = "kind", .update = update };
    ag_free(f.adam);
    f.adam = nn_optimizer_new(f.net, &kind, NULL, 0, 0.1, 0);
    ag_backward(ag_mean(nn_linear(f.net->b, nn_linear(f.net->a, f.x))));
    nn_optimizer_step(f.adam);
}

/* ---- files and options --------------------------------------------------------------------------------------------- */

static void renamed(void *arg, const char *name, char *out, size_t size)
{
    (void)arg;
    snprintf(out, size, "%s", name);            /* first: the end of the scope around the load frees both */
    inside();
}

static bool asked(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    inside();
    return false;
}

static void told(void *arg, double share)
{
    (void)arg;
    (void)share;
    inside();
}

static void load(NnLoadOptions how)
{
    if (!nn_load_with(weights, f.net, how)) ag_usage_error("load", "%s", ag_error());
}

static void load_rename(void) { load((NnLoadOptions){ .rename = renamed }); }
static void load_transposed(void) { load((NnLoadOptions){ .transposed = asked }); }
static void load_progress(void) { load((NnLoadOptions){ .progress = told }); }
static void load_ignored(void) { load((NnLoadOptions){ .prefix = "a.", .ignored = asked }); }
static void load_in_place(void) { load((NnLoadOptions){ .in_place = true, .progress = told }); }

static double more_bytes(const LlamaOptions *o)
{
    (void)o;
    inside();
    return 0;
}

static void llama_more_bytes(void)
{
    if (!llama_open_with(folder, (LlamaOpening){ .more_bytes = more_bytes })) ag_usage_error("open", "%s", ag_error());
}

static void llama_progress(void)
{
    if (!llama_open_with(folder, (LlamaOpening){ .progress = told })) ag_usage_error("open", "%s", ag_error());
}

static bool options_check(const void *o)
{
    (void)o;
    inside();
    return true;
}

static void fields_check(void)
{
    const NnFields fields = { gpt_fields.prefix, gpt_fields.size, gpt_fields.field, options_check };
    nn_fields_check(&fields, &f.gpt_options);
}

/* ---- several processes: the other one does what this one does ------------------------------------------------------ */

typedef struct { NnProcesses processes; const void *sent; void *place; size_t n; int *pending[2]; bool in_progress; } Echo;

static void echo_send(NnProcesses *p, int to, int tag, const void *bytes, size_t n, int *pending)
{
    Echo *e = (Echo *)p;
    (void)to;
    (void)tag;
    if (!e->in_progress) inside();
    e->sent = bytes;
    e->n = n;
    e->pending[0] = pending;
    ++*pending;
}

static void echo_receive(NnProcesses *p, int from, int tag, void *bytes, size_t n, int *pending)
{
    Echo *e = (Echo *)p;
    (void)from;
    (void)tag;
    (void)n;
    e->place = bytes;
    e->pending[1] = pending;
    ++*pending;
}

static bool echo_progress(NnProcesses *p, bool waits)
{
    Echo *e = (Echo *)p;
    (void)waits;
    if (e->in_progress) inside();
    if (!e->sent || !e->place) return false;
    if (e->n) memcpy(e->place, e->sent, e->n);
    --*e->pending[0];
    --*e->pending[1];
    e->sent = e->place = NULL;
    return true;
}

static int echo_peer(NnProcesses *p, const int *pending, double *silent)
{
    (void)p;
    (void)pending;
    *silent = 0;
    return 1;
}

static void echo_fail(NnProcesses *p, const char *line)
{
    (void)p;
    ag_usage_error("echo_fail", "%s", line);
}

static void echo_end(NnProcesses *p)
{
    (void)p;
    inside();
}

static NnProcesses *echo(bool in_progress)
{
    static Echo e;
    e = (Echo){ .processes = { 0, 2, 5, 1, echo_send, echo_receive, echo_progress, echo_peer, echo_fail, echo_end },
                .in_progress = in_progress };
    return &e.processes;
}

static void processes_send(void) { nn_processes_agree(echo(false), "what", "text"); }
static void processes_progress(void) { nn_processes_agree(echo(true), "what", "text"); }

static void processes_end(void)
{
    NnProcesses *alone = echo(true);
    alone->size = 1;
    NnParallel *p = nn_parallel_new(nn_adam_new(f.adapted, 0.1), 1, alone);
    if (p) nn_parallel_end(p);
}

/* ---- models -------------------------------------------------------------------------------------------------------- */

static void training_event(LmTraining *t, void *arg)
{
    (void)t;
    (void)arg;
    inside();
}

static void train(LmTraining t)
{
    t.model = f.gpt;
    t.data = f.data;
    t.settings = f.settings;
    t.options = lm_defaults();
    t.options.steps = t.options.batch = t.options.evaluate_every = t.options.warmup = 1;
    f.training = t;
    if (!lm_train(&f.training, false)) ag_usage_error("train", "%s", ag_error());
}

static void train_started(void) { train((LmTraining){ .started = training_event }); }
static void train_stepped(void) { train((LmTraining){ .stepped = training_event }); }
static void train_evaluated(void) { train((LmTraining){ .evaluated = training_event }); }

static bool token(void *arg, int32_t id)
{
    (void)arg;
    (void)id;
    inside();
    return true;
}

static void generate(void)
{
    static const int32_t prompt[] = { 1 };
    if (!lm_generate(f.gpt, prompt, 1, 3, &(LmSampling){ .temperature = 1 }, token, NULL))
        ag_usage_error("generate", "%s", ag_error());
}

static bool next_batch(void *source, TransformerBatch *batch)
{
    (void)source;
    static int n;
    if (n++ % 2) return false;
    *batch = transformer_batch_new(f.ids, f.ids, 0);
    inside();
    return true;
}

static void batch_done(void *arg, const KaeruTrainState *state, double loss, double lr)
{
    (void)arg;
    (void)state;
    (void)loss;
    (void)lr;
    inside();
}

static void epoch(KaeruNextBatch *next, KaeruBatchDone *done)
{
    Optimizer *o = nn_adam_new(f.transformer, 0.1);
    KaeruEpochOptions how = { .criterion = { 0, 0.1 }, .optimizer = o, .factor = 1, .model_size = 4, .warmup = 2,
                              .done = done };
    transformer_run_epoch(f.transformer, next, NULL, &how, &f.progress);
}

static void epoch_next(void) { epoch(next_batch, NULL); }
static void epoch_done(void) { epoch(one_batch, batch_done); }

const Callback callbacks[] = {
#define CALLBACK(name) { #name, name }
    CALLBACK(custom_forward), CALLBACK(custom_backward), CALLBACK(custom_backward_of_result), CALLBACK(custom_backward_of_grad),
    CALLBACK(custom_backward_of_explain), CALLBACK(custom_tangent), CALLBACK(custom_tangent_of_gradient),
    CALLBACK(gradcheck), CALLBACK(loop_body), CALLBACK(watch_begun), CALLBACK(watch_complete),
    CALLBACK(error_handler), CALLBACK(destructor), CALLBACK(destructor_of_part), CALLBACK(destructor_at_end),
    CALLBACK(module_destroy), CALLBACK(sequential_forward), CALLBACK(recompute_forward), CALLBACK(optimizer_group),
    CALLBACK(optimizer_states), CALLBACK(optimizer_update), CALLBACK(load_rename), CALLBACK(load_transposed),
    CALLBACK(load_progress), CALLBACK(load_ignored), CALLBACK(load_in_place), CALLBACK(llama_more_bytes),
    CALLBACK(llama_progress), CALLBACK(fields_check), CALLBACK(processes_send), CALLBACK(processes_progress),
    CALLBACK(processes_end), CALLBACK(train_started), CALLBACK(train_stepped), CALLBACK(train_evaluated), CALLBACK(generate),
    CALLBACK(epoch_next), CALLBACK(epoch_done),
    { NULL, NULL }
};
