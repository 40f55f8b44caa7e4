/* networks.c: the two networks in which the rows are compared, and their data: a stack of FFN
 * blocks as in skip_connection.c, and a small GPT on text. */
#include <string.h>

#include "gpt_commands.h"
#include "kaeru/attention.h"
#include "kaeru/autograd.h"
#include "lab.h"

enum { VECTOR = 10, HEADS = 4, TEXT = 200000, HELD_OUT_WINDOWS = 128, MEASURED_WINDOWS = 32 };

/* ---- branches -------------------------------------------------------------------------------- */

typedef struct { Module module; LayerNorm *norm; Linear *first, *last; } Branch;

static Tensor *normed(Branch *f, Tensor *x) { return f->norm ? nn_layer_norm(f->norm, x) : x; }

/* f(x) = ReLU(x W1 + b1) W2 + b2: (..,D) -> (..,D) */
static Tensor *feed_forward(Branch *f, Tensor *x)
{
    return nn_linear(f->last, nn_linear_activate(f->first, normed(f, x), AG_RELU));
}
NN_FORWARD(Branch, feed_forward)

/* (B,T,D) -> (B,T,D) */
static Tensor *attention(Branch *f, Tensor *x)
{
    Tensor *qkv = nn_linear(f->first, normed(f, x));
    AgAttention how = { .heads = HEADS, .causal = true };
    return nn_linear(f->last, ag_self_attention(qkv, NULL, how));
}
NN_FORWARD(Branch, attention)

/* In the GPT, branches are attention and feed-forward in turn, and begin with a norm. */
static Branch *branch_new(const Parts *p, int i, int64_t in)
{
    bool text = p->network == GPT_ON_TEXT, attends = text && i % 2 == 0;
    int64_t hidden = text ? 4 * p->width : lab.hidden;
    Branch *f = nn_new(Branch);
    f->module.forward = attends ? attention_forward : feed_forward_forward;
    if (text && !p->bare) {
        nn_child(f, norm, nn_layer_norm_new(in));
    }
    nn_child(f, first, nn_linear_new(in, attends ? 3 * p->width : hidden));
    nn_child(f, last, nn_linear_new(attends ? p->width : hidden, p->width));
    setup_init(p->setup, f->first, f->last);
    return f;
}

ModuleList *branches_new(const Parts *p, int64_t growth)
{
    ModuleList *f = nn_list_new();
    for (int i = 0; i < p->n; i++) {
        nn_list_add(f, branch_new(p, i, p->width + growth * i));
    }
    return f;
}

Tensor *branch(ModuleList *f, int i, Tensor *x)
{
    Module *m = nn_list_item(f, i);
    return m->forward(m, x);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* The first bytes of the text that gpt learns, numbered in the order in which they first occur. The
 * last tenth is held out. */
static struct { int32_t id[TEXT]; int64_t n, train; int32_t kinds; } text;

void text_begin(void)
{
    int32_t number[256];
    memset(number, -1, sizeof number);
    text.n = corpus_size < TEXT ? (int64_t)corpus_size : TEXT;
    text.train = text.n - text.n / 10;
    for (int64_t i = 0; i < text.n; i++) {
        unsigned char byte = (unsigned char)corpus[i];
        if (number[byte] < 0) {
            number[byte] = text.kinds++;
        }
        text.id[i] = number[byte];
    }
}

/* Random windows of the text from `first` on, before `end`. */
static Batch windows(int64_t count, int64_t first, int64_t end)
{
    AgShape shape = SHAPE(count, lab.context);
    Batch b = { tensor_ints(shape, NULL), tensor_ints(shape, NULL) };
    for (int64_t i = 0; i < count; i++) {
        const int32_t *at = text.id + first + ag_random_below(end - first - lab.context);
        size_t bytes = (size_t)lab.context * sizeof *at;
        memcpy(tensor_mutable_int_data(b.x) + i * lab.context, at, bytes);
        memcpy(tensor_mutable_int_data(b.target) + i * lab.context, at + 1, bytes);
    }
    return b;
}

/* The rows of skip_connection.c, and as many held-out rows with the same target function. */
static Data vectors(uint64_t seed)
{
    Data d = { .network = FFN };
    AgShape shape = SHAPE(lab.examples, VECTOR);
    ag_seed(seed);
    d.train.x = tensor_normal(shape, 0, 1);
    AgRandom before_target = ag_random_state();
    d.train.target = setup_target(&lab.setup, d.train.x);
    AgRandom before_weights = ag_random_state();
    ag_seed(seed ^ UINT64_C(1) << 60);
    d.held_out.x = tensor_normal(shape, 0, 1);
    ag_set_random_state(before_target);
    d.held_out.target = setup_target(&lab.setup, d.held_out.x);
    ag_set_random_state(before_weights);
    return d;
}

Data data_new(int network, uint64_t seed)
{
    if (network == FFN) {
        return vectors(seed);
    }
    Data d = { .network = network };
    ag_seed(seed);
    d.held_out = windows(HELD_OUT_WINDOWS, text.train, text.n);
    d.train = windows(MEASURED_WINDOWS, 0, text.train);
    return d;
}

Batch data_batch(const Data *d)
{
    return d->network == FFN ? d->train : windows(lab.batch, 0, text.train);
}

/* ---- models ---------------------------------------------------------------------------------- */

int network_branches(int network)
{
    return (int)lab.depth[network] * (network == GPT_ON_TEXT ? 2 : 1);
}

Model *model_new(int network, const Row *row)
{
    Parts p = { network, network_branches(network), VECTOR, row->bare, &lab.setup };
    Model *m = nn_new(Model);
    if (network == GPT_ON_TEXT) {
        p.width = lab.width;
        nn_child(m, tokens, nn_embedding_new(text.kinds, p.width));
        ag_fill_normal(nn_param(m, positions, SHAPE(lab.context, p.width)), 0, 1);
        nn_child(m, norm, nn_layer_norm_new(p.width));
        nn_child(m, out, nn_linear_new(p.width, text.kinds));
    }
    nn_child(m, stack, (Module *)row->make(&p));
    return m;
}

Tensor *model_loss(Model *m, const Batch *b)
{
    if (!m->tokens) {
        return nn_mse_loss(m->stack->forward(m->stack, note(b->x)), b->target);
    }
    Tensor *x = note(ag_add(nn_embedding(m->tokens, b->x), m->positions));
    x = nn_layer_norm(m->norm, m->stack->forward(m->stack, x));
    return nn_cross_entropy(nn_linear(m->out, x), b->target);
}
