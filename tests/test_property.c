/* test_property.c: the gradients of a thousand random graphs must be right with any use of memory; and the checks must find
 * wrong operations that are planted in such graphs. */
#include <stdlib.h>

#include "folder.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/graph.h"
#include "op.h"
#include "ops/table.h"
#include "random_graph.h"
#include "suites.h"
#include "tape.h"
#include "tensor_struct.h"
#include "usage_error.h"

/* The environment can set, for a thorough run, the number of graphs (KAERU_GRAPHS) and the first one (KAERU_GRAPH). */
START_TEST(random_graphs)
{
    long n = from_environment("KAERU_GRAPHS", 1000), first = from_environment("KAERU_GRAPH", 0), wrong = 0;
    for (long i = first; i < first + n; i++) {
        bool holds = false;
        CATCH_USAGE_ERROR(holds = random_graph_holds((uint64_t)i, NULL, stderr));
        if (!holds) fprintf(stderr, "graph %ld is wrong %s\n", i, usage_message);
        wrong += !holds;
    }
    ck_assert_msg(wrong == 0, "%ld of %ld graphs are wrong", wrong, n);
    for (int op = 0; n >= 1000 && op < OP_COUNT; op++)
        ck_assert_msg(random_graph_count(op) > 0, "no graph had %s", op_table[op].name);
    ck_assert_uint_eq(ag_memory().in_use, 0);
    if (getenv("KAERU_GRAPHS")) printf("graphs: %ld, wrong: %ld\n", n, wrong);
    fflush(stdout);
}
END_TEST

/* ---- planted: y = x^2 with a rule that is wrong ----------------------------------------------------------------- */

static Tensor *square(Tensor *x, const Op *op)
{
    Tensor *y = op_new_n(op, &x->shape, &x, 1);
    for (int64_t i = 0; i < y->numel; i++) reals(y)[i] = reals(x)[i] * reals(x)[i];
    return op_done(y);
}

static void add_gradient(Tensor *y, const ag_real *x, ag_real factor)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; i < y->numel; i++) g.data[i] = (g.add ? g.data[i] : 0) + factor * x[i] * grad_of(y)[i];
}

static void right(Tensor *y)
{
    if (y->in[0]->requires_grad) add_gradient(y, reals(y->in[0]), 2);
}

static void wrong_factor(Tensor *y)
{
    if (y->in[0]->requires_grad) add_gradient(y, reals(y->in[0]), (ag_real)2.001);
}

static void overwrites(Tensor *y)
{
    Grad g = grad_into(y->in[0]);
    for (int64_t i = 0; g.data && i < y->numel; i++) g.data[i] = 2 * reals(y->in[0])[i] * grad_of(y)[i];
}

/* Wrong, since another tensor may share that gradient. */
static void changes_its_gradient(Tensor *y)
{
    if (y->in[0]->requires_grad) add_gradient(y, reals(y->in[0]), 2);
    for (int64_t i = 0; i < y->numel; i++) grad_of(y)[i] = 0;
}

/* Reads the released values; their memory may be reused. */
static void reads_what_it_does_not_declare(Tensor *y)
{
    if (y->in[0]->requires_grad) add_gradient(y, *(ag_real **)y->args, 2);
}

static void writes_too_far(Tensor *y)
{
    right(y);
    Grad g = grad_into(y->in[0]);
    if (g.data) g.data[y->numel] = 0;
}

#define PLANTED(rule, declared)                                                             \
    static const Op rule##_op = { .name = #rule, .backward = rule, .needs = declared };     \
    static Tensor *with_##rule(Tensor *x)                                                   \
    {                                                                                       \
        Tensor *y = square(x, &rule##_op);                                                  \
        if (y->op) *(ag_real **)op_args(y, sizeof(ag_real *)) = reals(x);                         \
        return y;                                                                           \
    }
PLANTED(right, NEEDS_X0)
PLANTED(wrong_factor, NEEDS_X0)
PLANTED(overwrites, NEEDS_X0)
PLANTED(changes_its_gradient, NEEDS_X0)
PLANTED(reads_what_it_does_not_declare, NEEDS_NONE)
PLANTED(writes_too_far, NEEDS_X0)

enum { TRIES = 100 };

static int found(ExtraOp *extra)
{
    int n = 0;
    for (uint64_t seed = 0; seed < TRIES; seed++) {
        bool holds = false;
        CATCH_USAGE_ERROR(holds = random_graph_holds(seed, extra, NULL));
        ag_guard(false);                                        /* a usage error leaves it on */
        n += !holds;
    }
    return n;
}

START_TEST(a_right_operation_passes_the_checks)
{
    ck_assert_int_eq(found(with_right), 0);
}
END_TEST

/* AddressSanitizer finds the wrong reads and writes itself and ends the program. */
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN true
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN false
#endif

START_TEST(a_wrong_operation_is_found)
{
    static const struct { ExtraOp *extra; const char *name; bool in_double_only; } planted[] = {
        { with_wrong_factor, "wrong_factor", true },
        { with_overwrites, "overwrites", true },
        { with_changes_its_gradient, "changes_its_gradient", true },
        { with_reads_what_it_does_not_declare, "reads_what_it_does_not_declare", false },
        { with_writes_too_far, "writes_too_far", false },
    };
#ifdef KAERU_DOUBLE
    bool numerical = true;
#else
    bool numerical = false;
#endif
    if (planted[_i].in_double_only ? !numerical : UNDER_ASAN) return;
    int n = found(planted[_i].extra);
    if (getenv("KAERU_GRAPHS")) printf("planted %s: found in %d of %d graphs\n", planted[_i].name, n, TRIES);
    fflush(stdout);
    ck_assert_msg(n >= 3, "%s was found in %d of %d graphs", planted[_i].name, n, TRIES);
}
END_TEST

Suite *property_suite(void)
{
    Suite *suite = suite_create("property");
    TCase *tests = tcase_create("graphs");
    tcase_add_test(tests, random_graphs);
    suite_add_tcase(suite, tests);
    TCase *planted = tcase_create("planted");
    tcase_add_test(planted, a_right_operation_passes_the_checks);
    tcase_add_loop_test(planted, a_wrong_operation_is_found, 0, 5);
    suite_add_tcase(suite, planted);
    return suite;
}
