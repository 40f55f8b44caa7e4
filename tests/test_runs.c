/* test_runs.c: whole runs of a Transformer and a GPT: build, train, save, load, generate. Allocations and file calls that fail
 * at any point, kills at any moment, a second thread and a fork must not lose or change anything. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "folder.h"
#include "forks.h"
#include "io_faults.h"
#include "kaeru/nn.h"
#include "runs.h"
#include "suites.h"
#include "usage_error.h"

/* The checkpoints must be the same, and the best ones of a GPT, too. */
static void check_same(const char *left, const char *right)
{
    char best[2][32];
    folder_same(left, right);
    snprintf(best[0], sizeof best[0], "%s.best", left);
    snprintf(best[1], sizeof best[1], "%s.best", right);
    if (access(in_folder(best[0]), F_OK) == 0) folder_same(best[0], best[1]);
}

static void train(const Run *r, RunSize size, const char *name, bool resume)
{
    ck_assert_msg(r->train(&size, in_folder(name), resume, NULL), "%s: %s", r->name, ag_error());
}

/* ---- failing allocations and files ------------------------------------------------------------------------------- */

static const Run *tried;
static const char *tried_path;
static bool succeeded;

static void whole_run(void)
{
    succeeded = false;
    succeeded = tried->train(&(RunSize){ 1, 4, 2, 2, 1, 0, NULL }, tried_path, false, NULL) && tried->generate(tried_path);
}

typedef struct { const char *name; void (*at)(int64_t n, bool all_after); bool (*hit)(void); int64_t least; } Fault;
static const Fault faults[] = {
    { "memory", faults_at, faults_hit, 500 },
    { "files", io_faults_at, io_faults_hit, 30 },
};

/* Whether the whole run reached the failing call number n. If so, it must have reported an error and leaked nothing, and the
 * checkpoint, old or new, must load. */
static bool reaches(const Fault *t, int64_t n, bool all_after)
{
    ag_memory_trim();
    int64_t live = faults_live();
    int open = io_faults_open();
    ag_set_error("%s", "");
    t->at(n, all_after);
    CATCH_USAGE_ERROR(whole_run());
    bool hit = t->hit();
    t->at(-1, false);
    ag_memory_trim();
    ck_assert_msg(faults_live() == live, "%s %d: %d blocks of memory are left", t->name, (int)n,
                  (int)(faults_live() - live));
    ck_assert_msg(io_faults_open() == open, "%s %d: a file is open", t->name, (int)n);
    bool reported = *usage_message || *ag_error();
    ck_assert_msg(succeeded || (hit && reported), "%s %d: it failed without a message", t->name, (int)n);
    ck_assert_msg(tried->generate(tried_path), "%s %d: the checkpoint is lost: %s", t->name, (int)n, ag_error());
    ck_assert_int_le(folder_count(), 3);                        /* checkpoints and vocabulary, no temporary files */
    return hit;
}

/* _i: which run, which fault, whether all later calls fail as well. One call in eleven fails, in double other calls than in
 * float; KAERU_EVERY_CALL in the environment sets this number, 1 for a thorough run. */
START_TEST(every_call_that_can_fail_fails)
{
    if (!faults_work()) return;
    tried = &runs[_i % 2];
    tried_path = in_folder("run");
    const Fault *t = &faults[_i / 2 % 2];
    bool all_after = _i / 4;
    CATCH_USAGE_ERROR(whole_run());             /* for the old checkpoint and one-time allocations */
    ck_assert_msg(succeeded, "%s", ag_error());
    int64_t every = from_environment("KAERU_EVERY_CALL", 11), n = every > 1 && sizeof(ag_real) == sizeof(double);
    while (reaches(t, n, all_after)) n += every;
    ck_assert(succeeded);
    ck_assert_int_gt(n, t->least);
    printf("%s, %s: %lld calls, one in %lld failed %s\n", tried->name, t->name, (long long)n, (long long)every,
           all_after ? "with all that followed" : "once");
    fflush(stdout);
}
END_TEST

/* ---- kills ------------------------------------------------------------------------------------------------------- */

static void sleep_briefly(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

/* KAERU_KILLS in the environment sets the number of kills, for a thorough run. */
START_TEST(kills_at_any_moment_change_nothing)
{
    const Run *r = &runs[_i];
    long kills = from_environment("KAERU_KILLS", 20), died = 0, finished = 0;
    RunSize size = { 2, 8, 2, 60, 6, 0, NULL };
    train(r, size, "straight", false);
    bool begun = false;                                         /* whether the run has a checkpoint */
    srand(1);
    while (died < kills) {
        int status;
        pid_t child = fork();
        if (child == 0) _exit(r->train(&size, in_folder("killed"), begun, sleep_briefly) ? 0 : 1);
        nanosleep(&(struct timespec){ .tv_nsec = rand() % 40000 * 1000 }, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        ck_assert_msg(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "a run failed after %ld kills", died);
        died += WIFSIGNALED(status) != 0;
        begun = access(in_folder("killed"), F_OK) == 0;
        if (WIFSIGNALED(status)) continue;
        check_same("straight", "killed");                       /* it ended before the kill: start again */
        remove(in_folder("killed"));
        begun = false;
        finished++;
    }
    train(r, size, "killed", begun);
    check_same("straight", "killed");
    printf("%s: %ld killed, %ld run to the end, each with the weights of the run without kills\n", r->name, died,
           finished + 1);
    fflush(stdout);
}
END_TEST

/* ---- the same bytes ---------------------------------------------------------------------------------------------- */

static const RunSize middle_size = { 2, 32, 24, 6, 2, 0, NULL };

static void leave_after_five(void)
{
    static int steps;
    if (++steps == 5) _exit(7);
}

START_TEST(a_stopped_run_resumes_to_the_same_bytes)
{
    train(&runs[_i], middle_size, "straight", false);
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        if (!forks_start_threads()) ag_set_threads(1);
        _exit(runs[_i].train(&middle_size, in_folder("stopped"), false, leave_after_five) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    train(&runs[_i], middle_size, "stopped", true);
    check_same("straight", "stopped");
}
END_TEST

typedef struct { const Run *run; const char *path; bool good; } Job;

static void *work(void *arg)
{
    Job *job = arg;
    job->good = job->run->train(&middle_size, job->path, false, NULL) && job->run->generate(job->path);
    return NULL;
}

START_TEST(two_threads_train_a_model_each)
{
    Job job[N_RUNS];
    pthread_t thread[N_RUNS];
    for (int i = 0; i < N_RUNS; i++) {
        train(&runs[i], middle_size, runs[i].name, false);
        job[i] = (Job){ &runs[i], in_folder(i ? "second" : "first"), false };
    }
    for (int i = 0; i < N_RUNS; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &job[i]), 0);
    for (int i = 0; i < N_RUNS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert(job[i].good);
        check_same(runs[i].name, i ? "second" : "first");
    }
}
END_TEST

START_TEST(a_forked_child_trains_as_its_parent)
{
    if (!forks_start_threads()) return;
    ag_set_threads(3);
    train(&runs[_i], middle_size, "before", false);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        Job job = { &runs[_i], in_folder("child"), false };
        work(&job);
        _exit(job.good ? 0 : 1);
    }
    train(&runs[_i], middle_size, "parent", false);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_same("before", "parent");
    check_same("before", "child");
    ag_set_threads(0);
}
END_TEST

Suite *runs_suite(void)
{
    Suite *suite = suite_create("runs");
    TCase *failures = tcase_create("failures");
    tcase_add_checked_fixture(failures, folder_make, folder_remove);
    tcase_add_loop_test(failures, every_call_that_can_fail_fails, 0, 8);
    suite_add_tcase(suite, failures);
    TCase *kills = tcase_create("kills");
    tcase_add_checked_fixture(kills, folder_make, folder_remove);
    tcase_add_loop_test(kills, kills_at_any_moment_change_nothing, 0, N_RUNS);
    suite_add_tcase(suite, kills);
    TCase *same = tcase_create("the same bytes");
    tcase_add_checked_fixture(same, folder_make, folder_remove);
    tcase_add_loop_test(same, a_stopped_run_resumes_to_the_same_bytes, 0, N_RUNS);
    tcase_add_test(same, two_threads_train_a_model_each);
    tcase_add_loop_test(same, a_forked_child_trains_as_its_parent, 0, N_RUNS);
    suite_add_tcase(suite, same);
    return suite;
}
