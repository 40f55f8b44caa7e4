/* rows.c: ways to connect the branches f of a network. A row is a struct, a forward function, a
 * constructor and a line in the table below. */
#include <math.h>

#include "kaeru/autograd.h"
#include "lab.h"

/* Returns number i of a list, to be broadcast. */
static Tensor *number(Tensor *list, int i) { return ag_slice(list, 0, i, i + 1); }

/* ---- f(x) ------------------------------------------------------------------------------------ */

typedef struct { Module module; ModuleList *f; } Plain;

static Tensor *plain(Plain *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        x = note(branch(m->f, i, x));
    }
    return x;
}
NN_FORWARD(Plain, plain)

static void *plain_new(const Parts *p)
{
    Plain *m = nn_new(Plain);
    m->module.forward = plain_forward;
    nn_child(m, f, branches_new(p, 0));
    return m;
}

/* ---- x + f(x) (He et al. 2016) --------------------------------------------------------------- */

typedef struct { Module module; ModuleList *f; } Skip;

static Tensor *skip(Skip *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        x = note(ag_add(x, branch(m->f, i, x)));
    }
    return x;
}
NN_FORWARD(Skip, skip)

static void *skip_new(const Parts *p)
{
    Skip *m = nn_new(Skip);
    m->module.forward = skip_forward;
    nn_child(m, f, branches_new(p, 0));
    return m;
}

/* ---- x + f(x) / sqrt(n), n blocks: a fixed scale --------------------------------------------- */

typedef struct { Module module; ModuleList *f; double scale; } Scaled;

static Tensor *scaled(Scaled *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        x = note(ag_add(x, ag_scale(branch(m->f, i, x), m->scale)));
    }
    return x;
}
NN_FORWARD(Scaled, scaled)

static void *scaled_new(const Parts *p)
{
    Scaled *m = nn_new(Scaled);
    m->module.forward = scaled_forward;
    m->scale = 1 / sqrt(p->n);
    nn_child(m, f, branches_new(p, 0));
    return m;
}

/* ---- x + a f(x), a learned from 0 (ReZero, Bachlechner et al. 2020) -------------------------- */

typedef struct { Module module; ModuleList *f; Tensor *a; } ReZero;

static Tensor *re_zero(ReZero *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        x = note(ag_add(x, ag_mul(branch(m->f, i, x), number(m->a, i))));
    }
    return x;
}
NN_FORWARD(ReZero, re_zero)

static void *re_zero_new(const Parts *p)
{
    ReZero *m = nn_new(ReZero);
    m->module.forward = re_zero_forward;
    nn_child(m, f, branches_new(p, 0));
    nn_param(m, a, SHAPE(p->n));
    return m;
}

/* ---- a x + b f(x), both learned from 1 (learned residual scalars) ---------------------------- */

typedef struct { Module module; ModuleList *f; Tensor *a, *b; } Scalars;

static Tensor *scalars(Scalars *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        Tensor *f = branch(m->f, i, x);
        x = note(ag_add(ag_mul(x, number(m->a, i)), ag_mul(f, number(m->b, i))));
    }
    return x;
}
NN_FORWARD(Scalars, scalars)

static void *scalars_new(const Parts *p)
{
    Scalars *m = nn_new(Scalars);
    m->module.forward = scalars_forward;
    nn_child(m, f, branches_new(p, 0));
    ag_fill(nn_param(m, a, SHAPE(p->n)), 1);
    ag_fill(nn_param(m, b, SHAPE(p->n)), 1);
    return m;
}

/* ---- t f(x) + (1 - t) x with a gate t = sigmoid(W x + b) (highway, Srivastava et al. 2015) --- */

typedef struct { Module module; ModuleList *f, *gates; } Highway;

static Tensor *highway(Highway *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        Tensor *f = branch(m->f, i, x);
        Tensor *t = ag_sigmoid(nn_linear(nn_item(Linear, m->gates, i), x));
        x = note(ag_add(ag_mul(t, f), ag_mul(ag_sub(tensor_ones(SHAPE(1)), t), x)));
    }
    return x;
}
NN_FORWARD(Highway, highway)

static void *highway_new(const Parts *p)
{
    Highway *m = nn_new(Highway);
    m->module.forward = highway_forward;
    nn_child(m, f, branches_new(p, 0));
    nn_child(m, gates, nn_list_new());
    for (int i = 0; i < p->n; i++) {
        Linear *gate = nn_linear_new(p->width, p->width);
        ag_fill(gate->bias, -2);                /* mostly closed: near x at first */
        nn_list_add(m->gates, gate);
    }
    return m;
}

/* ---- x + f(x) + c x_0 with the stack's input x_0, c learned from 0 --------------------------- */

typedef struct { Module module; ModuleList *f; Tensor *c; } FromInput;

static Tensor *from_input(FromInput *m, Tensor *x)
{
    Tensor *input = x;
    for (int i = 0; i < m->f->n; i++) {
        x = ag_add(x, ag_mul(input, number(m->c, i)));
        x = note(ag_add(x, branch(m->f, i, x)));
    }
    return x;
}
NN_FORWARD(FromInput, from_input)

static void *from_input_new(const Parts *p)
{
    FromInput *m = nn_new(FromInput);
    m->module.forward = from_input_forward;
    nn_child(m, f, branches_new(p, 0));
    nn_param(m, c, SHAPE(p->n));
    return m;
}

/* ---- f(x) with U-net skips: the last half adds w times the input of block n - 1 - i, w learned
 * from 1 (Ronneberger et al. 2015 join instead of add) ----------------------------------------- */

typedef struct { Module module; ModuleList *f; Tensor *w; } UNet;

static Tensor *u_net(UNet *m, Tensor *x)
{
    Tensor *input[MAX_BRANCHES];
    int n = m->f->n;
    for (int i = 0; i < n; i++) {
        input[i] = x;
        if (i >= n - n / 2) {
            x = ag_add(x, ag_mul(input[n - 1 - i], number(m->w, n - 1 - i)));
        }
        x = note(branch(m->f, i, x));
    }
    return x;
}
NN_FORWARD(UNet, u_net)

static void *u_net_new(const Parts *p)
{
    UNet *m = nn_new(UNet);
    m->module.forward = u_net_forward;
    nn_child(m, f, branches_new(p, 0));
    ag_fill(nn_param(m, w, SHAPE(p->n < 2 ? 1 : p->n / 2)), 1);
    return m;
}

/* ---- x + f(x) with U-net skips, w learned from 0 --------------------------------------------- */

typedef struct { Module module; ModuleList *f; Tensor *w; } SkipUNet;

static Tensor *skip_u_net(SkipUNet *m, Tensor *x)
{
    Tensor *input[MAX_BRANCHES];
    int n = m->f->n;
    for (int i = 0; i < n; i++) {
        input[i] = x;
        if (i >= n - n / 2) {
            x = ag_add(x, ag_mul(input[n - 1 - i], number(m->w, n - 1 - i)));
        }
        x = note(ag_add(x, branch(m->f, i, x)));
    }
    return x;
}
NN_FORWARD(SkipUNet, skip_u_net)

static void *skip_u_net_new(const Parts *p)
{
    SkipUNet *m = nn_new(SkipUNet);
    m->module.forward = skip_u_net_forward;
    nn_child(m, f, branches_new(p, 0));
    nn_param(m, w, SHAPE(p->n < 2 ? 1 : p->n / 2));
    return m;
}

/* ---- each f gets all earlier outputs, side by side (DenseNet, Huang et al. 2017) ------------- */

typedef struct { Module module; ModuleList *f; Linear *out; } Dense;

static Tensor *dense(Dense *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        x = note(ag_concat((Tensor *[]){ x, branch(m->f, i, x) }, 2, -1));
    }
    return nn_linear(m->out, x);
}
NN_FORWARD(Dense, dense)

static void *dense_new(const Parts *p)
{
    Dense *m = nn_new(Dense);
    m->module.forward = dense_forward;
    nn_child(m, f, branches_new(p, p->width));
    nn_child(m, out, nn_linear_new(p->width * (p->n + 1), p->width));
    return m;
}

/* ---- several streams, mixed by learned matrices (hyper-connections, Zhu et al. 2024) --------- */

enum { STREAMS = 4 };
/* Of each branch: what it reads of each stream, what it adds to each stream, and how the streams
 * are mixed. */
typedef struct { Module module; ModuleList *f; Tensor *in, *out, *mix; } Streams;

/* The streams are rows of a matrix. At first this is x + f(x): the streams are equal, a branch
 * reads one of them and is added to all of them. */
static Tensor *streams(Streams *m, Tensor *x)
{
    AgShape shape = tensor_shape(x);
    Tensor *all = ag_matmul(tensor_ones(SHAPE(STREAMS, 1)), ag_reshape(x, SHAPE(1, -1)));
    for (int i = 0; i < m->f->n; i++) {
        Tensor *read = ag_matmul(number(m->in, i), all);
        Tensor *f = ag_reshape(branch(m->f, i, ag_reshape(read, shape)), SHAPE(1, -1));
        Tensor *add = ag_matmul(ag_reshape(number(m->out, i), SHAPE(STREAMS, 1)), f);
        Tensor *mix = ag_reshape(number(m->mix, i), SHAPE(STREAMS, STREAMS));
        all = note(ag_add(ag_matmul(mix, all), add));
    }
    return ag_reshape(ag_mean_dims(all, DIMS(0), true), shape);
}
NN_FORWARD(Streams, streams)

/* Fills the diagonal of matrices of which there is one for each branch. */
static void fill_diagonals(Tensor *matrices, double value)
{
    ag_real *at = tensor_mutable_data(matrices);
    for (int64_t i = 0; i < tensor_numel(matrices); i++) {
        if (i % (STREAMS * STREAMS) % (STREAMS + 1) == 0) {
            at[i] = (ag_real)value;
        }
    }
}

/* Branch i reads stream i mod STREAMS. */
static void fill_in_turn(Tensor *in, double value)
{
    ag_real *at = tensor_mutable_data(in);
    for (int64_t i = 0; i < tensor_numel(in); i++) {
        if (i / STREAMS % STREAMS == i % STREAMS) {
            at[i] = (ag_real)value;
        }
    }
}

static void *streams_new(const Parts *p)
{
    Streams *m = nn_new(Streams);
    m->module.forward = streams_forward;
    nn_child(m, f, branches_new(p, 0));
    fill_in_turn(nn_param(m, in, SHAPE(p->n, STREAMS)), 1);
    ag_fill(nn_param(m, out, SHAPE(p->n, STREAMS)), 1);
    fill_diagonals(nn_param(m, mix, SHAPE(p->n, STREAMS, STREAMS)), 1);
    return m;
}

/* ---- the same with doubly stochastic matrices: all items positive, each row and each column adds
 * up to 1 (mHC, Xie et al. 2025) --------------------------------------------------------------- */

typedef struct { Module module; ModuleList *f; Tensor *in, *out, *mix; } StochasticStreams;

/* Returns doubly stochastic matrices: divides by the sums of rows and of columns again and again
 * (Sinkhorn and Knopp 1967). */
static Tensor *doubly_stochastic(Tensor *logits)
{
    Tensor *p = ag_exp(logits);
    for (int round = 0; round < 10; round++) {
        p = ag_div(p, ag_sum_dims(p, DIMS(-2), true));
        p = ag_div(p, ag_sum_dims(p, DIMS(-1), true));
    }
    return p;
}

/* What a branch reads is a mean of the streams; what it adds to them is between 0 and 2 f. */
static Tensor *stochastic(StochasticStreams *m, Tensor *x)
{
    AgShape shape = tensor_shape(x);
    Tensor *all = ag_matmul(tensor_ones(SHAPE(STREAMS, 1)), ag_reshape(x, SHAPE(1, -1)));
    Tensor *in = ag_softmax(m->in, -1), *out = ag_scale(ag_sigmoid(m->out), 2);
    Tensor *mixes = doubly_stochastic(m->mix);
    for (int i = 0; i < m->f->n; i++) {
        Tensor *read = ag_matmul(number(in, i), all);
        Tensor *f = ag_reshape(branch(m->f, i, ag_reshape(read, shape)), SHAPE(1, -1));
        Tensor *add = ag_matmul(ag_reshape(number(out, i), SHAPE(STREAMS, 1)), f);
        Tensor *mix = ag_reshape(number(mixes, i), SHAPE(STREAMS, STREAMS));
        all = note(ag_add(ag_matmul(mix, all), add));
    }
    return ag_reshape(ag_mean_dims(all, DIMS(0), true), shape);
}
NN_FORWARD(StochasticStreams, stochastic)

static void *stochastic_new(const Parts *p)
{
    StochasticStreams *m = nn_new(StochasticStreams);
    m->module.forward = stochastic_forward;
    nn_child(m, f, branches_new(p, 0));
    fill_in_turn(nn_param(m, in, SHAPE(p->n, STREAMS)), 3);
    nn_param(m, out, SHAPE(p->n, STREAMS));
    fill_diagonals(nn_param(m, mix, SHAPE(p->n, STREAMS, STREAMS)), 3);
    return m;
}

/* ---- x + f(norm(x)) and norm(x + f(x)) (Xiong et al. 2020) ----------------------------------- */

static ModuleList *norms_new(const Parts *p)
{
    ModuleList *norms = nn_list_new();
    for (int i = 0; i < p->n; i++) {
        nn_list_add(norms, nn_layer_norm_new(p->width));
    }
    return norms;
}

typedef struct { Module module; ModuleList *f, *norms; } PreNorm;

static Tensor *pre_norm(PreNorm *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        Tensor *normed = nn_layer_norm(nn_item(LayerNorm, m->norms, i), x);
        x = note(ag_add(x, branch(m->f, i, normed)));
    }
    return x;
}
NN_FORWARD(PreNorm, pre_norm)

static void *pre_norm_new(const Parts *p)
{
    PreNorm *m = nn_new(PreNorm);
    m->module.forward = pre_norm_forward;
    nn_child(m, f, branches_new(p, 0));
    nn_child(m, norms, norms_new(p));
    return m;
}

typedef struct { Module module; ModuleList *f, *norms; } PostNorm;

static Tensor *post_norm(PostNorm *m, Tensor *x)
{
    for (int i = 0; i < m->f->n; i++) {
        x = ag_add(x, branch(m->f, i, x));
        x = note(nn_layer_norm(nn_item(LayerNorm, m->norms, i), x));
    }
    return x;
}
NN_FORWARD(PostNorm, post_norm)

static void *post_norm_new(const Parts *p)
{
    PostNorm *m = nn_new(PostNorm);
    m->module.forward = post_norm_forward;
    nn_child(m, f, branches_new(p, 0));
    nn_child(m, norms, norms_new(p));
    return m;
}

/* ---- the table: add a row of your own here --------------------------------------------------- */

const Row rows[] = {
    { "plain", "f(x)", { true, true }, false, plain_new },
    { "skip", "x + f(x)", { true, true }, false, skip_new },
    { "scaled", "x + f(x) / sqrt n", { true, true }, false, scaled_new },
    { "rezero", "x + a f(x), ReZero", { true, true }, false, re_zero_new },
    { "scalars", "a x + b f(x)", { true, true }, false, scalars_new },
    { "highway", "t f(x) + (1-t) x, highway", { true, true }, false, highway_new },
    { "input", "x + f(x) + c input", { true, true }, false, from_input_new },
    { "unet", "f(x), U-net skips", { true, true }, false, u_net_new },
    { "skip-unet", "x + f(x), U-net skips", { true, true }, false, skip_u_net_new },
    { "dense", "[x, f(x)], DenseNet", { true, true }, false, dense_new },
    { "streams", "4 streams, hyper-connections", { true, true }, false, streams_new },
    { "stochastic", "4 streams, mHC", { true, true }, false, stochastic_new },
    { "pre-norm", "x + f(norm x), pre-norm", { true, false }, true, pre_norm_new },
    { "no-norm", "x + f(x), f without norm", { false, true }, true, skip_new },
    { "post-norm", "norm(x + f(x)), post-norm", { true, true }, true, post_norm_new },
};

int rows_count(void)
{
    return (int)(sizeof rows / sizeof *rows);
}
