/* recurrent.c: the recurrent layers: gated recurrent unit and long short-term memory. */
#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "kaeru/recurrent.h"

#include <math.h>
#include <string.h>

Recurrent *nn_recurrent_new_with(RecurrentKind kind, int64_t in, int64_t hidden, int layers, bool both, double dropout)
{
    AG_LAYER;
    int directions = both ? 2 : 1, gates = kind == NN_LSTM ? 4 : 3;
    if (kind != NN_GRU && kind != NN_LSTM) ag_usage_error(__func__, "%d is not a RecurrentKind", (int)kind);
    if (in < 1 || hidden < 1 || hidden > INT32_MAX)
        ag_usage_error(__func__, "sizes %lld -> %lld, expected 1 to 2^31 - 1", (long long)in, (long long)hidden);
    if (layers < 1 || layers > NN_RECURRENT_PASSES / directions)
        ag_usage_error(__func__, "%d layers, expected 1 to %d", layers, NN_RECURRENT_PASSES / directions);
    Recurrent *r = (Recurrent *)nn_new_sized(sizeof *r, kind == NN_LSTM ? "LSTM" : "GRU");
    r->kind = kind;
    r->hidden = hidden;
    r->layers = layers;
    r->directions = directions;
    double bound = 1 / sqrt((double)hidden);
    for (int i = 0; i < layers * directions; i++) {
        int l = i / directions;
        const char *suffix = i % directions ? "_reverse" : "";
        int64_t width = l == 0 ? in : hidden * directions;
        RecurrentPass *p = &r->pass[i];
        nn_param_named(r, pass[i].weight_ih, SHAPE(gates * hidden, width), "weight_ih_l%d%s", l, suffix);
        nn_param_named(r, pass[i].weight_hh, SHAPE(gates * hidden, hidden), "weight_hh_l%d%s", l, suffix);
        nn_param_named(r, pass[i].bias_ih, SHAPE(gates * hidden), "bias_ih_l%d%s", l, suffix);
        nn_param_named(r, pass[i].bias_hh, SHAPE(gates * hidden), "bias_hh_l%d%s", l, suffix);
        Tensor *const all[] = { p->weight_ih, p->weight_hh, p->bias_ih, p->bias_hh };
        for (int k = 0; k < 4; k++) ag_fill_uniform(all[k], -bound, bound);
    }
    if (dropout != 0) nn_child(r, dropout, nn_dropout_new(dropout));
    return r;
}

/* Gates `from` to `to` - 1 of all gates (B,G H). */
static Tensor *gates(Tensor *all, int64_t hidden, int from, int to)
{
    return ag_slice(all, 1, from * hidden, to * hidden);
}

/* For both: x = W x + b and u = U h + d of all gates, (B,G H). */
static RecurrentState gru(Tensor *x, Tensor *u, RecurrentState old)
{
    int64_t hidden = tensor_dim(old.h, 1);
    Tensor *rz = ag_sigmoid(ag_add(gates(x, hidden, 0, 2), gates(u, hidden, 0, 2)));
    Tensor *r = gates(rz, hidden, 0, 1), *z = gates(rz, hidden, 1, 2);
    Tensor *n = ag_tanh(ag_add(gates(x, hidden, 2, 3), ag_mul(r, gates(u, hidden, 2, 3))));
    return (RecurrentState){ .h = ag_add(n, ag_mul(z, ag_sub(old.h, n))) };            /* (1 - z) n + z h */
}

static RecurrentState lstm(Tensor *x, Tensor *u, RecurrentState old)
{
    int64_t hidden = tensor_dim(old.h, 1);
    Tensor *all = ag_add(x, u);
    Tensor *i = ag_sigmoid(gates(all, hidden, 0, 1)), *f = ag_sigmoid(gates(all, hidden, 1, 2));
    Tensor *g = ag_tanh(gates(all, hidden, 2, 3)), *o = ag_sigmoid(gates(all, hidden, 3, 4));
    Tensor *c = ag_add(ag_mul(f, old.c), ag_mul(i, g));
    return (RecurrentState){ .h = ag_mul(o, ag_tanh(c)), .c = c };
}

/* x is W x + b of all gates, (B,G H). It does not depend on the state, so it is computed for all steps at once. */
static RecurrentState step(Recurrent *r, int pass, Tensor *x, RecurrentState old)
{
    Tensor *u = ag_linear(old.h, r->pass[pass].weight_hh, r->pass[pass].bias_hh);
    return r->kind == NN_LSTM ? lstm(x, u, old) : gru(x, u, old);
}

/* The initial state: `state`, checked, with zeros for what is NULL. */
static RecurrentState begin(Recurrent *r, const char *what, int64_t batch, const RecurrentState *state)
{
    RecurrentState s = state ? *state : (RecurrentState){ NULL, NULL };
    int passes = r->layers * r->directions;
    AgShape shape = passes == 1 ? SHAPE(batch, r->hidden) : SHAPE(passes, batch, r->hidden);
    if (!s.h) s.h = tensor_zeros(shape);
    if (!s.c && r->kind == NN_LSTM) s.c = tensor_zeros(shape);
    if (s.c && r->kind != NN_LSTM) ag_usage_error(what, "the state has a c, which only an LSTM has");
    for (int i = 0; i < (s.c ? 2 : 1); i++) {
        Tensor **part = i ? &s.c : &s.h;
        if (!ag_shape_equal(tensor_shape(*part), shape))
            ag_usage_error(what, "the state's %c is %s, expected %s, here %s", i ? 'c' : 'h',
                           ag_shape_string(tensor_shape(*part)), passes == 1 ? "(B,H)" : "(N,B,H)", ag_shape_string(shape));
        if (!tensor_requires_grad(*part)) *part = ag_slice(*part, 0, 0, shape.dim[0]);  /* nn_recurrent_keep may free it */
    }
    return s;
}

static void check_input(Recurrent *r, const char *what, Tensor *x, int ndim, const char *expected)
{
    int64_t in = tensor_dim(r->pass[0].weight_ih, 1);
    check_alive(what, "x", x);
    if (tensor_ndim(x) != ndim || tensor_dim(x, -1) != in)
        ag_usage_error(what, "x is %s, expected %s with %lld for in", ag_shape_string(tensor_shape(x)), expected,
                       (long long)in);
}

/* Checks that r is a module that nn_recurrent_new_with has made. */
static void check_type(const char *what, const Recurrent *r)
{
    nn_check(what, r, 0);
    const char *type = r->module.type;
    if (strcmp(type, "GRU") != 0 && strcmp(type, "LSTM") != 0) {
        ag_usage_error(what, "this %s is a module of another type, expected a GRU or an LSTM", type);
    }
    nn_check(what, r, sizeof *r);
}

Tensor *nn_recurrent_step(Recurrent *r, Tensor *x, RecurrentState *state)
{
    check_type(__func__, r);
    AG_LAYER;
    if (!state) ag_usage_error(__func__, "the state is NULL, expected one that is updated");
    check_input(r, __func__, x, 2, "(B,in)");
    if (r->directions == 2) ag_usage_error(__func__, "a layer in both directions reads whole sequences");
    if (r->layers > 1) return ag_squeeze(nn_recurrent(r, ag_unsqueeze(x, 1), NULL, state), 1);
    RecurrentState old = begin(r, __func__, tensor_dim(x, 0), state);
    *state = step(r, 0, ag_linear(x, r->pass[0].weight_ih, r->pass[0].bias_ih), old);
    return state->h;
}

/* Whether step t of the mask (B,1,T) is true for every row, as until the end of the shortest sentence. */
static bool all_visible(Tensor *mask, int64_t t)
{
    int64_t time = tensor_dim(mask, 2);
    const uint8_t *visible = tensor_bool_data(mask);
    for (int64_t b = 0; b < tensor_dim(mask, 0); b++)
        if (!visible[b * time + t]) return false;
    return true;
}

/* x (B,T,in) with 0 at hidden steps. The gradient of their gates is 0, and 0 times NaN or infinity would be NaN in dW. */
static Tensor *without_hidden(Tensor *x, Tensor *mask)
{
    int64_t batch = tensor_dim(x, 0), time = tensor_dim(x, 1);
    bool any = false;
    for (int64_t i = 0; mask && i < batch * time && !any; i++) any = !tensor_bool_data(mask)[i];
    return any ? ag_masked_fill(x, ag_not(ag_reshape(mask, SHAPE(batch, time, 1))), 0) : x;
}

/* All steps of one layer in one direction, from the state *s on, which is updated: (B,T,in) -> (B,T,H). */
static Tensor *run_pass(Recurrent *r, int pass, Tensor *x, Tensor *mask, RecurrentState *s)
{
    int64_t time = tensor_dim(x, 1);
    Tensor *inputs = ag_linear(x, r->pass[pass].weight_ih, r->pass[pass].bias_ih);         /* one product for all steps */
    Tensor **h = ag_scratch((size_t)time, sizeof *h);
    for (int64_t i = 0; i < time; i++) {
        int64_t t = pass % r->directions ? time - 1 - i : i;
        RecurrentState old = *s;
        *s = step(r, pass, ag_squeeze(ag_slice(inputs, 1, t, t + 1), 1), old);
        if (mask && !all_visible(mask, t)) {
            Tensor *visible = ag_squeeze(ag_slice(mask, 2, t, t + 1), 2);   /* (B,1) */
            s->h = ag_where(visible, s->h, old.h);
            if (s->c) s->c = ag_where(visible, s->c, old.c);
        }
        h[t] = ag_unsqueeze(s->h, 1);
    }
    return ag_concat(h, (int)time, 1);
}

/* (N,B,H) -> its matrix number i; NULL stays. */
static Tensor *matrix(Tensor *x, int i)
{
    return x ? ag_squeeze(ag_slice(x, 0, i, i + 1), 0) : NULL;
}

Tensor *nn_recurrent(Recurrent *r, Tensor *x, Tensor *mask, RecurrentState *state)
{
    check_type(__func__, r);
    AG_LAYER;
    check_input(r, __func__, x, 3, "(B,T,in)");
    int64_t batch = tensor_dim(x, 0), time = tensor_dim(x, 1);
    if (time < 1) ag_usage_error(__func__, "x is %s, expected one step or more", ag_shape_string(tensor_shape(x)));
    if (mask) check_tensor(__func__, "mask", mask, AG_BOOL);
    if (mask && !ag_shape_equal(tensor_shape(mask), SHAPE(batch, 1, time)))
        ag_usage_error(__func__, "the mask is %s, expected (%lld, 1, %lld)", ag_shape_string(tensor_shape(mask)),
                       (long long)batch, (long long)time);
    RecurrentState s = begin(r, __func__, batch, state);
    x = without_hidden(x, mask);
    int n = r->layers * r->directions;
    Tensor *h[NN_RECURRENT_PASSES], *c[NN_RECURRENT_PASSES], *y[2];
    for (int i = 0; i < n; i++) {
        int direction = i % r->directions;
        RecurrentState own = n == 1 ? s : (RecurrentState){ matrix(s.h, i), matrix(s.c, i) };
        if (i > 0 && direction == 0 && r->dropout) x = nn_dropout(r->dropout, x);
        y[direction] = run_pass(r, i, x, mask, &own);
        h[i] = own.h;
        c[i] = own.c;
        if (direction == r->directions - 1) x = direction == 1 ? ag_concat(y, 2, 2) : y[0];
    }
    if (state) {
        state->h = n == 1 ? h[0] : ag_stack(h, n, 0);
        state->c = n == 1 || !s.c ? c[0] : ag_stack(c, n, 0);
    }
    return x;
}

void nn_recurrent_keep(RecurrentState *kept, const RecurrentState *state)
{
    AG_LAYER;
    ag_check_pointer(__func__, "kept", kept);
    if (state == kept) ag_usage_error(__func__, "kept and state are the same: expected a copy of kept as the state");
    RecurrentState copy = { NULL, NULL };
    if (state && state->h) copy.h = ag_keep(state->h);
    if (state && state->c) copy.c = ag_keep(state->c);
    tensor_free(kept->h);
    tensor_free(kept->c);
    *kept = copy;
}
