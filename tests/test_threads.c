/* test_threads.c: k_parallel, and the functions of one double. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"
#include "kernels.h"
#include "suites.h"

enum { ITEMS = 1000 };
typedef struct { atomic_int visits[ITEMS], calls, nested; int64_t grain; } Visits;

static void visit(void *arg, int64_t begin, int64_t end)
{
    Visits *v = arg;
    atomic_fetch_add(&v->calls, 1);
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&v->visits[i], 1);
    ck_assert(end - begin >= v->grain || end == ITEMS);
}

START_TEST(pieces_cover_everything_once)
{
    for (int threads = 1; threads <= 8; threads++) {
        k_set_threads(threads);
        ck_assert_int_eq(k_threads(), threads);
        for (int64_t n = 0; n <= ITEMS; n += n < 20 ? 1 : 70) {
            static const int64_t grains[] = { 1, 3, 64, 5000 };
            for (int g = 0; g < 4; g++) {
                Visits v = { .grain = n < ITEMS ? 0 : grains[g] };
                k_parallel(n, grains[g], visit, &v);
                for (int64_t i = 0; i < ITEMS; i++)
                    ck_assert_int_eq(v.visits[i], i < n);
                if (n <= grains[g])
                    ck_assert_int_eq(v.calls, n > 0);
            }
        }
    }
    k_set_threads(0);
    ck_assert_int_ge(k_threads(), 1);
}
END_TEST

static void visit_nested(void *arg, int64_t begin, int64_t end)
{
    Visits *v = arg;
    for (int64_t i = begin; i < end; i++) {
        Visits inner = { .grain = 0 };
        k_parallel(ITEMS, 1, visit, &inner);
        atomic_fetch_add(&v->nested, inner.calls == 1 && k_threads() == 1); /* as one piece */
    }
}

START_TEST(nested_calls_run_on_their_caller)
{
    k_set_threads(3);
    Visits v = { .grain = 0 };
    k_parallel(50, 1, visit_nested, &v);
    ck_assert_int_eq(v.nested, 50);
}
END_TEST

static void *many_calls(void *arg)
{
    for (int i = 0; i < 300; i++) {
        Visits v = { .grain = 0 };
        k_parallel(ITEMS, 10, visit, &v);
        for (int k = 0; k < ITEMS; k++)
            if (v.visits[k] != 1)
                *(bool *)arg = true;
    }
    return NULL;
}

START_TEST(two_threads_may_call_at_once)
{
    k_set_threads(2);
    bool wrong[2] = { false, false };
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, many_calls, &wrong[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    ck_assert(!wrong[0] && !wrong[1]);
}
END_TEST

START_TEST(a_forked_child_has_its_own_threads)
{
    k_set_threads(3);
    bool wrong = false;
    many_calls(&wrong);
    for (int i = 0; i < 5 && forks_start_threads(); i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            many_calls(&wrong);
            _exit(wrong);
        }
        many_calls(&wrong);
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    ck_assert(!wrong);
}
END_TEST

/* The threads of the pool block all signals, the thread that starts them none. */
START_TEST(starting_threads_leaves_the_signal_mask)
{
    sigset_t before, after;
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    ck_assert_int_eq(sigismember(&before, SIGTERM), 0);
    k_set_threads(3);
    Visits v = { .grain = 0 };
    k_parallel(ITEMS, 10, visit, &v);
    ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int i = 1; i < 32; i++) ck_assert_msg(sigismember(&before, i) == sigismember(&after, i), "signal %d", i);
}
END_TEST

/* A child of fork starts threads of its own: its jobs are not one chunk. */
START_TEST(a_forked_child_computes_in_chunks)
{
    if (!forks_start_threads()) return;
    k_set_threads(3);
    Visits v = { .grain = 0 };
    k_parallel(ITEMS, 10, visit, &v);
    ck_assert_int_gt(v.calls, 1);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        Visits w = { .grain = 0 };
        k_parallel(ITEMS, 10, visit, &w);
        _exit(w.calls > 1 ? 7 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

enum { PATIENCE = 20000 };              /* milliseconds until a test decides that something does not end */

static pthread_t caller;
static atomic_bool job_over, worker_waits;

/* The caller takes its chunk until the worker has begun the other one, which takes longer than the caller spins. */
static void slow_in_workers(void *arg, int64_t begin, int64_t end)
{
    (void)arg, (void)begin, (void)end;
    if (pthread_equal(pthread_self(), caller)) {
        for (int ms = 0; ms < PATIENCE && !atomic_load(&worker_waits); ms++) usleep(1000);
    } else {
        atomic_store(&worker_waits, true);
        usleep(20000);
    }
}

static void *call_slow_job(void *arg)
{
    caller = pthread_self();
    k_parallel(2, 1, slow_in_workers, arg);
    atomic_store(&job_over, true);
    return NULL;
}

/* The caller of a job sleeps while the last chunk is computed, and is woken at its end. */
START_TEST(a_sleeping_caller_is_woken)
{
    pthread_t thread;
    k_set_threads(2);
    ck_assert_int_eq(pthread_create(&thread, NULL, call_slow_job, NULL), 0);
    for (int ms = 0; ms < PATIENCE && !atomic_load(&job_over); ms++) usleep(1000);
    ck_assert_msg(atomic_load(&job_over), "the caller of a job still sleeps");
    pthread_join(thread, NULL);
}
END_TEST

static void wait_forever(void *arg, int64_t begin, int64_t end)
{
    (void)arg, (void)begin, (void)end;
    if (!pthread_equal(pthread_self(), caller)) atomic_store(&worker_waits, true);
    for (;;) pause();
}

static void *call_endless_job(void *arg)
{
    caller = pthread_self();
    k_parallel(2, 1, wait_forever, arg);
    return NULL;
}

/* exit() does not wait for a job of another thread. */
START_TEST(a_program_can_end_during_a_job)
{
    if (!forks_start_threads()) return;
    k_set_threads(2);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, call_endless_job, NULL) != 0) _exit(1);
        while (!atomic_load(&worker_waits)) usleep(1000);
        exit(7);
    }
    int status = 0;
    pid_t ended = 0;
    for (int ms = 0; ms < PATIENCE && (ended = waitpid(child, &status, WNOHANG)) == 0; ms++) usleep(1000);
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    ck_assert_msg(ended == child, "exit() waits for a job");
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
END_TEST

/* ---- functions of one double ------------------------------------------------------------------------------------- */

static double ulps(double got, double expected)
{
    if (isnan(expected) || isinf(expected) || expected == 0)
        return (isnan(got) && isnan(expected)) || got == expected ? 0 : INFINITY;
    int e = ilogb(expected);
    return fabs(got - expected) / ldexp(1, (e < -1022 ? -1022 : e) - 52);
}

/* A double from random bits, with any exponent. */
static double any_double(uint64_t i)
{
    uint32_t word[4];
    k_philox(9, i, word);
    union { uint64_t bits; double value; } u = { (uint64_t)word[0] << 32 | word[1] };
    return u.value;
}

static double sin_in_range(double x)
{
    return fabs(x) <= 1e8 ? sin(x) : NAN;
}

static double cos_in_range(double x)
{
    return fabs(x) <= 1e8 ? cos(x) : NAN;
}

/* The C library's functions can have an error of 1 ulp. */
START_TEST(scalars_match_the_c_library)
{
    for (uint64_t i = 0; i < 200000; i++) {
        double x = any_double(i);
        if (isnan(x))
            continue;
        double small = remainder(x, 700), y = remainder(any_double(i + 1000000), 20), angle = remainder(x, 2e8);
        ck_assert_msg(ulps(ag_math_exp(small), exp(small)) <= 3, "exp %a: %a", small, ag_math_exp(small));
        ck_assert_msg(ulps(ag_math_log(fabs(x)), log(fabs(x))) <= 3, "log %a: %a", fabs(x), ag_math_log(fabs(x)));
        ck_assert_msg(ulps(ag_math_sin(x), sin_in_range(x)) <= 3, "sin %a: %a", x, ag_math_sin(x));
        ck_assert_msg(ulps(ag_math_cos(x), cos_in_range(x)) <= 3, "cos %a: %a", x, ag_math_cos(x));
        ck_assert_msg(ulps(ag_math_sin(angle), sin(angle)) <= 3, "sin %a: %a", angle, ag_math_sin(angle));
        ck_assert_msg(ulps(ag_math_cos(angle), cos(angle)) <= 3, "cos %a: %a", angle, ag_math_cos(angle));
        ck_assert_msg(ulps(ag_math_sin(y), sin(y)) <= 3, "sin %a: %a", y, ag_math_sin(y));
        ck_assert_msg(ulps(ag_math_pow(fabs(x), y), pow(fabs(x), y)) <= 3, "pow %a %a: %a", fabs(x), y,
                      ag_math_pow(fabs(x), y));
        double whole = round(y * 10);
        ck_assert_msg(ulps(ag_math_pow(-fabs(y), whole), pow(-fabs(y), whole)) <= 3, "pow %a %a", -fabs(y), whole);
    }
}
END_TEST

START_TEST(scalars_at_the_edges)
{
    static const double edge[] = { 0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 2, -2, 3, -3, 1.5, 5e-324, -5e-324,
                                   1e300, -1e300, 1e16, 1e8, -1e8, 100000001, 9007199254740991.0, -745, 710, -708.5 };
    for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++) {
        double x = edge[i];
        ck_assert_double_le(ulps(ag_math_exp(x), exp(x)), 3);
        ck_assert_double_le(ulps(ag_math_log(x), log(x)), 3);
        ck_assert_double_le(ulps(ag_math_sin(x), sin_in_range(x)), 3);
        ck_assert_double_le(ulps(ag_math_cos(x), cos_in_range(x)), 3);
        for (size_t k = 0; k < sizeof edge / sizeof edge[0]; k++) {
            double got = ag_math_pow(x, edge[k]), expected = pow(x, edge[k]);
            ck_assert_double_le(ulps(got, expected), 3);
            ck_assert(isnan(expected) || signbit(got) == signbit(expected));
        }
    }
}
END_TEST

Suite *threads_suite(void)
{
    Suite *suite = suite_create("threads");
    TCase *tests = tcase_create("threads");
    tcase_add_test(tests, pieces_cover_everything_once);
    tcase_add_test(tests, nested_calls_run_on_their_caller);
    tcase_add_test(tests, two_threads_may_call_at_once);
    tcase_add_test(tests, a_forked_child_has_its_own_threads);
    tcase_add_test(tests, starting_threads_leaves_the_signal_mask);
    tcase_add_test(tests, a_forked_child_computes_in_chunks);
    tcase_add_test(tests, a_sleeping_caller_is_woken);
    tcase_add_test(tests, a_program_can_end_during_a_job);
    tcase_add_test(tests, scalars_match_the_c_library);
    tcase_add_test(tests, scalars_at_the_edges);
    suite_add_tcase(suite, tests);
    return suite;
}
