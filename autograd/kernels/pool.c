/* pool.c: the threads behind k_parallel.
 *
 * A job is cut into pieces, and each thread finds its share of them on a desk of its own: the caller the first ones,
 * its workers the next, the same in every job. So what a thread wrote in one job it reads in the next, out of its own
 * cache; fetching it from another core's can take several times as long. A thread whose desk is empty takes pieces from
 * the others' desks, from the far end: a worker that the system does not run just now costs nothing.
 *
 * What lies on a desk is a single atomic word: the job's number, the next piece and the end. Whoever takes a piece
 * holds the job open until the piece is done, so what describes the job can lie in plain variables; who finds no piece
 * left touches nothing.
 *
 * Waiting is spinning for SPIN_NS, because in a training step the next job is a few microseconds away and waking a
 * thread costs about as much, and then sleeping, because idle threads must not eat a shared machine. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE             /* sched_getaffinity */
#endif

#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 256,
    PIECES_A_THREAD = 4,        /* more than 1, so that who is late or slow takes fewer */
    SPIN_NS = 40000,
    STACK_BYTES = 1 << 20
};

/* What lies on a desk: job number, next piece, end. */
enum { PIECE_BITS = 16, PIECE_MASK = (1 << PIECE_BITS) - 1 };
#define SHARE(job, next, end) ((uint64_t)(job) << (2 * PIECE_BITS) | (uint64_t)(next) << PIECE_BITS | (uint64_t)(end))
static int64_t next_of(uint64_t share) { return (int64_t)(share >> PIECE_BITS & PIECE_MASK); }
static int64_t end_of(uint64_t share)  { return (int64_t)(share & PIECE_MASK); }

static atomic_int wanted;               /* threads asked for; 0: not yet known */
static atomic_flag busy = ATOMIC_FLAG_INIT;     /* some thread has the pool; it guards the next four */
static pthread_t worker[MAX_THREADS];
static int workers;                     /* running */
static int sized_for;                   /* the number of threads that `workers` was chosen for */
static bool fork_handled;

/* Desk 0 is the caller's. The job stands on each, so that one cache line travels to a worker, not several. */
typedef struct { _Alignas(64) atomic_uint_fast64_t share; KBody *body; void *arg; int64_t n, pieces; } Desk;
static Desk desk[MAX_THREADS];
static atomic_int desks;                /* in use */
static _Alignas(64) atomic_int left;    /* pieces that are not done */
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

/* Spins until ready(at) or for SPIN_NS; says whether it is ready. */
static bool spin_until(bool (*ready)(const Desk *at), const Desk *at)
{
    for (int64_t end = 0;;) {
        for (int i = 0; i < 32; i++) {
            if (ready(at))
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

/* Takes the first piece from a desk, or the last one; -1 if there is none. */
static int64_t take_piece(Desk *d, bool first)
{
    uint64_t share = atomic_load(&d->share);
    while (next_of(share) < end_of(share)) {
        uint64_t rest = first ? share + ((uint64_t)1 << PIECE_BITS) : share - 1;
        if (atomic_compare_exchange_weak(&d->share, &share, rest))
            return first ? next_of(share) : end_of(share) - 1;
    }
    return -1;
}

static void work_on(const Desk *d, int64_t i)
{
    int64_t size = d->n / d->pieces, longer = d->n % d->pieces, begin = i * size + (i < longer ? i : longer);
    d->body(d->arg, begin, begin + size + (i < longer));
}

static void report(int pieces)
{
    if (pieces > 0 && atomic_fetch_sub(&left, pieces) == pieces && atomic_load(&caller_sleeps)) {
        pthread_mutex_lock(&lock);
        pthread_cond_signal(&all_done);
        pthread_mutex_unlock(&lock);
    }
}

/* Works on all pieces of its own desk, then on those that others have not come to. */
static void take_pieces(int own)
{
    int count = 0;
    for (int64_t i; (i = take_piece(&desk[own], true)) >= 0; count++)
        work_on(&desk[own], i);
    report(count);
    for (int k = 0, n = atomic_load(&desks); k < n; k++)
        for (int64_t i; (i = take_piece(&desk[k], false)) >= 0; report(1))
            work_on(&desk[k], i);
}

static bool has_work(const Desk *d)
{
    uint64_t share = atomic_load(&d->share);
    return next_of(share) < end_of(share);
}

static bool work_or_stop(const Desk *own)
{
    return has_work(own) || atomic_load(&stop);
}

static bool any_work_or_stop(void)
{
    for (int k = 0, n = atomic_load(&desks); k < n; k++)
        if (has_work(&desk[k]))
            return true;
    return atomic_load(&stop);
}

static bool pieces_done(const Desk *unused)
{
    (void)unused;
    return atomic_load(&left) == 0;
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

static void *work(void *arg)
{
    Desk *own = arg;
    while (!atomic_load(&stop)) {
        take_pieces((int)(own - desk));
        if (spin_until(work_or_stop, own))
            continue;
        pthread_mutex_lock(&lock);
        atomic_fetch_add(&sleepers, 1);         /* before looking again: the caller publishes, then counts sleepers */
        while (!any_work_or_stop())
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
    for (int i = 0; i < MAX_THREADS; i++)
        atomic_store(&desk[i].share, 0);
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
    atomic_store(&desks, n);
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) == 0) {
        pthread_attr_setstacksize(&attr, STACK_BYTES);
        while (workers < n - 1 && pthread_create(&worker[workers], &attr, work, &desk[workers + 1]) == 0)
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
    if (spin_until(pieces_done, NULL))
        return;
    pthread_mutex_lock(&lock);
    atomic_store(&caller_sleeps, true);
    while (!pieces_done(NULL))
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
    int64_t pieces = n / (grain > 0 ? grain : 1), hands = workers + 1;
    pieces = pieces < PIECES_A_THREAD * hands ? pieces : PIECES_A_THREAD * hands;
    if (pieces > hands)
        pieces -= pieces % hands;               /* the same for each */
    if (workers == 0 || pieces < 2)
        body(arg, 0, n);
    else {
        if (pieces < hands)
            hands = pieces;
        atomic_store(&left, (int)pieces);
        job_number++;
        for (int64_t i = 0; i < hands; i++) {
            desk[i].body = body;
            desk[i].arg = arg;
            desk[i].n = n;
            desk[i].pieces = pieces;
            atomic_store(&desk[i].share, SHARE(job_number, i * pieces / hands, (i + 1) * pieces / hands));
        }
        wake(1);
        take_pieces(0);
        wait_for_pieces();
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
}
