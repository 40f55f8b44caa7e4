/* random_graph.c: builds the graphs of random_graph.h and checks their gradients. */
#include "random_graph.h"
#include "kaeru/autograd.h"

#include <math.h>
#include <string.h>

/* ---- random choices ------------------------------------------------------------------------------------------------
 * They are a function of the graph's number. An expression draws only once: compilers differ in the order in which they
 * evaluate arguments. */

enum { MAX_LEAVES = 4, MAX_NODES = 16, MAX_CASES = 16, LARGEST = 400 };

typedef struct {
    uint64_t seed, drawn;
    ExtraOp *extra;
    int n;                                  /* values so far; the first n_leaves are leaves */
    int n_leaves;
    Tensor *value[MAX_LEAVES + MAX_NODES];
    bool retain;                            /* also compare gradients inside the graph */
    Tensor *loss[2];
} Graph;

static uint32_t draw(Graph *g)
{
    uint32_t word[4];
    k_philox(g->seed, g->drawn++, word);
    return word[0];
}

static int below(Graph *g, int n)
{
    return (int)(draw(g) % (uint32_t)n);
}

static double uniform(Graph *g, double low, double high)
{
    return low + (high - low) * (draw(g) * 0x1p-32);
}

static Tensor *constant(Graph *g, AgShape shape, double low, double high)
{
    Tensor *t = tensor_zeros(shape);
    for (int64_t i = 0; i < t->numel; i++) reals(t)[i] = (ag_real)uniform(g, low, high);
    return t;
}

static AgShape random_shape(Graph *g, int ndim, int largest)
{
    AgShape shape = { ndim, { 0 } };
    for (int i = 0; i < ndim; i++) shape.dim[i] = below(g, 12) == 0 ? 1 : 1 + below(g, largest);
    if (ndim > 0 && below(g, 60) == 0) shape.dim[below(g, ndim)] = 0;
    return shape;
}

/* ---- values of a required shape ---------------------------------------------------------------------------------- */

static Tensor *any(Graph *g)
{
    return g->value[below(g, g->n)];
}

/* The value in another shape: sliced, repeated or averaged. */
static Tensor *fitted(Graph *g, Tensor *x, AgShape shape)
{
    int64_t n = ag_shape_numel(shape);
    if (ag_shape_equal(x->shape, shape)) return x;
    if (n == x->numel) return ag_reshape(x, shape);
    if (x->numel == 0 || n == 0) return ag_reshape(ag_add(ag_sum(x), tensor_zeros(SHAPE(n))), shape);
    Tensor *flat = ag_reshape(x, SHAPE(-1));
    if (x->numel > n && x->numel % n == 0 && below(g, 2) == 0)
        return ag_reshape(ag_mean_dims(ag_reshape(flat, SHAPE(x->numel / n, n)), DIMS(0), false), shape);
    while (flat->numel < n) flat = ag_concat(((Tensor *[]){ flat, flat }), 2, 0);
    int64_t start = below(g, (int)(flat->numel - n + 1));
    return ag_reshape(ag_slice(flat, 0, start, start + n), shape);
}

/* A request of an operation's sample for an input: random numbers in the sample's range, plus a small multiple of a value
 * of the graph. */
typedef struct { Sample sample; Graph *graph; uint64_t start; } Request;

static Tensor *make_input(Sample *s, int i, AgShape shape, SampleRange range)
{
    Request *request = (Request *)s;
    Graph *g = request->graph;
    uint64_t outside = g->drawn;
    g->drawn = (request->start << 32) + ((uint64_t)i << 20);   /* independent of the order of the requests */
    Tensor *x = ag_tanh(fitted(g, any(g), shape));
    bool bounded = range.low > -INFINITY;
    double middle = bounded ? (range.low + range.high) / 2 : 0, reach = bounded ? (range.high - range.low) / 2 : 1.5;
    Tensor *around = constant(g, shape, middle - 0.6 * reach, middle + 0.6 * reach);
    for (int64_t j = 0; range.apart && j < around->numel; j++)
        reals(around)[j] = (ag_real)sample_apart_value(i, j, around->numel);
    g->drawn = outside;
    return ag_add(around, ag_scale(x, range.apart ? 0.01 : 0.4 * reach));
}

/* The numbers of an operation's sample cases, without those whose result is not finite (a mean of nothing). */
static const int *cases_of(int op, int *n)
{
    static int usable[OP_COUNT][MAX_CASES], count[OP_COUNT];
    static bool known[OP_COUNT];
    for (int i = 0; !known[op] && i < MAX_CASES; i++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Graph g = { .seed = 1, .n = 1, .value = { tensor_ones(SHAPE(3)) } };
        Request request = { { .number = i, .make_input = make_input }, &g, 1 };
        const Tensor *y = op_samples[op](&request.sample);
        bool good = y && k_all_finite(y->numel, reals(y));
        known[op] = !y;
        ag_end(s);
        if (good) usable[op][count[op]++] = i;
    }
    known[op] = true;
    *n = count[op];
    return usable[op];
}

static int64_t op_counts[OP_COUNT];

static Tensor *sampled(Graph *g)
{
    int op = below(g, OP_COUNT), n;
    const int *usable = cases_of(op, &n);
    int number = usable[below(g, n)];
    Request request = { { .number = number, .make_input = make_input }, g, g->drawn };
    op_counts[op]++;
    return op_samples[op](&request.sample);
}

/* ---- operations on shapes that the samples do not have ----------------------------------------------------------- */

/* The shape without some of its leading dimensions, and with some sizes 1. */
static AgShape narrower(Graph *g, AgShape shape)
{
    int removed = below(g, shape.ndim + 1);
    AgShape out = { shape.ndim - removed, { 0 } };
    for (int i = 0; i < out.ndim; i++) {
        int64_t size = shape.dim[i + removed];
        out.dim[i] = below(g, 3) == 0 && size != 0 ? 1 : size;
    }
    return out;
}

static Tensor *broadcast_pair(Graph *g)
{
    Tensor *a = any(g), *b = any(g);
    AgShape shape = narrower(g, a->shape);
    b = below(g, 3) == 0 ? a : fitted(g, b, shape);
    if (below(g, 2) == 0) {
        Tensor *swap = a;
        a = b;
        b = swap;
    }
    switch (below(g, 3)) {
    case 0: return ag_add(a, b);
    case 1: return ag_sub(a, b);
    default: return ag_mul(ag_tanh(a), b);
    }
}

static Tensor *product(Graph *g)
{
    int64_t n = 1 + below(g, 4), k = 1 + below(g, 4), m = 1 + below(g, 4), batch = 1 + below(g, 3);
    Tensor *a = any(g), *b = ag_tanh(fitted(g, any(g), SHAPE(k, m)));
    AgShape shape = below(g, 2) ? SHAPE(n, k) : SHAPE(batch, n, k);
    a = fitted(g, a, shape);
    switch (below(g, 6)) {
    case 0: return ag_linear_activate(a, ag_transpose(b, 0, 1), NULL, AG_RELU);
    case 1: return ag_linear_activate(a, ag_transpose(b, 0, 1), NULL, AG_GELU);
    default: return ag_matmul(a, b);
    }
}

static Tensor *moved(Graph *g)
{
    Tensor *x = any(g);
    int ndim = x->shape.ndim, d = ndim ? below(g, ndim) : 0;
    if (ndim == 0) return ag_expand(x, random_shape(g, 1 + below(g, 3), 4));
    int64_t size = x->shape.dim[d], start = below(g, (int)size + 1);
    switch (below(g, 4)) {
    case 0: return ag_slice(x, d, start, start + below(g, (int)(size - start) + 1));
    case 1: return ag_transpose(x, d, below(g, ndim));
    case 2: return ag_concat(((Tensor *[]){ x, ag_neg(x), x }), 1 + below(g, 3), d);
    default: return ag_reshape(x, SHAPE(x->numel));
    }
}

static Tensor *reduced(Graph *g)
{
    Tensor *x = any(g);
    if (x->shape.ndim == 0 || x->numel == 0) return ag_sum(x);
    int d = below(g, x->shape.ndim);
    switch (below(g, 3)) {
    case 0: return ag_mean_dims(x, DIMS(d), below(g, 2));
    case 1: return ag_softmax(x, d);
    default: return ag_sum_dims(x, DIMS(d), below(g, 2));
    }
}

/* A sum of two functions, as in a residual block: both get the sum's gradient. The second function reads the same value as
 * the first, or a value with no other user. */
static Tensor *two_paths(Graph *g)
{
    Tensor *x = any(g), *left = ag_sigmoid(x), *own = below(g, 2) ? ag_neg(x) : x;
    Tensor *right = g->extra ? g->extra(own) : ag_gelu(own);
    return ag_add(left, below(g, 2) ? ag_tanh(right) : right);
}

static Tensor *node(Graph *g)
{
    switch (below(g, 9)) {
    case 0: return broadcast_pair(g);
    case 1: return product(g);
    case 2: return moved(g);
    case 3: return reduced(g);
    case 4: return two_paths(g);
    default: return sampled(g);
    }
}

/* ---- a graph ----------------------------------------------------------------------------------------------------- */

/* The sum of one to three values with random weights. */
static Tensor *make_loss(Graph *g)
{
    Tensor *loss = NULL;
    for (int parts = 1 + below(g, 3); parts > 0; parts--) {
        Tensor *x = any(g), *part = ag_sum(ag_mul(x, constant(g, x->shape, -1, 1)));
        loss = loss ? ag_add(loss, part) : part;
    }
    return loss;
}

/* Makes the same choices each time; `leaf` has the leaves' values. */
static void build(Graph *g, double (*leaf)[LARGEST])
{
    g->drawn = 1000;
    g->n = g->n_leaves = 1 + below(g, MAX_LEAVES);
    for (int i = 0; i < g->n; i++) {
        AgShape shape = random_shape(g, below(g, 4), 4);
        g->value[i] = tensor_set_requires_grad(tensor_zeros(shape), true);
        for (int64_t j = 0; j < g->value[i]->numel; j++) reals(g->value[i])[j] = (ag_real)leaf[i][j];
    }
    for (int left = 2 + below(g, MAX_NODES - 1); left > 0; left--) {
        Tensor *y = node(g);
        if (y->numel > LARGEST) y = ag_mean_dims(y, DIMS(0), false);
        if (below(g, 4) == 0) y = ag_tanh(y);
        g->value[g->n++] = y;
    }
    for (int i = 0; i < 2; i++) g->loss[i] = make_loss(g);
}

/* Both losses of a graph with these leaves. */
static void losses_of(Graph *g, double (*leaf)[LARGEST], double loss[2])
{
    AgScope s = ag_begin(AG_NO_GRAD);
    build(g, leaf);
    for (int i = 0; i < 2; i++) loss[i] = tensor_item(g->loss[i]);
    ag_end(s);
}

typedef struct { double loss[2]; bool has[MAX_LEAVES + MAX_NODES]; ag_real grad[MAX_LEAVES + MAX_NODES][LARGEST]; } Result;
typedef enum { RUN_NORMAL, RUN_GUARDED, RUN_NO_REUSE } How;

/* Gradients of the sum of both losses: by backward from their sum, or from each of them. */
static void run_backward(Graph *g, How how)
{
    int way = below(g, 4), first = below(g, 2);
    bool keep = how == RUN_NO_REUSE;
    if (way == 0) {
        Tensor *both = ag_add(g->loss[0], g->loss[1]);
        if (both->requires_grad && keep) ag_backward_keep(both);
        else if (both->requires_grad) ag_backward(both);
        return;
    }
    for (int i = 0; i < 2; i++) {
        Tensor *loss = g->loss[i ^ first];
        if (!loss->requires_grad) continue;
        if (keep || (i == 0 && way == 1)) ag_backward_keep(loss);
        else ag_backward(loss);
    }
}

static void gradients(Graph *g, double (*leaf)[LARGEST], How how, Result *r)
{
    ag_guard(how != RUN_NORMAL);
    memset(r, 0, sizeof *r);
    AgScope s = ag_begin(AG_RECORD);
    build(g, leaf);
    for (int i = g->n_leaves; g->retain && i < g->n; i++)
        if (below(g, 3) == 0) ag_retain(g->value[i]);
    for (int i = 0; i < 2; i++) r->loss[i] = tensor_item(g->loss[i]);
    run_backward(g, how);
    for (int i = 0; i < g->n; i++) {
        Tensor *t = g->value[i];
        const ag_real *grad = t->op && !t->retained ? NULL : tensor_grad_data(t);
        r->has[i] = grad != NULL;
        if (grad) memcpy(r->grad[i], grad, (size_t)t->numel * sizeof *grad);
    }
    ag_end(s);
    ag_guard(false);
}

/* ---- the checks -------------------------------------------------------------------------------------------------- */

static void print_graph(Graph *g, double (*leaf)[LARGEST], FILE *report)
{
    char text[AG_SHAPE_TEXT];
    AgScope s = ag_begin(AG_NO_GRAD);
    build(g, leaf);
    for (int i = 0; i < g->n; i++)
        fprintf(report, "  value %d: %s %s\n", i, i < g->n_leaves ? "leaf" : g->value[i]->origin.made_by,
                ag_shape_text(g->value[i]->shape, text));
    ag_end(s);
}

/* The first value whose gradient differs; -1: none. */
static int first_difference(const Graph *g, const Result *a, const Result *b)
{
    for (int i = 0; i < g->n; i++)
        if (a->has[i] != b->has[i] || memcmp(a->grad[i], b->grad[i], sizeof a->grad[i]) != 0) return i;
    return -1;
}

#ifdef KAERU_DOUBLE
/* Compares leaf i's gradient along a random direction with finite differences. If a step crosses a kink of the function, a
 * smaller one does not. */
static bool slope_agrees(Graph *g, double (*leaf)[LARGEST], int i, const Result *r, FILE *report)
{
    double direction[LARGEST], before[LARGEST], slope = 0, numerical = 0;
    const int64_t n = LARGEST;                /* items after the leaf's values have gradient 0 and no effect */
    g->drawn = 1000000 + (uint64_t)i * LARGEST;
    for (int64_t j = 0; j < n; j++) {
        direction[j] = uniform(g, -1, 1);
        slope += direction[j] * (double)r->grad[i][j];
    }
    memcpy(before, leaf[i], sizeof before);
    for (double step = 1e-5; step > 1e-8; step /= 10) {
        double up[2], down[2];
        for (int64_t j = 0; j < n; j++) leaf[i][j] = before[j] + step * direction[j];
        losses_of(g, leaf, up);
        for (int64_t j = 0; j < n; j++) leaf[i][j] = before[j] - step * direction[j];
        losses_of(g, leaf, down);
        memcpy(leaf[i], before, sizeof before);
        numerical = (up[0] - down[0] + (up[1] - down[1])) / (2 * step);
        double noise = 1e-15 * (fabs(r->loss[0]) + fabs(r->loss[1]) + 100) / step;
        if (fabs(slope - numerical) <= 1e-7 + noise + 1e-5 * fabs(numerical)) return true;
    }
    if (report) fprintf(report, "leaf %d: gradient %.9g along a direction, numerical %.9g\n", i, slope, numerical);
    return false;
}
#endif

static bool agrees(Graph *g, double (*leaf)[LARGEST], FILE *report)
{
    static _Thread_local Result plain, guarded, no_reuse;
    double loss[2];
    gradients(g, leaf, RUN_NORMAL, &plain);
    gradients(g, leaf, RUN_GUARDED, &guarded);
    gradients(g, leaf, RUN_NO_REUSE, &no_reuse);
    losses_of(g, leaf, loss);
    if (memcmp(loss, plain.loss, sizeof loss) != 0) {
        if (report) fprintf(report, "losses %.17g %.17g, without recording %.17g %.17g\n", plain.loss[0], plain.loss[1],
                            loss[0], loss[1]);
        return false;
    }
    int i = first_difference(g, &plain, &no_reuse), k = first_difference(g, &plain, &guarded);
    if (i >= 0 || k >= 0) {
        if (report) fprintf(report, "the gradient of value %d depends on the reuse of memory\n", i >= 0 ? i : k);
        return false;
    }
#ifdef KAERU_DOUBLE
    for (i = 0; i < g->n_leaves; i++)
        if (!slope_agrees(g, leaf, i, &plain, report)) return false;
#endif
    return true;
}

static void set_leaves(Graph *g, double (*leaf)[LARGEST])
{
    for (int i = 0; i < MAX_LEAVES; i++)
        for (int j = 0; j < 64; j++) leaf[i][j] = uniform(g, -1.5, 1.5);
}

#if defined(KAERU_DOUBLE) && !defined(WITHOUT_HIGHER)
/* Returns the sum of the products of all items. *size: that of their absolute values. b[i] NULL: zeros. */
static double dot(int n, Tensor *const *a, Tensor *const *b, double *size)
{
    double sum = 0;
    *size = 0;
    for (int i = 0; i < n; i++) {
        for (int64_t j = 0; b[i] && j < a[i]->numel; j++) {
            double product = (double)reals(a[i])[j] * (double)reals(b[i])[j];
            sum += product;
            *size += fabs(product);
        }
    }
    return sum;
}

/* Checks the derivatives of y, which has one item, to this order. */
static bool directions_agree(Tensor *y, Tensor **in, int n, int orders, FILE *report)
{
    Tensor *v[MAX_LEAVES], *gradient[MAX_LEAVES];
    for (int order = 1; order <= orders && y->requires_grad; order++) {
        double size;
        for (int i = 0; i < n; i++) v[i] = tensor_normal(in[i]->shape, 0, 1);
        ag_grad(y, in, n, gradient);
        y = ag_jvp(y, in, v, n);
        double expected = dot(n, v, gradient, &size), value = tensor_item(y);
        if (!isfinite(expected) && !isfinite(value)) return true;
        if (fabs(value - expected) <= 1e-8 * fmax(size, 1)) continue;
        if (report)
            fprintf(report, "derivative %d: %.17g, by gradients %.17g, of terms of %.3g\n", order, value, expected, size);
        return false;
    }
    return true;
}

/* Compares the gradients of y as a part of the graph with those of ag_grad, and checks their derivatives. */
static bool recorded_gradients_agree(Tensor *y, Tensor **in, int n, FILE *report)
{
    Tensor *constant[MAX_LEAVES], *recorded[MAX_LEAVES], *sum = NULL;
    if (!y->requires_grad) return true;
    ag_grad(y, in, n, constant);
    ag_grad_recorded(y, in, n, recorded);
    for (int i = 0; i < n; i++) {
        if (!constant[i] != !recorded[i]) return false;
        if (!recorded[i]) continue;
        for (int64_t j = 0; j < recorded[i]->numel; j++) {
            double expected = (double)reals(constant[i])[j], value = (double)reals(recorded[i])[j];
            if (!isfinite(expected) && !isfinite(value)) return true;
            if (fabs(value - expected) <= 1e-9 * (1 + fabs(expected))) continue;
            if (report) fprintf(report, "gradient of leaf %d: %.17g as a part of the graph, else %.17g\n", i, value, expected);
            return false;
        }
        Tensor *part = ag_sum(ag_mul(recorded[i], tensor_normal(recorded[i]->shape, 0, 1)));
        sum = sum ? ag_add(sum, part) : part;
    }
    return !sum || directions_agree(sum, in, n, 2, report);
}

bool random_graph_derivatives_hold(uint64_t seed, FILE *report)
{
    static _Thread_local double leaf[MAX_LEAVES][LARGEST];
    Graph g = { .seed = seed };
    set_leaves(&g, leaf);
    AgScope s = ag_begin(AG_RECORD);
    build(&g, leaf);
    Tensor *y = ag_add(g.loss[0], g.loss[1]);
    bool good = directions_agree(y, g.value, g.n_leaves, 3, report) &&
                recorded_gradients_agree(y, g.value, g.n_leaves, report);
    ag_end(s);
    if (!good && report) print_graph(&g, leaf, report);
    return good;
}
#endif

bool random_graph_holds(uint64_t seed, ExtraOp *extra, FILE *report)
{
    static _Thread_local double leaf[MAX_LEAVES][LARGEST];
    Graph g = { .seed = seed, .extra = extra };
    g.retain = below(&g, 2);
    set_leaves(&g, leaf);
    bool good = agrees(&g, leaf, report);
    if (!good && report) {
        fprintf(report, "graph %llu:\n", (unsigned long long)seed);
        print_graph(&g, leaf, report);
    }
    return good;
}

int64_t random_graph_count(int op)
{
    return op_counts[op];
}
