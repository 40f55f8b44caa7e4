/* run_tests.c: runs the suites named on the command line, or all, and prints a line for each:
 * "NAME: N passed, N failed". Check runs each test in its own process, so a test can crash; on Windows it runs all in one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"

static const struct { const char *name; Suite *(*make)(void); } suites[] = {
#define SUITE(name) { #name, name##_suite },
    SUITES
#undef SUITE
};
enum { N_SUITES = sizeof(suites) / sizeof(suites[0]) };

/* Returns how many tests failed. */
static int run(int i)
{
    SRunner *runner = srunner_create(suites[i].make());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner), passed = srunner_ntests_run(runner) - failed;
    srunner_free(runner);
    printf("%s: %d passed, %d failed\n", suites[i].name, passed, failed);
    fflush(stdout);
    return failed;
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
    int failed = 0;
    for (int k = 1; k < argc; k++)
        failed += run(find(argv[k]));
    for (int i = 0; i < N_SUITES && argc == 1; i++)
        failed += run(i);
    return failed > 0;
}
