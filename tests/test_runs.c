/* test_runs.c: whole runs of a Transformer and a GPT: build, train, save, load, write. Memory and files that fail at
 * each point, kills at any moment, a second thread and a fork must neither lose nor change anything. */
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

/* The checkpoints, and the best ones of a GPT. */
static void check_same(const char *left, const char *right)
{
    char command[700];
    const char *a = in_folder(left), *b = in_folder(right);
    snprintf(command, sizeof command, "cmp '%s' '%s' && if test -e '%s.best'; then cmp '%s.best' '%s.best'; fi", a, b,
             a, a, b);
    ck_assert_int_eq(system(command), 0);
}

static void train(const Run *r, RunSize size, const char *name, bool resume)
{
    ck_assert_msg(r->train(&size, in_folder(name), resume, NULL), "%s: %s", r->name, ag_error());
}

/* ---- memory and files that fail ---------------------------------------------------------------------------------- */

static const Run *tried;
static const char *tried_path;
static bool succeeded;

static void whole_run(void)
{
    succeeded = false;
    succeeded = tried->train(&(RunSize){ 1, 4, 2, 2, 1 }, tried_path, false, NULL) && tried->write(tried_path);
}

typedef struct { const char *name; void (*at)(int64_t n, bool all_after); bool (*hit)(void); int64_t least; } Trouble;
static const Trouble troubles[] = {
    { "memory", faults_at, faults_hit, 500 },
    { "files", io_faults_at, io_faults_hit, 30 },
};

/* Whether the whole run reached the failing call number n. If so, it must have said why, have left nothing behind, and
 * the checkpoint, old or new, must be whole. */
static bool reaches(const Trouble *t, int64_t n, bool all_after)
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
    ck_assert_msg(faults_live() == live, "%s %d: %d pieces of memory are left", t->name, (int)n,
                  (int)(faults_live() - live));
    ck_assert_msg(io_faults_open() == open, "%s %d: a file is open", t->name, (int)n);
    bool told = *usage_message || *ag_error();
    ck_assert_msg(succeeded || (hit && told), "%s %d: no word on why it failed", t->name, (int)n);
    ck_assert_msg(tried->write(tried_path), "%s %d: the checkpoint is lost: %s", t->name, (int)n, ag_error());
    ck_assert_int_le(folder_count(), 3);                        /* checkpoints and vocabulary, nothing half written */
    return hit;
}

/* _i: which run, which trouble, whether all later calls fail as well. Every third call is tried, in double others than in
 * float; with KAERU_EVERY_CALL, for a thorough run, each of them. */
START_TEST(every_call_that_can_fail_fails)
{
    if (!faults_work()) return;
    tried = &runs[_i % 2];
    tried_path = in_folder("run");
    const Trouble *t = &troubles[_i / 2 % 2];
    bool all_after = _i / 4;
    CATCH_USAGE_ERROR(whole_run());                  /* the old checkpoint, and what is made once in a program */
    ck_assert_msg(succeeded, "%s", ag_error());
    bool each = from_environment("KAERU_EVERY_CALL", 0);
    int64_t n = !each && sizeof(real) == sizeof(double);
    while (reaches(t, n, all_after)) n += each ? 1 : 3;
    ck_assert(succeeded);
    ck_assert_int_gt(n, t->least);
    printf("%s, %s: %lld calls, each %sfailed %s\n", tried->name, t->name, (long long)n, each ? "" : "third ",
           all_after ? "with all that followed" : "once");
    fflush(stdout);
}
END_TEST

/* ---- kills ------------------------------------------------------------------------------------------------------- */

static void doze(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

/* KAERU_KILLS kills, for a thorough run. */
START_TEST(kills_at_any_moment_change_nothing)
{
    const Run *r = &runs[_i];
    long kills = from_environment("KAERU_KILLS", 20), died = 0, finished = 0;
    RunSize size = { 2, 8, 2, 60, 6 };
    train(r, size, "straight", false);
    bool begun = false;                                         /* a checkpoint of the run is there */
    srand(1);
    while (died < kills) {
        int status;
        pid_t child = fork();
        if (child == 0) _exit(r->train(&size, in_folder("killed"), begun, doze) ? 0 : 1);
        nanosleep(&(struct timespec){ .tv_nsec = rand() % 40000 * 1000 }, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        ck_assert_msg(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "a run failed after %ld kills", died);
        died += WIFSIGNALED(status) != 0;
        begun = access(in_folder("killed"), F_OK) == 0;
        if (WIFSIGNALED(status)) continue;
        check_same("straight", "killed");                       /* it came to its end: once more */
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

static const RunSize middle_size = { 2, 32, 24, 6, 2 };

static void leave_after_five(void)
{
    static int steps;
    if (++steps == 5) _exit(7);
}

START_TEST(a_stop_changes_nothing)
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
    job->good = job->run->train(&middle_size, job->path, false, NULL) && job->run->write(job->path);
    return NULL;
}

START_TEST(two_threads_have_a_model_each)
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

START_TEST(a_fork_after_use_trains_as_its_parent)
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
    tcase_add_loop_test(same, a_stop_changes_nothing, 0, N_RUNS);
    tcase_add_test(same, two_threads_have_a_model_each);
    tcase_add_loop_test(same, a_fork_after_use_trains_as_its_parent, 0, N_RUNS);
    suite_add_tcase(suite, same);
    return suite;
}
