/* threads.c: a model of the time of a step on 1 to 64 threads, from counters of the step on one thread. Prints the counters,
 * and writes CSV for plots/threads.gp.
 *
 * The linker redirects k_parallel to this file, which runs the chunks of a parallel region one after another, as k_parallel
 * would cut them for P threads, and times each. A table of kernels that count tells which kernel a region belongs to and the
 * bytes that it moves (moved.h). The library has no counters. A step consists of pieces: chunks, and what is between two
 * regions. Of several steps, the pieces of the fastest one count. (The sum of each piece's shortest time is too small: 0.82 of
 * the step of the workload `overhead`.)
 *
 *     step(P) = outside + sum over kernel calls of (1 - f) x (alone + regions) + f x work x bandwidth(1) / bandwidth(P)
 *     f       = bytes / (bandwidth(1) x work), at most 1: the part of its time on one thread in which a call waits for memory
 *     region  = dispatch(P) + the time until the last chunk is done, if each thread takes the next chunk when it is free
 *     bandwidth(P) and dispatch(P) are measured for P = 1, 2, 4 ... up to the number of processors; beyond, bandwidth(P) is P
 *     times that of one, at most --memory or what was measured
 *
 * Outside: not in a kernel. Alone: in a kernel, but on the caller's thread. Work: the time on one thread. f assumes that a call
 * does not compute while it waits. It is 0 if the data are in a cache: if the step moves little, or the call moves little or
 * moves it faster than memory allows. Where it is not measured, dispatch(P) grows by `line` for each thread: the caller writes
 * a cache line for each. If more than K_SPIN_NS passed since the last region, the threads sleep: each wakes two others, so that
 * a thread joins log2 P x wake later.
 *
 * What the model leaves out: other programs, a clock that slows down when all cores compute, two threads on a core, memory of
 * another socket, and the bytes that attention moves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "attention_blocks.h"
#include "chunks.h"
#include "kernel_table.h"
#include "more_kernel_table.h"
#include "kaeru/autograd.h"
#include "moved.h"

const char program[] = "threads";

/* ---- pieces of a step -------------------------------------------------------------------------------------------- */

enum { OUTSIDE, ATTENTION, ATTENTION_BACKWARD,
#define KERNEL(result, name, parameters, arguments, ret) OF_##name,
#include "kernels.def"
#define KERNEL(result, name, parameters, arguments, ret) OF_##name,
#include "more_kernels.def"
       KINDS };
static const char *const kind_name[KINDS] = { "outside of kernels", "attention", "attention_backward",
#define KERNEL(result, name, parameters, arguments, ret) #name,
#include "kernels.def"
#define KERNEL(result, name, parameters, arguments, ret) #name,
#include "more_kernels.def"
};

typedef struct {
    int kind, region, threads;          /* region: which one a chunk belongs to, from 1; 0: none. threads: that share it */
    bool last;                          /* of a kernel's call, which moves so many bytes */
    double bytes, seconds;
} Piece;

static Piece *piece, *fastest;          /* of this step; of the fastest one */
static int pieces, most_pieces;         /* of a step; that there is memory for */
static int in_kind, region, kept;       /* now: kernel, region; regions too small for two threads so far */
static bool counting, inside;           /* inside: a region */
static double last_time, clock_cost, bytes_of_call;
static int64_t pretended;               /* number of threads */

static Piece *end_piece(void)
{
    double now = seconds_now();
    if (pieces == most_pieces) {
        most_pieces = 2 * most_pieces + 1024;
        piece = realloc(piece, (size_t)most_pieces * sizeof *piece);
        fastest = realloc(fastest, (size_t)most_pieces * sizeof *fastest);
        if (!piece || !fastest) {
            fprintf(stderr, "threads: no memory for %d pieces\n", most_pieces);
            exit(1);
        }
    }
    Piece *p = &piece[pieces++];
    *p = (Piece){ in_kind, inside ? region : 0, 1, false, 0, fmax(now - last_time - clock_cost, 0) };
    last_time = now;
    return p;
}

/* ---- kernels that count ------------------------------------------------------------------------------------------ */

static bool enter(int which, double bytes)
{
    if (!counting || in_kind != OUTSIDE) return false;
    end_piece();
    in_kind = which;
    bytes_of_call = bytes;
    return true;
}

static void leave(const bool *entered)
{
    if (!*entered) return;
    Piece *p = end_piece();
    p->last = true;
    p->bytes = bytes_of_call;
    in_kind = OUTSIDE;
}
#define ENTER(kind, bytes) __attribute__((cleanup(leave))) const bool entered = enter(kind, bytes); (void)entered

static KernelTable own;
static MoreKernelTable own_more;
#define KERNEL(result, name, parameters, arguments, ret)        \
    static result counted_##name parameters                     \
    {                                                           \
        ENTER(OF_##name, (double)(MOVED_##name));               \
        ret own.name arguments;                                 \
    }
#include "kernels.def"
#define KERNEL(result, name, parameters, arguments, ret)        \
    static result counted_##name parameters                     \
    {                                                           \
        ENTER(OF_##name, (double)(MOVED_##name));               \
        ret own_more.name arguments;                            \
    }
#include "more_kernels.def"
static const MoreKernelTable counted_more = {
#define KERNEL(result, name, parameters, arguments, ret) .name = counted_##name,
#include "more_kernels.def"
};
static KernelTable counted = {
#define KERNEL(result, name, parameters, arguments, ret) .name = counted_##name,
#include "kernels.def"
    .further = &counted_more,
};

void __real_k_parallel(int64_t n, int64_t grain, KBody *body, void *arg);
void __wrap_k_parallel(int64_t n, int64_t grain, KBody *body, void *arg);
void __wrap_k_parallel(int64_t n, int64_t grain, KBody *body, void *arg)
{
    if (!counting) {
        __real_k_parallel(n, grain, body, arg);
        return;
    }
    int64_t chunks = k_chunks(n, grain, pretended);
    if (inside || chunks < 2) {
        kept += !inside && n > 0 && pretended > 1;
        if (n > 0) body(arg, 0, n);
        return;
    }
    end_piece();
    inside = true;
    region++;
    k_set_threads(1);                           /* as a body in the pool sees it */
    for (int64_t i = 0; i < chunks; i++) {
        body(arg, k_chunk_begin(n, chunks, i), k_chunk_begin(n, chunks, i + 1));
        end_piece()->threads = (int)(chunks < pretended ? chunks : pretended);
    }
    k_set_threads((int)pretended);
    inside = false;
}

/* The two calls that run kernels in their regions and are no kernels themselves. */
void __real_k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v, real *work);
void __wrap_k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v, real *work);
void __wrap_k_attention(const KAttention *a, real *y, const real *q, const real *k, const real *v, real *work)
{
    ENTER(ATTENTION, 0);
    __real_k_attention(a, y, q, k, v, work);
}

void __real_k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv, bool add_v,
                                 const real *dy, const real *q, const real *k, const real *v, real *work);
void __wrap_k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv, bool add_v,
                                 const real *dy, const real *q, const real *k, const real *v, real *work);
void __wrap_k_attention_backward(const KAttention *a, real *dq, bool add_q, real *dk, bool add_k, real *dv, bool add_v,
                                 const real *dy, const real *q, const real *k, const real *v, real *work)
{
    ENTER(ATTENTION_BACKWARD, 0);
    __real_k_attention_backward(a, dq, add_q, dk, add_k, dv, add_v, dy, q, k, v, work);
}

/* ---- counting a step --------------------------------------------------------------------------------------------- */

/* The seconds of the step, whose pieces are in `piece`. */
static double count_step(const Workload *w, void *state)
{
    pieces = region = kept = 0;
    in_kind = OUTSIDE;
    counting = true;
    last_time = seconds_now();
    w->step(state);
    end_piece();
    counting = false;
    double sum = 0;
    for (int i = 0; i < pieces; i++) sum += piece[i].seconds;
    return sum;
}

/* Fills `fastest` from steps that pretend to have so many threads: at least three, for so many seconds. */
static void count_steps(const Workload *w, void *state, int threads, double seconds)
{
    const KernelTable *before = k_table_in_use;
    own = *before;
    own_more = *k_more_kernels();
    counted.name = own.name;
    k_table_in_use = &counted;
    ag_set_threads(threads);
    pretended = threads;
    double begin = seconds_now(), least = INFINITY;
    for (int i = 0, expected = 0; i < 3 || seconds_now() - begin < seconds; i++) {
        double time = count_step(w, state);
        bool same = i == 0 || pieces == expected;
        for (int k = 0; same && i > 0 && k < pieces; k++)
            same = piece[k].kind == fastest[k].kind && piece[k].region == fastest[k].region;
        if (!same) {
            fprintf(stderr, "threads: two steps differ\n");
            exit(1);
        }
        expected = pieces;
        if (time < least) {
            Piece *other = fastest;
            fastest = piece;
            piece = other;
            least = time;
        }
    }
    k_table_in_use = before;
}

/* The time that a call of the clock adds to a piece. */
static double cost_of_clock(void)
{
    enum { CALLS = 10000 };
    double least = INFINITY;
    for (int k = 0; k < 20; k++) {
        double begin = seconds_now();
        for (int i = 1; i < CALLS; i++) seconds_now();
        least = fmin(least, (seconds_now() - begin) / CALLS);
    }
    return least;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

enum { COUNTS = 9 };            /* of threads: 1, 2, 4 ... 256 */
/* Seconds; bytes of the last cache. For each count of threads: the time to give them a region, and the bytes a second that they
 * read. */
typedef struct { double line, wake, cache, dispatch[COUNTS], memory[COUNTS]; } Machine;
/* The seconds of a step, and of each kind of work in it; work: the sum over all threads. */
typedef struct { double all, kind[KINDS], work[KINDS]; } Model;

#define MOVES        8          /* A step of training reads and writes a value about so often: one that moves less than this
                                 * times the last cache stays in it. Wrong for a small step that reads each value once. */
#define CACHED_BYTES (2 << 20)  /* what a call moves within the first caches */
#define CACHE_SPEED  1.3        /* faster than memory by this factor, more than the rates vary: not from memory */

/* The part of a kernel's time on one thread, `work`, in which it waits for memory. */
static double memory_part(const Machine *m, double bytes, double work)
{
    double part = bytes / (m->memory[0] * work);
    return bytes < CACHED_BYTES || part > CACHE_SPEED ? 0 : fmin(part, 1);
}

/* The time of the region whose first chunk is piece i, `idle` seconds after the last one; *next: the piece behind it. Adds the
 * work in it to *work. */
static double region_time(const Machine *m, int i, double idle, int *next, double *work)
{
    double free_at[1 << (COUNTS - 1)], end = 0;
    int n = fastest[i].threads, count = ilogb(n);
    for (int t = 0; t < n; t++) free_at[t] = idle > 1e-9 * K_SPIN_NS && t > 0 ? m->wake * ceil(log2(t + 1)) : 0;
    for (*next = i; *next < pieces && fastest[*next].region == fastest[i].region; ++*next) {
        int first = 0;
        for (int t = 1; t < n; t++)
            if (free_at[t] < free_at[first]) first = t;
        free_at[first] += fastest[*next].seconds;
        *work += fastest[*next].seconds;
        end = fmax(end, free_at[first]);
    }
    return m->dispatch[count] + (n - (1 << count)) * m->line + end;
}

static Model model_of(const Machine *m, int threads)
{
    Model sum = { 0 };
    double call = 0, work = 0, idle = 0, all_bytes = 0;
    double rate = m->memory[ilogb(threads)];
    for (int i = 0; i < pieces; i++) {
        sum.work[fastest[i].kind] += fastest[i].seconds;
        all_bytes += fastest[i].bytes;
    }
    for (int i = 0, next; i < pieces; i = next) {
        const Piece *p = &fastest[i];
        next = i + 1;
        if (p->region) {
            call += region_time(m, i, idle, &next, &work);
            idle = 0;
            continue;
        }
        idle += p->seconds;
        call += p->seconds;
        work += p->seconds;
        if (p->kind != OUTSIDE && !p->last) continue;
        double part = all_bytes < MOVES * m->cache ? 0 : memory_part(m, p->bytes, work);
        call += part * (work * m->memory[0] / rate - call);
        sum.kind[p->kind] += call;
        sum.all += call;
        call = work = 0;
    }
    return sum;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* The counters of the step in `fastest`, which was cut for many threads. */
static void print_counters(void)
{
    enum { SIZES = 5 };
    static const char *const size_name[SIZES] = { "below 10 us", "10 to 100 us", "0.1 to 1 ms", "1 to 10 ms", "above 10 ms" };
    double outside = 0, alone = 0, bytes = 0, in_size[SIZES] = { 0 };
    int of_size[SIZES] = { 0 };
    for (int i = 0, next; i < pieces; i = next) {
        next = i + 1;
        bytes += fastest[i].bytes;
        if (!fastest[i].region) {
            *(fastest[i].kind == OUTSIDE ? &outside : &alone) += fastest[i].seconds;
            continue;
        }
        double work = 0;
        for (next = i; next < pieces && fastest[next].region == fastest[i].region; next++) work += fastest[next].seconds;
        int size = 0;
        for (double limit = 10e-6; size < SIZES - 1 && work >= limit; limit *= 10) size++;
        of_size[size]++;
        in_size[size] += work;
    }
    printf("  parallel regions: %d; too small for two threads: %d; bytes moved: %.4g MB\n", region, kept, bytes / 1e6);
    printf("  outside of kernels: %.4g ms; in kernels, on the caller's thread alone: %.4g ms\n", 1e3 * outside, 1e3 * alone);
    for (int k = 0; k < SIZES; k++)
        if (of_size[k]) printf("  regions of %-13s %5d, %.4g ms in all\n", size_name[k], of_size[k], 1e3 * in_size[k]);
}

/* What keeps the step from 1/threads of its time: the kinds that lose most, and how much more all threads do than one alone. */
static void print_losses(const Model *one, const Model *many, int threads)
{
    double loss[KINDS], all = many->all - one->all / threads;
    for (int k = 0; k < KINDS; k++) loss[k] = many->kind[k] - one->kind[k] / threads;
    printf("  on %d threads %.3g ms are lost:", threads, 1e3 * all);
    for (int n = 0; n < 6; n++) {
        int worst = 0;
        for (int k = 1; k < KINDS; k++)
            if (loss[k] > loss[worst]) worst = k;
        if (loss[worst] < 0.01 * all) break;
        printf("%s %s %.0f %% (work x %.2f)", n ? "," : "", kind_name[worst], 100 * loss[worst] / all,
               many->work[worst] / one->work[worst]);
        loss[worst] = 0;
    }
    printf("\n");
}

static void print_workload(const Workload *w, const Machine *m, int most, double seconds, FILE *csv)
{
    int64_t parameters = 0;
    int processors = ag_threads();
    const char *precision = ag_precision_now() == AG_BF16 ? "bf16" : "float32";
    printf("%s, %s\n", w->name, precision);
    void *state = w->begin(w, &parameters);
    Model one = { 0 };
    for (int threads = 1; threads <= most; threads *= 2) {
        double least = 0;
        if (threads == 1) {
            ag_set_threads(1);
            for (int i = 0; i < 2; i++) w->step(state);
        }
        count_steps(w, state, threads, seconds);
        Model model = model_of(m, threads);
        if (threads == 1) one = model;
        if (threads == 1 || (threads <= processors && !processor_time)) measure(w, state, seconds, 3, &least);
        if (threads == 16 || (threads < 16 && 2 * threads > most)) {
            print_counters();
            print_losses(&one, &model, threads);
        }
        printf("  %2d threads: model %.4g ms, efficiency %.2f", threads, 1e3 * model.all, one.all / model.all / threads);
        fprintf(csv, "%s,%s,%d,%.6g,%.4f,", w->name, precision, threads, model.all, one.all / model.all / threads);
        if (least > 0) {
            printf("; measured %.4g ms, %+.1f %%", 1e3 * least, 100 * (model.all / least - 1));
            fprintf(csv, "%.6g", least);
        }
        printf("\n");
        fprintf(csv, "\n");
        fflush(csv);
        fflush(stdout);
    }
    w->end(state);
    ag_set_threads(processors);
}

/* The least time of a step of a workload on so many threads. */
static double time_of(const char *name, int threads, double seconds)
{
    const Workload *w = find_workload(name);
    int64_t parameters = 0;
    int before = ag_threads();
    double least;
    ag_set_threads(threads);
    void *state = w->begin(w, &parameters);
    measure(w, state, seconds, 3, &least);
    w->end(state);
    ag_set_threads(before);
    return least;
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

enum { MOST, SECONDS, DISPATCH, LINE, WAKE, CACHE, MEMORY, NUMBERS };
static const struct { const char *name; double most; } numbers[NUMBERS] = {
    { "--threads", 256 }, { "--seconds", 3600 }, { "--dispatch", 1e6 }, { "--line", 1e6 }, { "--wake", 1e6 },
    { "--cache", 1e6 }, { "--memory", 1e6 },
};

/* Measures what the options do not give. */
static Machine machine_of(const double value[NUMBERS])
{
    Machine m = { .line = 1e-9 * value[LINE], .wake = 1e-6 * value[WAKE], .cache = 1e6 * value[CACHE] };
    int processors = processor_time ? 1 : ag_threads();
    bool given = value[DISPATCH] >= 0;
    double most = 1e9 * value[MEMORY];
    for (int k = 0; k < COUNTS && 1 << k <= (int)value[MOST]; k++) {
        int threads = 1 << k;
        bool measured = threads <= processors;
        m.memory[k] = measured ? 1e9 / time_of("memory", threads, 0.2) : fmin(threads * m.memory[0], most);
        if (k == 0) continue;
        if (measured) most = fmax(most, m.memory[k]);
        if (measured && !given) m.dispatch[k] = time_of("dispatch", threads, 0.2);
        else m.dispatch[k] = k == 1 ? 1e-6 * (given ? value[DISPATCH] : 1) : m.dispatch[k - 1] + threads / 2 * m.line;
    }
    return m;
}

static void usage(FILE *out)
{
    fputs("usage: threads [OPTION...] [WORKLOAD...]\n\n"
          "Counts what a step does in one thread: parallel regions, the work in them, bytes, time outside of them. Prints\n"
          "this and the time on 1, 2, 4 ... 64 threads by the model in threads.c; writes threads.csv, for plots/threads.gp.\n"
          "Also measures 1, 2, 4 ... threads up to the number of processors, to check the model. `bench --help` describes\n"
          "the workloads.\n\n"
          "  --threads N    the most threads, default 64\n"
          "  --seconds S    how long to count and to measure with each number of threads, default 1; at least three steps\n"
          "  --bf16         products in bfloat16\n"
          "  --cpu          measure processor time, and only one thread: on a machine with other users\n"
          "  --dispatch US  the time to give a region to two threads, in microseconds; default: measured, or 1 with --cpu\n"
          "  --line NS      the time to write a cache line that another core has read, default 100\n"
          "  --wake US      the time until a sleeping thread runs, default 20\n"
          "  --cache MB     the last cache, default 32\n"
          "  --memory GB    10^9 bytes a second at most, where the threads are too many to measure, default 200\n"
          "  --help         this text\n", out);
}

int main(int argc, char **argv)
{
    double value[NUMBERS] = { 64, 1, -1, 100, 20, 32, 200 };
    const Workload *chosen[BENCH_WORKLOADS];
    int n = 0;
    for (int i = 1; i < argc; i++) {
        const Workload *w = find_workload(argv[i]);
        int k = 0;
        while (k < NUMBERS && strcmp(argv[i], numbers[k].name) != 0) k++;
        if (k < NUMBERS) {
            value[k] = number(argv[i], argv[i + 1], numbers[k].most);
            i++;
        } else if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return 0;
        } else if (strcmp(argv[i], "--bf16") == 0) {
            ag_precision(AG_BF16);
        } else if (strcmp(argv[i], "--cpu") == 0) {
            processor_time = true;
        } else if (w && n < BENCH_WORKLOADS) {
            chosen[n++] = w;
        } else {
            fprintf(stderr, "threads: there is no %s %s (--help lists the options, bench --help the workloads)\n",
                    argv[i][0] == '-' ? "option" : "workload", argv[i]);
            return 2;
        }
    }
    if (n == 0) n = usual_workloads(chosen);
    FILE *csv = fopen("threads.csv", "w");
    if (!csv) {
        fprintf(stderr, "threads: threads.csv: cannot be written\n");
        return 1;
    }
    Machine m = machine_of(value);
    clock_cost = cost_of_clock();
    printf("a cache line %.3g ns, waking %.3g us, reading the clock %.3g ns\n", value[LINE], value[WAKE], 1e9 * clock_cost);
    for (int k = 0; k < COUNTS && 1 << k <= (int)value[MOST]; k++)
        printf("%3d threads: dispatch %.3g us, memory %.3g GB/s\n", 1 << k, 1e6 * m.dispatch[k], 1e-9 * m.memory[k]);
    fprintf(csv, "workload,precision,threads,model,efficiency,measured\n");
    for (int i = 0; i < n; i++) print_workload(chosen[i], &m, (int)value[MOST], value[SECONDS], csv);
    free(piece);
    free(fastest);
    if (fclose(csv) == 0) return 0;
    fprintf(stderr, "threads: threads.csv: cannot be written\n");
    return 1;
}
