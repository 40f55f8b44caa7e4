/* run.c: makes each call of calls.def with other arguments, or from inside each function that the library calls.
 *
 *     run numbers|callbacks FOLDER [NAME]     in a folder for files; NAME: only this call, or this callback
 *
 * Each call must return, or end with a usage error in one line that names the line of the call. No signal, no endless loop, and
 * afterwards the scope ends and a module can be trained. The calls run in a child process, with limits of time and memory. If
 * one ends the child, the next child goes on behind it. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "callbacks.h"
#include "calls.h"

#if defined(__SANITIZE_ADDRESS__)
#define SECONDS 20
#else
#define SECONDS 3
#endif
#define GIGABYTES 2

/* With a sanitizer, memory that cannot be had is NULL, as without. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:detect_leaks=0:handle_abort=0";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1";
}

/* What the child does now, for the parent. */
typedef struct { int call, turn; char text[200], message[1200]; int failures, runs; } Shared;
static Shared *shared;

/* ---- parts of a call ----------------------------------------------------------------------------------------------- */

enum { NO_PART = -1, ALL_TENSORS = -2 };
static int part, changed = NO_PART, turns_of[64];       /* the number of the part; which one is changed; how many values */
static int value;                                       /* the number of the value that is tried */

static const int64_t integers[] = { 0, 1, -1, INT32_MAX, (int64_t)1 << 31, (int64_t)1 << 62, INT64_MAX };
static const double numbers[] = { NAN, INFINITY, -1 };

/* Counts the part, which can have n values. Whether it has another one now. */
static bool is_changed(int n)
{
    if (part < 64) turns_of[part] = n;
    return part++ == changed;
}

int64_t part_integer(PartKind kind, int64_t usual)
{
    int n = kind == INTEGER ? 7 : kind == COUNT_OF ? 3 : 2;
    return is_changed(n) ? integers[value] : usual;
}

double part_number(double usual)
{
    return is_changed(3) ? numbers[value] : usual;
}

enum { MANY_EMPTY, NO_LONG, HOLLOW };

/* A tensor without items, of the type of t: 2^40 rows of nothing, or no rows of 2^40 items. */
static const Tensor *hollow(const Tensor *t, int how)
{
    AgShape shape = tensor_shape(t);
    if (shape.ndim > 0) shape.dim[0] = how == MANY_EMPTY && shape.ndim > 1 ? (int64_t)1 << 40 : 0;
    if (shape.ndim > 1) shape.dim[shape.ndim - 1] = how == MANY_EMPTY ? 0 : (int64_t)1 << 40;
    if (tensor_dtype(t) == AG_INT) return tensor_ints(shape, NULL);
    if (tensor_dtype(t) == AG_BOOL) return tensor_bools(shape, NULL);
    return tensor_set_requires_grad(tensor_zeros(shape), true);
}

void *part_pointer(PartKind kind, const void *usual)
{
    const void *const tensors[] = { NULL, f.ended, f.ids, f.packed }, *const objects[] = { NULL, f.freed };
    enum { TENSORS = sizeof tensors / sizeof *tensors };
    bool is_this = is_changed(kind == TENSOR ? TENSORS + HOLLOW : kind == OBJECT ? 2 : 1);
    const void *other = usual;
    if (kind == TENSOR && (changed == ALL_TENSORS || (is_this && value >= TENSORS))) other = hollow(usual, value % TENSORS);
    else if (is_this) other = kind == TENSOR ? tensors[value] : kind == OBJECT ? objects[value] : NULL;
    return (void *)(uintptr_t)other;
}

/* ---- a call -------------------------------------------------------------------------------------------------------- */

static jmp_buf escape;

static void leave(const char *message)
{
    snprintf(shared->message, sizeof shared->message, "%s", message);
    longjmp(escape, 1);
}

static void fail(const char *why)
{
    const Call left = { "longjmp", 0, NULL }, *c = shared->call < n_calls ? &calls[shared->call] : &left;
    fprintf(stderr, "%s (calls.def:%d), %s: %s%s%s\n", c->name, c->line, shared->text, why, *shared->message ? ": " : "",
            shared->message);
    shared->failures++;
}

/* Whether this is a line of the call: from its first line on, up to the next call. */
static bool is_line_of(int call, int line)
{
    return line >= calls[call].line && (call + 1 == n_calls || line < calls[call + 1].line);
}

/* The function that the message names is one that the program calls and not one inside it that reads the tensor "t". */
static void check_function(void)
{
    const char *const reader = "tensor_", *name = calls[shared->call].name;
    if (strncmp(shared->message, reader, strlen(reader)) == 0 && strncmp(name, reader, strlen(reader)) != 0 &&
        strstr(shared->message, ": t is ")) fail("another function");
}

/* Whether the message is one line that names the line of the call, or a line of the function that is called inside. */
static void check_message(bool anywhere)
{
    char place[64];
    snprintf(place, sizeof place, "tests/calls/%s", anywhere ? "" : "calls.def:");
    if (strchr(shared->message, '\n')) fail("more than one line");
    const char *found = strstr(shared->message, place);
    if (!found) fail("another line");
    else if (!anywhere && !is_line_of(shared->call, atoi(found + strlen(place)))) fail("another line of calls.def");
}

static bool has_place(const char *name)
{
    static const char *const without[] = { "ag_sum_squares", "ag_add_to", "ag_watch_backward", "nn_is_not_matrix",
                                           "ag_usage_error" };
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(name, without[i]) == 0) return false;
    return true;
}

static void begin(void)
{
    shared->message[0] = '\0';
    shared->runs++;
    struct itimerval limit = { .it_value = { .tv_sec = SECONDS } };
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm(20 * SECONDS);
    fixture_make();
    f.handler = leave;
    part = 0;
}

static void end(void)
{
    const char *why;
    if (!fixture_end(&why)) fail(why);
}

static void try_value(void)
{
    begin();
    ag_on_usage_error(leave);
    if (setjmp(escape) == 0) calls[shared->call].make();
    else if (has_place(calls[shared->call].name)) {
        if (changed == NO_PART) fail("an error without a changed argument");
        check_function();
        check_message(false);
    }
    end();
}

/* All values of all parts, from number `turn` on. */
static void try_numbers(void)
{
    const int call = shared->call, first = shared->turn;
    volatile int turn = 0;                              /* try_value leaves by longjmp */
    changed = NO_PART;
    memset(turns_of, 0, sizeof turns_of);
    snprintf(shared->text, sizeof shared->text, "as it is");
    if (first == 0) {
        shared->turn = 1;
        try_value();
    } else {                                            /* only counts the parts */
        begin();
        ag_on_usage_error(leave);
        if (setjmp(escape) == 0) calls[call].make();
        end();
    }
    int n = part;
    for (int p = 0; p < n && p < 64; p++) {
        int values = turns_of[p];
        for (int v = 0; v < values; v++) {
            turn = turn + 1;
            if (turn < first) continue;
            shared->turn = turn + 1;
            changed = p;
            value = v;
            snprintf(shared->text, sizeof shared->text, "marked argument %d has value %d", p + 1, v);
            try_value();
        }
    }
    for (int v = 0; v < HOLLOW; v++) {
        turn = turn + 1;
        if (turn < first) continue;
        shared->turn = turn + 1;
        changed = ALL_TENSORS;
        value = v;
        snprintf(shared->text, sizeof shared->text, "all tensors are without items, %d", v);
        try_value();
    }
}

/* ---- a call from inside a callback ----------------------------------------------------------------------------------- */

typedef enum { LEAVES, CATCHES, WAYS } Way;
static Way way;
static bool armed, *was_called;
static jmp_buf inner;

static void leave_inner(const char *message)
{
    snprintf(shared->message, sizeof shared->message, "%s", message);
    longjmp(inner, 1);
}

void inside(void)
{
    if (!armed) return;
    armed = false;
    *was_called = true;
    if (shared->call == n_calls) longjmp(escape, 2);            /* the program leaves, without an error */
    if (way == LEAVES) {
        calls[shared->call].make();
        return;
    }
    AgErrorHandler *former = ag_on_usage_error(leave_inner);
    if (setjmp(inner) == 0) calls[shared->call].make();
    ag_on_usage_error(former);
}

static void try_inside(const Callback *c)
{
    begin();
    armed = true;
    ag_on_usage_error(leave);
    int how = setjmp(escape);
    if (how == 0) c->run();
    armed = false;
    if (how == 1) check_message(true);
    if (how == 2) {
        ag_on_usage_error(leave);
        if (setjmp(escape) == 0) ag_end(f.scope);
        else fail("the scope cannot be ended");
    }
    end();
}

/* ---- children ------------------------------------------------------------------------------------------------------ */

static void limit_memory(void)
{
    long pages = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    if (!in || fscanf(in, "%ld", &pages) != 1) abort();
    fclose(in);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)GIGABYTES << 30);
    setrlimit(RLIMIT_AS, &(struct rlimit){ bytes, bytes });
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

/* Runs body in children until one returns. What ended a child is a failure, and the next goes on behind it. */
static void in_children(void body(void))
{
    for (;;) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            limit_memory();
            body();
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) < 0) abort();
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
        char why[64];
        if (WIFSIGNALED(status)) snprintf(why, sizeof why, "signal %d", WTERMSIG(status));
        else snprintf(why, sizeof why, "exit status %d", WEXITSTATUS(status));
        fail(why);
    }
}

static const char *only;

static void numbers_child(void)
{
    for (; shared->call < n_calls; shared->call++, shared->turn = 0)
        if (!only || strcmp(only, calls[shared->call].name) == 0) try_numbers();
}

static const Callback *callback;

/* shared->turn is one more than the call that was begun last: a child that goes on begins behind it. */
static void callback_child(void)
{
    for (; shared->call <= n_calls; shared->call++) {
        if (shared->turn == shared->call + 1) continue;         /* it ended the last child */
        shared->turn = shared->call + 1;
        snprintf(shared->text, sizeof shared->text, "inside %s, %s", callback->name, way == LEAVES ? "left" : "caught");
        try_inside(callback);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || chdir(argv[2]) != 0) return 2;
    bool of_numbers = strcmp(argv[1], "numbers") == 0;
    only = argc > 3 ? argv[3] : NULL;
    void *memory = mmap(NULL, sizeof *shared + sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 2;
    shared = memory;
    was_called = (bool *)(shared + 1);
    in_children(files_make);
    if (shared->failures) return 1;
    if (of_numbers) in_children(numbers_child);
    for (callback = callbacks; !of_numbers && callback->name; callback++) {
        if (only && strcmp(only, callback->name) != 0) continue;
        *was_called = false;
        for (way = LEAVES; way < WAYS; way++) {
            shared->call = shared->turn = 0;
            in_children(callback_child);
        }
        if (!*was_called) fprintf(stderr, "%s: was never called\n", callback->name), shared->failures++;
    }
    printf("%d runs, %d failures\n", shared->runs, shared->failures);
    return shared->failures > 0;
}
