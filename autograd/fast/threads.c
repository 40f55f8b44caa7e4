/* threads.c: the thread pool behind k_parallel.
 *
 * A job is cut into chunks. Each thread has a work queue of its own with a fixed share of the chunks: the caller's queue has
 * the first ones, the workers' queues the next. Jobs of the same size have the same shares, so a thread finds what it wrote in
 * the previous job in its own cache; fetching it from another core's cache can take several times as long. A thread whose
 * queue is empty steals chunks from the end of the others' queues. So a worker that the system has suspended delays a job by
 * at most the chunk that it has begun.
 *
 * A queue is one atomic word: job id, next chunk, end. A job is not over while a chunk of it is being computed, so ordinary
 * variables can describe the job. A thread that gets no chunk does not read them.
 *
 * A waiting thread spins for K_SPIN_NS, because the next job of a training step is a few microseconds away and waking a thread
 * takes about as long. Then it sleeps, so that idle threads do not use a shared machine. */
#include "threads.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "chunks.h"
#include "system.h"

enum {
    MAX_THREADS = 256,
    CHUNKS_PER_THREAD = 4,      /* more than 1, so that a late or slow thread computes fewer */
    STACK_BYTES = 1 << 20
};

/* The word of a queue. */
enum { CHUNK_BITS = 16, CHUNK_MASK = (1 << CHUNK_BITS) - 1 };
#define QUEUE(job, next, end) ((uint64_t)(job) << (2 * CHUNK_BITS) | (uint64_t)(next) << CHUNK_BITS | (uint64_t)(end))
static int64_t next_of(uint64_t queue) { return (int64_t)(queue >> CHUNK_BITS & CHUNK_MASK); }
static int64_t end_of(uint64_t queue)  { return (int64_t)(queue & CHUNK_MASK); }

static atomic_int requested;            /* the number of threads; 0: not yet known */
static atomic_flag busy = ATOMIC_FLAG_INIT;     /* a thread uses the pool; guards the next four */
static pthread_t worker[MAX_THREADS];
static int workers;                     /* running */
static int sized_for;                   /* the number of threads that `workers` was chosen for */
static bool fork_handled;

/* Queue 0 is the caller's. Each queue has a copy of the job's description, so a worker reads only one cache line. */
typedef struct { _Alignas(64) atomic_uint_fast64_t word; KBody *body; void *arg; int64_t n, chunks; } WorkQueue;
static WorkQueue queue[MAX_THREADS];
static atomic_int n_queues;             /* in use */
static _Alignas(64) atomic_int left;    /* chunks that are not finished */
static uint32_t job_id;

/* Sleeping. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER, job_done = PTHREAD_COND_INITIALIZER;
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

/* Spins until ready(q) or for K_SPIN_NS; returns whether it is ready. */
static bool spin_until(bool (*ready)(const WorkQueue *q), const WorkQueue *q)
{
    for (int64_t end = 0;;) {
        for (int i = 0; i < 32; i++) {
            if (ready(q)) return true;
            relax();
        }
        int64_t now = now_ns();
        if (end == 0) end = now + K_SPIN_NS;
        else if (now > end) return false;
    }
}

/* Takes the first chunk from a queue, or the last one; -1 if it is empty. */
static int64_t take_chunk(WorkQueue *q, bool first)
{
    uint64_t word = atomic_load(&q->word);
    while (next_of(word) < end_of(word)) {
        uint64_t rest = first ? word + ((uint64_t)1 << CHUNK_BITS) : word - 1;
        if (atomic_compare_exchange_weak(&q->word, &word, rest))
            return first ? next_of(word) : end_of(word) - 1;
    }
    return -1;
}

static _Thread_local bool in_body;

static void run_chunk(const WorkQueue *q, int64_t i)
{
    in_body = true;
    q->body(q->arg, k_chunk_begin(q->n, q->chunks, i), k_chunk_begin(q->n, q->chunks, i + 1));
    in_body = false;
}

static void finish_chunks(int chunks)
{
    if (chunks > 0 && atomic_fetch_sub(&left, chunks) == chunks && atomic_load(&caller_sleeps)) {
        pthread_mutex_lock(&lock);
        pthread_cond_signal(&job_done);
        pthread_mutex_unlock(&lock);
    }
}

/* Runs all chunks of the thread's own queue, then steals from the others. */
static void run_chunks(int own)
{
    int count = 0;
    for (int64_t i; (i = take_chunk(&queue[own], true)) >= 0; count++)
        run_chunk(&queue[own], i);
    finish_chunks(count);
    for (int k = 0, n = atomic_load(&n_queues); k < n; k++)
        for (int64_t i; (i = take_chunk(&queue[k], false)) >= 0; finish_chunks(1))
            run_chunk(&queue[k], i);
}

static bool has_work(const WorkQueue *q)
{
    uint64_t word = atomic_load(&q->word);
    return next_of(word) < end_of(word);
}

static bool work_or_stop(const WorkQueue *own)
{
    return has_work(own) || atomic_load(&stop);
}

static bool any_work_or_stop(void)
{
    for (int k = 0, n = atomic_load(&n_queues); k < n; k++)
        if (has_work(&queue[k])) return true;
    return atomic_load(&stop);
}

static bool chunks_done(const WorkQueue *unused)
{
    (void)unused;
    return atomic_load(&left) == 0;
}

/* Waking a thread takes microseconds, so the caller wakes one, and each woken thread wakes two more. */
static void wake(int n)
{
    if (atomic_load(&sleepers) == 0) return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++)
        pthread_cond_signal(&work_ready);
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
    WorkQueue *own = arg;
    while (!atomic_load(&stop)) {
        run_chunks((int)(own - queue));
        if (spin_until(work_or_stop, own)) continue;
        pthread_mutex_lock(&lock);
        /* before the check, so that no wake-up is lost: the caller publishes the work before it reads `sleepers` */
        atomic_fetch_add(&sleepers, 1);
        while (!any_work_or_stop())
            pthread_cond_wait(&work_ready, &lock);
        atomic_fetch_sub(&sleepers, 1);
        pthread_mutex_unlock(&lock);
        wake(2);
    }
    return NULL;
}

/* ---- starting and stopping the workers --------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

/* The child has no workers, and nothing runs in its pool. Resets the pool to its first state. */
static void after_fork_in_child(void)
{
    pthread_mutex_unlock(&lock);
    pthread_cond_init(&work_ready, NULL);
    pthread_cond_init(&job_done, NULL);
    workers = sized_for = 0;
    for (int i = 0; i < MAX_THREADS; i++)
        atomic_store(&queue[i].word, 0);
    atomic_store(&sleepers, 0);
    atomic_store(&caller_sleeps, false);
    atomic_store(&stop, false);
    atomic_flag_clear(&busy);
}

static void stop_workers(void)
{
    atomic_store(&stop, true);
    wake(workers);
    while (workers > 0)
        pthread_join(worker[--workers], NULL);
    atomic_store(&stop, false);
    sized_for = 0;
}

/* Starts n - 1 workers, or as many as the system allows. */
static void start_workers(int n)
{
    if (!fork_handled) system_at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    fork_handled = true;
    atomic_store(&n_queues, n);
    while (workers < n - 1 && system_start_thread(&worker[workers], STACK_BYTES, work, &queue[workers + 1])) workers++;
    sized_for = n;
}

__attribute__((destructor)) static void stop_at_exit(void)
{
    if (atomic_flag_test_and_set(&busy))
        return;                                 /* exit() while another thread computes: leave the workers */
    stop_workers();
    atomic_flag_clear(&busy);
}

void k_set_threads(int n)
{
    if (n <= 0) {
        const char *text = getenv("KAERU_THREADS");
        n = text ? atoi(text) : 0;
        if (n <= 0) n = system_processors();
    }
    atomic_store(&requested, n < MAX_THREADS ? n : MAX_THREADS);
}

int k_threads(void)
{
    if (in_body) return 1;
    int n = atomic_load_explicit(&requested, memory_order_relaxed);
    if (n == 0) {
        k_set_threads(0);
        n = atomic_load(&requested);
    }
    return n;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static void wait_for_chunks(void)
{
    if (spin_until(chunks_done, NULL)) return;
    pthread_mutex_lock(&lock);
    atomic_store(&caller_sleeps, true);
    while (!chunks_done(NULL))
        pthread_cond_wait(&job_done, &lock);
    atomic_store(&caller_sleeps, false);
    pthread_mutex_unlock(&lock);
}

int64_t k_chunks(int64_t n, int64_t grain, int64_t threads)
{
    int64_t chunks = n / (grain > 0 ? grain : 1);
    if (chunks > CHUNKS_PER_THREAD * threads) chunks = CHUNKS_PER_THREAD * threads;
    return chunks > threads ? chunks - chunks % threads : chunks;       /* the same number for each */
}

void k_parallel(int64_t n, int64_t grain, KBody *body, void *arg)
{
    if (n <= 0) return;
    int threads = n > grain ? k_threads() : 1;
    if (threads == 1 || atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        body(arg, 0, n);
        return;
    }
    if (sized_for != threads) {
        stop_workers();
        start_workers(threads);
    }
    int64_t threads_used = workers + 1, chunks = k_chunks(n, grain, threads_used);
    if (workers == 0 || chunks < 2)
        body(arg, 0, n);
    else {
        if (chunks < threads_used) threads_used = chunks;
        atomic_store(&left, (int)chunks);
        job_id++;
        for (int64_t i = 0; i < threads_used; i++) {
            queue[i].body = body;
            queue[i].arg = arg;
            queue[i].n = n;
            queue[i].chunks = chunks;
            atomic_store(&queue[i].word, QUEUE(job_id, i * chunks / threads_used, (i + 1) * chunks / threads_used));
        }
        wake(1);
        run_chunks(0);
        wait_for_chunks();
    }
    atomic_flag_clear_explicit(&busy, memory_order_release);
}
