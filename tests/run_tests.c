/* run_tests.c: runs the suites named on the command line, or all, and prints a line for each:
 * "NAME: N passed, N failed". Check runs each test in its own process, so a test can crash; on Windows it runs all in one.
 *
 * The suites in float run with KAERU_WARN=1, and a warning that is not in the list `warned` fails the suite: they are hundreds
 * of programs without a mistake, of which none must be told. Those in double run without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

#include "kaeru/types.h"
#include "suites.h"

static const struct { const char *name; Suite *(*make)(void); } suites[] = {
#define SUITE(name) { #name, name##_suite },
    SUITES
#undef SUITE
};
enum { N_SUITES = sizeof(suites) / sizeof(suites[0]) };

#ifndef _WIN32
/* Warnings of tests that do what is told of, each by the file of the call. */
static const struct { const char *file, *warning; } warned[] = {
    /* models that are used with dropout and without a graph, to compare results */
    { "test_attention.c", "dropout acts" }, { "test_dropout.c", "dropout acts" }, { "test_gpt.c", "dropout acts" },
    { "test_llama.c", "dropout acts" }, { "test_lora.c", "dropout acts" }, { "test_mistakes.c", "dropout acts" },
    { "test_precision.c", "dropout acts" }, { "test_recurrent.c", "dropout acts" }, { "test_variants.c", "dropout acts" },
    /* samples of operations have any numbers */
    { "op_samples", "its input has numbers above 0" }, { "test_nan.c", "its input has numbers above 0" },
    { "test_torch.c", "its input has numbers above 0" },
    /* steps without dropout, to compare weights */
    { "test_lora.c", "is in evaluation mode" }, { "test_parallel.c", "is in evaluation mode" },
    /* a head alone is trained */
    { "test_load.c", "has got no gradient in 3 steps" },
};
enum { N_WARNED = sizeof(warned) / sizeof(warned[0]) };

static bool is_expected(const char *line)
{
    for (int i = 0; i < N_WARNED; i++)
        if (strstr(line, warned[i].file) && strstr(line, warned[i].warning)) return true;
    return false;
}

static int left_out;                            /* tests of the suite that need a part which is not in this build: absent.c */

/* Copies what the tests wrote to stderr, and counts the tests that were left out. Returns how many warnings in it are not
 * expected. */
static int check_warnings(FILE *written)
{
    char line[4096];
    int unexpected = 0;
    rewind(written);
    left_out = 0;
    while (fgets(line, sizeof line, written)) {
        fputs(line, stderr);
        left_out += strncmp(line, "left out: ", 10) == 0;
        if (!strstr(line, "kaeru: warning: ") || is_expected(line)) continue;
        printf("a warning that is not in the list `warned` of run_tests.c: %s", line);
        unexpected++;
    }
    return unexpected;
}

/* Runs the tests. Returns how many warnings were not expected. */
static int run_all(SRunner *runner)
{
    static int out;                             /* the program's stderr; not by dup, which io_faults.c counts */
    if (out == 0) out = fcntl(2, F_DUPFD_CLOEXEC, 3);
    FILE *written = sizeof(ag_real) == sizeof(float) ? tmpfile() : NULL;
    if (!written) {
        srunner_run_all(runner, CK_ENV);
        return 0;
    }
    fflush(stderr);
    dup2(fileno(written), 2);
    srunner_run_all(runner, CK_ENV);
    fflush(stderr);
    dup2(out, 2);
    int unexpected = check_warnings(written);
    fclose(written);
    return unexpected;
}
#else
enum { left_out = 0 };

static int run_all(SRunner *runner)
{
    srunner_run_all(runner, CK_ENV);
    return 0;
}
#endif

/* Returns how many tests failed, with the warnings that were not expected. */
static int run(int i)
{
    SRunner *runner = srunner_create(suites[i].make());
    int unexpected = run_all(runner);
    int failed = srunner_ntests_failed(runner), passed = srunner_ntests_run(runner) - failed - left_out;
    srunner_free(runner);
    if (left_out > 0) {
        printf("%s: %d tests of parts that are not in this build are left out\n", suites[i].name, left_out);
    }
    printf("%s: %d passed, %d failed\n", suites[i].name, passed, failed + unexpected);
    fflush(stdout);
    return failed + unexpected;
}

static int find(const char *name)
{
    for (int i = 0; i < N_SUITES; i++)
        if (strcmp(suites[i].name, name) == 0)
            return i;
    fprintf(stderr, "run_tests: there is no suite %s; there are:", name);
    for (int i = 0; i < N_SUITES; i++)
        fprintf(stderr, " %s", suites[i].name);
    fprintf(stderr, "\n");
    exit(2);
}

int main(int argc, char **argv)
{
    /* Seconds for one test: Check's 4 are too few on a busy machine. CK_TIMEOUT_MULTIPLIER in the environment multiplies
     * them, for slow tools. */
    if (!getenv("CK_DEFAULT_TIMEOUT")) putenv("CK_DEFAULT_TIMEOUT=300");
#ifndef _WIN32
    if (sizeof(ag_real) == sizeof(float)) setenv("KAERU_WARN", "1", 1);
#endif
    int failed = 0;
    for (int k = 1; k < argc; k++)
        failed += run(find(argv[k]));
    for (int i = 0; i < N_SUITES && argc == 1; i++)
        failed += run(i);
    return failed > 0;
}
