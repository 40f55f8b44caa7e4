/* mpi.c: kaeru/parallel.h's processes over MPI, by non-blocking messages between two processes.
 *
 * MPI makes progress only inside of its calls, so this file keeps a list of the messages on the way and tests them. */
#define _GNU_SOURCE                     /* sched_getaffinity */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "kaeru/mpi.h"

typedef struct { int *pending, peer; } Message;

typedef struct {
    NnProcesses processes;
    MPI_Comm comm;
    int largest_tag;
    int n, capacity;                        /* messages on the way */
    MPI_Request *request;
    Message *message;
    int *done;                          /* for MPI_Testsome, */
    MPI_Status *status;                 /* and read by nobody: gcc warns of MPICH's MPI_STATUSES_IGNORE */
    int idle;                           /* calls of progress without a message that was done, while this process waits */
    double told, *heard;                /* when this process told that it waits, and when each other did */
    MPI_Request hearing;
} Mpi;

static Mpi *all;

static volatile sig_atomic_t status_to_leave;

static void leave(int signal)
{
    (void)signal;
    _Exit(status_to_leave);
}

static sigjmp_buf without_finalize;
static pthread_t finalizing;

/* The signal may arrive in any thread. */
static void go_on(int signal)
{
    if (pthread_equal(finalizing, pthread_self())) siglongjmp(without_finalize, 1);
    pthread_kill(finalizing, signal);
}

static void call_after(double seconds, void (*handler)(int))
{
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { (time_t)seconds, (suseconds_t)(fmod(seconds, 1) * 1e6) } }, NULL);
}

/* MPICH's launcher loses a line that is on its way when MPI_Abort is called, so this waits a little first. Its MPI_Abort waits
 * for a process that is stopped. So this process ends itself after a while; the launcher ends the others. */
_Noreturn void nn_mpi_abort(int status)
{
    int begun = 0, ended = 0;
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    status_to_leave = status;
    call_after(0.5, leave);
    if (begun && !ended) MPI_Abort(all ? all->comm : MPI_COMM_WORLD, status);
    _Exit(status);
}

_Noreturn static void fail(const char *line)
{
    fflush(stdout);
    fprintf(stderr, "kaeru: %s\n", line);
    nn_mpi_abort(1);
}

static void mpi_fail(NnProcesses *p, const char *line)
{
    (void)p;
    fail(line);
}

/* Most usage errors are those of all processes: one tells it and ends the others (as parallel_fail does). */
static void report_usage_error(const char *message)
{
    signal(SIGTERM, SIG_DFL);
    NnProcesses *p = all ? &all->processes : NULL;
    double end = p ? MPI_Wtime() + p->patience * (p->rank < 3 ? p->rank : 3) : 0;
    while (p && MPI_Wtime() < end) p->progress(p, true);
    fail(message);
}

/* Ends all processes unless an MPI function has succeeded. */
static void check(int code, const char *what, int peer)
{
    if (code == MPI_SUCCESS) return;
    char reason[MPI_MAX_ERROR_STRING] = "", line[MPI_MAX_ERROR_STRING + 128];
    int length = 0, begun = 0;
    MPI_Initialized(&begun);
    if (begun) MPI_Error_string(code, reason, &length);
    for (int i = 0; i < length; i++)
        if (reason[i] == '\n') reason[i] = ' ';
    int n = all ? snprintf(line, sizeof line, "process %d: ", all->processes.rank) : 0;
    n += snprintf(line + n, sizeof line - (size_t)n, "%s", what);
    if (peer >= 0) n += snprintf(line + n, sizeof line - (size_t)n, " with process %d", peer);
    snprintf(line + n, sizeof line - (size_t)n, " failed%s%s", *reason ? ": " : "", reason);
    fail(line);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

enum { MOST_BYTES = 1 << 30 };          /* MPI counts with int */

static MPI_Request *new_message(Mpi *m, int peer, int *pending)
{
    if (m->n == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 256;
        m->request = ag_resize_in(m, m->request, (size_t)m->capacity, (size_t)capacity, sizeof *m->request);
        m->message = ag_resize_in(m, m->message, (size_t)m->capacity, (size_t)capacity, sizeof *m->message);
        m->done = ag_resize_in(m, m->done, (size_t)m->capacity, (size_t)capacity, sizeof *m->done);
        m->status = ag_resize_in(m, m->status, (size_t)m->capacity, (size_t)capacity, sizeof *m->status);
        m->capacity = capacity;
    }
    m->message[m->n] = (Message){ pending, peer };
    ++*pending;
    return &m->request[m->n++];
}

static void mpi_send(NnProcesses *p, int to, int tag, const void *bytes, size_t n, int *pending)
{
    Mpi *m = (Mpi *)p;
    do {
        int part = n < MOST_BYTES ? (int)n : MOST_BYTES;
        check(MPI_Isend(bytes, part, MPI_BYTE, to, tag % m->largest_tag, m->comm, new_message(m, to, pending)), "MPI_Isend",
              to);
        bytes = (const char *)bytes + part;
        n -= (size_t)part;
    } while (n > 0);
}

static void mpi_receive(NnProcesses *p, int from, int tag, void *bytes, size_t n, int *pending)
{
    Mpi *m = (Mpi *)p;
    do {
        int part = n < MOST_BYTES ? (int)n : MOST_BYTES;
        check(MPI_Irecv(bytes, part, MPI_BYTE, from, tag % m->largest_tag, m->comm, new_message(m, from, pending)), "MPI_Irecv",
              from);
        bytes = (char *)bytes + part;
        n -= (size_t)part;
    } while (n > 0);
}

/* A process that waits leaves its processor to others, which matters if there are more processes than processors. */
static void give_way(Mpi *m)
{
    if (++m->idle < 1000) sched_yield();
    else nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

/* Tells all others that this process waits, by an empty message with a tag of its own. */
static void tell_others(Mpi *m)
{
    MPI_Request request;
    if (MPI_Wtime() - m->told < m->processes.deadline / 8) return;
    m->told = MPI_Wtime();
    for (int rank = 0; rank < m->processes.size; rank++) {
        if (rank == m->processes.rank) continue;
        check(MPI_Isend(NULL, 0, MPI_BYTE, rank, m->largest_tag, m->comm, &request), "MPI_Isend", rank);
        check(MPI_Request_free(&request), "MPI_Request_free", rank);
    }
}

static void hear_next(Mpi *m)
{
    check(MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, m->largest_tag, m->comm, &m->hearing), "MPI_Irecv", -1);
}

static void hear(Mpi *m)
{
    MPI_Status status;
    for (int done;; hear_next(m)) {
        check(MPI_Test(&m->hearing, &done, &status), "MPI_Test", -1);
        if (!done) return;
        m->heard[status.MPI_SOURCE] = MPI_Wtime();
    }
}

static bool mpi_progress(NnProcesses *p, bool waits)
{
    Mpi *m = (Mpi *)p;
    int n = 0;
    check(MPI_Testsome(m->n, m->request, &n, m->done, m->status), "MPI_Testsome", -1);
    if (n == MPI_UNDEFINED || n == 0) {
        hear(m);
        if (waits) tell_others(m);
        if (waits) give_way(m);
        return false;
    }
    m->idle = 0;
    for (int i = 0; i < n; i++) --*m->message[m->done[i]].pending;
    int kept = 0;
    for (int i = 0; i < m->n; i++) {
        if (m->request[i] == MPI_REQUEST_NULL) continue;
        m->request[kept] = m->request[i];
        m->message[kept++] = m->message[i];
    }
    m->n = kept;
    return true;
}

static int mpi_peer(NnProcesses *p, const int *pending, double *silent)
{
    const Mpi *m = (const Mpi *)p;
    int peer = -1;
    for (int i = 0; i < m->n; i++) {
        int other = m->message[i].peer;
        if (m->message[i].pending == pending && (peer < 0 || m->heard[other] < m->heard[peer])) peer = other;
    }
    *silent = MPI_Wtime() - m->heard[peer];
    return peer;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

/* The first process may still draw and write, so this waits longer than for a message. */
static void wait_for_all(Mpi *m)
{
    MPI_Request request;
    int done = 0;
    double most = 10 * m->processes.deadline, begun = MPI_Wtime();
    m->idle = 0;
    check(MPI_Ibarrier(m->comm, &request), "MPI_Ibarrier", -1);
    for (;;) {
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", -1);
        if (done) return;
        if (MPI_Wtime() - begun > most) fail("the training has ended, but a process has been silent since");
        give_way(m);
    }
}

/* With MPICH 4.0 over TCP, MPI_Finalize may not return, in any program. The first process may have a model to save after this:
 * it goes on after two seconds. The others wait for it, since their end would end it. The program's timer stands still. */
static void mpi_end(NnProcesses *p)
{
    Mpi *m = (Mpi *)p;
    wait_for_all(m);
    check(MPI_Cancel(&m->hearing), "MPI_Cancel", -1);
    check(MPI_Wait(&m->hearing, MPI_STATUS_IGNORE), "MPI_Wait", -1);
    check(MPI_Comm_free(&m->comm), "MPI_Comm_free", -1);
    all = NULL;
    fflush(stdout);
    const struct itimerval none = { .it_value = { 0, 0 } };
    struct itimerval timer;
    struct sigaction handler;
    setitimer(ITIMER_REAL, &none, &timer);
    sigaction(SIGALRM, NULL, &handler);
    finalizing = pthread_self();
    if (sigsetjmp(without_finalize, 1) == 0) {
        if (p->rank == 0) call_after(2, go_on);
        else call_after(2 + p->deadline, leave);
        check(MPI_Finalize(), "MPI_Finalize", -1);
    }
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &handler, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    ag_free(m);
}

/* The number of processes that Open MPI, MPICH and the like, or Slurm's srun have started; 0: none of them did. */
static int launched(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && (i < 2 || atoi(value) > 1)) return atoi(value);
    }
    return getenv("PMIX_RANK") || getenv("PMI_RANK") ? 1 : 0;
}

/* The processors that this process may use: Linux's set of them. Elsewhere all, and no byte is set. */
typedef struct { unsigned char bytes[128]; } Processors;

static Processors own_processors(void)
{
    Processors own = { { 0 } };
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        memcpy(own.bytes, &set, sizeof set < sizeof own ? sizeof set : sizeof own);
#endif
    return own;
}

/* Processes on one machine that may use the same processors divide them, unless the user has set the number of threads. Returns
 * the number of processes on this machine. */
static int divide_processors(MPI_Comm comm)
{
    MPI_Comm machine;
    int n = 1, sharers = 0;
    Processors own = own_processors();
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine), "MPI_Comm_split_type", -1);
    check(MPI_Comm_size(machine, &n), "MPI_Comm_size", -1);
    Processors *each = ag_alloc((size_t)n, sizeof *each);
    check(MPI_Allgather(&own, sizeof own, MPI_BYTE, each, sizeof own, MPI_BYTE, machine), "MPI_Allgather", -1);
    for (int i = 0; i < n; i++) sharers += memcmp(&each[i], &own, sizeof own) == 0;
    ag_free(each);
    check(MPI_Comm_free(&machine), "MPI_Comm_free", -1);
    if (sharers > 1 && !getenv("KAERU_THREADS")) ag_set_threads(ag_threads() / sharers > 1 ? ag_threads() / sharers : 1);
    return n;
}

NnProcesses *nn_mpi_begin(void)
{
    int expected = launched();
    if (expected == 0) return NULL;
    check(MPI_Init(NULL, NULL), "MPI_Init", -1);
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", -1);
    int size = 1, rank, found, *largest;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size", -1);
    if (expected > size) fail("the launcher has started processes that do not find each other: expected mpirun of the MPI that "
                              "this program was built with, or another --mpi of srun (srun --mpi=list)");
    if (size == 1) {
        check(MPI_Finalize(), "MPI_Finalize", -1);
        return NULL;
    }
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank", -1);
    Mpi *m = ag_alloc(1, sizeof *m);
    m->comm = MPI_COMM_WORLD;
    m->processes = (NnProcesses){ rank, size, 60, 2, mpi_send, mpi_receive, mpi_progress, mpi_peer, mpi_fail, mpi_end };
    all = m;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &m->comm), "MPI_Comm_dup", -1);
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &found), "MPI_Comm_get_attr", -1);
    m->largest_tag = found ? *largest : 32767;
    m->told = -INFINITY;
    m->heard = ag_alloc_in(m, (size_t)size, sizeof *m->heard);
    hear_next(m);
    AgErrorHandler *own = ag_on_usage_error(report_usage_error);
    if (own) ag_on_usage_error(own);
    /* Open MPI's mpirun ends the processes on its own machine at once, or after a second if one of them is stopped, and those
     * on others up to three seconds later. */
    if (divide_processors(m->comm) < size) m->processes.patience = 4;
    if (rank > 0) {
        fflush(stdout);
        int null = open("/dev/null", O_WRONLY);
        if (null < 0 || dup2(null, STDOUT_FILENO) < 0) fail("cannot open /dev/null");
        close(null);
    }
    return &m->processes;
}
