/* pool.c: the threads behind k_parallel.
 *
 * A job is cut into pieces that the caller and the workers take one by one from a ticket: a single atomic word that holds
 * the job's number, how many pieces it has and which comes next. Whoever takes a piece holds the job open until the piece
 * is done, so what describes the job can lie in plain variables; who finds no piece left touches nothing. A worker that
 * the system does not run just now costs nothing: the others take its pieces.
 *
 * Waiting is spinning for SPIN_NS, because in a training step the next job is a few microseconds away and waking a
 * thread costs about as much, and then sleeping, because idle threads must not eat a shared machine. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE             /* sched_getaffinity */
#endif

#include "kernels.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 256,
    PIECES_A_THREAD = 4,        /* more than 1, so that who is late or slow takes fewer */
    SPIN_NS = 40000,
    STACK_BYTES = 1 << 20
};

/* Ticket: job number, pieces, next piece. */
enum { NEXT_BITS = 16, PIECES_BITS = 16 };
#define TICKET(job, pieces) (((uint64_t)(job) << (NEXT_BITS + PIECES_BITS)) | ((uint64_t)(pieces) << NEXT_BITS))
static int64_t next_of(uint64_t ticket)   { return (int64_t)(ticket & ((1u << NEXT_BITS) - 1)); }
static int64_t pieces_of(uint64_t ticket) { return (int64_t)(ticket >> NEXT_BITS & ((1u << PIECES_BITS) - 1)); }

static atomic_int wanted;               /* threads asked for; 0: not yet known */
static atomic_flag busy = ATOMIC_FLAG_INIT;     /* some thread has the pool; it guards the next four */
static pthread_t worker[MAX_THREADS];
static int workers;                     /* running */
static int sized_for;                   /* the number of threads that `workers` was chosen for */
static bool fork_handled;

/* The job. Each on a cache line of its own where several threads write. */
static _Alignas(64) atomic_uint_fast64_t ticket;
static _Alignas(64) atomic_int_fast64_t done;           /* finished pieces */
static _Alignas(64) KBody *job_body;
static void *job_arg;
static int64_t job_n;
static uint32_t job_number;

/* Sleeping. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_there = PTHREAD_COND_INITIALIZER, all_done = PTHREAD_COND_INITIALIZER;
static atomic_int sleepers;
static atomic_bool caller_sleeps, stop;

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Spins until ready() or for SPIN_NS; says whether it is ready. */
static bool spin_until(bool (*ready)(void))
{
    for (int64_t end = 0;;) {
        for (int i = 0; i < 32; i++) {
            if (ready())
                return true;
            relax();
        }
        int64_t now = now_ns();
        if (end == 0)
            end = now + SPIN_NS;
        else if (now > end)
            return false;
    }
}

/* Takes pieces and works on them until none is left. */
static void take_pieces(void)
{
    uint64_t t = atomic_load(&ticket);
    while (next_of(t) < pieces_of(t)) {
        if (!atomic_compare_exchange_weak(&ticket, &t, t + 1))
            continue;
        int64_t pieces = pieces_of(t), size = job_n / pieces, longer = job_n % pieces, i = next_of(t);
        int64_t begin = i * size + (i < longer ? i : longer);
        job_body(job_arg, begin, begin + size + (i < longer));
        if (atomic_fetch_add(&done, 1) + 1 == pieces && atomic_load(&caller_sleeps)) {
            pthread_mutex_lock(&lock);
            pthread_cond_signal(&all_done);
            pthread_mutex_unlock(&lock);
        }
        t = atomic_load(&ticket);
    }
}

static bool work_or_stop(void)
{
    uint64_t t = atomic_load(&ticket);
    return next_of(t) < pieces_of(t) || atomic_load(&stop);
}

static bool pieces_done(void)
{
    return atomic_load(&done) == pieces_of(atomic_load_explicit(&ticket, memory_order_relaxed));
}

/* Waking a thread costs the waker microseconds, so that the caller wakes one and each that wakes up wakes two more. */
static void wake(int n)
{
    if (atomic_load(&sleepers) == 0)
        return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++)
        pthread_cond_signal(&work_there);
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        take_pieces();
        if (spin_until(work_or_stop))
            continue;
        pthread_mutex_lock(&lock);
        atomic_fetch_add(&sleepers, 1);         /* before looking again: the caller publishes, then counts sleepers */
        while (!work_or_stop())
            pthread_cond_wait(&work_there, &lock);
        atomic_fetch_sub(&sleepers, 1);
        pthread_mutex_unlock(&lock);
        wake(2);
    }
    return NULL;
}

/* ---- starting and ending ----------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

/* The child has none of the workers, and nobody who had the pool: it starts afresh. */
static void after_fork_in_child(void)
{
    pthread_mutex_unlock(&lock);
    pthread_cond_init(&work_there, NULL);
    pthread_cond_init(&all_done, NULL);
    workers = sized_for = 0;
    atomic_store(&ticket, 0);
    atomic_store(&sleepers, 0);
    atomic_store(&caller_sleeps, false);
    atomic_store(&stop, false);
    atomic_flag_clear(&busy);
}

static void end_workers(void)
{
    atomic_store(&stop, true);
    wake(workers);
    while (workers > 0)
        pthread_join(worker[--workers], NULL);
    atomic_store(&stop, false);
    sized_for = 0;
}

/* Starts n - 1 workers, or as many as the system gives. Signals stay with the program's own threads. */
static void start_workers(int n)
{
    if (!fork_handled)
        fork_handled = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) == 0) {
        pthread_attr_setstacksize(&attr, STACK_BYTES);
        while (workers < n - 1 && pthread_create(&worker[workers], &attr, work, NULL) == 0)
            workers++;
        pthread_attr_destroy(&attr);
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    sized_for = n;
}

__attribute__((destructor)) static void end_at_exit(void)
{
    if (atomic_flag_test_and_set(&busy))
        return;                                 /* exit() while another thread computes: let it be */
    end_workers();
    atomic_flag_clear(&busy);
}

static int processors(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

void k_set_threads(int n)
{
    if (n <= 0) {
        const char *text = getenv("KAERU_THREADS");
        n = text ? atoi(text) : 0;
        if (n <= 0)
            n = processors();
    }
    atomic_store(&wanted, n < MAX_THREADS ? n : MAX_THREADS);
}

int k_threads(void)
{
    int n = atomic_load_explicit(&wanted, memory_order_relaxed);
    if (n == 0) {
        k_set_threads(0);
        n = atomic_load(&wanted);
    }
    return n;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static void wait_for_pieces(void)
{
    if (spin_until(pieces_done))
        return;
    pthread_mutex_lock(&lock);
    atomic_store(&caller_sleeps, true);
    while (!pieces_done())
        pthread_cond_wait(&all_done, &lock);
    atomic_store(&caller_sleeps, false);
    pthread_mutex_unlock(&lock);
}

void k_parallel(int64_t n, int64_t grain, KBody *body, void *arg)
{
    if (n <= 0)
        return;
    int threads = n > grain ? k_threads() : 1;
    if (threads == 1 || atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        body(arg, 0, n);
        return;
    }
    if (sized_for != threads) {
        end_workers();
        start_workers(threads);
    }
    int64_t pieces = n / (grain > 0 ? grain : 1), most = (int64_t)(workers + 1) * PIECES_A_THREAD;
    pieces = pieces < most ? pieces : most;
    if (workers == 0 || pieces < 2)
        body(arg, 0, n);
    else {
        job_body = body;
        job_arg = arg;
        job_n = n;
        atomic_store(&done, 0);
        atomic_store(&ticket, TICKET(++job_number, pieces));        /* from here on the workers see it */
        wake(1);
        take_pieces();
        wait_for_pieces();
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
}
