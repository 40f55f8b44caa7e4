/* test_higher.c: derivatives that are part of the graph (kaeru/higher.h).
 *
 * Backward rules and tangent rules are two ways to the same derivative: for a function with the
 * Jacobian J, u (J v) = (J^T u) v for all u and v, to rounding. The check needs no differences and
 * no step size, so it finds a factor of 1.001. It is made for every case of every operation, and
 * for the derivative of the result, and for the derivative of that. */
#include <math.h>
#include <stdlib.h>

#include "folder.h"
#include "kaeru/autograd.h"
#include "op_samples.h"
#include "random_graph.h"
#include "result.h"
#include "suites.h"
#include "usage_error.h"

/* ---- the identity ---------------------------------------------------------------------------- */

enum { ORDERS = 3 };
#ifdef KAERU_DOUBLE
static const double most_error = 1e-9;
#else
static const double most_error = 1e-3;
#endif

/* Where an identity is checked, for its report. */
typedef struct {
    const char *name;
    int number;
    bool alias;
} CheckedCase;

/* Compares the gradients of the sum of y u as part of the graph with those of ag_grad, and checks
 * their derivatives. */
static bool gradients_hold(const CheckedCase *at, Tensor *y, Tensor **in, int n)
{
    bool holds = true;
    Tensor *u = tensor_normal(tensor_shape(y), 0, 1), *sum = ag_sum(ag_mul(y, u));
    Tensor *constant[MAX_INPUTS], *recorded[MAX_INPUTS];
    ag_grad(sum, in, n, constant);
    ag_grad_recorded(sum, in, n, recorded);
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(constant[i] != NULL, recorded[i] != NULL);
        for (int64_t j = 0; recorded[i] && j < recorded[i]->numel; j++) {
            double expected = (double)reals(constant[i])[j], value = (double)reals(recorded[i])[j];
            if (fabs(value - expected) > most_error * (1 + fabs(expected))) {
                fprintf(stderr, "%s, case %d: gradient %.9g of input %d, expected %.9g\n",
                        at->name, at->number, value, i, expected);
                holds = false;
            }
        }
        if (recorded[i] && tensor_requires_grad(recorded[i])) {
            holds = ag_tangentcheck(recorded[i], in, n, ORDERS - 1, stderr) && holds;
        }
    }
    return holds;
}

/* Checks one case. Returns 1 if the identity holds, 0 if not, and -1 if there is no such case. */
static int case_holds(const CheckedCase *at, SampleCall *call)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *created[MAX_INPUTS] = { NULL }, *in[MAX_INPUTS];
    Sample sample = { .number = at->number, .in = created, .alias = at->alias };
    Tensor *y = call(&sample);
    int n = 0;
    for (int i = 0; i < MAX_INPUTS; i++) {
        if (created[i]) {
            in[n++] = created[i];
        }
    }
    int result = y ? 1 : -1;
    if (y && tensor_requires_grad(y)) {
        result = ag_tangentcheck(y, in, n, ORDERS, stderr) && gradients_hold(at, y, in, n);
    }
    if (result == 0) {
        fprintf(stderr, "%s, case %d%s\n", at->name, at->number, at->alias ? " of one tensor" : "");
    }
    ag_end(s);
    for (int i = 0; i < n; i++) {
        tensor_free(in[i]);
    }
    return result;
}

START_TEST(backward_and_tangent_rules_agree)
{
    CheckedCase at = { .name = op_table[_i].name };
    ag_seed(1);
    int wrong = 0, result = 1;
    for (; result >= 0; at.number++) {
        for (int alias = 0; alias < 2 && result >= 0; alias++) {
            at.alias = alias;
            result = case_holds(&at, op_samples[_i]);
            wrong += result == 0;
        }
    }
    ck_assert_msg(wrong == 0, "%s: %d cases are wrong", at.name, wrong);
    ck_assert_int_ge(at.number, 2);
}
END_TEST

#ifdef KAERU_DOUBLE
/* The environment can set the number of graphs (KAERU_GRAPHS) and the first one (KAERU_GRAPH). */
START_TEST(derivatives_of_random_graphs_agree)
{
    long n = from_environment("KAERU_GRAPHS", 300), first = from_environment("KAERU_GRAPH", 0);
    long wrong = 0;
    ag_seed(1);
    for (long i = first; i < first + n; i++) {
        bool holds = false;
        CATCH_USAGE_ERROR(holds = random_graph_derivatives_hold((uint64_t)i, stderr));
        if (!holds) {
            fprintf(stderr, "graph %ld is wrong %s\n", i, usage_message);
        }
        wrong += !holds;
    }
    ck_assert_msg(wrong == 0, "%ld of %ld graphs are wrong", wrong, n);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST
#endif

/* ---- values ---------------------------------------------------------------------------------- */

static Tensor *leaf_of(double value)
{
    return tensor_set_requires_grad(tensor_full(SHAPE(3), value), true);
}

static bool is_close(const Tensor *t, double value)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        if (!(fabs((double)reals(t)[i] - value) <= 1e-4 * fmax(1, fabs(value)))) return false;
    }
    return true;
}

static Tensor *gradient_of_sum(Tensor *y, Tensor *x)
{
    Tensor *g;
    ag_grad_recorded(ag_sum(y), &x, 1, &g);
    return g;
}

/* Returns x^3, whose derivatives are 3 x^2, 6 x, 6 and 0. */
static Tensor *cube_of(Tensor *x)
{
    return ag_mul(x, ag_mul(x, x));
}

START_TEST(derivatives_of_a_cube)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *one = tensor_ones(SHAPE(3)), *y = cube_of(x), *g = y;
    static const double expected[] = { 12, 12, 6, 0 };
    for (int order = 0; order < 3; order++) {
        y = ag_jvp(y, &x, &one, 1);
        g = gradient_of_sum(g, x);
        ck_assert(is_close(y, expected[order]));
        ck_assert(is_close(g, expected[order]));
    }
    ag_end(s);
}
END_TEST

/* y does not depend on x: zeros along it, and no gradient. */
START_TEST(a_constant_has_no_derivative)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *w = leaf_of(5), *one = tensor_ones(SHAPE(3)), *g;
    Tensor *slope = ag_jvp(ag_mul(x, w), &x, &one, 1);
    ck_assert(is_close(slope, 5));
    ck_assert(is_close(ag_jvp(slope, &x, &one, 1), 0));
    ag_grad_recorded(ag_sum(slope), &x, 1, &g);
    ck_assert_ptr_null(g);
    ag_end(s);
}
END_TEST

/* Its logarithm is a constant: a state that no path reaches. */
START_TEST(a_row_of_minus_infinity_has_no_derivative)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(2, 2), (ag_real)-INFINITY), true), *g, *second;
    tensor_mutable_data(x)[0] = tensor_mutable_data(x)[1] = 2;
    Tensor *one = tensor_ones(SHAPE(2, 2)), *y = ag_logsumexp(x, 1, false), *slope = ag_jvp(y, &x, &one, 1);
    ck_assert(tensor_data(slope)[0] == 1 && tensor_data(slope)[1] == 0);
    Tensor *none = tensor_set_requires_grad(tensor_zeros(SHAPE(0, 2)), true), *dv = tensor_zeros(SHAPE(0, 2));
    Tensor *empty = ag_jvp(ag_logsumexp(none, 0, false), &none, &dv, 1);
    ck_assert(tensor_data(empty)[0] == 0 && tensor_data(empty)[1] == 0);
    ag_grad_recorded(ag_sum(ag_slice(y, 0, 0, 1)), &x, 1, &g);
    ag_grad_recorded(ag_sum(ag_mul(g, g)), &x, 1, &second);
    for (int i = 0; i < 4; i++) ck_assert(tensor_data(g)[i] == (i < 2 ? 0.5 : 0) && tensor_data(second)[i] == 0);
    ag_end(s);
}
END_TEST

/* The derivative of 3 x^2 v, where v is x, is that of 3 x^3. */
START_TEST(a_direction_can_depend_on_the_input)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *one = tensor_ones(SHAPE(3)), *y = cube_of(x);
    ck_assert(is_close(ag_jvp(ag_jvp(y, &x, &x, 1), &x, &one, 1), 36));
    /* through the node of a matrix product, whose tangent has a graph of its own */
    Tensor *row = ag_reshape(x, SHAPE(1, 3)), *column = ag_reshape(ag_mul(x, x), SHAPE(3, 1));
    Tensor *g = gradient_of_sum(ag_matmul(row, column), x);             /* 3 x^2 */
    ck_assert(is_close(ag_jvp(g, &x, &x, 1), 24));                      /* 6 x x */
    ck_assert(is_close(ag_jvp(ag_jvp(g, &x, &x, 1), &x, &one, 1), 24)); /* 12 x */
    ag_end(s);
}
END_TEST

/* Gradients at results of operations, as in meta-learning, to the third order: y = u^4, u = x^2. */
START_TEST(inputs_can_be_results)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(1.5), *u = ag_mul(x, x), *y = ag_pow_scalar(u, 4);
    const double value = 1.5 * 1.5;
    Tensor *g = gradient_of_sum(y, u), *g2 = gradient_of_sum(g, u), *g3 = gradient_of_sum(g2, u);
    ck_assert(is_close(g, 4 * pow(value, 3)));
    ck_assert(is_close(g2, 12 * pow(value, 2)));
    ck_assert(is_close(g3, 24 * value));
    ag_backward(ag_sum(g3));
    ck_assert(is_close(tensor_grad(x), 24 * 2 * 1.5));
    ag_end(s);
}
END_TEST

/* Two directions: 12 x^2 y^3 for x^4 y^3 ... along x, then y, is the same as along y, then x. */
START_TEST(directions_are_kept_apart)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *y = leaf_of(3), *one = tensor_ones(SHAPE(3));
    Tensor *f = ag_mul(ag_mul(x, x), cube_of(y));                       /* x^2 y^3 */
    Tensor *fx = ag_jvp(f, &x, &one, 1), *fy = ag_jvp(f, &y, &one, 1);
    ck_assert(is_close(ag_jvp(fx, &y, &one, 1), 2 * 2 * 3 * 9));
    ck_assert(is_close(ag_jvp(fy, &x, &one, 1), 2 * 2 * 3 * 9));
    Tensor *both[] = { x, y, x }, *v[] = { one, one, one };
    ck_assert(is_close(ag_jvp(f, both, v, 3), 2 * 2 * 2 * 27 + 4 * 3 * 9));
    ag_end(s);
}
END_TEST

/* ---- special values -------------------------------------------------------------------------- */

typedef Tensor *Special(Tensor *x);

/* Returns the tangent, its tangent, the recorded gradient and its tangent along v, in a row. The
 * result of f does not depend on items of x that are NaN. */
static Tensor *derivatives_of(Special *f, Tensor *x, Tensor *v)
{
    Tensor *weights, *y = f(x), *part[4];
    weights = tensor_normal(tensor_shape(y), 0, 1);
    part[0] = ag_jvp(y, &x, &v, 1);
    part[1] = ag_jvp(part[0], &x, &v, 1);
    part[2] = gradient_of_sum(ag_mul(y, weights), x);
    part[3] = ag_jvp(part[2], &x, &v, 1);
    for (int i = 0; i < 4; i++) {
        part[i] = ag_reshape(part[i], SHAPE(tensor_numel(part[i])));
    }
    return ag_concat(part, 4, 0);
}

static Tensor *leaf_copy(Tensor *x)
{
    return tensor_set_requires_grad(ag_detach(ag_scale(x, 1)), true);
}

/* Compares the derivatives where x has NaN in row `row` of (rows, n) with those for numbers. */
static void check_ignored(Special *f, AgShape shape, int64_t row)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_seed(8);
    Tensor *numbers = tensor_normal(shape, 0, 1), *v = tensor_normal(shape, 0, 1);
    int64_t n = tensor_dim(numbers, -1);
    AgRandom random = ag_random_state();
    Tensor *expected = derivatives_of(f, leaf_copy(numbers), v);
    for (int64_t i = 0; i < n; i++) {
        tensor_mutable_data(numbers)[row * n + i] = (ag_real)NAN;
    }
    ag_set_random_state(random);
    Tensor *d = derivatives_of(f, leaf_copy(numbers), v);
    for (int64_t i = 0; i < tensor_numel(d); i++) {
        double value = (double)reals(d)[i], wanted = (double)reals(expected)[i];
        ck_assert_msg(fabs(value - wanted) <= 1e-4, "item %d: %g, expected %g", (int)i, value,
                      wanted);
    }
    ag_end(s);
}

/* The derivatives of a^b at a = 0, by ag_pow and by ag_pow_scalar, to the order b + 2. */
START_TEST(powers_of_zero)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_zeros(SHAPE(3)), true);
    Tensor *y = ag_add(ag_pow(x, tensor_full(SHAPE(3), _i)), ag_mul(x, ag_pow(x, tensor_full(SHAPE(3), _i))));
    Tensor *want = ag_add(ag_pow_scalar(x, _i), ag_mul(x, ag_pow_scalar(x, _i)));
    for (int order = 0; order <= _i + 2; order++) {
        for (int k = 0; k < 3; k++) {
            ck_assert_msg(tensor_data(y)[k] == tensor_data(want)[k], "x^%d, order %d: %g, expected %g", _i, order,
                          (double)tensor_data(y)[k], (double)tensor_data(want)[k]);
        }
        if (!tensor_requires_grad(y) || !tensor_requires_grad(want)) {
            break;
        }
        y = gradient_of_sum(y, x);
        want = gradient_of_sum(want, x);
    }
    ag_end(s);
}
END_TEST

/* Where the exponent has a gradient, too, backward rules say 0 or -infinity at a = 0. */
START_TEST(exponents_at_zero)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = tensor_set_requires_grad(tensor_zeros(SHAPE(4)), true);
    Tensor *b = tensor_set_requires_grad(tensor_from(SHAPE(4), (ag_real[]){ 0, 1, 2, -1 }), true);
    Tensor *in[] = { a, b }, *want[2], *got[2];
    Tensor *y = ag_sum(ag_pow(a, b));
    ag_grad_recorded(y, in, 2, got);
    ag_grad(y, in, 2, want);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++) {
            ck_assert_msg(tensor_data(got[i])[k] == tensor_data(want[i])[k], "input %d, item %d: %g, expected %g", i, k,
                          (double)tensor_data(got[i])[k], (double)tensor_data(want[i])[k]);
        }
    }
    ag_end(s);
}
END_TEST

static Tensor *loss_without_row_1(Tensor *x)
{
    Tensor *target = tensor_ints(SHAPE(3), (int32_t[]){ 2, -100, 0 });
    return ag_cross_entropy(x, target, AG_MEAN, -100, 0.1);
}

/* Position 2 of 4 is hidden from all. */
static Tensor *attention_without_position_2(Tensor *x)
{
    Tensor *mask = tensor_bools(SHAPE(4), (uint8_t[]){ true, true, false, true });
    Tensor *k = ag_reshape(x, SHAPE(1, 4, 4)), *q = ag_slice(k, 1, 0, 2);
    return ag_attention(q, k, k, mask, (AgAttention){ .heads = 2 });
}

static Tensor *attention_by_bias_without_position_2(Tensor *x)
{
    const ag_real hidden = (ag_real)-INFINITY;
    Tensor *bias = tensor_from(SHAPE(4), (ag_real[]){ 0, 1, hidden, (ag_real)0.5 });
    Tensor *k = ag_reshape(x, SHAPE(1, 4, 4)), *q = ag_slice(k, 1, 0, 2);
    return ag_attention(q, k, k, bias, (AgAttention){ .heads = 2 });
}

START_TEST(hidden_values_may_be_nan)
{
    check_ignored(loss_without_row_1, SHAPE(3, 5), 1);
    check_ignored(attention_without_position_2, SHAPE(4, 4), 2);
    check_ignored(attention_by_bias_without_position_2, SHAPE(4, 4), 2);
}
END_TEST

static Tensor *norm_of(Tensor *x, int kind)
{
    AgNorm how = { .eps = 0, .eps_inside = kind == 0 };
    return kind < 2 ? ag_layer_norm(x, NULL, NULL, how) : ag_rms_norm(x, NULL, 0);
}

/* A norm without eps is the same for c x as for x. So its derivative at c x along c v is, too, and
 * its gradient is that at x divided by c. */
START_TEST(norms_of_large_and_small_rows)
{
    static const double factor[] = { 0x1p83, 0x1p-83 };
    for (int k = 0; k < 2; k++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_seed(9);
        double c = factor[k];
        Tensor *x = leaf_copy(tensor_normal(SHAPE(3, 6), 1, 1)), *v = tensor_normal(SHAPE(3, 6), 0, 1);
        Tensor *cx = leaf_copy(ag_scale(x, c)), *cv = ag_scale(v, c);
        Tensor *u = tensor_normal(SHAPE(3, 6), 0, 1);
        Tensor *t = ag_jvp(norm_of(x, _i), &x, &v, 1), *ct = ag_jvp(norm_of(cx, _i), &cx, &cv, 1);
        Tensor *g = gradient_of_sum(ag_mul(norm_of(x, _i), u), x);
        Tensor *cg = gradient_of_sum(ag_mul(norm_of(cx, _i), u), cx);
        Tensor *pair[][2] = { { t, ct }, { ag_jvp(t, &x, &v, 1), ag_jvp(ct, &cx, &cv, 1) },
                              { g, ag_scale(cg, c) },
                              { ag_jvp(g, &x, &v, 1), ag_scale(ag_jvp(cg, &cx, &cv, 1), c) },
                              { gradient_of_sum(ag_mul(t, u), x),
                                ag_scale(gradient_of_sum(ag_mul(ct, u), cx), c) } };
        for (int i = 0; i < 5; i++) {
            for (int64_t j = 0; j < 18; j++) {
                double value = (double)reals(pair[i][1])[j], wanted = (double)reals(pair[i][0])[j];
                ck_assert_msg(fabs(value - wanted) <= 1e-3 * fmax(1, fabs(wanted)),
                              "factor %g, pair %d, item %d: %g, expected %g", c, i, (int)j, value,
                              wanted);
            }
        }
        ag_end(s);
    }
}
END_TEST

#ifndef KAERU_DOUBLE
/* Rows whose deviation is below 2^-126 count as 0, and have no derivative. */
START_TEST(norms_of_rows_that_count_as_zero)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_copy(ag_scale(tensor_arange(1, 5, 1), 0x1p-140));
    Tensor *v = tensor_normal(SHAPE(4), 0, 1);
    Tensor *y = norm_of(x, _i);
    ck_assert(is_close(y, 0));
    ck_assert(is_close(gradient_of_sum(ag_mul(y, v), x), 0));
    ck_assert(is_close(ag_jvp(y, &x, &v, 1), 0));
    ag_end(s);
}
END_TEST
#endif

/* ---- a small network, for what must not change bits ------------------------------------------ */

enum { PARAMETERS = 4 };
typedef struct { Tensor *x, *p[PARAMETERS], *v[PARAMETERS]; } Net;

static Net net_new(void)
{
    ag_seed(3);
    static const AgShape shape[] = { { 2, { 8, 4 } }, { 1, { 8 } }, { 2, { 4, 8 } }, { 1, { 4 } } };
    Net net = { .x = tensor_normal(SHAPE(6, 4), 0, 1) };
    for (int i = 0; i < PARAMETERS; i++) {
        net.p[i] = tensor_set_requires_grad(tensor_normal(shape[i], 0, 0.7), true);
        net.v[i] = tensor_normal(shape[i], 0, 1);
    }
    return net;
}

static Tensor *net_loss(const Net *net)
{
    Tensor *h = ag_linear_activate(net->x, net->p[0], net->p[1], AG_GELU);
    h = ag_dropout(ag_layer_norm(h, NULL, NULL, AG_NORM_PYTORCH), 0.25);
    Tensor *y = ag_tanh(ag_linear(h, net->p[2], net->p[3]));
    y = ag_attention(ag_reshape(y, SHAPE(2, 3, 4)), ag_reshape(y, SHAPE(2, 3, 4)),
                     ag_reshape(net->x, SHAPE(2, 3, 4)), NULL,
                     (AgAttention){ .heads = 2, .causal = true, .dropout = 0.25 });
    return ag_mean(ag_mul(y, y));
}

/* Mixes the gradients into the hash, and removes them. */
static void mix_gradients(Result *r, const Net *net)
{
    for (int i = 0; i < PARAMETERS; i++) {
        mix_tensor(r, tensor_grad(net->p[i]));
        tensor_zero_grad(net->p[i]);
    }
}

/* Returns the sum of the products of gradients that are part of the graph and the directions. */
static Tensor *directional(const Net *net, Tensor *loss)
{
    Tensor *g[PARAMETERS], *sum = NULL;
    ag_grad_recorded(loss, net->p, PARAMETERS, g);
    for (int i = 0; i < PARAMETERS; i++) {
        Tensor *part = ag_sum(ag_mul(g[i], net->v[i]));
        sum = sum ? ag_add(sum, part) : part;
    }
    return sum;
}

/* How a Hessian times v is computed: with the loss's own values recomputed, with its backward pass
 * before, and with a second pass after it. */
typedef enum { PLAIN, RECOMPUTED, AFTER_BACKWARD, TWICE } Way;

static Result hessian_product(bool by_jvp, Way way)
{
    Result r = { 0 };
    AgScope s = ag_begin(AG_RECORD);
    Net net = net_new();
    AgMark mark = ag_mark();
    Tensor *loss = net_loss(&net);
    if (way == RECOMPUTED) {
        ag_recompute(mark, loss, AG_PRODUCTS);
    }
    Tensor *slope = by_jvp ? ag_jvp(loss, net.p, net.v, PARAMETERS) : directional(&net, loss);
    mix_tensor(&r, slope);
    if (way == AFTER_BACKWARD) {
        ag_backward(loss);
        for (int i = 0; i < PARAMETERS; i++) {
            tensor_zero_grad(net.p[i]);
        }
    }
    if (way == TWICE) {
        ag_backward_keep(slope);
        for (int i = 0; i < PARAMETERS; i++) {
            tensor_zero_grad(net.p[i]);
        }
    }
    ag_backward(slope);
    mix_gradients(&r, &net);
    ag_end(s);
    return r;
}

START_TEST(ways_have_the_same_bits)
{
    for (int by_jvp = 0; by_jvp < 2; by_jvp++) {
        Result plain = hessian_product(by_jvp, PLAIN);
        for (Way way = RECOMPUTED; way <= TWICE; way++) {
            ck_assert_msg(hessian_product(by_jvp, way).hash == plain.hash, "%d, way %d", by_jvp,
                          (int)way);
        }
        ag_find_nan(true);
        ag_guard(true);
        ck_assert(hessian_product(by_jvp, PLAIN).hash == plain.hash);
        ag_guard(false);
        ag_find_nan(false);
    }
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

/* A scope that does not record has the same values, as constants. */
START_TEST(without_recording_they_are_constants)
{
    AgScope s = ag_begin(AG_RECORD);
    Net net = net_new();
    Tensor *loss = net_loss(&net), *slope = directional(&net, loss);
    double first = tensor_item(ag_jvp(loss, net.p, net.v, PARAMETERS));
    double second = tensor_item(ag_jvp(slope, net.p, net.v, PARAMETERS));
    AgScope inner = ag_begin(AG_NO_GRAD);
    Tensor *constant = ag_jvp(loss, net.p, net.v, PARAMETERS);
    ck_assert(!tensor_requires_grad(constant));
    ck_assert(tensor_item(constant) == first);
    ck_assert(tensor_item(ag_jvp(slope, net.p, net.v, PARAMETERS)) == second);
    ck_assert(!tensor_requires_grad(directional(&net, loss)));
    ag_end(inner);
    ag_end(s);
}
END_TEST

/* The graph of derivatives can be shown like others. */
START_TEST(graphs_of_derivatives_are_shown)
{
    FILE *out = tmpfile();
    AgScope s = ag_begin(AG_RECORD);
    Net net = net_new();
    Tensor *loss = net_loss(&net);
    Tensor *sum = ag_add(directional(&net, loss), ag_jvp(loss, net.p, net.v, PARAMETERS));
    ag_explain(out, sum);
    int frames = ag_graph_frame(out, sum, 0);
    ag_graph_frame(out, sum, frames - 1);
    ck_assert(ftell(out) > 10000);
    ag_end(s);
    fclose(out);
}
END_TEST

/* ---- bfloat16 -------------------------------------------------------------------------------- */

/* Products of derivatives compute in the precision of the operation, whatever is set when they are
 * asked for. */
START_TEST(derivatives_have_the_precision_of_the_operation)
{
    double slope[2][2];
    for (int set = 0; set < 2; set++) {
        AgScope s = ag_begin(AG_RECORD);
        Net net = net_new();
        AgPrecision former = ag_precision(AG_BF16);
        Tensor *loss = ag_mean(ag_tanh(ag_linear(net.x, net.p[0], net.p[1])));
        ag_precision(set ? AG_FLOAT32 : AG_BF16);
        slope[set][0] = tensor_item(ag_jvp(loss, net.p, net.v, 2));
        Tensor *g[2];
        ag_grad_recorded(loss, net.p, 2, g);
        slope[set][1] = tensor_item(ag_jvp(ag_sum(g[0]), net.p, net.v, 2));
        ck_assert(ag_precision_now() == (set ? AG_FLOAT32 : AG_BF16));
        ag_precision(former);
        ag_end(s);
    }
    ck_assert(slope[0][0] == slope[1][0]);
    ck_assert(slope[0][1] == slope[1][1]);
}
END_TEST

/* A weight that is kept in bfloat16 has no derivative; its input has. */
START_TEST(frozen_weights_pass_derivatives_on)
{
    ag_seed(5);
    Tensor *weight = tensor_new_owned(SHAPE(8, 4), AG_REAL);
    ag_fill_normal(weight, 0, 1);
    ag_freeze_bf16(weight);
    AgScope s = ag_begin(AG_RECORD);
    ag_precision(AG_BF16);
    Tensor *x = tensor_set_requires_grad(tensor_normal(SHAPE(3, 4), 0, 1), true);
    Tensor *v = tensor_normal(SHAPE(3, 4), 0, 1), *g[1];
    Tensor *y = ag_sum(ag_tanh(ag_linear(x, weight, NULL)));
    ag_grad_recorded(y, &x, 1, g);
    Tensor *parts = ag_mul(g[0], v);
    double difference = tensor_item(ag_jvp(y, &x, &v, 1)) - tensor_item(ag_sum(parts));
    ck_assert(fabs(difference) < 0.05 * tensor_item(ag_sum(ag_abs(parts))));
    ag_backward(ag_sum(ag_mul(g[0], g[0])));
    ck_assert_ptr_nonnull(tensor_grad(x));
    ag_end(s);
    tensor_free(weight);
}
END_TEST

/* ---- operations of the program --------------------------------------------------------------- */

static void cube_forward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]);
    ag_real *y = tensor_mutable_data(c->y);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) {
        y[i] = x[i] * x[i] * x[i];
    }
}

static void add_cube_gradient(const AgCustomCall *c, double factor)
{
    const ag_real *x = tensor_data(c->in[0]);
    for (int64_t i = 0; i < tensor_numel(c->y); i++) {
        c->dx[0][i] += c->dy[i] * (ag_real)factor * x[i] * x[i];
    }
}

static void cube_backward(const AgCustomCall *c)
{
    add_cube_gradient(c, 3);
}

static void wrong_cube_backward(const AgCustomCall *c)
{
    add_cube_gradient(c, 3.01);
}

static Tensor *cube_tangent(const AgCustomCall *c, Tensor *const *dx)
{
    return ag_mul(dx[0], ag_scale(ag_mul(c->in[0], c->in[0]), 3));
}

static Tensor *wrong_cube_tangent(const AgCustomCall *c, Tensor *const *dx)
{
    return ag_mul(dx[0], ag_scale(ag_mul(c->in[0], c->in[0]), 3.01));
}

static Tensor *wrong_shape(const AgCustomCall *c, Tensor *const *dx)
{
    (void)c;
    return ag_sum(dx[0]);
}

static Tensor *reads_y(const AgCustomCall *c, Tensor *const *dx)
{
    return ag_mul(dx[0], c->y);
}

static const AgCustom cube = { "cube", cube_forward, cube_backward, AG_NEEDS_X(0), NULL, NULL };
static const AgCustom wrong_cube = { "wrong_cube", cube_forward, wrong_cube_backward,
                                     AG_NEEDS_X(0), NULL, NULL };

static Tensor *custom(const AgCustom *op, Tensor *x)
{
    return ag_custom(op, tensor_shape(x), &x, 1, NULL, 0);
}

START_TEST(operations_of_the_program_have_a_tangent)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *one = tensor_ones(SHAPE(3));
    Tensor *y = ag_custom_tangent(custom(&cube, x), cube_tangent), *g = gradient_of_sum(y, x);
    ck_assert(is_close(ag_jvp(y, &x, &one, 1), 12));
    ck_assert(is_close(ag_jvp(ag_jvp(y, &x, &one, 1), &x, &one, 1), 12));
    ck_assert(is_close(g, 12));
    ck_assert(is_close(gradient_of_sum(g, x), 12));
    ck_assert(is_close(ag_jvp(g, &x, &one, 1), 12));
    ck_assert(is_close(gradient_of_sum(gradient_of_sum(g, x), x), 6));
    ag_end(s);
}
END_TEST

/* The identity sees a wrong rule on either side. */
START_TEST(a_wrong_rule_is_found)
{
    static const struct { const AgCustom *op; AgTangent *tangent; bool holds; } rows[] = {
        { &cube, cube_tangent, true },
        { &wrong_cube, cube_tangent, false },
        { &cube, wrong_cube_tangent, false },
    };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_uniform(SHAPE(5), 0.5, 1.5), true);
    Tensor *y = ag_custom_tangent(custom(rows[_i].op, x), rows[_i].tangent);
    AgRandom before = ag_random_state();
    ck_assert(ag_tangentcheck(y, &x, 1, ORDERS, NULL) == rows[_i].holds);
    ck_assert(ag_random_state().counter == before.counter);
    ag_end(s);
}
END_TEST

static void product_forward(const AgCustomCall *c)
{
    for (int64_t i = 0; i < tensor_numel(c->y); i++) {
        tensor_mutable_data(c->y)[i] = tensor_data(c->in[0])[i] * tensor_data(c->in[1])[i];
    }
}

static void product_backward(const AgCustomCall *c)
{
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; c->dx[k] && i < tensor_numel(c->y); i++) {
            c->dx[k][i] += c->dy[i] * tensor_data(c->in[1 - k])[i];
        }
    }
}

/* Returns the tangent of a product, but takes the derivative of a for that of b where both move. */
static Tensor *wrong_product_tangent(const AgCustomCall *c, Tensor *const *dx)
{
    if (!dx[0]) return ag_mul(dx[1], c->in[0]);
    Tensor *from_a = ag_mul(dx[0], c->in[1]);
    return dx[1] ? ag_add(from_a, ag_mul(dx[0], c->in[0])) : from_a;
}

START_TEST(all_inputs_move_at_once)
{
    static const AgCustom product = { "product", product_forward, product_backward, AG_NEEDS_X(0) | AG_NEEDS_X(1), NULL, NULL };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *in[] = { tensor_set_requires_grad(tensor_normal(SHAPE(3), 0, 1), true),
                     tensor_set_requires_grad(tensor_normal(SHAPE(3), 0, 1), true) };
    Tensor *y = ag_custom_tangent(ag_custom(&product, SHAPE(3), in, 2, NULL, 0), wrong_product_tangent);
    ck_assert(!ag_tangentcheck(y, in, 2, 1, NULL));
    ag_end(s);
}
END_TEST

/* Returns a right tangent, whose own tangent is wrong. */
static Tensor *right_tangent_of_wrong_slope(const AgCustomCall *c, Tensor *const *dx)
{
    Tensor *wrong = ag_custom_tangent(custom(&wrong_cube, c->in[0]), cube_tangent);
    Tensor *zeros = ag_scale(ag_sub(wrong, ag_detach(wrong)), 100);
    return ag_add(cube_tangent(c, dx), ag_mul(zeros, dx[0]));
}

START_TEST(the_order_of_a_mistake_is_reported)
{
    FILE *out = tmpfile();
    char line[200];
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_uniform(SHAPE(5), 0.5, 1.5), true);
    Tensor *y = ag_custom_tangent(custom(&cube, x), right_tangent_of_wrong_slope);
    ck_assert(ag_tangentcheck(y, &x, 1, 1, out));
    ck_assert_int_eq(ftell(out), 0);
    ck_assert(!ag_tangentcheck(y, &x, 1, 2, out));
    rewind(out);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, out));
    ck_assert_msg(strstr(line, "order 2, input 0 (5,): ") == line, "%s", line);
    ag_end(s);
    fclose(out);
}
END_TEST

/* ---- usage errors ---------------------------------------------------------------------------- */

static void jvp_in_a_pass(void *arg, Tensor *leaf)
{
    Tensor *one = tensor_ones(tensor_shape(leaf));
    ag_jvp(arg, &leaf, &one, 1);
}

START_TEST(usage_errors_are_reported)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *one = tensor_ones(SHAPE(3)), *two = tensor_ones(SHAPE(2)), *g;
    Tensor *y = cube_of(x), *sum = ag_sum(y);
    EXPECT_USAGE_ERROR("ag_jvp: y does not require a gradient", ag_jvp(one, &x, &one, 1));
    EXPECT_USAGE_ERROR("ag_jvp: item 0 of in does not require", ag_jvp(y, &one, &one, 1));
    EXPECT_USAGE_ERROR("ag_jvp: item 0 of in (3,) and of v (2,) differ", ag_jvp(y, &x, &two, 1));
    EXPECT_USAGE_ERROR("ag_jvp: n is 0", ag_jvp(y, &x, &one, 0));
    EXPECT_USAGE_ERROR("ag_jvp: in is NULL", ag_jvp(y, NULL, &one, 1));
    EXPECT_USAGE_ERROR("ag_jvp: v is NULL", ag_jvp(y, &x, NULL, 1));
    EXPECT_USAGE_ERROR("ag_grad_recorded: the loss has shape (3,)", ag_grad_recorded(y, &x, 1, &g));
    EXPECT_USAGE_ERROR("ag_grad_recorded: out is NULL", ag_grad_recorded(sum, &x, 1, NULL));
    EXPECT_USAGE_ERROR("ag_tangentcheck: y does not require", ag_tangentcheck(one, &x, 1, 1, NULL));
    EXPECT_USAGE_ERROR("ag_tangentcheck: orders is 0", ag_tangentcheck(y, &x, 1, 0, NULL));
    EXPECT_USAGE_ERROR("expected 1 to 8", ag_tangentcheck(y, &x, 1, 9, NULL));
    EXPECT_USAGE_ERROR("ag_custom_tangent: y was made by mul", ag_custom_tangent(y, cube_tangent));
    EXPECT_USAGE_ERROR("ag_custom_tangent: tangent is NULL", ag_custom_tangent(y, NULL));
    EXPECT_USAGE_ERROR("cube (made at tests/test_higher.c",
                       ag_jvp(ag_tanh(custom(&cube, x)), &x, &one, 1));
    EXPECT_USAGE_ERROR("has no tangent rule",
                       ag_grad_recorded(ag_sum(custom(&cube, x)), &x, 1, &g));
    EXPECT_USAGE_ERROR("cube: the result of tangent is (), expected the shape (3,) of y",
                       ag_jvp(ag_custom_tangent(custom(&cube, x), wrong_shape), &x, &one, 1));
    EXPECT_USAGE_ERROR("cube: its backward rule reads the value of its result",
                       ag_jvp(ag_custom_tangent(custom(&cube, x), reads_y), &x, &one, 1));
    ag_watch_backward((AgWatch){ .complete = jvp_in_a_pass, .arg = y });
    EXPECT_USAGE_ERROR("ag_jvp: a backward pass of this thread is running", ag_backward_keep(sum));
    ag_watch_backward((AgWatch){ .complete = NULL });
    ag_backward(sum);
    EXPECT_USAGE_ERROR("ag_jvp: an earlier backward has run through", ag_jvp(y, &x, &one, 1));
    ag_end(s);
}
END_TEST

/* An error in the rule of a gradient, within a pass, leaves nothing behind. */
START_TEST(errors_in_a_pass_are_undone)
{
    Result before = hessian_product(false, PLAIN);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *y = ag_custom_tangent(custom(&cube, ag_tanh(x)), wrong_shape);
    Tensor *g = gradient_of_sum(ag_exp(y), x);
    EXPECT_USAGE_ERROR("cube: the result of tangent is (), expected", ag_backward_keep(ag_sum(g)));
    ck_assert_ptr_null(tensor_grad(x));
    ag_custom_tangent(y, cube_tangent);
    ag_backward(ag_sum(g));
    ck_assert_ptr_nonnull(tensor_grad(x));
    ag_end(s);
    ck_assert(hessian_product(false, PLAIN).hash == before.hash);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

/* A value that was written after an operation had read it. */
START_TEST(written_values_are_reported)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf_of(2), *one = tensor_ones(SHAPE(3)), *y = cube_of(x);
    ag_fill(x, 3);
    EXPECT_USAGE_ERROR("ag_jvp: the rule of mul", ag_jvp(y, &x, &one, 1));
    ag_end(s);
}
END_TEST

Suite *higher_suite(void)
{
    Suite *suite = suite_create("higher");
    TCase *identity = tcase_create("identity");
    tcase_add_loop_test(identity, backward_and_tangent_rules_agree, 0, OP_COUNT);
#ifdef KAERU_DOUBLE
    tcase_add_test(identity, derivatives_of_random_graphs_agree);
#endif
    suite_add_tcase(suite, identity);
    TCase *values = tcase_create("values");
    tcase_add_test(values, derivatives_of_a_cube);
    tcase_add_test(values, a_constant_has_no_derivative);
    tcase_add_test(values, a_row_of_minus_infinity_has_no_derivative);
    tcase_add_test(values, a_direction_can_depend_on_the_input);
    tcase_add_test(values, inputs_can_be_results);
    tcase_add_test(values, directions_are_kept_apart);
    tcase_add_test(values, hidden_values_may_be_nan);
    tcase_add_loop_test(values, powers_of_zero, 0, 4);
    tcase_add_test(values, exponents_at_zero);
    tcase_add_loop_test(values, norms_of_large_and_small_rows, 0, 3);
#ifndef KAERU_DOUBLE
    tcase_add_loop_test(values, norms_of_rows_that_count_as_zero, 0, 3);
#endif
    tcase_add_test(values, ways_have_the_same_bits);
    tcase_add_test(values, without_recording_they_are_constants);
    tcase_add_test(values, graphs_of_derivatives_are_shown);
    tcase_add_test(values, derivatives_have_the_precision_of_the_operation);
    tcase_add_test(values, frozen_weights_pass_derivatives_on);
    suite_add_tcase(suite, values);
    TCase *program = tcase_create("program");
    tcase_add_test(program, operations_of_the_program_have_a_tangent);
    tcase_add_loop_test(program, a_wrong_rule_is_found, 0, 3);
    tcase_add_test(program, the_order_of_a_mistake_is_reported);
    tcase_add_test(program, all_inputs_move_at_once);
    tcase_add_test(program, usage_errors_are_reported);
    tcase_add_test(program, errors_in_a_pass_are_undone);
    tcase_add_test(program, written_values_are_reported);
    suite_add_tcase(suite, program);
    return suite;
}
