/* processes.c: training by several processes (kaeru/parallel.h), where the library was built with MPI. Only the first process
 * writes files and prints. */
#include <signal.h>
#include <stdlib.h>

#include "common.h"
#include "host.h"
#include "kaeru/version.h"
#ifdef KAERU_MPI
#include "kaeru/mpi.h"
#endif

static NnProcesses *processes;
double deadline_option = 60;
int64_t shards_option;
static volatile sig_atomic_t signaled;

void processes_begin(void)
{
#ifdef KAERU_MPI
    processes = nn_mpi_begin();
#endif
}

bool processes_end(bool *stopped)
{
    bool is_first = example_writes();
    if (processes) {
        processes->end(processes);
    }
    processes = NULL;
    if (!*stopped) {
        host_on_stop(SIG_DFL);                              /* what follows is no training, and a signal ends it */
        *stopped = signaled != 0;                           /* in the last step: a resumed run does what follows */
    }
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

void processes_must_agree(bool help)
{
#ifdef KAERU_MPI
    if (!processes) {
        return;
    }
    processes->deadline = deadline_option;
    bool good = nn_processes_agree(processes, "kaeru's version", "%s", kaeru_version()) &&
                nn_processes_agree(processes, "--help", "%d", help) &&
                (help || nn_processes_agree(processes, "--seed", "%lld", (long long)example_seed()));
    for (const NnOptions *o = example_options(); !help && o->fields; o++) {
        for (const NnField *f = o->fields->field; good && f->name; f++) {
            char name[80], buffer[NN_FIELD_BUFFER];
            const char *value = nn_field_text(f, o->of, buffer);
            snprintf(name, sizeof name, "--%s", f->option ? f->option : f->name);
            good = nn_processes_agree(processes, name, "%s", value ? value : "none");
        }
    }
    if (!good) {
        example_fail("%s", ag_error());
    }
#else
    (void)help;
#endif
}

/* All processes may end with the same error: the others wait until the first one has told it and ended them. */
void processes_wait_to_fail(void)
{
    if (!example_writes()) {
        signal(SIGTERM, SIG_DFL);                                       /* by which it ends them */
        double end = example_seconds() + processes->patience * (processes->rank < 3 ? processes->rank : 3);
        while (example_seconds() < end) {
            processes->progress(processes, true);                       /* or others would take this process for silent */
        }
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

void choose_shards(int64_t most)
{
    if (shards_option == 0) {
        shards_option = !processes ? 1 : most < 8 ? most : 8;
    }
    if (!processes) {
        return;
    }
    if (processes->size > shards_option) {
        example_usage_error("%d processes for %lld shards: expected at most one process a shard (--shards)", processes->size,
                            (long long)shards_option);
    }
    say("%d processes share the %lld shards of each batch\n", processes->size, (long long)shards_option);
}

int64_t example_shards(void)
{
    return shards_option > 0 ? shards_option : 1;
}

void say_if_shards_are_empty(int64_t batch)
{
    if (processes && example_shards() > batch) {
        say("a batch of %lld leaves some shards empty\n", (long long)batch);
    }
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    signaled = number;
}

const volatile sig_atomic_t *example_stop(void)
{
    host_on_stop(on_signal);
    return &signaled;
}
