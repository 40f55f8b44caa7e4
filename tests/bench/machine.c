/* machine.c: how kaeru runs on this machine: the processor, its instruction sets, the hashes of trained weights, and workloads
 * on 1, 2, 4 ... threads in float32 and in bfloat16.
 *
 * A child process measures one workload in one precision, from the most threads down to one: each measurement tells what the
 * next one will take at most, so what does not fit into the time is left out. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../runs.h"
#include "bench.h"
#include "kernel_table.h"
#include "kaeru/autograd.h"
#include "common/sha256.h"

enum { PRECISIONS = 2, MOST_COUNTS = 10, LINE = 256, PATH = 300, HASH = 65, SHORT_HASH = 8 };
static const char *const precision_name[PRECISIONS] = { "float32", "bf16" };

static time_t deadline;
static const char *done_with = "";      /* the end of the line that tells the progress */

/* On a terminal, replaces the line that tells what runs now. */
static void show_progress(const char *what, const char *precision, int threads)
{
    if (!isatty(STDERR_FILENO)) return;
    int left = (int)(deadline - time(NULL));
    left = left > 0 ? left : 0;
    fprintf(stderr, "\r\033[K%s %s on %d threads; at most %d:%02d minutes left", what, precision, threads, left / 60,
            left % 60);
    done_with = "\r\033[K";
}

static void end_progress(void)
{
    fputs(done_with, stderr);
    done_with = "";
}

/* ---- the processor ----------------------------------------------------------------------------------------------- */

/* Copies the text after "key" and a colon from the first line of /proc/cpuinfo that begins with the key. */
static bool find_in_cpuinfo(const char *key, char *text, int size)
{
    static char line[1 << 13];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
        snprintf(text, (size_t)size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        text[strcspn(text, "\n")] = '\0';
        found = true;
    }
    if (file) fclose(file);
    return found;
}

static void print_processor(void)
{
    char text[LINE];
    struct utsname system;
    if (find_in_cpuinfo("model name", text, sizeof text)) printf("processor: %s\n", text);
    if (uname(&system) == 0) printf("system: %s %s, %s\n", system.sysname, system.release, system.machine);
    printf("compiler: %s\n", __VERSION__);
    printf("threads at most: %d\n", ag_threads());
    printf("memory: %.1f GiB\n", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30));
    double load;
    if (getloadavg(&load, 1) == 1) printf("load average of the last minute: %.1f\n", load);
    static const char *const keys[] = { "Socket(s)", "Core(s) per socket", "Thread(s) per core", "NUMA node(s)", "L1d cache",
                                        "L2 cache", "L3 cache", "CPU max MHz", "Hypervisor vendor" };
    FILE *lscpu = popen("LC_ALL=C lscpu 2>/dev/null", "r");
    while (lscpu && fgets(text, sizeof text, lscpu))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(text, keys[i], strlen(keys[i])) == 0) fputs(text, stdout);
    if (lscpu) pclose(lscpu);
}

/* ---- instruction sets -------------------------------------------------------------------------------------------- */

typedef struct { const char *name, *flag; bool used; } Isa;        /* flag: its name in /proc/cpuinfo */
static Isa isas[] = {
    { "amx", "amx_bf16", false }, { "avx512_bf16", "avx512_bf16", false }, { "avx512", "avx512f", false },
    { "avx2", "avx2", false }, { "portable", NULL, false },
};
enum { ISAS = sizeof isas / sizeof *isas };

static bool has_flag(const char *flag)
{
    static char flags[1 << 13];
    char word[LINE];
    if (!flags[0] && find_in_cpuinfo("flags", flags + 1, sizeof flags - 2)) {
        flags[0] = ' ';
        strcat(flags, " ");
    }
    snprintf(word, sizeof word, " %s ", flag);
    return strstr(flags, word);
}

/* Tries each instruction set. Before the first use of AMX and of VDPBF16PS the library compares their products with those of
 * AVX-512. */
static void print_isas(void)
{
    char best[LINE];
    snprintf(best, sizeof best, "%s", k_isa());
    printf("\ninstruction sets (KAERU_ISA names one to use):\n");
    for (int i = 0; i < ISAS; i++) {
        isas[i].used = k_use_isa(isas[i].name);
        printf("  %-12s%s%s\n", isas[i].name,
               isas[i].used ? "works" : isas[i].flag && has_flag(isas[i].flag) ?
               "is in the processor, but the system does not allow it or its self-test fails" : "is not in this processor",
               strcmp(isas[i].name, best) == 0 ? ", is used by default" : "");
    }
    k_use_isa(best);
}

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

/* The SHA-256 of a file. */
static bool hash_file(const char *path, char hash[HASH])
{
    struct stat about;
    FILE *file = stat(path, &about) == 0 ? fopen(path, "rb") : NULL;
    if (!file) return false;
    size_t size = (size_t)about.st_size;
    char *bytes = ag_alloc(size, 1);
    bool good = fread(bytes, 1, size, file) == size;
    fclose(file);
    if (good) sha256(bytes, size, hash);
    ag_free(bytes);
    return good;
}

/* Trains one of the models of final_weights.c and hashes its weights. */
static bool hash_run(const Run *run, const char *folder, int threads, char hash[HASH])
{
    char path[PATH + 16], best[PATH + 16];
    snprintf(path, sizeof path, "%s/weights", folder);
    snprintf(best, sizeof best, "%s/weights.best", folder);
    ag_set_threads(threads);
    bool good = run->train(&final_size, path, false, NULL) && hash_file(path, hash);
    unlink(path);
    unlink(best);
    return good;
}

/* Trains with each instruction set, on one thread and on the most. Returns whether each model has one hash. */
static bool print_hashes(int most)
{
    char folder[PATH], first[HASH], hash[HASH], best[LINE];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/kaeru-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder)) {
        fprintf(stderr, "%s: cannot make a folder %s\n", program, folder);
        return false;
    }
    snprintf(best, sizeof best, "%s", k_isa());
    bool same = true;
    printf("\nSHA-256 of the weights after %d steps, with each instruction set, on 1 and %d threads:\n", (int)final_size.steps,
           most);
    for (int m = 0; m < N_RUNS; m++)
        for (int p = 0; p < PRECISIONS; p++) {
            int trainings = 0, differ = 0;
            for (int i = 0; i < ISAS; i++)
                for (int t = 1; isas[i].used && t <= most; t += most > 1 ? most - 1 : 1) {
                    show_progress(runs[m].name, precision_name[p], t);
                    k_use_isa(isas[i].name);
                    ag_precision(p == 0 ? AG_FLOAT32 : AG_BF16);
                    if (!hash_run(&runs[m], folder, t, trainings ? hash : first)) {
                        end_progress();
                        fprintf(stderr, "%s: %s: %s\n", program, runs[m].name, ag_error());
                        rmdir(folder);
                        return false;
                    }
                    if (trainings++ && strcmp(hash, first) != 0) {
                        differ++;
                        end_progress();
                        printf("  %-12s %-8s %.*s  with %s on %d threads\n", runs[m].name, precision_name[p], SHORT_HASH, hash,
                               isas[i].name, t);
                    }
                }
            end_progress();
            printf("  %-12s %-8s %.*s  %d trainings, %s\n", runs[m].name, precision_name[p], SHORT_HASH, first, trainings,
                   differ ? "DIFFERENT" : "the same");
            fflush(stdout);
            same = same && !differ;
        }
    ag_precision(AG_FLOAT32);
    k_use_isa(best);
    rmdir(folder);
    return same;
}

/* ---- workloads --------------------------------------------------------------------------------------------------- */

/* seconds[i]: of the fastest step on threads[i]; 0: not measured. */
typedef struct { const Workload *w; int precision; double seconds[MOST_COUNTS]; } Scaled;
typedef struct { int index; double seconds; } Sample;
static int threads[MOST_COUNTS], counts;

static void choose_threads(int most)
{
    for (int t = 1; t < most; t *= 2) threads[counts++] = t;
    threads[counts++] = most;
}

/* In a child process. Writes each sample to the pipe. */
static void sample_threads(const Scaled *s, double seconds, time_t until, int pipe)
{
    int64_t parameters = 0;
    time_t begin = time(NULL);
    alarm(deadline > begin ? (unsigned)(deadline - begin) : 1);
    ag_set_threads(threads[counts - 1]);
    ag_precision(s->precision == 0 ? AG_FLOAT32 : AG_BF16);
    void *state = s->w->begin(s->w, &parameters);
    for (int i = counts - 1; i >= 0; i--) {
        Sample sample = { .index = i };
        begin = time(NULL);
        ag_set_threads(threads[i]);
        measure(s->w, state, seconds, 3, &sample.seconds);
        if (write(pipe, &sample, sizeof sample) != sizeof sample) break;
        /* Half of the threads take twice the time. */
        if (time(NULL) + 2 * (time(NULL) - begin) > until) break;
    }
    s->w->end(state);
}

/* Returns whether the child ended well or because of the time. */
static bool measure_threads(Scaled *s, double seconds, time_t until)
{
    int ends[2];
    if (pipe(ends) != 0) return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        sample_threads(s, seconds, until, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    Sample sample;
    show_progress(s->w->name, precision_name[s->precision], threads[counts - 1]);
    while (child > 0 && read(ends[0], &sample, sizeof sample) == sizeof sample) {
        s->seconds[sample.index] = sample.seconds;
        if (sample.index > 0) show_progress(s->w->name, precision_name[s->precision], threads[sample.index - 1]);
    }
    close(ends[0]);
    end_progress();
    int status = 1;
    if (child > 0) waitpid(child, &status, 0);
    return status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

/* The fewest threads that were measured; -1: none. */
static int first_of(const Scaled *s)
{
    for (int i = 0; i < counts; i++)
        if (s->seconds[i] > 0) return i;
    return -1;
}

static double seconds_of(const Scaled *s, int i) { return s->seconds[i]; }
static double speedup_of(const Scaled *s, int i) { return s->seconds[first_of(s)] / s->seconds[i]; }
static double efficiency_of(const Scaled *s, int i) { return speedup_of(s, i) * threads[first_of(s)] / threads[i]; }
static double gflops_of(const Scaled *s, int i) { return s->w->amount / s->seconds[i] / threads[i]; }
static bool is_product(const Scaled *s) { return strcmp(s->w->unit, "GFLOPS") == 0; }

/* A row for each workload and precision, a column for each number of threads. */
static void print_table(const char *title, const char *format, double (*value)(const Scaled *s, int i), const Scaled *s, int n,
                        bool products)
{
    printf("\n%-22s", title);
    for (int i = 0; i < counts; i++) printf(" %7d", threads[i]);
    printf(" threads\n");
    for (int k = 0; k < n; k++) {
        if (products && !is_product(&s[k])) continue;
        printf("%-13s %-8s", s[k].w->name, precision_name[s[k].precision]);
        for (int i = 0; i < counts; i++) {
            if (s[k].seconds[i] > 0) printf(format, value(&s[k], i));
            else printf(" %7s", "-");
        }
        printf("\n");
    }
}

static void write_rows(FILE *csv, const Scaled *s)
{
    for (int i = 0; i < counts; i++) {
        if (s->seconds[i] == 0) continue;
        fprintf(csv, "%s,%s,%d,%.6g,%.4g,%.4g,", s->w->name, precision_name[s->precision], threads[i], seconds_of(s, i),
                speedup_of(s, i), efficiency_of(s, i));
        if (is_product(s)) fprintf(csv, "%.4g", gflops_of(s, i));
        fprintf(csv, "\n");
    }
    fflush(csv);
}

bool print_machine(const Workload *const *chosen, int n, double seconds, double minutes, const char *path)
{
    FILE *csv = fopen(path, "w");
    if (!csv) {
        fprintf(stderr, "%s: --csv %s: cannot be written\n", program, path);
        return false;
    }
    deadline = time(NULL) + (time_t)(60 * minutes);
    int most = ag_threads();
    choose_threads(most);
    print_processor();
    print_isas();
    bool good = print_hashes(most);

    Scaled *s = ag_alloc((size_t)(PRECISIONS * n), sizeof *s);
    fprintf(csv, "workload,precision,threads,seconds,speedup,efficiency,gflops_per_core\n");
    for (int k = 0; k < PRECISIONS * n; k++) {
        s[k].w = chosen[k / PRECISIONS];
        s[k].precision = k % PRECISIONS;
        time_t left = deadline - time(NULL);
        if (left <= 0) continue;
        if (!measure_threads(&s[k], seconds, time(NULL) + left / (PRECISIONS * n - k))) {
            fprintf(stderr, "%s: %s failed\n", program, s[k].w->name);
            good = false;
        }
        write_rows(csv, &s[k]);
    }
    print_table("seconds of a step", " %7.3g", seconds_of, s, PRECISIONS * n, false);
    print_table("speed-up", " %7.2f", speedup_of, s, PRECISIONS * n, false);
    print_table("efficiency", " %7.2f", efficiency_of, s, PRECISIONS * n, false);
    print_table("GFLOPS of a core", " %7.1f", gflops_of, s, PRECISIONS * n, true);
    printf("\nThe numbers are in %s. -: did not fit into %g minutes.\n", path, minutes);
    ag_free(s);
    if (fclose(csv) == 0) return good;
    fprintf(stderr, "%s: --csv %s: cannot be written\n", program, path);
    return false;
}
