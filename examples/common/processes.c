/* processes.c: training by several processes (kaeru/parallel.h), where the library was built with MPI. Only the first process
 * writes files and prints. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"
#include "kaeru/version.h"
#ifdef KAERU_MPI
#include "kaeru/mpi.h"
#endif

static NnProcesses *processes;
static double deadline = 60;
static int64_t shards;                                                  /* 0: chosen by choose_shards */
static volatile sig_atomic_t signaled;

void processes_begin(void)
{
#ifdef KAERU_MPI
    processes = nn_mpi_begin();
#endif
}

bool processes_end(void)
{
    bool is_first = example_writes();
    if (processes) {
        processes->end(processes);
    }
    processes = NULL;
    ag_set_threads((int)example_threads());
    return is_first;
}

NnProcesses *example_processes(void)
{
    return processes;
}

bool example_writes(void)
{
    return !processes || processes->rank == 0;
}

/* As option_value, but "0.1" and not "0.10000000000000001". */
static const char *short_value(const Option *o, char text[32])
{
    if (o->kind == OPTION_REAL) {
        snprintf(text, 32, "%.15g", *(double *)o->value);
        if (strtod(text, NULL) == *(double *)o->value) {
            return text;
        }
    }
    return option_value(o, text);
}

void processes_must_agree(const Option *o)
{
    if (!processes) {
        return;
    }
    processes->deadline = deadline;
    bool good = nn_processes_agree(processes, "kaeru's version", "%s", kaeru_version()) &&
                nn_processes_agree(processes, "--seed", "%lld", (long long)example_seed());
    for (; good && o->kind != OPTION_END; o++) {
        char name[80], text[32];
        const char *value = short_value(o, text);
        snprintf(name, sizeof name, "--%s", o->name);
        good = nn_processes_agree(processes, name, "%s", value ? value : "none");
    }
    if (!good) {
        example_fail("%s", ag_error());
    }
}

/* All processes may end with the same error: the others wait until the first one has told it and ended them. */
void processes_wait_to_fail(void)
{
    if (!example_writes()) {
        signal(SIGTERM, SIG_DFL);                                       /* by which it ends them */
        nanosleep(&(struct timespec){ .tv_sec = processes->patience * (processes->rank < 3 ? processes->rank : 3) }, NULL);
    }
}

_Noreturn void processes_exit(int status)
{
#ifdef KAERU_MPI
    if (processes) {
        nn_mpi_abort(status);
    }
#endif
    _Exit(status);
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

Option option_shards(void)
{
    return option_int("shards", &shards, 0, 1 << 24,
                      "parts of a batch that processes can share; the weights depend on it; 0: 1, or 8 for several processes");
}

Option option_deadline(void)
{
    return option_real("deadline", &deadline, 0.1, 1e6, "seconds after which a silent process ends the others");
}

void choose_shards(int64_t most)
{
    if (shards == 0) {
        shards = !processes ? 1 : most < 8 ? most : 8;
    }
    if (!processes) {
        return;
    }
    if (processes->size > shards) {
        example_usage_error("%d processes for %lld shards: expected at most one process a shard (--shards)", processes->size,
                            (long long)shards);
    }
    printf("%d processes share the %lld shards of each batch\n", processes->size, (long long)shards);
}

int64_t example_shards(void)
{
    return shards > 0 ? shards : 1;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    signaled = number;
}

const volatile sig_atomic_t *example_stop(void)
{
    static const int numbers[] = { SIGTERM, SIGUSR1 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], &(struct sigaction){ .sa_handler = on_signal, .sa_flags = SA_RESTART }, NULL);
    }
    return &signaled;
}
