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

/* An error is relative to the sum of the terms, but to `least` if they are smaller: the derivatives
 * of x / x are rounding errors alone. */
enum { ORDERS = 3 };
#ifdef KAERU_DOUBLE
static const double most_error = 1e-9, least = 1e-4;
#else
static const double most_error = 1e-3, least = 1e-1;
#endif

static Tensor *random_like(const Tensor *t)
{
    return tensor_normal(t->shape, 0, 1);
}

/* Returns the sum of a b, and sets *size to that of |a b|. NULL stands for zeros. */
static double dot(const Tensor *a, const Tensor *b, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; a && b && i < a->numel; i++) {
        double product = (double)reals(a)[i] * (double)reals(b)[i];
        sum += product;
        *size += fabs(product);
    }
    return sum;
}

/* Where an identity is checked, for its report. */
typedef struct {
    const char *name;
    int number;
    bool alias;
    int checks;
    double worst[ORDERS];
} CheckedCase;

/* Checks the derivatives of y for each of its inputs. Goes on with the derivative along the last
 * one, which depends on the inputs, too. */
static bool identity_holds(CheckedCase *at, Tensor *y, Tensor **in, int n, int order)
{
    if (!tensor_requires_grad(y) || order == ORDERS) return true;
    bool holds = true;
    Tensor *u = random_like(y), *gradient[MAX_INPUTS], *next = NULL;
    ag_grad(ag_sum(ag_mul(y, u)), in, n, gradient);
    for (int i = 0; i < n; i++) {
        Tensor *v = random_like(in[i]), *tangent = ag_jvp(y, &in[i], &v, 1);
        double size_left, size_right;
        double left = dot(tangent, u, &size_left), right = dot(gradient[i], v, &size_right);
        double error = fabs(left - right) / fmax(fmax(size_left, size_right), least);
        at->checks++;
        at->worst[order] = fmax(at->worst[order], error);
        if (!(error < most_error)) {
            fprintf(stderr, "%s, case %d%s, input %d, order %d: %.9g and %.9g, error %.2g\n",
                    at->name, at->number, at->alias ? " of one tensor" : "", i, order + 1, left,
                    right, error);
            holds = false;
        }
        if (tensor_requires_grad(tangent)) {
            next = tangent;
        }
    }
    return (!next || identity_holds(at, next, in, n, order + 1)) && holds;
}

/* Compares the gradients of the sum of y u as part of the graph with those of ag_grad, and checks
 * their derivatives. */
static bool gradients_hold(CheckedCase *at, Tensor *y, Tensor **in, int n)
{
    if (!tensor_requires_grad(y)) return true;
    bool holds = true;
    Tensor *u = random_like(y), *sum = ag_sum(ag_mul(y, u));
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
        holds = (!recorded[i] || identity_holds(at, recorded[i], in, n, 1)) && holds;
    }
    return holds;
}

/* Checks one case. Returns 1 if the identity holds, 0 if not, and -1 if there is no such case. */
static int case_holds(CheckedCase *at, SampleCall *call)
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
    int result = y ? identity_holds(at, y, in, n, 0) : -1;
    if (result == 1) {
        result = gradients_hold(at, y, in, n);
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
    if (getenv("KAERU_IDENTITY")) {
        printf("%s: %d checks, worst errors %.1e %.1e %.1e\n", at.name, at.checks, at.worst[0],
               at.worst[1], at.worst[2]);
        fflush(stdout);
    }
    ck_assert_msg(wrong == 0, "%s: %d cases are wrong", at.name, wrong);
    ck_assert_int_ge(at.checks, 8);
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

Suite *higher_suite(void)
{
    Suite *suite = suite_create("higher");
    TCase *identity = tcase_create("identity");
    tcase_add_loop_test(identity, backward_and_tangent_rules_agree, 0, OP_COUNT);
#ifdef KAERU_DOUBLE
    tcase_add_test(identity, derivatives_of_random_graphs_agree);
#endif
    suite_add_tcase(suite, identity);
    return suite;
}
